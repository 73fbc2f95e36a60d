"""Whether the log is as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from recollect.store import codec
from recollect.store.sqlite import scopes
from recollect.store.values import Finding
from recollect.types import Scope

if TYPE_CHECKING:
    import apsw

_HEADS: Final = scopes.by_scope(
    "SELECT scope.id, tenant, user, scope.session, seq, hash, messages, session.tokens FROM scope"
    " JOIN session ON session.scope = scope.id WHERE scope.id <scope> ORDER BY scope.id"
)
_LINKS: Final = (
    "SELECT seq, hash, salt, id, body, tokens, tags, at, role FROM message WHERE session = ?1"
    " UNION ALL SELECT seq, hash, NULL, NULL, NULL, 0, NULL, NULL, NULL FROM erased WHERE session = ?1 ORDER BY seq"
)
_FIX: Final = "restore a backup made before, or erase the session"


def verified(db: apsw.Connection, scope: Scope, place: scopes.Place) -> Iterator[Finding]:
    """The first thing that is wrong with each session."""
    for id, tenant, user, name, *head in list(scopes.rows(db, _HEADS[scopes.level(scope)], (place.id,))):
        broken = _first_broken(db, id, head)
        if broken is not None:
            yield Finding("log", broken[1], scopes.named(tenant, user, name), broken[0], _FIX)


def _first_broken(db: apsw.Connection, session: int, head: Sequence[Any]) -> tuple[int, str] | None:
    link, seq, messages, tokens = codec.START, 0, 0, 0
    for row in db.execute(_LINKS, (session,)):
        seq += 1
        if row[0] != seq:
            return seq, f"message {seq} is missing"
        if row[2] is not None:
            if codec.chained(link, row[2], row[3], row[4]) != row[1] or not _readable(row):
                return seq, f"message {seq} is not as it was written"
            messages += 1
            tokens += row[5]
        link = row[1]
    if [seq, link] != head[:2]:
        return seq, "messages are missing at the end of the session"
    return None if [messages, tokens] == head[2:] else (seq, "the session's totals do not fit its messages")


def _readable(row: Sequence[Any]) -> bool:
    _, _, _, id, body, _, tags, at, role = row
    try:
        message = codec.decode(id, body)
        tagged = tags is None or isinstance(codec.from_bytes(tags), dict)
    except (ValueError, TypeError, KeyError):
        return False
    return tagged and message.at == codec.from_micros(at) and message.role == role
