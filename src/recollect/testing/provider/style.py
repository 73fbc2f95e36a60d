"""What a style of provider is, and what they share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

from recollect.errors import InvalidTranscript
from recollect.flow.render import parse
from recollect.flow.validate import validate
from recollect.testing.provider.cache import Block, PromptCache
from recollect.testing.provider.values import Answer, Refused, minified
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, count_tools
from recollect.types import Message

CREATED = 1_700_000_000


class Style(Protocol):
    """How one provider reads requests and writes answers. What most of them do alike is done here."""

    base: ClassVar[str]
    """The path of the address that clients are given."""
    chat: ClassVar[str]
    """The path of chat requests."""
    stream_type: ClassVar[str]
    """The content type of a streamed reply."""

    def read(self, body: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of a request; Refused with the provider's own words where they are not valid."""

    def shown(self, messages: tuple[Message, ...], body: Mapping[str, Any], count: TokenCounter) -> tuple[Message, ...]:
        """The messages the model gets to see: all of them."""
        return messages

    def blocks(self, messages: tuple[Message, ...], body: Mapping[str, Any], count: TokenCounter) -> list[Block]:
        """The prompt in pieces, in the order the provider caches it: the tools, then message by message."""
        tools = body.get("tools") or []
        return [
            Block(minified(tools), REPLY_TOKENS + count_tools(tools, count)),
            *(Block(minified(message.to_dict()), count_message(message, count)) for message in messages),
        ]

    def look_up(self, cache: PromptCache, blocks: list[Block]) -> tuple[int, int]:
        """The tokens read from and written to the cache."""

    def streams(self, body: Mapping[str, Any]) -> bool:
        """Whether the answer is to be streamed: when asked to."""
        return body.get("stream") is True

    def room(self, body: Mapping[str, Any]) -> int | None:
        """The most tokens the answer may have."""

    def overflow(self, tokens: int, limit: int, reply: int | None) -> str | None:
        """The error for a request that is too large; None for one that is not, and where the provider says nothing."""

    def error(self, status: int, problem: str, code: str | None = None) -> dict[str, Any]:
        """The body of an error."""

    def body(self, answer: Answer) -> dict[str, Any]:
        """The body of an answer."""

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[bytes]:
        """The answer as a stream, event by event."""

    def error_event(self, status: int, problem: str) -> bytes:
        """An error in the middle of a stream."""


def read_messages(body: Mapping[str, Any], shape: str) -> tuple[Message, ...]:
    """The messages of a request in that shape, checked as its provider does."""
    if not isinstance(body.get("model"), str):
        raise Refused(400, "you must provide a model parameter")
    try:
        messages = tuple(parse(body, shape))
    except InvalidTranscript as error:
        raise Refused(400, f"Invalid value: {error}") from None
    for problem in validate(messages, shape):
        raise Refused(400, problem.error)
    return messages


def at_least_one(body: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens in a request; Refused where it is none, or less than one."""
    value = body.get(name)
    if value is not None and type(value) is not int:
        raise Refused(400, f"Invalid type for '{name}': expected an integer, but got {minified(value)} instead.")
    if value is not None and value < 1:
        problem = f"Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {value} instead."
        raise Refused(400, problem)
    return value


def pieces(text: str) -> Iterable[str]:
    """A text as it streams: word by word."""
    return re.findall(r"\s*\S+\s*|\s+", text)
