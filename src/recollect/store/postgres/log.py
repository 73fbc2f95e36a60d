"""The log in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from recollect.arguments import MAX_WHOLE
from recollect.errors import NotFound
from recollect.frozen import freeze_dict
from recollect.store import checks, codec, rules
from recollect.store.postgres.append import ENTRIES, append, entry_from, ready
from recollect.store.postgres.chain import verified
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.erase import erase, would_erase
from recollect.store.postgres.items import tags as numbers
from recollect.store.postgres.keys import inside, key, keys, named, place
from recollect.store.spoken import decoded
from recollect.store.values import Entry, Erasable, Erased, Finding, Job, SessionStats, Spoken
from recollect.types import Message, Scope

_SPOKEN: Final = "SELECT position, session, id, body, names FROM recollect.messages WHERE"
_RANGE: Final = "AND seq > %(after)s AND seq <= %(until)s AND body IS NOT NULL ORDER BY seq"
_OPENINGS: Final = " ".join(
    (
        "SELECT opening.* FROM unnest(%(owners)s::text[], %(sessions)s::text[]) AS asked (owner, session)",
        "CROSS JOIN LATERAL (",
        ENTRIES,
        "tenant = %(tenant)s AND messages.owner = asked.owner AND messages.session = asked.session",
        "AND body IS NOT NULL ORDER BY seq LIMIT %(limit)s) AS opening ORDER BY position",
    )
)
_AFTER: Final = "AND position > %(after)s AND body IS NOT NULL ORDER BY position LIMIT %(limit)s"
_SESSIONS: Final = (
    "SELECT tenant, owner, session, names, messages, tokens, first, last, position FROM recollect.sessions WHERE"
)
_NEWEST: Final = "AND position < %(before)s AND messages > 0 ORDER BY position DESC LIMIT %(limit)s"
_TAG: Final = "UPDATE recollect.messages SET tags = %s WHERE tenant = %s AND owner = %s AND session = %s AND seq = %s"
_TAG_ITEM: Final = "UPDATE recollect.items SET tags = %s WHERE tenant = %s AND position = %s"


class PostgresLog:
    """Messages in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(
        self, scope: Scope, messages: Sequence[Message], *, tokens: Sequence[int] = (), jobs: Sequence[Job] = ()
    ) -> list[Entry]:
        checks.check_session(scope)
        counts = checks.token_counts(messages, tokens)
        now = self._database.clock()
        batch = ready(messages, rules.arrived(messages, now), counts)
        if not batch:
            return []
        return self._database.write(scope, lambda db: append(db, scope, batch, jobs, now), repeatable=True)

    def read(
        self, scope: Scope, *, after: int = 0, until: int | None = None, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        checks.check_session(scope)
        checks.check_range(after, until, limit)
        condition, known = inside(scope, "messages")
        query = " ".join((ENTRIES, condition, _RANGE, "DESC" if reverse else "ASC", "LIMIT %(limit)s"))
        known |= {"after": after, "until": MAX_WHOLE if until is None else until, "limit": limit}
        return self._entries(scope, query, known)

    def openings(self, sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        checks.check_range(0, None, limit)
        found = dict[Scope, list[Entry]]()
        for scope in sessions:
            checks.check_session(scope)
            found[scope] = []
        if found:
            tenants, owners, names = zip(*map(place, found), strict=True)
            known = {"tenant": tenants[0], "owners": list(owners), "sessions": list(names), "limit": limit}
            for entry in self._entries(sessions[0], _OPENINGS, known):
                found[entry.scope].append(entry)
        return [found[scope] for scope in sessions]

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Entry]:
        return [entry_from(scope, row) for row in self._scanned(ENTRIES, scope, after, limit)]

    def spoken(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Spoken]:
        return decoded([_said(*row) for row in self._scanned(_SPOKEN, scope, after, limit)])

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        condition, known = inside(scope, "messages")
        query = " ".join((ENTRIES, condition, "AND id = ANY(%(ids)s) ORDER BY position"))
        found = self._entries(scope, query, known | {"ids": keys(ids)}) if ids else []
        return checks.in_order(ids, found, lambda entry: entry.message.id)

    def sessions(self, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        checks.check_range(0, before, limit)
        condition, known = inside(scope, "sessions")
        query = " ".join((_SESSIONS, condition, _NEWEST))
        known |= {"before": MAX_WHOLE if before is None else before, "limit": limit}
        found = self._database.find(scope.tenant, query, known)
        return [_session(row) for row in found]

    def tag(self, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
        checks.check_session(scope)
        frozen = freeze_dict(tags, "tags")
        codec.to_bytes(frozen)
        return self._database.write(scope, lambda db: _tag(db, scope, id, frozen), repeatable=True)

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        wanted = None if ids is None else keys(ids)
        return self._database.write(scope, lambda db: erase(db, scope, wanted))

    def would_erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erasable:
        wanted = None if ids is None else keys(ids)
        return self._database.read(scope.tenant, lambda db: would_erase(db, scope, wanted), at_a_moment=True)

    def verify(self, scope: Scope) -> list[Finding]:
        return self._database.read(scope.tenant, lambda db: list(verified(db, scope)), at_a_moment=True)

    def _scanned(self, what: str, scope: Scope, after: int, limit: int) -> list[tuple[Any, ...]]:
        checks.check_range(after, None, limit)
        condition, known = inside(scope, "messages")
        query = " ".join((what, condition, _AFTER))
        return self._database.find(scope.tenant, query, known | {"after": after, "limit": limit})

    def _entries(self, scope: Scope, query: str, known: Mapping[str, Any]) -> list[Entry]:
        found = self._database.find(scope.tenant, query, known)
        return [entry_from(scope, row) for row in found]


def _said(position: int, session: str, id: str, body: bytes, full: bytes | None) -> tuple[int, str, str, bytes]:
    if full:
        _, _, session, id = codec.from_bytes(full)
    return position, session, id, body


def _session(row: Sequence[Any]) -> SessionStats:
    tenant, owner, session, full, messages, tokens, first, last, position = row
    scope = named(*(codec.from_bytes(full) if full else (tenant, owner, session)))
    times = [None if time is None else codec.from_micros(time) for time in (first, last)]
    return SessionStats(scope, messages, tokens, times[0], times[1], position)


def _tag(db: Connection, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
    condition, known = inside(scope, "messages")
    query = " ".join((ENTRIES, condition, "AND id = %(id)s"))
    found = db.ask(query, known | {"id": key(id)}) if checks.storable(id) else []
    if not found:
        raise NotFound(f"no message {id!r} in session {scope.session!r}")
    (row,) = found
    data = codec.to_bytes({**(codec.from_bytes(row[6]) if row[6] else {}), **tags})
    entry = entry_from(scope, (*row[:6], data, *row[7:]))
    db.later(_TAG, (data, *place(scope), entry.seq))
    db.later(_TAG_ITEM, (numbers(entry.message.metadata), key(scope.tenant), entry.position))
    return entry
