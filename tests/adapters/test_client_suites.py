"""Clients that remember, by the suite of adapters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, ClassVar, Literal

import anthropic
import openai
import pytest

from recollect import Memory
from recollect.adapters.clients import remember
from recollect.testing import AdapterSuite, Provider, Script, Talk, lookup
from tests.adapters.connected import SYSTEM, connect

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
FUNCTION = {"name": "lookup", "description": "Looks up a page.", "parameters": SCHEMA}
OPENAI_TOOLS: Any = [{"type": "function", "function": FUNCTION}]
ANTHROPIC_TOOLS: Any = [{"name": "lookup", "description": "Looks up a page.", "input_schema": SCHEMA}]


class OpenAITalk(Talk):
    """A caller who sends the whole history each time, and waits for the whole answer."""

    style: ClassVar[Literal["openai"]] = "openai"

    def __init__(self, provider: Provider, *remembered: Any, **options: Any) -> None:
        self.client = remember(connect(provider, openai.OpenAI), *remembered, **options)
        self.awaited: Callable[[], openai.AsyncOpenAI] = lambda: remember(
            connect(provider, openai.AsyncOpenAI), *remembered, **options
        )
        self.history: list[Any] = [{"role": "system", "content": SYSTEM}]
        self.sent: list[Any] = []

    def request(self) -> dict[str, Any]:
        self.sent = list(self.history)
        return {"model": "gpt", "messages": self.sent, "tools": OPENAI_TOOLS}

    def heard(self, completion: Any) -> bool:
        """Take the answer down and run its tools; whether there is more to ask."""
        message = completion.choices[0].message
        self.history.append(message)
        for call in message.tool_calls or ():
            result = lookup(**json.loads(call.function.arguments))
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return bool(message.tool_calls)

    def say(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        while self.heard(self.client.chat.completions.create(**self.request())):
            pass

    async def asay(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})
        async with self.awaited() as client:
            while self.heard(await client.chat.completions.create(**self.request())):
                pass

    def redeliver(self) -> None:
        self.client.chat.completions.create(model="gpt", messages=self.sent, tools=OPENAI_TOOLS)


class AnthropicTalk(Talk):
    """A caller who sends only what is new of each turn, and streams the answer."""

    style: ClassVar[Literal["anthropic"]] = "anthropic"

    def __init__(self, provider: Provider, *remembered: Any, **options: Any) -> None:
        self.client = remember(connect(provider, anthropic.Anthropic), *remembered, **options)
        self.awaited: Callable[[], anthropic.AsyncAnthropic] = lambda: remember(
            connect(provider, anthropic.AsyncAnthropic), *remembered, **options
        )
        self.turn: list[Any] = []
        self.sent: list[Any] = []

    def request(self) -> dict[str, Any]:
        self.sent = list(self.turn)
        tools = ANTHROPIC_TOOLS
        return {"model": "claude", "system": SYSTEM, "max_tokens": 100, "messages": self.sent, "tools": tools}

    def heard(self, message: Any) -> bool:
        self.turn.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": c.id, "content": lookup(**c.input)} for c in calls]
        if results:
            self.turn.append({"role": "user", "content": results})
        return bool(results)

    def ask(self) -> Any:
        with self.client.messages.stream(**self.request()) as stream:
            return stream.get_final_message()

    async def aask(self, client: Any) -> Any:
        async with client.messages.stream(**self.request()) as stream:
            return await stream.get_final_message()

    def say(self, text: str) -> None:
        self.turn = [{"role": "user", "content": text}]
        while self.heard(self.ask()):
            pass

    async def asay(self, text: str) -> None:
        self.turn = [{"role": "user", "content": text}]
        async with self.awaited() as client:
            while self.heard(await self.aask(client)):
                pass

    def redeliver(self) -> None:
        self.turn = self.sent
        self.ask()


class ClientSuite(AdapterSuite):
    kind: type[OpenAITalk | AnthropicTalk]

    @pytest.fixture(autouse=True)
    def providers(self) -> Iterator[None]:
        with ExitStack() as self.stack:
            yield

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        provider = self.stack.enter_context(Provider(self.kind.style, lambda asked: script.answer(asked.messages)))
        talk = self.kind(provider, memory, user=user, session=session, budget=budget)
        self.stack.callback(talk.client.close)
        return talk


class TestOpenAI(ClientSuite):
    shape = "openai"
    kind = OpenAITalk


class TestAnthropic(ClientSuite):
    shape = "anthropic"
    kind = AnthropicTalk
