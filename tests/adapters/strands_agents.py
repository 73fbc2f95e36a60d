"""A real Strands agent whose model is a script, and messages as the SDK has them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from strands import Agent, tool
from strands.models.model import Model
from strands.types.exceptions import ContextWindowOverflowException

from recollect import Memory, Message, count_messages, estimate, parse, render
from recollect.adapters.strands import with_memory
from recollect.testing import Script, Talk
from recollect.testing import lookup as look_up

WORDS = "and what else is there to be said about it " * 10


def user(text: str) -> Any:
    return {"role": "user", "content": [{"text": text}]}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": [{"text": text}]}


def tool_turn(id: str, result: str) -> list[Any]:
    answer = {"toolResult": {"toolUseId": id, "status": "success", "content": [{"text": result}]}}
    return [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "look", "input": {}}}]},
        {"role": "user", "content": [answer]},
    ]


def tokens(request: list[Message]) -> int:
    return count_messages(request, estimate)


class ScriptedModel(Model):
    """Says what the script says; `refuse` tells of a request whether the provider finds it too large."""

    def __init__(
        self,
        script: Script,
        refuse: Callable[[list[Message]], str | None] = lambda request: None,
        error: Callable[[str], Exception] = ContextWindowOverflowException,
    ) -> None:
        self.script, self.refuse, self.error = script, refuse, error
        self.refused: list[list[Message]] = []

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **_: Any
    ) -> AsyncIterator[Any]:
        request = parse(
            {"system": [{"text": system_prompt}] if system_prompt else None, "messages": messages}, "bedrock"
        )
        if problem := self.refuse(request):
            self.refused.append(request)
            raise self.error(problem)
        answer = self.script.answer(request)
        yield {"messageStart": {"role": "assistant"}}
        for block in render([answer], "bedrock")[-1]["content"]:
            use = block.get("toolUse")
            if use:
                yield {
                    "contentBlockStart": {"start": {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}}}
                }
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(use["input"])}}}}
            else:
                yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if answer.tool_calls else "end_turn"}}


@tool
def lookup(number: int) -> str:
    """Looks up the page of that number.

    Args:
        number: of the page
    """
    return look_up(number)


def agent_of(model: Model, **options: Any) -> Agent:
    return Agent(model=model, tools=[lookup], callback_handler=None, load_tools_from_directory=False, **options)


class StrandsTalk(Talk):
    def __init__(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> None:
        self.agent = agent_of(ScriptedModel(script), **with_memory(memory.session(session, user=user), budget))

    def say(self, text: str) -> None:
        self.agent(text)

    async def asay(self, text: str) -> None:
        await self.agent.invoke_async(text)

    def redeliver(self) -> None:
        manager: Any = self.agent._session_manager
        for message in self.agent.messages[-4:]:
            manager.append_message(message, self.agent)
