"""Whether the log is as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final

import apsw

from recollect.errors import StoreError
from recollect.store import codec
from recollect.store.sqlite import scopes
from recollect.store.values import Finding

_HEADS: Final = scopes.by_scope(
    "SELECT scope.id, tenant, user, scope.session, seq, hash, position, messages, session.tokens, first, last"
    " FROM scope JOIN session ON session.scope = scope.id WHERE scope.id <scope> ORDER BY scope.id"
)
_LINKS: Final = (
    "SELECT seq, hash, position, salt, id, body, tokens, tags, at, role FROM message WHERE session = ?1"
    " UNION ALL SELECT seq, hash, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL FROM erased WHERE session = ?1 ORDER BY 1"
)
_FIX: Final = "restore a backup made before, or erase the session"


def verified(db: apsw.Connection, place: scopes.Place) -> Iterator[Finding]:
    """The first problem in each session."""
    for id, tenant, user, name, *head in list(db.execute(_HEADS[place.level()], (place.id,))):
        try:
            broken = _first_broken(db, id, head)
        except codec.DAMAGE as error:
            broken = 0, f"the session can't be read: {error}"
        if broken is not None:
            yield Finding("log", broken[1], scopes.named(tenant, user, name), broken[0], _FIX)


def _first_broken(db: apsw.Connection, session: int, head: Sequence[Any]) -> tuple[int, str] | None:
    last, end, newest, *sums = head
    link, seq, position, totals = codec.START, 0, None, _Totals()
    for number, hash, position, salt, id, body, tokens, tags, at, role in db.execute(_LINKS, (session,)):
        seq += 1
        if number != seq:
            return seq, f"message {seq} is missing"
        if position is not None:
            if codec.chained(link, salt, id, body) != hash or not _readable(id, body, tags, at, role):
                return seq, f"message {seq} is not as it was written"
            totals.count(tokens, at)
        link = hash
    if (seq, link) != (last, end):
        return seq, "messages are missing at the end of the session"
    if position not in (None, newest) or [*astuple(totals)] != sums:
        return seq, "the session's totals do not fit its messages"
    return None


@dataclass(slots=True)
class _Totals:
    messages: int = 0
    tokens: int = 0
    first: int | None = None
    last: int | None = None

    def count(self, tokens: int, at: int) -> None:
        self.messages += 1
        self.tokens += tokens
        self.first, self.last = at if self.first is None else self.first, at


def _readable(id: str, body: bytes, tags: bytes | None, at: int, role: str) -> bool:
    try:
        message = codec.decode(id, body)
    except StoreError:
        return False
    untouched = tags is None or codec.sealed(tags[4:]) == tags
    return untouched and (codec.micros(message.at or codec.EPOCH), message.role) == (at, role)
