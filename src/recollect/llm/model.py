"""What a model is: messages in, a reply out, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict, Unpack, runtime_checkable

from recollect.frozen import EMPTY, FrozenDict
from recollect.types import Message

TIMEOUT: Final = 120.0
"""Seconds to wait for a whole reply or, while it streams, for its next piece; then nothing is tried again."""
PARTIAL: Final = FrozenDict(partial=True)
"""The metadata of an answer that broke off. Its words are kept; its tool calls, which nobody answers, are not."""

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost, in tokens. `prompt` is all that was sent: `cached` and `cache_written` are parts of it."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_written: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.cache_written + other.cache_written,
        )

    @property
    def cached_share(self) -> float:
        """The share of the prompt that the provider had in its cache, from 0 to 1."""
        return self.cached / self.prompt if self.prompt else 0.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer: its message, why it ended, and what it cost; `value` is the JSON that a schema asked for.

    `tries` is how many requests it took; `usage` is that of the last one.
    """

    message: Message
    usage: Usage = Usage()
    finish: Finish = "stop"
    model: str = ""
    value: Any = None
    raw: FrozenDict = EMPTY
    tries: int = 1

    @property
    def text(self) -> str:
        """The words of the answer."""
        return self.message.text


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer: some of its words, or of the thinking before them. The last piece has the whole reply."""

    text: str = ""
    thinking: str = ""
    reply: Reply | None = None


class Options(TypedDict, total=False):
    """What a `ChatModel` may be given besides the messages.

    `tools` are JSON schemas of functions in OpenAI's form; the model's calls are in `reply.message.tool_calls`. With
    `schema`, a JSON schema, the answer is JSON, and `reply.value` fits the schema. `max_tokens` limits the answer;
    `timeout` is in seconds, by default `TIMEOUT`.
    """

    tools: Sequence[Mapping[str, Any]]
    schema: Mapping[str, Any] | None
    max_tokens: int | None
    timeout: float


@runtime_checkable
class ChatModel(Protocol):
    """Answers messages. It must be safe to call from many threads, and raise a ModelError whatever goes wrong."""

    @property
    def name(self) -> str:
        """The model by its 'provider:model' name."""

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The whole answer."""

    def stream(self, messages: Sequence[Message], **options: Unpack[Options]) -> Iterator[Delta]:
        """The answer, piece by piece; the last piece has the whole reply."""
