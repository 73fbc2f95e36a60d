"""What a model says, read from its client's own objects: whole, or event by event as it streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from recollect.flow.render import parse
from recollect.llm.anthropic import Events
from recollect.llm.model import PARTIAL
from recollect.llm.openai import Chunks, spoken
from recollect.types import Message

THOUGHTS: Final = ("reasoning_content", "reasoning", "reasoning_details")
"""Where servers of chat completions tell what was thought."""


def _partial(text: str) -> list[Message]:
    return [Message("assistant", text, metadata=PARTIAL)] if text else []


@dataclass(slots=True)
class OpenAIAnswer:
    """Chat completions; of several choices the first."""

    _chunks: Chunks = field(default_factory=Chunks)

    def whole(self, response: Any) -> list[Message]:
        """The first choice; servers that refuse to answer may give none, or one without a message."""
        said = [choice.message for choice in (response.choices or ())[:1] if choice.message]
        return [message for one in said for message in _openai(_plain(one))]

    def add(self, event: Any) -> None:
        """A chunk."""
        self._chunks.add(_plain(event))

    def said(self) -> list[Message]:
        """The chunks together."""
        whole = self._chunks.whole()
        if whole is None:
            return _partial(self._chunks.words)
        return _openai(whole["choices"][0]["message"])


def _openai(said: Mapping[str, Any]) -> list[Message]:
    """The words or the refusal, and the calls; with these what was thought, which many models demand back."""
    said = spoken(said)
    kept = ("content", "refusal", "tool_calls", *(THOUGHTS if said.get("tool_calls") else ()))
    message = {key: said[key] for key in kept if said.get(key)}
    return parse([{"role": "assistant", "content": None, **message}], "openai") if message else []


@dataclass(slots=True)
class ResponsesAnswer:
    """OpenAI's Responses."""

    _text: str = ""
    _response: Any = None

    def whole(self, response: Any) -> list[Message]:
        """The items of the output: what was thought, called and said."""
        return parse([_plain(item) for item in response.output or ()], "openai-responses")

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

    _events: Events = field(default_factory=Events)

    def whole(self, response: Any) -> list[Message]:
        """The blocks of the message."""
        return _anthropic(_plain(response).get("content") or [])

    def add(self, event: Any) -> None:
        """An event."""
        self._events.add(_plain(event))

    def said(self) -> list[Message]:
        """The blocks so far."""
        whole = self._events.whole()
        if whole is None:
            texts = [block.get("text") for _, block in sorted(self._events.blocks.items())]
            return _partial("\n".join(text for text in texts if text))
        return _anthropic(whole["content"])


def _anthropic(blocks: list[dict[str, Any]]) -> list[Message]:
    return parse([{"role": "assistant", "content": blocks}], "anthropic") if blocks else []


def _plain(value: Any) -> dict[str, Any]:
    """An object of the client as the JSON it stands for, without what its SDK read from it and does not send back."""
    own = getattr(value, "__api_exclude__", None)
    plain: dict[str, Any] = value.model_dump(mode="json", exclude=own, exclude_unset=True, warnings=False)
    return plain


Answer: TypeAlias = OpenAIAnswer | ResponsesAnswer | AnthropicAnswer
"""An answer of one provider: `whole` reads a complete response, `add` an event of a stream, `said` what these say."""
ANSWERS: Final[Mapping[str, Callable[[], Answer]]] = {
    "openai": OpenAIAnswer,
    "openai-responses": ResponsesAnswer,
    "anthropic": AnthropicAnswer,
}
