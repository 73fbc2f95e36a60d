"""Whether the log is as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from recollect.errors import StoreError
from recollect.store import codec
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.keys import inside, named
from recollect.store.values import Finding
from recollect.types import Message, Scope

_HEADS: Final = (
    "SELECT owner, session, names, seq, hash, position, messages, tokens, first, last FROM recollect.sessions WHERE"
)
_LINKS: Final = (
    "SELECT seq, hash, position, salt, id, names, body, tokens, tags FROM recollect.messages WHERE tenant = %s"
    " AND owner = %s AND session = %s AND seq > %s ORDER BY seq LIMIT 1000"
)
_FIX: Final = "restore a backup made before, or erase the session"


def verified(db: Connection, scope: Scope) -> Iterator[Finding]:
    """The first thing that is wrong with each session."""
    condition, known = inside(scope, "sessions")
    for owner, session, full, *head in db.ask(" ".join((_HEADS, condition, "ORDER BY owner, session")), known):
        broken = _first_broken(_links(db, (known["tenant"], owner, session)), head)
        if broken is not None:
            where = named(*(codec.from_bytes(full) if full else (scope.tenant, owner, session)))
            yield Finding("log", broken[1], where, broken[0], _FIX)


def _links(db: Connection, at: tuple[str, str, str]) -> Iterator[tuple[Any, ...]]:
    after = 0
    while page := db.ask(_LINKS, (*at, after)):
        yield from page
        after = page[-1][0]


def _first_broken(links: Iterator[tuple[Any, ...]], head: Sequence[Any]) -> tuple[int, str] | None:
    last, end, *sums = head
    link, seq, newest, tokens, times = codec.START, 0, 0, 0, list[int]()
    for number, hash, position, salt, id, full, body, count, tags in links:
        seq += 1
        if number != seq:
            return seq, f"message {seq} is missing"
        if salt is not None:
            message = _read(id, full, body, tags)
            if message is None or codec.chained(link, salt, message.id, body) != hash:
                return seq, f"message {seq} is not as it was written"
            tokens += count
            times.append(codec.micros(message.at or codec.EPOCH))
        link, newest = hash, position
    if (seq, link) != (last, end):
        return seq, "messages are missing at the end of the session"
    totals = [newest, len(times), tokens, *((times[0], times[-1]) if times else (None, None))]
    return None if totals == sums else (seq, "the session's totals do not fit its messages")


def _read(id: str, full: bytes | None, body: bytes, tags: bytes | None) -> Message | None:
    """The message; None where it, its id or its tags can't be read."""
    try:
        message = codec.decode(codec.from_bytes(full)[3] if full else id, body)
        tagged = tags is None or isinstance(codec.from_bytes(tags), dict)
    except (StoreError, *codec.DAMAGE):
        return None
    return message if tagged else None
