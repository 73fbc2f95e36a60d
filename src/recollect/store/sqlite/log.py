"""The log in SQLite."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import apsw

from recollect.arguments import MAX_WHOLE
from recollect.errors import NotFound
from recollect.frozen import freeze_dict
from recollect.store import checks, codec, rules
from recollect.store.spoken import decoded
from recollect.store.sqlite import scopes
from recollect.store.sqlite.chain import verified
from recollect.store.sqlite.change import Change, counted
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.erase import erase, would_erase
from recollect.store.sqlite.jobs import enqueue
from recollect.store.values import Entry, Erasable, Erased, Finding, Job, SessionStats, Spoken, tagged, taken_off
from recollect.types import Message, Scope

_ROW: Final = "SELECT seq, position, id, body, tokens, hash, tags FROM message WHERE"
_BY_ID: Final = f"{_ROW} id = ? AND session = ?"
_HEAD: Final = "SELECT seq, hash, messages, tokens, first FROM session WHERE scope = ?"
_PUT_HEAD: Final = (
    "INSERT OR REPLACE INTO session (scope, seq, hash, position, messages, tokens, first, last)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT: Final = (
    "INSERT INTO message (position, session, seq, tokens, at, role, id, hash, salt, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FORWARD: Final = f"{_ROW} session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
_BACKWARD: Final = f"{_ROW} session = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
_ENTRY: Final = "SELECT seq, position, message.id, body, tokens, hash, tags, tenant, user, scope.session"
_SPOKEN: Final = "SELECT position, scope.session, message.id, body"
_WALK: Final = scopes.by_scope(
    "SELECT position FROM message INDEXED BY message_seq WHERE session IN ("
    " SELECT head.scope FROM session AS head WHERE head.scope <scope> AND head.position > ?2)"
    " AND position > ?2"
)
_SCAN: Final = scopes.by_scope(
    "<what> FROM json_each(?2) AS wanted CROSS JOIN message ON message.position = wanted.value"
    " CROSS JOIN scope ON scope.id = message.session WHERE <in scope> ORDER BY wanted.rowid"
)
_GET: Final = scopes.by_scope(
    f"{_ENTRY} FROM json_each(?2) AS wanted CROSS JOIN message ON message.id = wanted.value"
    " CROSS JOIN scope ON scope.id = message.session WHERE <in scope> ORDER BY wanted.key, position"
)
_SCAN_FEW: Final = scopes.by_scope(
    "<what> FROM message CROSS JOIN scope ON scope.id = message.session WHERE position > ?2 AND <in scope>"
    " ORDER BY position LIMIT ?3"
)
_GLANCE: Final = (
    "SELECT tenant, user, scope.session, messages, tokens, first, last, position FROM session"
    " JOIN scope ON scope.id = session.scope WHERE session.scope <these>"
)
_NEWEST: Final = (
    "SELECT scope FROM session WHERE scope <scope> AND position < ?2 AND messages > 0 ORDER BY position DESC LIMIT ?3"
)
_SESSIONS: Final = {
    **scopes.by_scope(_GLANCE.replace("<these>", f"IN ({_NEWEST}) ORDER BY position DESC")),
    "exact": _GLANCE.replace("<these>", "= ?1 AND position < ?2 AND messages > 0 LIMIT ?3"),
}
FEW: Final = 2_000
"""Positions up to which it is faster to look at all that came since than at all that the scope holds."""
WALKS: Final = 8
_TAG: Final = "UPDATE message SET tags = ? WHERE position = ?"


_Ready: TypeAlias = tuple[Sequence[Message], Sequence[Message], Sequence[int], Sequence[bytes]]
"""Messages as they were given and as they arrived, their tokens and their bytes."""


class _Walk(NamedTuple):
    """The positions of all messages of a scope in a range, so that reading page by page does not search anew.

    Positions are given out once, in order, so it holds until `epoch` says that a scope was removed or a backup
    restored; messages erased since are simply not found.
    """

    epoch: int
    after: int
    to: int
    positions: array[int]

    def tells(self, epoch: int, last: int, after: int, count: int) -> bool:
        """Whether the next `count` after a position are known, given the last position of the store."""
        rest = len(self.positions) - bisect_right(self.positions, after)
        return epoch == self.epoch and after >= self.after and (rest >= count or last == self.to)


class SqliteLog:
    """Messages in a table, in the order of their arrival."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._walks: dict[Scope, _Walk] = {}

    def append(
        self, scope: Scope, messages: Sequence[Message], *, tokens: Sequence[int] = (), jobs: Sequence[Job] = ()
    ) -> list[Entry]:
        checks.check_session(scope)
        counts = checks.token_counts(messages, tokens)
        arrived = rules.arrived(messages, self._database.clock())
        if not arrived:
            return []
        ready = messages, arrived, counts, [*map(codec.encode, arrived)]
        return self._database.write(lambda change: _append(change, scope, ready, jobs))

    def read(
        self, scope: Scope, *, after: int = 0, until: int | None = None, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        checks.check_session(scope)
        checks.check_range(after, until, limit)
        with self._database.reading() as db:
            query = _BACKWARD if reverse else _FORWARD
            bounds = (scopes.find(db, scope).id, after, MAX_WHOLE if until is None else until, limit or -1)
            return [_entry(scope, row) for row in db.execute(query, bounds)]

    def openings(self, sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        with self._database.moment():
            return [self.read(scope, limit=limit) for scope in sessions]

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Entry]:
        with self._database.reading() as db:
            return [_entry(scopes.named(*row[7:]), row) for row in self._scanned(db, _ENTRY, scope, after, limit)]

    def spoken(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Spoken]:
        with self._database.reading() as db:
            return decoded(self._scanned(db, _SPOKEN, scope, after, limit))

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            rows = db.execute(_GET[place.level()], (place.id, checks.id_list(ids)))
            return [_entry(scopes.named(*row[7:]), row) for row in rows]

    def sessions(self, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        checks.check_range(0, before, limit)
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            bounds = (place.id, MAX_WHOLE if before is None else before, limit)
            return [_session(row) for row in db.execute(_SESSIONS[place.level()], bounds)]

    def tag(self, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
        checks.check_session(scope)
        frozen = freeze_dict(tags, "tags")
        codec.to_bytes(frozen)
        return self._database.write(lambda change: _tag(change, scope, id, frozen))

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        return self._database.write(lambda change: erase(change, scope, ids))

    def would_erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erasable:
        with self._database.reading() as db:
            return would_erase(db, scope, ids)

    def verify(self, scope: Scope) -> list[Finding]:
        with self._database.reading() as db:
            return list(verified(db, scopes.find(db, scope)))

    def _scanned(self, db: apsw.Connection, what: str, scope: Scope, after: int, limit: int) -> list[Any]:
        checks.check_range(after, None, limit)
        place = scopes.find(db, scope)
        level = place.level()
        last, epoch = counted(db, "SELECT position, epoch FROM counter")
        if last - after <= FEW:
            return list(db.execute(_SCAN_FEW[level].replace("<what>", what), (place.id, after, limit)))
        query, found = _SCAN[level].replace("<what>", what), list[Any]()
        while rest := limit - len(found):
            page = self._positions(db, scope, place, (epoch, last, after, rest))
            if not page:
                break
            found += db.execute(query, (place.id, str(page.tolist())))
            after = page[-1]
        return found

    def _positions(
        self, db: apsw.Connection, scope: Scope, place: scopes.Place, wanted: tuple[int, int, int, int]
    ) -> array[int]:
        """The positions of the next messages of a scope, up to the wanted number."""
        epoch, last, after, limit = wanted
        walk = None if self._database.in_transaction else self._walks.get(scope)
        if walk is None or not walk.tells(*wanted):
            found = sorted(row[0] for row in db.execute(_WALK[place.level()], (place.id, after)))
            walk = _Walk(epoch, after, last, array("q", found))
            if not self._database.in_transaction:
                if len(self._walks) >= WALKS:
                    self._walks.clear()
                self._walks[scope] = walk
        start = bisect_right(walk.positions, after)
        return walk.positions[start : start + limit]


def _append(change: Change, scope: Scope, ready: _Ready, jobs: Sequence[Job]) -> list[Entry]:
    place = change.place(scope)
    session = place.id
    head = change.cursor.execute(_HEAD, (session,)).fetchone()
    seq, link, count, total, first = head or (0, codec.START, 0, 0, None)
    started = seq
    out: list[Entry] = []
    rows: list[tuple[Any, ...]] = []
    named: dict[str, Entry] = {}
    for given, message, tokens, body in zip(*ready, strict=True):
        if given.id and (known := _again(change, scope, session, given, named)):
            out.append(known)
            continue
        seq, position, salt, at = seq + 1, change.next(), codec.new_salt(), codec.micros(message.at or codec.EPOCH)
        link = codec.chained(link, salt, message.id, body)
        rows.append((position, session, seq, tokens, at, message.role, message.id, link, salt, body))
        total += tokens
        first, last = at if first is None else first, at
        entry = Entry(scope, seq, position, message, tokens, link)
        out.append(entry)
        if given.id:
            named[given.id] = entry
    if rows:
        change.cursor.executemany(_PUT, rows)
        change.cursor.execute(_PUT_HEAD, (session, seq, link, position, count + seq - started, total, first, last))
        if jobs:
            enqueue(change, place, (job for job in jobs if job.reached(started, seq)))
    return out


def _again(change: Change, scope: Scope, session: int, given: Message, named: Mapping[str, Entry]) -> Entry | None:
    """The entry of a message that came before, in the same batch or earlier; Conflict if it said something else."""
    if (entry := named.get(given.id)) is not None:
        rules.check_same_message(given, entry.message)
        return entry
    row = change.cursor.execute(_BY_ID, (given.id, session)).fetchone()
    if row is None:
        return None
    rules.check_same_message(given, codec.decode(row[2], row[3]))
    return _entry(scope, row)


def _entry(scope: Scope, row: Sequence[Any]) -> Entry:
    seq, position, id, body, tokens, link, tags = row[:7]
    message = codec.decode(id, body)
    if not tags:
        return Entry(scope, seq, position, message, tokens, link)
    later = codec.unsealed(tags)
    return Entry(scope, seq, position, tagged(message, later), tokens, link, taken_off(later))


def _session(row: Sequence[Any]) -> SessionStats:
    tenant, user, name, messages, tokens, first, last, position = row
    times = [None if time is None else codec.from_micros(time) for time in (first, last)]
    return SessionStats(scopes.named(tenant, user, name), messages, tokens, times[0], times[1], position)


def _tag(change: Change, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
    place = scopes.find(change.db, scope)
    row = change.db.execute(_BY_ID, (id, place.id)).fetchone() if checks.storable(id) else None
    if row is None:
        raise NotFound(f"no message {id!r} in session {scope.session!r}")
    before = codec.unsealed(row[6]) if row[6] else {}
    data = codec.sealed(codec.to_bytes({**before, **tags}))
    change.db.execute(_TAG, (data, row[1]))
    return _entry(scope, (*row[:6], data))
