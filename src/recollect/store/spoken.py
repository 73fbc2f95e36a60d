"""The text of messages, from their bytes in the log; many at a time, because a user's first question reads them all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from recollect.store import codec
from recollect.store.values import Entry, Spoken

TOGETHER: Final = 100
"""How many messages are parsed as one list. Limited because their bytes and texts are in memory at the same time."""


def spoken_of(entry: Entry) -> Spoken:
    """The text of an entry, with who said it and when."""
    message, session, at = entry.message, entry.scope.session or "", entry.message.at or codec.EPOCH
    return Spoken(entry.position, session, message.id, message.role, message.name, at, message.text)


def decoded(rows: Sequence[tuple[int, str, str, bytes]]) -> list[Spoken]:
    """The text of messages, given their positions, sessions, ids and bytes; StoreError if one is damaged."""
    found, make = list[Spoken](), Spoken._make
    for start in range(0, len(rows), TOGETHER):
        some = rows[start : start + TOGETHER]
        for (position, session, id, _), data in zip(some, _values([row[3] for row in some]), strict=True):
            try:
                content, at = data.get("content", ""), datetime.fromisoformat(data.get("at") or data["received"])
                text = content if type(content) is str else codec.message_of(id, data).text
                found.append(make((position, session, id, data["role"], data.get("name"), at, text)))
            except codec.DAMAGE as error:
                raise codec.damaged(f"message {id!r}", error) from error
    return found


def _values(bodies: Sequence[bytes]) -> list[Any]:
    """The JSON values, parsed as one list, which is faster, or one by one if something is damaged."""
    try:
        values: list[Any] = json.loads(b"".join((b"[", b",".join(bodies), b"]")).decode("utf-8", "surrogatepass"))
    except (ValueError, TypeError, RecursionError):
        values = []
    return values if len(values) == len(bodies) else list(map(codec.from_bytes, bodies))
