"""Conversations as lines of JSON, out of one store and into another: `{"user": …, "session": …, "message": {…}}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.memory import Memory
from recollect.types import Message, Scope

PAGE: Final = 500
_TEXTS: Final = "role id name shape text url media_type detail signature redacted call_id arguments at received"
_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(_TEXTS.split(), str),
    **dict.fromkeys(("width", "height"), int),
    **dict.fromkeys(("metadata", "extra"), dict),
    "is_error": bool,
}
_NEEDED: Final = frozenset(("role", "id", "text", "call_id", "arguments", "metadata", "extra", "is_error", "content"))
"""What can't be null."""


def export_lines(memory: Memory, scope: Scope) -> Iterator[str]:
    """Every message in the scope as a line of JSON, in the order they came."""
    after = 0
    while page := memory.store.log.scan(scope, after=after, limit=PAGE):
        for entry in page:
            line = {"user": entry.scope.user, "session": entry.scope.session, "message": entry.message.to_dict()}
            yield json.dumps(line) + "\n"
        after = page[-1].position


def import_lines(memory: Memory, lines: Iterable[str | bytes], tenant: str = "default", first: int = 1) -> int:
    """How many messages were taken in, ids and times kept; taking a line in twice changes nothing.

    A line that can't be used raises InvalidTranscript with its number, counted from `first`; those of the pages of 500
    before it are kept.
    """
    taken, numbered = 0, enumerate(lines, first)
    while page := list(islice(numbered, PAGE)):
        told = [_told(line, number) for number, line in page if line.strip()]
        for (user, session), group in groupby(told, key=lambda item: item[:2]):
            batch = [message for *_, message in group]
            memory.session(session, user=user, tenant=tenant).add_many(batch)
            taken += len(batch)
    return taken


def _told(line: str | bytes, number: int) -> tuple[str, str, Message]:
    try:
        data = json.loads(line)
        if set(data) != {"user", "session", "message"}:
            raise ValueError("a line has a user, a session and a message")
        _check(data["message"])
        for content in data["message"].get("content") or ():
            _check_part(content)
        Scope("default", data["user"], data["session"])
        return data["user"], data["session"], Message.from_dict(data["message"])
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTranscript(
            f"{error}; correct it and import again: what is in already stays once", f"line {number}"
        ) from error


def _check_part(part: Any) -> None:
    if isinstance(part, str):
        return
    _check(part)
    if not isinstance(inner := part.get("content", ""), str):
        for each in inner:
            _check(each)


def _check(data: Mapping[str, Any]) -> None:
    for name, value in data.items():
        kind = _FIELDS.get(name, object)
        if value is None and name not in _NEEDED:
            continue
        if value is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is {value!r}: expected {kind.__name__}")
