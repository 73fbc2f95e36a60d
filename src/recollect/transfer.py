"""Conversations as lines of JSON, out of one store and into another: `{"user": …, "session": …, "message": {…}}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from recollect.errors import InvalidTranscript
from recollect.memory import Memory
from recollect.types import Message, Scope

PAGE: Final = 500
"""Messages that are read, and kept, in one go."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message and the session it belongs to."""

    user: str
    session: str
    message: Message


def export_lines(memory: Memory, scope: Scope) -> Iterator[str]:
    """Every message in the scope as a line of JSON, in the order they came."""
    after = 0
    while page := memory.store.log.scan(scope, after=after, limit=PAGE):
        for entry in page:
            line = {"user": entry.scope.user, "session": entry.scope.session, "message": entry.message.to_dict()}
            yield json.dumps(line) + "\n"
        after = page[-1].position


def read_lines(lines: Iterable[str | bytes], first: int = 1) -> Iterator[Line]:
    """What lines of JSON say; one that can't be used raises InvalidTranscript with its number, `first` or later."""
    return (read_line(line, number) for number, line in enumerate(lines, first) if line.strip())


def read_line(line: str | bytes, number: int) -> Line:
    """What a line of JSON says."""
    try:
        data = json.loads(line)
        if set(data) != {"user", "session", "message"}:
            raise ValueError("a line has a user, a session and a message")
        scope = Scope("default", data["user"], data["session"])
        return Line(scope.user or "", scope.session or "", Message.from_dict(data["message"]))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise unusable(number, str(error)) from error


def unusable(number: int, why: str) -> InvalidTranscript:
    """The error for a line that can't be used."""
    return InvalidTranscript(f"{why}; correct it and import all again: what is in already stays once", f"line {number}")


def import_lines(memory: Memory, lines: Iterable[Line], tenant: str = "default") -> int:
    """How many messages were taken in, ids and times kept; taking them in again changes nothing."""
    taken, rest = 0, iter(lines)
    while page := list(islice(rest, PAGE)):
        for (user, session), group in groupby(page, key=lambda line: (line.user, line.session)):
            batch = [line.message for line in group]
            memory.session(session, user=user, tenant=tenant).add_many(batch)
            taken += len(batch)
    return taken
