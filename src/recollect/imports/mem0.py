"""mem0's memories, which are notes about a user, as `get_all` returns them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MAXYEAR, timedelta
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.frozen import freeze_dict
from recollect.imports.values import Imported, Note, Origin, Read, first, id_of, moment, owner

NAME: Final = "mem0"


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    return "" if isinstance(data, dict) and isinstance(data.get("memory"), str) else "no `memory` with text"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The memory in a value. Its session is the run that it came from; it holds until the end of the day it expires."""
    text = data.get("memory") if isinstance(data, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise InvalidTranscript("the memory has no text")
    at = moment(first(data, "updated_at", "created_at"))
    kept = {"mem0": data["metadata"]} if isinstance(data.get("metadata"), dict) else {}
    last = moment(data.get("expiration_date"))
    until = last + timedelta(days=1) if last and last.year < MAXYEAR else None
    note = Note(id_of(data.get("id"), text), text, at, freeze_dict(kept, "metadata"), until)
    yield Imported(id_of(first(data, "run_id") or NAME), user=owner(data, "user_id", "actor_id"), notes=(note,))
