"""What a model says, read from its client's own objects: whole, or event by event as it streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from recollect.flow.render import parse
from recollect.frozen import FrozenDict
from recollect.types import Message

PARTIAL: Final = FrozenDict({"partial": True})
"""The metadata of an answer whose stream broke off: its words are kept, its calls, which nobody answers, are not."""


class Answer(Protocol):
    """An answer of one provider."""

    def whole(self, response: Any) -> list[Message]:
        """What a complete response says."""
        ...

    def add(self, event: Any) -> None:
        """Take an event of a stream."""
        ...

    def said(self) -> list[Message]:
        """What the events so far say; marked as partial where the end is missing."""
        ...


def _partial(text: str) -> list[Message]:
    return [Message("assistant", text, metadata=PARTIAL)] if text else []


@dataclass(slots=True)
class OpenAIAnswer:
    """Chat completions; of several choices the first."""

    _text: str = ""
    _calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    _done: bool = False

    def whole(self, response: Any) -> list[Message]:
        """The first choice."""
        message = response.choices[0].message.model_dump(mode="json", exclude_none=True)
        return _openai(message.get("content") or "", message.get("tool_calls") or [])

    def add(self, event: Any) -> None:
        """A chunk."""
        for choice in event.choices:
            if choice.index:
                continue
            self._text += choice.delta.content or ""
            self._done |= choice.finish_reason is not None
            for delta in choice.delta.tool_calls or ():
                call = self._calls.setdefault(delta.index, {"id": "", "name": "", "arguments": ""})
                call["id"] += delta.id or ""
                for name in ("name", "arguments"):
                    call[name] += getattr(delta.function, name, None) or ""

    def said(self) -> list[Message]:
        """The chunks together."""
        if not self._done:
            return _partial(self._text)
        calls = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        return _openai(self._text, calls)


def _openai(text: str, calls: list[dict[str, Any]]) -> list[Message]:
    if not text and not calls:
        return []
    return parse([{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}], "openai")


@dataclass(slots=True)
class ResponsesAnswer:
    """OpenAI's Responses."""

    _text: str = ""
    _response: Any = None

    def whole(self, response: Any) -> list[Message]:
        """The items of the output: what was thought, called and said."""
        items = [item.model_dump(mode="json", exclude_none=True) for item in response.output]
        return parse(items, "openai-responses")

    def add(self, event: Any) -> None:
        """An event; the last has the whole response."""
        if event.type == "response.output_text.delta":
            self._text += event.delta
        elif event.type in ("response.completed", "response.incomplete"):
            self._response = event.response

    def said(self) -> list[Message]:
        """The whole response, or the words so far."""
        return _partial(self._text) if self._response is None else self.whole(self._response)


@dataclass(slots=True)
class AnthropicAnswer:
    """Anthropic's messages."""

    _blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    _json: dict[int, str] = field(default_factory=dict)
    _done: bool = False

    def whole(self, response: Any) -> list[Message]:
        """The blocks of the message."""
        return _anthropic([block.model_dump(mode="json", exclude_none=True) for block in response.content])

    def add(self, event: Any) -> None:
        """An event."""
        if event.type == "content_block_start":
            self._blocks[event.index] = event.content_block.model_dump(mode="json", exclude_none=True)
        elif event.type == "content_block_delta":
            self._delta(event.index, event.delta)
        self._done |= event.type == "message_stop"

    def _delta(self, index: int, delta: Any) -> None:
        if delta.type == "input_json_delta":
            self._json[index] = self._json.get(index, "") + delta.partial_json
        for name in ("text", "thinking", "signature"):
            if delta.type == f"{name}_delta":
                self._blocks[index][name] = self._blocks[index].get(name, "") + getattr(delta, name)

    def said(self) -> list[Message]:
        """The blocks so far."""
        blocks = [block for _, block in sorted(self._blocks.items())]
        if not self._done:
            return _partial("\n".join(block["text"] for block in blocks if block["type"] == "text" and block["text"]))
        for index, text in self._json.items():
            self._blocks[index]["input"] = _value(text)
        return _anthropic(blocks)


def _anthropic(blocks: list[dict[str, Any]]) -> list[Message]:
    return parse([{"role": "assistant", "content": blocks}], "anthropic") if blocks else []


def _value(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}


ANSWERS: Final[Mapping[str, Callable[[], Answer]]] = {
    "openai": OpenAIAnswer,
    "openai-responses": ResponsesAnswer,
    "anthropic": AnthropicAnswer,
}
