"""What a wire format is: how a request to a model is written, and how a reply and its pieces are read. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from recollect.errors import BadReply, InvalidTranscript, ModelError, ModelUnavailable, RateLimited
from recollect.flow.render import parse
from recollect.frozen import EMPTY, FrozenDict, freeze_dict
from recollect.http import message_of
from recollect.llm.model import Delta, Finish, Reply, Usage
from recollect.llm.overflow import detect
from recollect.types import Message


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a model."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    stream: bool = False


class Pieces(Protocol):
    """Puts the pieces of a streamed reply together."""

    def add(self, piece: Mapping[str, Any]) -> Delta | None:
        """Take one piece; returns what of it can be shown."""

    def done(self) -> None:
        """Note that the end mark came, if the format has one."""

    def whole(self) -> Mapping[str, Any] | None:
        """The reply as it would have come unstreamed; None while its end is missing."""


class Dialect(Protocol):
    """One wire format."""

    path: ClassVar[str]
    lines: ClassVar[Literal["events", "json"]]
    """How pieces are parted: server-sent events, or JSON line by line."""

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request."""

    def read(self, data: Mapping[str, Any], ask: Ask) -> Reply:
        """The reply in an answer that was not streamed."""

    def pieces(self, ask: Ask) -> Pieces:
        """A collector for the pieces of a streamed answer."""


def reply_of(wire: Mapping[str, Any], shape: str, finish: str, usage: Usage, data: Mapping[str, Any]) -> Reply:
    """The reply in a message on the wire; raises BadReply if it can't be read or says nothing."""
    try:
        message = parse([wire], shape)[0]
    except InvalidTranscript as error:
        raise BadReply(f"the answer can't be read: {error}") from error
    overflow = None if finish in _FINISHES else detect(200, finish)
    ended = "length" if overflow else _FINISHES.get(finish, "stop")
    if message.tool_calls:
        ended = "tool_calls"
    elif not message.text and ended != "content_filter":
        if overflow:
            raise overflow
        raise BadReply("the answer says nothing" + (": raise max_tokens" if ended == "length" else ""))
    return Reply(message, usage, ended, text(data.get("model")), raw=_frozen(data))


def _frozen(data: Mapping[str, Any]) -> FrozenDict:
    try:
        return freeze_dict(data, "reply")
    except InvalidTranscript:  # a number that JSON can't hold is no reason to lose the answer
        return EMPTY


_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}


def failure(data: Any) -> ModelError | None:
    """The error that a server reports inside a reply with status 200; None if there is none."""
    if not isinstance(data, Mapping) or not data.get("error"):
        return None
    error = data["error"]
    said = message_of(error)
    code = f"{error.get('type')} {error.get('code')}" if isinstance(error, Mapping) else ""
    if overflow := detect(200, f"{code} {said}"):
        return overflow
    problem = f"reported an error: {said[:500]}"
    return RateLimited(problem) if "rate_limit" in code else ModelUnavailable(problem)


def shown(text: str, thinking: str = "") -> Delta | None:
    """The part of a piece that can be shown; None if it says nothing."""
    return Delta(text, thinking) if text or thinking else None


def count(value: Any) -> int:
    """A reported number of tokens; 0 if the value can't be one."""
    return value if type(value) is int and 0 <= value < 10**12 else 0


def part(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; an empty one if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


def text(value: Any) -> str:
    """The value if it is text, else ""."""
    return value if isinstance(value, str) else ""
