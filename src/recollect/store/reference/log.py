"""The reference log."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect.errors import NotFound
from recollect.frozen import EMPTY, freeze_dict
from recollect.store import checks, codec, rules
from recollect.store.reference.jobs import enqueue
from recollect.store.reference.state import Kept, State, Tables
from recollect.store.spoken import spoken_of
from recollect.store.values import (
    MESSAGE,
    Entry,
    Erasable,
    Erased,
    Finding,
    Job,
    Learned,
    SessionStats,
    Spoken,
    item_of,
    tagged,
    taken_off,
)
from recollect.types import Message, Scope


class ReferenceLog:
    """Messages in a tuple a session."""

    def __init__(self, state: State) -> None:
        self._state = state

    def append(
        self, scope: Scope, messages: Sequence[Message], *, tokens: Sequence[int] = (), jobs: Sequence[Job] = ()
    ) -> list[Entry]:
        checks.check_session(scope)
        counts = checks.token_counts(messages, tokens)
        now = self._state.clock()
        ready = rules.arrived(messages, now)
        with self._state.changing() as tables:
            out: list[Entry] = []
            seqs = _by_id(tables, scope)
            before = len(tables.sessions.get(scope, ()))
            for given, message, count in zip(messages, ready, counts, strict=True):
                if message.id in seqs:
                    rules.check_same_message(given, _original(tables.sessions[scope][seqs[message.id] - 1]))
                else:
                    seqs[message.id] = _add(tables, scope, message, count)
                out.append(_entry(scope, seqs[message.id], tables.sessions[scope][seqs[message.id] - 1]))
            seq = len(tables.sessions.get(scope, ()))
            if seq > before:
                enqueue(tables, scope, [job for job in jobs if job.reached(before, seq)], now)
            return out

    def read(
        self, scope: Scope, *, after: int = 0, until: int | None = None, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        checks.check_session(scope)
        checks.check_range(after, until, limit)
        with self._state.reading() as tables:
            places = tables.sessions.get(scope, ())
        seqs = range(after + 1, len(places) + 1 if until is None else min(until, len(places)) + 1)
        kept = ((seq, places[seq - 1]) for seq in (reversed(seqs) if reverse else seqs))
        return [*itertools.islice((_entry(scope, *place) for place in kept if place[1].message is not None), limit)]

    def openings(self, sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        return [self.read(scope, limit=limit) for scope in sessions]

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Entry]:
        checks.check_range(after, None, limit)
        with self._state.reading() as tables:
            found = [e for s in _sessions(tables, scope) for e in _entries(tables, s) if e.position > after]
        return heapq.nsmallest(limit, found, key=lambda entry: entry.position)

    def spoken(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Spoken]:
        return [spoken_of(entry) for entry in self.scan(scope, after=after, limit=limit)]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        with self._state.reading() as tables:
            found = [e for s in _sessions(tables, scope) for e in _entries(tables, s)]
        return checks.in_order(ids, sorted(found, key=lambda entry: entry.position), lambda entry: entry.message.id)

    def sessions(self, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        checks.check_range(0, before, limit)
        with self._state.reading() as tables:
            found = [_glance(tables, s) for s in _sessions(tables, scope)]
        found = [s for s in found if s.messages and (before is None or s.position < before)]
        return heapq.nlargest(limit, found, key=lambda session: session.position)

    def tag(self, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
        checks.check_session(scope)
        frozen = freeze_dict(tags, "tags")
        codec.to_bytes(frozen)
        with self._state.changing() as tables:
            seq = _by_id(tables, scope).get(id)
            if seq is None:
                raise NotFound(f"no message {id!r} in session {scope.session!r}")
            before = tables.sessions[scope][seq - 1].tags
            kept = _change(tables, scope, seq, tags=freeze_dict({**before, **frozen}, "tags"))
            entry = _entry(scope, seq, kept)
            tables.items[scope, MESSAGE, id] = item_of(entry.message, scope, kept.position)
            return entry

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        with self._state.changing() as tables:
            return _erase(tables, scope, ids)

    def would_erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erasable:
        """See `Log.would_erase`: erased from a copy."""
        with self._state.reading() as tables:
            left = tables.copy()
            erased = _erase(left, scope, ids)
            gone = (record for key, record in tables.records.items() if key not in left.records)
            records = frozenset(Learned(one.position, one.kind, one.superseded_at is None) for one in gone)
            return Erasable(erased.messages, records, erased.items, erased.jobs)

    def verify(self, scope: Scope) -> list[Finding]:
        with self._state.reading() as tables:
            broken = ((s, _first_broken(tables.sessions[s])) for s in _sessions(tables, scope))
            return [Finding("log", "the hash does not fit the message", s, seq) for s, seq in broken if seq]


def _sessions(tables: Tables, scope: Scope) -> list[Scope]:
    return [s for s in tables.sessions if scope.covers(s)]


def _entries(tables: Tables, session: Scope) -> Iterable[Entry]:
    for seq, kept in enumerate(tables.sessions.get(session, ()), 1):
        if kept.message is not None:
            yield _entry(session, seq, kept)


def _by_id(tables: Tables, session: Scope) -> dict[str, int]:
    return {k.message.id: seq for seq, k in enumerate(tables.sessions.get(session, ()), 1) if k.message is not None}


def _original(kept: Kept) -> Message:
    """The message as it arrived, of a place that `_entries` or `_by_id` found: those that were erased are not."""
    assert kept.message is not None
    return kept.message


def _entry(scope: Scope, seq: int, kept: Kept) -> Entry:
    message = tagged(_original(kept), kept.tags) if kept.tags else _original(kept)
    return Entry(scope, seq, kept.position, message, kept.tokens, kept.hash, taken_off(kept.tags))


def _add(tables: Tables, scope: Scope, message: Message, count: int) -> int:
    before = tables.sessions.get(scope, ())
    tables.position += 1
    salt = codec.new_salt()
    last = before[-1].hash if before else codec.START
    kept_hash = codec.chained(last, salt, message.id, codec.encode(message))
    tables.sessions[scope] = (*before, Kept(tables.position, message, count, salt, kept_hash, EMPTY))
    tables.items[scope, MESSAGE, message.id] = item_of(message, scope, tables.position)
    return len(before) + 1


def _glance(tables: Tables, session: Scope) -> SessionStats:
    entries = list(_entries(tables, session))
    return SessionStats(
        session,
        len(entries),
        sum(entry.tokens for entry in entries),
        entries[0].message.at if entries else None,
        entries[-1].message.at if entries else None,
        tables.sessions[session][-1].position,
    )


def _erase(tables: Tables, scope: Scope, ids: Sequence[str] | None) -> Erased:
    wanted = None if ids is None else checks.each_once(ids)
    gone = [
        entry
        for session in _sessions(tables, scope)
        for entry in _entries(tables, session)
        if wanted is None or entry.message.id in wanted
    ]
    for entry in gone:
        _change(tables, entry.scope, entry.seq, message=None, tokens=0, salt=b"", tags=EMPTY)
    if ids is None:
        for session in _sessions(tables, scope):
            del tables.sessions[session]
    return _erase_derived(tables, gone, scope if ids is None else None)


def _change(tables: Tables, session: Scope, seq: int, **changes: Any) -> Kept:
    """Change the place of that number in a session, and return it."""
    places = list(tables.sessions[session])
    places[seq - 1] = dataclasses.replace(places[seq - 1], **changes)
    tables.sessions[session] = tuple(places)
    return places[seq - 1]


def _erase_derived(tables: Tables, gone: list[Entry], whole: Scope | None) -> Erased:
    def goes(scope: Scope | None, sources: tuple[str, ...]) -> bool:
        assert scope is not None
        inside = whole is not None and whole.covers(scope)
        return inside or any(scope.covers(entry.scope) and entry.message.id in sources for entry in gone)

    records = [key for key, record in tables.records.items() if goes(record.scope, record.sources)]
    items = [key for key, item in tables.items.items() if goes(item.scope, item.sources)]
    jobs = [id for id, queued in tables.jobs.items() if whole is not None and goes(queued.job.scope, ())]
    for key in records:
        tables.remove_record(key)
    for item_key in items:
        tables.remove_item(item_key)
    for id in jobs:
        del tables.jobs[id]
    derived = sum(1 for _, kind, _ in items if kind != MESSAGE)
    return Erased(len(gone), len(records), derived, len(jobs))


def _first_broken(places: tuple[Kept, ...]) -> int | None:
    before = codec.START
    for seq, kept in enumerate(places, 1):
        if kept.message is not None:
            body = codec.encode(kept.message)
            if codec.chained(before, kept.salt, kept.message.id, body) != kept.hash:
                return seq
        before = kept.hash
    return None
