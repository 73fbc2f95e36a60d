"""What `recollect export` writes: lines of `{"user": …, "session": …, "message": {…}}`, or of another kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from recollect.imports.values import Imported, Origin, Put, Read
from recollect.types import Message, check_id

NAME: Final = "recollect"
KINDS: Final = ("message", "document", "fact", "excerpt", "record", "item")
_WHERE: Final = frozenset({"user", "session"})


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    if not isinstance(data, dict):
        return "no JSON object"
    things = sorted(data.keys() - _WHERE)
    if len(things) != 1 or things[0] not in KINDS:
        found = f", but {' and '.join(things)}" if things else ""
        return f"no {', '.join(KINDS[:-1])} or {KINDS[-1]}{found}"
    missing = [name for name in ("user", *(["session"] if "message" in data else ())) if name not in data]
    return f"no {' and no '.join(missing)}" if missing else ""


def kind_of(data: Any) -> str:
    """What a line holds: one of `KINDS`. Raises ValueError if it is not a line of an export."""
    if why := misfit(data):
        raise ValueError(why)
    return str((data.keys() - _WHERE).pop())


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The message or other thing in a value."""
    found = parsed(data)
    if isinstance(found, Imported):
        found = replace(found, messages=origin.named(found.session, found.messages, whole=False))
    yield found


def parsed(data: Any) -> Imported | Put:
    """The message of a line with its session, or the other thing that the line holds.

    Raises ValueError, TypeError or AttributeError if it is not a line of an export.
    """
    kind = kind_of(data)
    user, session = check_id(data["user"], "user"), data.get("session")
    if kind == "message":
        return Imported(check_id(session, "session"), (Message.from_dict(data["message"]),), user=user)
    return Put(kind, data[kind], user, None if session is None else check_id(session, "session"))
