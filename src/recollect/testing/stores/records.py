"""What records must do."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.errors import ConfigError, Conflict, NotFound
from recollect.store import Record, Store
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import ACME, ADA, ADA_TOO, BOB, NOON, RIVAL, USER, StoreTests, fact, say
from recollect.types import Scope


class RecordTests(StoreTests):
    """Putting, superseding, finding."""

    def test_a_record_comes_back_whole(self, store: Store) -> None:
        given = Record(
            "fact",
            "home",
            {"city": "Oslo", "since": [2024, 5], "nothing": None},
            confidence=0.75,
            origin="user",
            trust="said",
            sources=("m1", "m2"),
            valid_from=datetime(2024, 5, 1, tzinfo=UTC),
            valid_to=datetime(2025, 5, 1, tzinfo=UTC),
            id="r1",
        )
        (kept,) = store.records.put(USER, [given])
        assert store.records.get(USER, ["r1"]) == store.records.find(USER) == [kept]
        assert (kept.scope, kept.recorded_at, kept.superseded_at) == (USER, NOON, None)
        assert kept.position > 0
        assert (kept.value, kept.confidence, kept.origin, kept.trust) == (given.value, 0.75, "user", "said")
        assert (kept.sources, kept.valid_from, kept.valid_to) == (given.sources, given.valid_from, given.valid_to)

    @pytest.mark.parametrize("value", ["", "text", 0, -1.5, True, None, [], {}, [[]], {"a": {"b": []}}, "\x00\ud800"])
    def test_any_json_is_a_value(self, store: Store, value: object) -> None:
        store.records.put(USER, [fact("k", value, id="r")])
        (kept,) = store.records.get(USER, ["r"])
        assert kept.value == value
        assert type(kept.value) is type(fact("k", value).value)

    def test_a_record_without_id_gets_one(self, store: Store) -> None:
        one, two = store.records.put(USER, [fact("a", 1), fact("a", 1)])
        assert one.id
        assert one.id != two.id

    def test_the_same_record_again_is_kept_once(self, store: Store, clock: ManualClock) -> None:
        first = store.records.put(USER, [fact("a", 1, id="r")])
        clock.forward(days=1)
        assert store.records.put(USER, [fact("a", 1, id="r")]) == first
        assert store.records.find(USER) == first

    def test_the_same_id_with_another_value_is_a_conflict(self, store: Store) -> None:
        first = store.records.put(USER, [fact("a", 1, id="r")])
        with pytest.raises(Conflict, match="'r'"):
            store.records.put(USER, [fact("b", 2), fact("a", 2, id="r")])
        assert store.records.find(USER) == first

    def test_superseded_and_new_are_both_kept(self, store: Store, clock: ManualClock) -> None:
        (old,) = store.records.put(USER, [fact("home", "Paris", id="old")])
        clock.forward(days=1)
        new = store.records.supersede(USER, "old", fact("home", "Oslo", id="new"))
        assert store.records.find(USER, key="home") == [new]
        past, now = store.records.history(USER, "fact", "home")
        assert now == new
        assert (past.value, past.superseded_at, past.superseded_by) == ("Paris", clock.now, "new")
        assert past.position == old.position

    def test_a_record_can_just_end(self, store: Store) -> None:
        store.records.put(USER, [fact("todo", "call", id="r")])
        assert store.records.supersede(USER, "r") is None
        assert store.records.find(USER) == []
        (past,) = store.records.history(USER, "fact", "todo")
        assert past.superseded_at is not None
        assert past.superseded_by is None

    def test_superseding_twice_is_a_conflict(self, store: Store) -> None:
        store.records.put(USER, [fact("home", "Paris", id="old")])
        new = store.records.supersede(USER, "old", fact("home", "Oslo"))
        with pytest.raises(Conflict, match="superseded"):
            store.records.supersede(USER, "old", fact("home", "Rome"))
        assert store.records.find(USER) == [new]

    def test_superseding_nothing_is_not_found(self, store: Store) -> None:
        store.records.put(USER, [fact("home", "Paris", id="r")])
        for scope, id in ((USER, "x"), (ADA, "r"), (Scope("acme", "bob"), "r"), (Scope("rival", "ada"), "r")):
            with pytest.raises(NotFound):
                store.records.supersede(scope, id, fact("home", "Oslo"))

    def test_superseding_by_a_known_record_is_a_conflict(self, store: Store) -> None:
        store.records.put(USER, [fact("a", 1, id="r1"), fact("a", 2, id="r2")])
        with pytest.raises(Conflict):
            store.records.supersede(USER, "r1", fact("a", 2, id="r2"))
        assert len(store.records.find(USER)) == 2

    def test_records_of_a_kind_are_counted_at_their_very_scope(self, store: Store) -> None:
        store.records.put(USER, [fact("home", "Paris", id="old"), fact("pet", "cat"), Record("mark", "facts", 1)])
        store.records.put(ADA, [fact("home", "Rome")])
        store.records.supersede(USER, "old", fact("home", "Oslo"))
        counted = [store.records.extent(scope, "fact")[0] for scope in (USER, ADA, BOB, ACME, RIVAL)]
        assert counted == [3, 1, 0, 0, 0]
        odd = [store.records.extent(USER, kind) for kind in ("", "x" * 2_000, "\ud800")]
        assert odd == [(0, 0)] * 3 and store.records.extent(USER, "mark")[0] == 1
        store.records.delete(USER, ["old"])
        assert store.records.extent(USER, "fact") == (2, store.records.find(USER, key="home", exact=True)[-1].position)

    def test_as_of_shows_what_stood_on_record(self, store: Store) -> None:
        (old,) = store.records.put(USER, [fact("home", "Paris", id="old")])
        (other,) = store.records.put(USER, [fact("pet", "cat")])
        new = store.records.supersede(USER, "old", fact("home", "Oslo"))
        assert new is not None
        values = [
            [record.value for record in store.records.find(USER, as_of=position)]
            for position in (old.position - 1, old.position, other.position, new.position)
        ]
        assert values == [[], ["Paris"], ["Paris", "cat"], ["cat", "Oslo"]]

    def test_positions_of_records_and_messages_are_one_count(self, store: Store) -> None:
        (first,) = say(store, ADA, "a")
        (record,) = store.records.put(USER, [fact("x", 1)])
        (second,) = say(store, ADA, "b")
        assert first.position < record.position < second.position

    def test_valid_at_shows_what_holds_then(self, store: Store) -> None:
        may, june, july = (datetime(2026, month, 1, tzinfo=UTC) for month in (5, 6, 7))
        store.records.put(
            USER,
            [fact("a", "till june", valid_to=june), fact("a", "from june", valid_from=june), fact("a", "always")],
        )
        assert [r.value for r in store.records.find(USER, valid_at=may)] == ["till june", "always"]
        assert [r.value for r in store.records.find(USER, valid_at=june)] == ["from june", "always"]
        assert [r.value for r in store.records.find(USER, valid_at=july.replace(tzinfo=None))] == [
            "from june",
            "always",
        ]

    def test_find_by_kind_and_key(self, store: Store) -> None:
        store.records.put(USER, [fact("a", 1), fact("b", 2), Record("summary", "a", 3)])
        assert [r.value for r in store.records.find(USER, kind="fact")] == [1, 2]
        assert [r.value for r in store.records.find(USER, key="a")] == [1, 3]
        assert [r.value for r in store.records.find(USER, kind="summary", key="a")] == [3]
        assert store.records.find(USER, kind="nope") == []

    def test_find_page_by_page(self, store: Store) -> None:
        everything = store.records.put(USER, [fact(str(n), n) for n in range(23)])
        pages, after = [], 0
        while page := store.records.find(USER, after=after, limit=5):
            pages += page
            after = page[-1].position
        assert pages == everything

    def test_a_scope_covers_what_lies_inside(self, store: Store) -> None:
        for scope in (ACME, USER, ADA, ADA_TOO, BOB, RIVAL):
            store.records.put(scope, [fact("where", str(scope))])
        assert [r.scope for r in store.records.find(ACME)] == [ACME, USER, ADA, ADA_TOO, BOB]
        assert [r.scope for r in store.records.find(USER)] == [USER, ADA, ADA_TOO]
        assert [r.scope for r in store.records.find(ADA)] == [ADA]
        assert [r.scope for r in store.records.find(USER, exact=True)] == [USER]
        assert [r.scope for r in store.records.find(ACME, exact=True)] == [ACME]

    def test_one_id_at_two_scopes_is_two_records(self, store: Store) -> None:
        store.records.put(ADA, [fact("a", 1, id="r")])
        store.records.put(ADA_TOO, [fact("a", 2, id="r")])
        assert [r.value for r in store.records.get(USER, ["r"])] == [1, 2]
        assert [r.value for r in store.records.get(ADA_TOO, ["r"])] == [2]

    def test_records_come_in_the_order_asked_for(self, store: Store) -> None:
        store.records.put(USER, [fact("a", n, id=str(n)) for n in range(3)])
        assert [r.value for r in store.records.get(USER, ["2", "x", "0", "2"])] == [2, 0]

    def test_delete_is_for_good(self, store: Store) -> None:
        store.records.put(USER, [fact("a", 1, id="r"), fact("a", 2, id="s")])
        assert store.records.delete(Scope("acme", "bob"), ["r"]) == 0
        assert store.records.delete(USER, ["r", "nope"]) == 1
        assert [r.id for r in store.records.history(USER, "fact", "a")] == ["s"]

    @pytest.mark.parametrize("bad", [{"confidence": 1.5}, {"confidence": -0.1}, {"sources": "m1"}, {"sources": ("",)}])
    def test_senseless_records_are_refused(self, bad: dict[str, object]) -> None:
        with pytest.raises(ConfigError):
            fact("k", 1, **bad)
