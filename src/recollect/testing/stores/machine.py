"""Compares a store with the reference: both must answer alike to whatever hypothesis makes up, restarts included."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recollect.errors import RecollectError
from recollect.frozen import freeze
from recollect.store import Clock, Erasable, Filter, Item, Job, Match, Record, Store
from recollect.store.reference import ReferenceStore
from recollect.store.spoken import spoken_of
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import NOON
from recollect.types import Message, Scope

SESSIONS = [Scope(tenant, user, session) for tenant in "TR" for user in "ab" for session in "12"]
USERS = [Scope(tenant, user) for tenant in "TR" for user in "ab"]
TENANTS = [Scope("T"), Scope("R")]
WORDS = ["oslo", "trip", "sister", "東京", "the", "\x00", "\ud800"]
IDS = ["a", "b", "c", "d"]
MODELS = ["m", "n"]

sessions = st.sampled_from(SESSIONS)
scopes = st.sampled_from(SESSIONS + USERS + TENANTS)
ids = st.sampled_from(IDS)
some_ids = st.lists(ids, max_size=3)
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
tags = st.dictionaries(st.sampled_from("xy"), st.sampled_from([1, "1", True, None, [1]]), max_size=2)
messages = st.builds(Message, st.sampled_from(["user", "assistant"]), texts, ids, metadata=tags.map(freeze))
jobs = st.builds(Job, st.sampled_from("jk"), key=st.sampled_from([None, "k"]), delay=st.sampled_from([0.0, 5.0]))
records = st.builds(
    Record,
    st.sampled_from(["fact", "note"]),
    ids,
    st.integers(0, 2),
    id=ids,
    sources=st.lists(ids, max_size=2).map(tuple),
)
items = st.builds(
    Item,
    st.sampled_from(["turn", "chunk"]),
    ids,
    texts,
    role=st.sampled_from([None, "user"]),
    metadata=tags.map(freeze),
    sources=st.lists(ids, max_size=2).map(tuple),
)
vectors = st.sampled_from([(1, 0), (0, 1), (-1, 0), (3, 4), (1, 1, 1)]).map(lambda row: np.array(row, np.float32))


class StoreMachine(RuleBasedStateMachine):
    """Subclass it with `open`, and give its `TestCase` to pytest."""

    def open(self, folder: Path, clock: Clock) -> Store:
        """To be overridden: a handle on the one store of that folder, which is empty at first."""
        raise NotImplementedError

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock(NOON)
        self.reference: Store = ReferenceStore(self.clock)
        self.store = self.open(Path(self.folder.name), self.clock)
        self.claims: list[tuple[Job, Job]] = []

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def both(self, call: Callable[[Store], Any], seen: Callable[[Any], Any] = lambda answer: answer) -> list[Any]:
        """Call both stores and assert that they answer alike, errors included; returns the two answers."""
        answers = [_answer(call, store) for store in (self.reference, self.store)]
        shown = [answer if isinstance(answer, type) else seen(answer) for answer in answers]
        assert shown[0] == shown[1]
        return answers

    @rule(scope=sessions, given=st.lists(messages, max_size=3), queued=st.lists(jobs, max_size=1))
    def append(self, scope: Scope, given: list[Message], queued: list[Job]) -> None:
        counts = [len(message.text) for message in given]
        self.both(lambda store: store.log.append(scope, given, tokens=counts, jobs=queued), _entries)

    @rule(scope=sessions, id=ids, given=tags)
    def tag(self, scope: Scope, id: str, given: dict[str, Any]) -> None:
        self.both(lambda store: store.log.tag(scope, id, given), lambda entry: _entries([entry]))

    @rule(scope=scopes, wanted=some_ids)
    def erase(self, scope: Scope, wanted: list[str]) -> None:
        self._erase(scope, wanted)

    @precondition(lambda self: len(self.reference.log.scan(Scope("T"))) > 3)
    @rule(scope=scopes)
    def erase_all(self, scope: Scope) -> None:
        self._erase(scope, None)

    def _erase(self, scope: Scope, wanted: list[str] | None) -> None:
        would = self.both(lambda store: store.log.would_erase(scope, wanted), _erasable)
        erased = self.both(lambda store: store.log.erase(scope, wanted))
        assert would[1].counted() == erased[1]

    @rule(scope=sessions, after=st.integers(0, 3), limit=st.integers(1, 3), reverse=st.booleans())
    def read(self, scope: Scope, after: int, limit: int, reverse: bool) -> None:
        self.both(lambda store: store.log.read(scope, after=after, limit=limit, reverse=reverse), _entries)

    @rule(scope=scopes, wanted=some_ids)
    def get(self, scope: Scope, wanted: list[str]) -> None:
        self.both(lambda store: store.log.get(scope, wanted), _entries)
        self.both(lambda store: store.records.get(scope, wanted), _records)
        self.both(lambda store: store.index.get(scope, "message", wanted), _items)
        self.both(lambda store: store.index.get(scope, "turn", wanted), _items)

    @rule(scope=scopes, given=st.lists(records, max_size=2))
    def put_records(self, scope: Scope, given: list[Record]) -> None:
        self.both(lambda store: store.records.put(scope, given), _records)

    @rule(scope=scopes, id=ids, new=st.none() | records)
    def supersede(self, scope: Scope, id: str, new: Record | None) -> None:
        self.both(lambda store: store.records.supersede(scope, id, new), lambda kept: kept and _records([kept]))

    @rule(scope=scopes, wanted=some_ids)
    def delete(self, scope: Scope, wanted: list[str]) -> None:
        self.both(lambda store: store.records.delete(scope, wanted))
        self.both(lambda store: store.index.delete(scope, "turn", wanted))

    @rule(scope=scopes, kind=st.sampled_from(["fact", None]), exact=st.booleans(), back=st.integers(1, 4))
    def look_back(self, scope: Scope, kind: str | None, exact: bool, back: int) -> None:
        def then(store: Store) -> list[Record]:
            history = [r for key in IDS for r in store.records.history(scope, "fact", key)]
            past = sorted(record.position for record in history)[-back:]
            return store.records.find(scope, kind=kind, exact=exact, as_of=past[0] if past else 0)

        self.both(then, _records)

    @rule(scope=scopes, given=st.lists(items, max_size=2))
    def put_items(self, scope: Scope, given: list[Item]) -> None:
        self.both(lambda store: store.index.put(scope, given))

    @rule(scope=scopes, kind=st.sampled_from(["message", "turn"]), model=st.sampled_from(MODELS), id=ids, row=vectors)
    def embed(self, scope: Scope, kind: str, model: str, id: str, row: Any) -> None:
        self.both(lambda store: store.index.embed(scope, kind, model, {id: row}))

    @rule(scope=scopes, model=st.sampled_from(MODELS))
    def missing_and_drop(self, scope: Scope, model: str) -> None:
        self.both(lambda store: store.index.missing(scope, model), _items)
        self.both(lambda store: store.index.embedded(scope, model), _pairs)
        self.both(lambda store: store.index.vectors(scope, "message", model, IDS), _pairs)
        self.both(lambda store: store.index.drop(scope, model))

    @rule(
        scope=scopes,
        text=texts,
        row=vectors,
        where=st.builds(
            Filter,
            kinds=st.sampled_from([(), ("turn",), ("message", "chunk")]),
            roles=st.sampled_from([(), ("user",)]),
            metadata=st.sampled_from([{}, {"x": 1}, {"x": True}]).map(freeze),
            exact=st.booleans(),
        ),
    )
    def search(self, scope: Scope, text: str, row: Any, where: Filter) -> None:
        self.both(lambda store: store.index.search(scope, text, 1_000, where=where), _found)
        self.both(lambda store: store.index.nearest(scope, row, "m", 1_000, where=where), _scored)
        self.both(
            lambda store: store.index.nearest_positions(scope, row, "m", 1_000, where=where),
            lambda found: (len(found[0]), sorted(found[1].round(4))),
        )

    @rule(scope=scopes, given=st.lists(jobs, max_size=2))
    def enqueue(self, scope: Scope, given: list[Job]) -> None:
        self.both(lambda store: store.jobs.enqueue(scope, given), _jobs)

    @rule(kind=st.sampled_from([(), ("j",)]), limit=st.integers(1, 3))
    def claim(self, kind: Sequence[str], limit: int) -> None:
        claimed = self.both(lambda store: store.jobs.claim(kind, worker="w", lease=10, limit=limit), _jobs)
        self.claims += zip(*claimed, strict=True)

    @precondition(lambda self: self.claims)
    @rule(pick=st.integers(0, 9), end=st.sampled_from(["finish", "fail", "give up", "renew"]))
    def end(self, pick: int, end: str) -> None:
        ours = dict(zip((self.reference, self.store), self.claims.pop(pick % len(self.claims)), strict=True))
        if end == "finish":
            self.both(lambda store: store.jobs.finish(ours[store]))
        elif end == "renew":
            renewed = self.both(lambda store: store.jobs.renew(ours[store], 10), lambda job: _jobs([job]))
            if isinstance(renewed[0], Job):
                self.claims.append((renewed[0], renewed[1]))
        else:
            retry = end == "fail"
            self.both(lambda store: store.jobs.fail(ours[store], "no", retry=retry), lambda job: _jobs([job]))

    @rule(scope=scopes)
    def revive(self, scope: Scope) -> None:
        self.both(lambda store: store.jobs.revive(scope))

    @rule(seconds=st.sampled_from([1, 11, 4_000, -30, -(10**8), 10**8]))
    def time_passes(self, seconds: int) -> None:
        self.clock.forward(seconds=seconds)

    @rule(scope=sessions, given=st.lists(messages, min_size=1, max_size=2), keep=st.booleans())
    def transact(self, scope: Scope, given: list[Message], keep: bool) -> None:
        def block(store: Store) -> Any:
            with store.transaction():
                entries = store.log.append(scope, given)
                store.records.put(scope, [Record("fact", "tx", 1)])
                found = store.index.search(scope, given[0].text, 1_000)
                if not keep:
                    raise RecollectError("changed my mind")
                return entries, found

        self.both(block, lambda answer: (_entries(answer[0]), _found(answer[1])))

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = self.open(Path(self.folder.name), self.clock)

    @rule()
    def reindex(self) -> None:
        self.both(lambda store: store.reindex())
        assert self.store.check() == []

    @invariant()
    def alike(self) -> None:
        if not hasattr(self, "store"):
            return
        for tenant in TENANTS:
            self.alike_in(tenant)

    def alike_in(self, tenant: Scope) -> None:
        """Assert that both hold the same for one tenant, and that the chain of hashes holds."""
        self.both(lambda store: store.log.scan(tenant), lambda entries: sorted(map(repr, _entries(entries))))
        assert self.store.log.spoken(tenant) == list(map(spoken_of, self.store.log.scan(tenant)))
        self.both(lambda store: store.log.sessions(tenant), _sessions)
        self.both(lambda store: store.records.find(tenant), _records)
        self.both(lambda store: store.jobs.find(tenant), _jobs)
        assert self.store.log.verify(tenant) == []


def _answer(call: Callable[[Store], Any], store: Store) -> Any:
    try:
        return call(store)
    except RecollectError as error:
        return type(error)


def _entries(entries: list[Any]) -> list[Any]:
    return [(e.scope, e.seq, e.message, e.tokens) for e in entries]


def _records(records: list[Record]) -> list[Any]:
    shown = []
    for r in records:
        what = (r.scope, r.kind, r.key, r.value, r.sources, r.recorded_at, r.superseded_at)
        shown.append(what if r.key == "tx" else (*what, r.id, r.superseded_by))
    return shown


def _erasable(found: Erasable) -> Any:
    return found.messages, sorted((r.kind, r.stands) for r in found.records), found.items, found.jobs


def _items(items: list[Item]) -> list[Any]:
    return [(i.scope, i.kind, i.id, i.text, i.at, i.role, i.metadata, i.sources) for i in items]


def _pairs(pairs: list[tuple[Item, Any]]) -> Any:
    return _items([item for item, _ in pairs]), [row.round(4).tolist() for _, row in pairs]


def _jobs(jobs: list[Job]) -> list[Any]:
    return [(j.scope, j.kind, j.key, j.payload, j.state, j.attempts, j.worker, j.due, j.error) for j in jobs]


def _sessions(sessions: list[Any]) -> list[Any]:
    return [(s.scope, s.messages, s.tokens, s.first, s.last) for s in sessions]


def _found(matches: list[Match]) -> set[Any]:
    return {(m.scope, m.kind, m.id) for m in matches}


def _scored(matches: list[Match]) -> list[Any]:
    return sorted((str(m.scope), m.kind, m.id, round(m.score, 4)) for m in matches)
