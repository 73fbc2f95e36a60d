"""A real agent of the OpenAI Agents SDK whose model is a script, and thinks before it calls a tool."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses import ResponseReasoningItem

from recollect import Memory, parse
from recollect.adapters.openai_agents import RecollectSession
from recollect.testing import Script, Talk
from recollect.testing import lookup as look_up

MANY = 100


def model_of(script: Script) -> ScriptedModel:
    def respond(call: ModelCall) -> ModelStep:
        answer = script.answer(
            parse({"instructions": call.system_instructions, "input": call.input}, "openai-responses")
        )
        if not answer.tool_calls:
            return ModelStep(output=[assistant_message(answer.text, item_id=f"msg_{answer.text}")])
        calls = [function_call(c.name, c.arguments, call_id=c.id, item_id=f"fc_{c.id}") for c in answer.tool_calls]
        thought = ResponseReasoningItem(id=f"rs_{answer.tool_calls[0].id}", summary=[], type="reasoning")
        return ModelStep(output=[thought, *calls])

    return ScriptedModel([ModelStep.respond(respond)] * MANY)


@function_tool
def lookup(number: int) -> str:
    """Looks up the page of that number."""
    return look_up(number)


def agent_of(script: Script, **options: Any) -> Agent:
    return Agent(name="reader", model=model_of(script), tools=[lookup], **options)


class AgentsTalk(Talk):
    def __init__(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> None:
        self.agent = agent_of(script)
        self.session = Watched(memory.session(session, user=user), budget)
        self.config = RunConfig(call_model_input_filter=self.session.fit_input, tracing_disabled=True)

    def say(self, text: str) -> None:
        asyncio.run(self.asay(text))

    async def asay(self, text: str) -> None:
        await Runner.run(self.agent, text, session=self.session, run_config=self.config, max_turns=MANY)

    def redeliver(self) -> None:
        asyncio.run(self.session.add_items(self.session.delivered[-1]))
        asyncio.run(self.session.add_items([item for batch in self.session.delivered[:-1] for item in batch]))


class Watched(RecollectSession):
    """Remembers what was delivered, to deliver it again."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.delivered: list[Any] = []

    async def add_items(self, items: Any) -> None:
        self.delivered.append(list(items))
        await super().add_items(items)
