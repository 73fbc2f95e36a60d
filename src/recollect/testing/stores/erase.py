"""What erasure and transactions must do."""

from __future__ import annotations

from contextlib import suppress

import pytest

from recollect.errors import Conflict, NotFound
from recollect.store import Erased, Item, Job, Store
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import (
    ACME,
    ADA,
    ADA_TOO,
    BOB,
    EVERYONE,
    USER,
    StoreTests,
    fact,
    fill,
    found,
    nothing,
    said,
    say,
    texts,
    v,
)
from recollect.types import Scope


class EraseTests(StoreTests):
    """Erasure is for good, and erases what was made of the messages too."""

    def test_a_message_goes_with_all_that_cites_it(self, store: Store) -> None:
        fill(store, ADA)
        assert store.log.erase(ADA, ["m1"]) == Erased(messages=1, records=2, items=1)
        assert texts(store.log.read(ADA)) == ["zebra two"]
        nothing(store.log.get(ADA, ["m1"]), store.records.find(ADA), store.index.get(ADA, "turn", ["t1"]))
        assert set(found(store, ADA, "zebra")) == {"m2", "t2"}
        assert {match.id for match in store.index.nearest(ADA, v(1, 0), "m")} == {"m2", "t2"}

    def test_what_would_go_is_told_and_stays(self, store: Store) -> None:
        fill(store, ADA, BOB)
        acme, kept = Scope(ADA.tenant), store.log.scan(Scope(ADA.tenant))
        for scope, ids in ((ADA, ["m1"]), (ADA, ["none"]), (ADA, None), (USER, ["m2"]), (acme, None)):
            would = store.log.would_erase(scope, ids)
            assert store.log.scan(acme) == kept
            with suppress(ZeroDivisionError), store.transaction():
                assert store.log.erase(scope, ids) == would.counted()
                assert {record.position for record in would.records}.isdisjoint(_positions(store))
                raise ZeroDivisionError
            assert {record.position for record in would.records} <= _positions(store)

    def test_what_would_go_is_told_while_another_writes(self, store: Store, second: Store) -> None:
        fill(store, ADA)
        with second.transaction(ADA):
            say(second, ADA, "three")
            assert store.log.would_erase(ADA).messages == 2

    def test_numbers_are_not_used_again(self, store: Store) -> None:
        say(store, ADA, "a", "b", "c")
        store.log.erase(ADA, ["b", "c"])
        assert [entry.seq for entry in store.log.read(ADA)] == [1]
        assert [entry.seq for entry in say(store, ADA, "d")] == [4]
        assert texts(store.log.read(ADA, limit=2, reverse=True)) == ["d", "a"]

    def test_the_chain_still_holds(self, store: Store) -> None:
        say(store, ADA, *"abcdef")
        store.log.erase(ADA, ["a", "c", "f"])
        say(store, ADA, "g")
        assert store.log.verify(ADA) == store.check() == []

    def test_a_session_that_was_erased_bit_by_bit_begins_anew(self, store: Store) -> None:
        say(store, ADA, *"abc")
        store.log.erase(ADA, ["a", "b"])
        store.log.erase(ADA)
        assert [entry.seq for entry in say(store, BOB, "d")] == [1]
        assert [entry.seq for entry in say(store, ADA, "e")] == [1]
        assert store.log.verify(ADA) == store.log.verify(BOB) == store.check() == []

    def test_tenants_are_those_that_have_something(self, store: Store) -> None:
        assert store.tenants() == []
        say(store, Scope("müller\U0001f40c", "ada", "trip"), "a")
        store.records.put(Scope("acme", "bob"), [fact("city", "Oslo")])
        store.index.put(Scope("shared"), [Item("chunk", "c", "apple")])
        store.jobs.enqueue(Scope("' OR 1=1"), [Job("tidy")])
        assert store.tenants() == ["' OR 1=1", "acme", "müller\U0001f40c", "shared"]
        store.log.erase(ACME)
        assert store.tenants() == ["' OR 1=1", "müller\U0001f40c", "shared"]

    def test_a_store_that_was_emptied_is_well(self, store: Store) -> None:
        fill(store, ADA)
        assert found(store, ADA, "zebra")
        store.log.erase(ADA, ["m1", "m2"])
        assert store.check() == []
        store.log.erase(Scope(ADA.tenant))
        assert store.check() == []

    def test_totals_follow(self, store: Store, clock: ManualClock) -> None:
        store.log.append(ADA, [said("a", "a")], tokens=[1])
        clock.forward(hours=1)
        store.log.append(ADA, [said("b", "b")], tokens=[2])
        store.log.erase(ADA, ["a"])
        (session,) = store.log.sessions(USER)
        assert (session.messages, session.tokens, session.first, session.last) == (1, 2, clock.now, clock.now)
        store.log.erase(ADA, ["b"])
        assert store.log.sessions(USER) == store.log.sessions(ADA) == []
        clock.forward(hours=1)
        assert [entry.seq for entry in say(store, ADA, "c", "d")] == [3, 4]
        (session,) = store.log.sessions(USER)
        assert (session.messages, session.first, session.last) == (2, clock.now, clock.now)

    def test_an_erased_id_is_free_again(self, store: Store) -> None:
        say(store, ADA, "a")
        store.log.erase(ADA, ["a"])
        (entry,) = store.log.append(ADA, [said("something else", "a")])
        assert (entry.seq, entry.message.text) == (2, "something else")

    def test_a_whole_session(self, store: Store) -> None:
        fill(store, *EVERYONE)
        assert store.log.erase(ADA) == Erased(messages=2, records=2, items=2, jobs=1)
        nothing(store.log.read(ADA), store.records.find(ADA), store.jobs.find(ADA))
        nothing(found(store, ADA, "zebra"), store.index.nearest(ADA, v(1, 0), "m"))
        for scope in EVERYONE[1:]:
            assert len(store.log.read(scope)) == 2
            assert len(found(store, scope, "zebra")) == len(store.index.nearest(scope, v(1, 0), "m")) == 4
        assert [entry.seq for entry in say(store, ADA, "anew")] == [1]
        assert store.check() == []

    def test_a_whole_user(self, store: Store) -> None:
        fill(store, *EVERYONE)
        store.records.put(USER, [fact("profile", "zebra")])
        erased = store.log.erase(USER)
        assert erased == Erased(messages=4, records=5, items=4, jobs=2)
        nothing(store.log.scan(USER), store.records.find(USER), store.jobs.find(USER))
        assert len(store.log.scan(ACME)) == len(store.log.scan(Scope("rival"))) == 2

    def test_a_whole_tenant(self, store: Store) -> None:
        fill(store, *EVERYONE)
        store.log.erase(ACME)
        nothing(store.log.sessions(ACME), store.records.find(ACME))
        assert found(store, ACME, "zebra") == []
        assert len(found(store, Scope("rival"), "zebra")) == 4

    def test_wider_things_that_cite_go_too(self, store: Store) -> None:
        say(store, ADA, "m")
        for scope in (ACME, USER):
            store.records.put(scope, [fact("cites", "it", sources=("m",)), fact("does not", "cite", sources=("x",))])
        store.log.erase(ADA)
        assert [record.key for record in store.records.find(ACME)] == ["does not", "does not"]

    def test_the_same_id_elsewhere_stays(self, store: Store) -> None:
        fill(store, *EVERYONE)
        store.log.erase(ADA, ["m1", "m2"])
        for scope in EVERYONE[1:]:
            assert (len(store.log.read(scope)), len(store.records.find(scope)), len(found(store, scope, "zebra"))) == (
                2,
                2,
                4,
            )

    def test_erasing_by_id_over_a_user(self, store: Store) -> None:
        fill(store, *EVERYONE)
        assert store.log.erase(USER, ["m1", "m1", "nope"]).messages == 2
        assert [texts(store.log.read(scope)) for scope in (ADA, ADA_TOO)] == [["zebra two"]] * 2
        assert len(store.log.read(BOB)) == 2

    def test_erasing_nothing(self, store: Store) -> None:
        say(store, ADA, "a")
        assert (
            store.log.erase(ADA, []) == store.log.erase(ADA, ["nope"]) == store.log.erase(Scope("nobody")) == Erased()
        )
        assert texts(store.log.read(ADA)) == ["a"]

    def test_a_late_vector_brings_nothing_back(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        store.log.erase(ADA, ["a"])
        assert store.index.embed(ADA, "message", "m", {"a": v(1, 0), "b": v(0, 1)}) == 1
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m")] == ["b"]


def _positions(store: Store) -> set[int]:
    return {record.position for record in store.records.find(Scope(ADA.tenant))}


class TransactionTests(StoreTests):
    """Many calls become one."""

    def test_all_of_it_happens(self, store: Store) -> None:
        with store.transaction():
            say(store, ADA, "a")
            store.records.put(USER, [fact("x", 1)])
            assert texts(store.log.read(ADA)) == ["a"]
            assert found(store, ADA, "a") == ["a"]
        assert texts(store.log.read(ADA)) == ["a"]
        assert len(store.records.find(USER)) == 1

    def test_or_none_of_it(self, store: Store) -> None:
        say(store, ADA, "before")
        with pytest.raises(ZeroDivisionError), store.transaction():
            say(store, ADA, "zebra")
            say(store, Scope("new", "user", "s"), "zebra")
            store.records.put(USER, [fact("x", 1)])
            store.index.put(ADA, [Item("chunk", "c", "zebra")])
            store.index.embed(ADA, "chunk", "m", {"c": v(1, 0)})
            assert len(store.index.nearest(ADA, v(1, 0), "m")) == 1
            store.jobs.enqueue(ADA, [Job("j")])
            store.log.erase(ADA, ["before"])
            raise ZeroDivisionError
        assert texts(store.log.read(ADA)) == ["before"]
        nothing(store.records.find(USER), store.jobs.find(ADA), store.log.sessions(Scope("new")))
        nothing(found(store, ADA, "zebra"), store.index.nearest(ADA, v(1, 0), "m"))
        assert [entry.seq for entry in say(store, ADA, "after")] == [2]
        assert store.check() == []

    def test_vectors_of_an_undone_block_are_not_seen_later(self, store: Store) -> None:
        store.index.put(ADA, [Item("chunk", "a", "x"), Item("chunk", "b", "x")])
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.index.embed(ADA, "chunk", "m", {"a": v(1, 0)})
            store.index.nearest(ADA, v(1, 0), "m")
            raise ZeroDivisionError
        store.index.embed(ADA, "chunk", "m", {"b": v(0, 1)})
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m")] == ["b"]

    def test_effects_of_a_job_happen_once(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("extract")])
        (slow,) = store.jobs.claim(worker="slow", lease=1)
        clock.forward(seconds=2)
        (quick,) = store.jobs.claim(worker="quick", lease=60)
        for job, value in ((quick, "quick"), (slow, "slow")):
            try:
                with store.transaction():
                    store.records.put(USER, [fact("result", value)])
                    store.jobs.finish(job)
            except Conflict:
                assert value == "slow"
        assert [record.value for record in store.records.find(USER)] == ["quick"]

    def test_a_refused_call_inside_leaves_the_rest(self, store: Store) -> None:
        say(store, ADA, "a")
        with store.transaction():
            say(store, ADA, "b")
            with pytest.raises(Conflict):
                store.log.append(ADA, [said("c", "c"), said("other", "a")])
            say(store, ADA, "d")
        assert texts(store.log.read(ADA)) == ["a", "b", "d"]
        assert store.check() == []

    def test_a_block_in_a_block_is_part_of_it(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError), store.transaction():
            with store.transaction():
                say(store, ADA, "inner")
            raise ZeroDivisionError
        assert store.log.read(ADA) == []

    def test_others_see_nothing_of_it_before_its_end(self, store: Store, second: Store) -> None:
        with store.transaction():
            say(store, ADA, "a")
            assert second.log.read(ADA) == []
        assert texts(second.log.read(ADA)) == ["a"]

    def test_reads_in_a_block_see_what_was_there_and_writes_in_it_are_kept(self, store: Store, second: Store) -> None:
        say(store, ADA, "a")
        with store.reading(), store.reading():
            assert texts(store.log.read(ADA)) == ["a"]
            with pytest.raises(NotFound):
                store.records.supersede(USER, "none")
            assert [found.message.text for found in store.log.get(ADA, ["a"])] == ["a"]
            with store.transaction():
                say(store, ADA, "b")
                assert texts(store.log.read(ADA)) == ["a", "b"]
        say(second, BOB, "c")
        assert texts(store.log.read(ADA)) == ["a", "b"]
        assert texts(store.log.read(BOB)) == ["c"]
