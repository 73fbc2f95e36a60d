"""Recollect's window and its peers behind one small interface: load a history, add a message, get the prompt.

Token counts are known beforehand to all: `known` maps a message, as converted for its library, to its tokens.
The two LlamaIndex memories take only a function of the text; theirs is the text's length times one ratio, which
costs next to nothing. Peers that keep the system prompt apart have it put back in front, as their agents do.
"""

from __future__ import annotations

import asyncio
import itertools
import warnings
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.types.exceptions import ContextWindowOverflowException

from recollect.flow.limits import Limits
from recollect.flow.window import Window
from recollect.tokens import count_message, estimate
from recollect.types import Message

warnings.simplefilter("ignore", DeprecationWarning)
count = partial(count_message, count=estimate)
Item = tuple[int, int]


class Pruner:
    """The plain pass: all counts summed, the oldest messages left out until the rest fits and starts with a user."""

    name = "plain O(n) pass"
    note = ""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.known: dict[int, int] = {}
        self.history: list[Any] = []
        self.counts: list[int] = []
        self.system: list[Any] = []

    def convert(self, message: Message, tokens: int) -> Any:
        """The message as this library has it."""
        native = self.native(message)
        self.known[id(native)] = tokens
        return native

    def native(self, message: Message) -> Any:
        return message

    def load(self, natives: Sequence[Any]) -> None:
        """Start from a history, the first of it a system message."""
        for native in natives:
            self.add(native)

    def add(self, native: Any) -> None:
        if native.role == "system":
            self.system.append(native)
            self.budget -= self.known[id(native)]
        else:
            self.history.append(native)
            self.counts.append(self.known[id(native)])

    def prompt(self) -> Sequence[Any]:
        """The messages to send, but for a system prompt that is kept apart."""
        total, start = sum(self.counts), 0
        while start < len(self.history) and (total > self.budget or self.history[start].role != "user"):
            total -= self.counts[start]
            start += 1
        return self.history[start:]

    def sent(self) -> list[Item]:
        """The prompt as pairs that differ wherever the messages differ: identity and tokens."""
        return [(id(message), self.known[id(message)]) for message in (*self.system, *self.prompt())]


class Recollect(Pruner):
    name = "recollect, append + messages"

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.window = Window(count, Limits(budget))

    def add(self, native: Message) -> None:
        self.window.append(native, self.known[id(native)])

    def prompt(self) -> Sequence[Message]:
        return self.window.messages

    def sent(self) -> list[Item]:
        shown = (entry for entry in self.window.receipt.entries if entry.verdict != "dropped")
        return [(id(self.window.original(entry.index)), entry.shown) for entry in shown]


class RecollectCheck(Recollect):
    name = "recollect, append + check"

    def prompt(self) -> Any:
        return self.window.tokens


class RecollectCounting(Recollect):
    name = "recollect, append + messages, counting"
    note = "the default estimator counts each message as it comes, with a word it has not seen"

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        new = itertools.count()
        self.window = Window(partial(count_message, count=lambda text: estimate(f"{text} {next(new)}")), Limits(budget))

    def add(self, native: Message) -> None:
        self.window.append(native)


class TrimMessages(Pruner):
    name = "LangChain trim_messages"
    note = 'strategy="last", start_on="human", include_system, over the full history'

    def native(self, message: Message) -> BaseMessage:
        if message.role == "tool":
            return ToolMessage(message.text, tool_call_id=message.tool_results[0].call_id)
        calls = [{"id": call.id, "name": call.name, "args": {}} for call in message.tool_calls]
        if message.role == "assistant":
            return AIMessage(message.text, tool_calls=calls)
        return (SystemMessage if message.role == "system" else HumanMessage)(message.text)

    def add(self, native: BaseMessage) -> None:
        self.history.append(native)

    def prompt(self) -> Sequence[BaseMessage]:
        return trim_messages(
            self.history,
            max_tokens=self.budget,
            token_counter=self.count,
            strategy="last",
            start_on="human",
            include_system=True,
        )

    def count(self, messages: list[BaseMessage]) -> int:
        return sum(map(self.known.__getitem__, map(id, messages)))


class LastItems(Pruner):
    """The newest items whatever they are, as a session limit of the OpenAI Agents SDK gives."""

    name = "OpenAI Agents-style last 40 items"
    note = "no token budget"

    def prompt(self) -> Sequence[Message]:
        return self.history[-40:]


class Strands(Pruner):
    """Strands' sliding window, after every message; it counts messages, and forgets what leaves the window."""

    name = "Strands sliding window"
    note = "counts messages, not tokens: window of 200; drops the rest of the history"
    size = 200

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.manager = SlidingWindowConversationManager(window_size=self.size)
        self.agent: Any = SimpleNamespace(messages=self.history)

    def native(self, message: Message) -> dict[str, Any]:
        if message.role == "tool":
            results = message.tool_results
            return {"role": "user", "content": [_strands_result(each.call_id, each.text) for each in results]}
        words = [{"text": message.text}] if message.text else []
        calls = [{"toolUse": {"toolUseId": c.id, "name": c.name, "input": c.arguments}} for c in message.tool_calls]
        return {"role": message.role, "content": [*words, *calls]}

    def add(self, native: Any) -> None:
        (self.system if native["role"] == "system" else self.history).append(native)

    def prompt(self) -> Sequence[Any]:
        self.manager.apply_management(self.agent)
        return self.history

    def load(self, natives: Sequence[Any]) -> None:
        super().load(natives)
        self.prompt()


class StrandsAgent(Strands):
    """The same as its agent uses it: 40 messages, after each turn, and reduced whenever the model overflows."""

    name = "Strands sliding window, 40 messages"
    note = "tool results cut to 400 characters when the budget overflows"
    size = 40

    def add(self, native: Any) -> None:
        brings_results = any("toolResult" in part for part in native["content"])
        if native["role"] == "user" and not brings_results:
            self.manager.apply_management(self.agent)
        last = self.history[-1] if self.history else {"content": []}
        if brings_results and any("toolResult" in part for part in last["content"]):
            native["content"] = last["content"] + native["content"]
            self.known[id(native)] += self.known[id(last)]
            self.history.pop()
        super().add(native)

    def prompt(self) -> Sequence[Any]:
        while sum(self.known[id(message)] for message in (*self.system, *self.history)) > self.budget:
            before = [(message, message["content"]) for message in self.history]
            self.manager.reduce_context(self.agent, ContextWindowOverflowException("too long"))
            for message, content in before:
                if message["content"] is not content:
                    self.known[id(message)] = 3 + sum(map(estimate, map(_strands_text, message["content"])))
        return self.history


def _strands_result(call_id: str, text: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "status": "success", "content": [{"text": text}]}}


def _strands_text(part: dict[str, Any]) -> str:
    inner = part.get("toolResult", {}).get("content", [part])
    return "".join(str(each.get("text", each)) for each in inner)


class LlamaBuffer(Pruner):
    name = "LlamaIndex ChatMemoryBuffer"
    note = "joins and re-counts the history for every message it leaves out; tool calls count as nothing"

    def __init__(self, budget: int) -> None:
        super().__init__(budget)
        self.tokens = self.chars = 1
        self.memory: Any = self.open(budget)

    def open(self, budget: int) -> Any:
        return ChatMemoryBuffer.from_defaults(token_limit=budget, tokenizer_fn=self.tokenize)

    def tokenize(self, text: str) -> range:
        return range(len(text) * self.tokens // self.chars)

    def convert(self, message: Message, tokens: int) -> Any:
        self.tokens += tokens
        self.chars += len(message.text) + 1
        return super().convert(message, tokens)

    def native(self, message: Message) -> ChatMessage:
        return ChatMessage(role=message.role, content=message.text)

    def add(self, native: ChatMessage) -> None:
        self.system.append(native) if native.role == "system" else self.memory.put(native)

    def prompt(self) -> Sequence[Any]:
        shown: Sequence[Any] = self.memory.get(
            initial_token_count=sum(self.known[id(message)] for message in self.system)
        )
        return shown


class LlamaMemory(LlamaBuffer):
    name = "LlamaIndex Memory"
    note = "its default store, SQLite in memory; all but the last 100 messages loaded as archived"

    def open(self, budget: int) -> Any:
        self.loop = asyncio.new_event_loop()
        return Memory.from_defaults(token_limit=budget, tokenizer_fn=self.tokenize)

    def load(self, natives: Sequence[Any]) -> None:
        store, key = self.memory.sql_store, self.memory.session_id
        for start in range(0, len(natives) - 100, 1000):
            old = list(natives[start : min(start + 1000, len(natives) - 100)])
            self.loop.run_until_complete(store.add_messages(key, old, status=MessageStatus.ARCHIVED))
        super().load(natives[-100:])

    def add(self, native: ChatMessage) -> None:
        if native.role == "system":
            self.system.append(native)
            return
        self.history.append(native)
        self.loop.run_until_complete(self.memory.aput(native))

    def prompt(self) -> Sequence[Any]:
        found = self.loop.run_until_complete(self.memory.aget())
        return self.history[len(self.history) - len(found) :]
