"""What is read from an export: conversations and notes ready to be kept, and what could not be read."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from recollect.errors import ConfigError
from recollect.frozen import EMPTY, FrozenDict
from recollect.types import Message, Role, ToolCall, ToolResult, check_id, with_zone

IMPLIED: Final = "implied"
"""The tag of a message that is missing in the export but must have been in the conversation."""
_PARTS: Final = (1, 10**3, 10**6, 10**9)
"""Units per second in which a time may be given: seconds, milliseconds, microseconds, nanoseconds."""
_SECONDS: Final = re.compile(r"\d{10}(?:\d{3}){0,3}(?:\.\d+)?", re.ASCII)
"""A time of this century in one of these units, as text; 8, 12 or 14 digits are a date instead."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that another memory knew about its user; it holds `until` then, if that is known."""

    id: str
    text: str
    at: datetime | None = None
    metadata: FrozenDict = EMPTY
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation or a piece of one, with stable ids and the original times; `user` if the export names one."""

    session: str
    messages: tuple[Message, ...] = ()
    title: str = ""
    user: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read: where it is, and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Put:
    """Something besides messages that was put into another store, such as a document or a fact, as plain data."""

    kind: str
    body: Any
    user: str
    session: str | None = None
    where: str = ""


Read: TypeAlias = Imported | Put | Skipped


@dataclass(slots=True)
class Origin:
    """The file being read: its name, and how often each thing was said in its sessions so far."""

    name: str
    said: Counter[str] = field(default_factory=Counter)

    def named(
        self, session: str, messages: Iterable[Message], at: datetime | None = None, *, whole: bool = True
    ) -> tuple[Message, ...]:
        """The messages, each with its time if that is known, and with an id that is the same at every reading.

        If the export has no id, one is made from what was said and how often it had been said before, in this
        conversation if that is whole, else in the session so far.
        """
        said, out = Counter[str]() if whole else self.said, []
        for message in messages:
            at, id = message.at or at, message.id
            if not id:
                words = stable(session, message.replace(metadata=EMPTY).to_dict())
                said[words] += 1
                id = stable(words, said[words])
            out.append(message.replace(id=id_of(id), at=at))
        return tuple(out)


def stable(*parts: Any) -> str:
    """An id made from these parts; the same parts always give the same id."""
    told = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def id_of(given: Any, *otherwise: Any) -> str:
    """The id that the export has; if it has none, one made from `otherwise`; if it can't be kept, one made from it."""
    if given in (None, ""):
        return stable(*otherwise)
    try:
        return check_id(str(given), "id")
    except ConfigError:
        return stable(given)


def moment(value: Any) -> datetime | None:
    """A time given in ISO form, or as (milli-, micro-, nano-) seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str) and not _SECONDS.fullmatch(value):
            return with_zone(datetime.fromisoformat(value.removesuffix(" UTC")))
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            given = float(value)
            return datetime.fromtimestamp(next(given / part for part in _PARTS if abs(given) <= part * 10**11), UTC)
    except (ValueError, OverflowError, OSError, StopIteration):
        pass
    return None


def first(data: Mapping[str, Any], *keys: str) -> Any:
    """The first of these fields that is not empty."""
    return next((data[key] for key in keys if data.get(key) not in (None, "")), None)


def owner(data: Mapping[str, Any], *keys: str) -> str | None:
    """The user that one of these fields names, as text or number; None if none does."""
    found = first(data, *keys)
    return id_of(found) if isinstance(found, (str, int, float)) and not isinstance(found, bool) else None


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with a result for every call and a call for every result, as providers demand.

    Exports sometimes leave out one or the other. An empty message, tagged as implied, takes its place.
    """
    waiting: dict[str, Message] = {}
    for message in messages:
        for result in message.tool_results:
            if waiting.pop(result.call_id, None) is None:
                yield _implied(message, "assistant", ToolCall(result.call_id, result.name or "tool"))
        if message.role != "tool":
            yield from _answers(waiting)
        yield message
        waiting.update((call.id, message) for call in message.tool_calls)
    yield from _answers(waiting)


def _answers(waiting: dict[str, Message]) -> Iterator[Message]:
    while waiting:
        call_id, message = waiting.popitem()
        yield _implied(message, "tool", ToolResult(call_id, ""))


def _implied(beside: Message, role: Role, part: ToolCall | ToolResult) -> Message:
    call_id = part.id if isinstance(part, ToolCall) else part.call_id
    return Message(
        role, (part,), id=stable(beside.id, role, call_id), at=beside.at, metadata=FrozenDict({IMPLIED: True})
    )
