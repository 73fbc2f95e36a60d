"""What `recollect export` writes: a message a line, with its user and its session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from recollect.imports.values import Imported, Origin, Read
from recollect.types import Message

NAME: Final = "recollect"
_FIELDS: Final = {"user", "session", "message"}


def misfit(data: Any) -> str:
    """Why a value is none of these; empty where it is one."""
    fits = isinstance(data, dict) and set(data) == _FIELDS and isinstance(data["message"], dict)
    return "" if fits else "no message with its user and session"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The message in a value, as it was."""
    if problem := misfit(data):
        raise ValueError(problem)
    messages = origin.named(data["session"], [Message.from_dict(data["message"])], whole=False)
    yield Imported(data["session"], messages, user=data["user"])
