"""What `recollect export` writes: a message a line, as `{"user": …, "session": …, "message": {…}}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from recollect.imports.values import Imported, Origin, Read
from recollect.types import Message, Scope

NAME: Final = "recollect"


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
    Scope("default", data["user"], data["session"])
    return data["user"], data["session"], Message.from_dict(data["message"])
