"""What `recollect export` writes: a message a line, as `{"user": …, "session": …, "message": {…}}`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.imports.values import Imported, Origin, Read
from recollect.types import Message, Scope

NAME: Final = "recollect"
_TEXTS: Final = "role id name shape text url media_type detail signature redacted call_id arguments at received"
_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(_TEXTS.split(), str),
    **dict.fromkeys(("width", "height"), int),
    **dict.fromkeys(("metadata", "extra"), dict),
    "is_error": bool,
}
_NEEDED: Final = frozenset(("role", "id", "text", "call_id", "arguments", "metadata", "extra", "is_error", "content"))
"""What can't be null."""


def misfit(data: Any) -> str:
    """Why a value is none of these; empty where it is one."""
    fits = isinstance(data, dict) and set(data) == {"user", "session", "message"}
    return "" if fits else "no message with its user and session"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The message in a value, as it was."""
    user, session, message = told(data)
    yield Imported(session, origin.named(session, [message], whole=False), user=user)


def told(data: Any) -> tuple[str, str, Message]:
    """The user, the session and the message of a line; ValueError, TypeError or AttributeError where it is none."""
    if misfit(data):
        raise ValueError("a line has a user, a session and a message")
    _check(data["message"])
    for content in data["message"].get("content") or ():
        _check_part(content)
    Scope("default", data["user"], data["session"])
    return data["user"], data["session"], Message.from_dict(data["message"])


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
