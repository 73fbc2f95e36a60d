"""LangChain's agent with our middleware and checkpointer: real `create_agent`, scripted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import ConfigDict

from recollect import Memory, Message
from recollect.adapters.langgraph import RecollectMiddleware, RecollectSaver
from recollect.adapters.langgraph.messages import from_langchain, to_langchain
from recollect.errors import ConfigError
from recollect.testing.adapters import AdapterSuite, Script, Talk, lookup


class ScriptedModel(BaseChatModel):
    """A chat model whose words come from a script."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedModel:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        answer = self.script.answer([from_langchain(message) for message in messages])
        return ChatResult(generations=[ChatGeneration(message=to_langchain(answer)[0])])


class AgentTalk(Talk):
    def __init__(self, memory: Memory, user: str, thread: str, budget: int, script: Script) -> None:
        self.agent = create_agent(
            ScriptedModel(script=script),
            [tool(lookup)],
            system_prompt="Be brief.",
            middleware=[RecollectMiddleware(memory, user=user, budget=budget)],
            checkpointer=RecollectSaver(memory, user=user),
        )
        self.config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": 1_000}
        self.said = HumanMessage("")

    def say(self, text: str) -> None:
        self.said = HumanMessage(text)
        self.agent.invoke({"messages": [self.said]}, self.config)

    async def asay(self, text: str) -> None:
        await self.agent.ainvoke({"messages": [HumanMessage(text)]}, self.config)

    def redeliver(self) -> None:
        """The run is taken up again at the checkpoint from which the model was last called."""
        at = next(s for s in self.agent.get_state_history(self.config) if "model" in s.next)
        self.agent.invoke(None, at.config)


class TestAgent(AdapterSuite):
    shape = "openai"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return AgentTalk(memory, user, session, budget, script)
