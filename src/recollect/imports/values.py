"""What comes out of an export: conversations and notes ready to be kept, and what could not be read."""

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
"""The tag of a message that the export does not have but the conversation must have had."""
_PARTS: Final = (1, 10**3, 10**6, 10**9)
"""How many of what a time may be counted in make a second."""
_SECONDS: Final = re.compile(r"\d{10}(?:\d{3}){0,3}(?:\.\d+)?", re.ASCII)
"""A number of them in a text, of this century; 8, 12 or 14 digits are a date."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something another memory knew about its user, `until` it ends where that is known."""

    id: str
    text: str
    at: datetime | None = None
    metadata: FrozenDict = EMPTY
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A conversation, or a piece of one, with stable ids and original times; `user` where the export names one."""

    session: str
    messages: tuple[Message, ...] = ()
    title: str = ""
    user: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """What could not be read: where it stands, and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Put:
    """Something besides messages that was put into another store: a document, a fact, an excerpt, as plain data."""

    kind: str
    body: Any
    user: str
    session: str | None = None
    where: str = ""


Read: TypeAlias = Imported | Put | Skipped


@dataclass(slots=True)
class Origin:
    """The file that is read: its name, and how often each thing was said in its sessions so far."""

    name: str
    said: Counter[str] = field(default_factory=Counter)

    def named(
        self, session: str, messages: Iterable[Message], at: datetime | None = None, *, whole: bool = True
    ) -> tuple[Message, ...]:
        """The messages with a time where one is known, and an id each that is the same at every reading.

        An id that the export lacks is made of what was said, and how often it had been said before: in this
        conversation where it is whole, else in the session so far.
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
    """An id made of these parts: the same parts, the same id."""
    told = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def id_of(given: Any, *otherwise: Any) -> str:
    """An id as the export has it; where it has none, or none that can be kept, one made of the rest."""
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
    """The user that one of these fields names, by text or by number; None where none does."""
    found = first(data, *keys)
    return id_of(found) if isinstance(found, (str, int, float)) and not isinstance(found, bool) else None


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with every call answered and every answer asked for, as providers demand.

    Exports leave out one or the other now and then; what is put in their place is empty, and tagged as implied.
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
