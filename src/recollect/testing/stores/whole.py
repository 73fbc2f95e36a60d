"""What the parts of a store must do together: erase, be atomic, take anything, last."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.errors import ConfigError, Conflict, RecollectError, StoreUnavailable
from recollect.frozen import freeze
from recollect.store import Erased, Filter, Item, Job, Store
from recollect.testing.stores.base import (
    ADA,
    ADA_TOO,
    BOB,
    HOSTILE_IDS,
    HOSTILE_TEXTS,
    NOON,
    RIVAL,
    ManualClock,
    OpenStore,
    StoreTests,
    fact,
    found,
    said,
    say,
    texts,
)
from recollect.types import Message, Scope, Text, ToolResult

USER = Scope("acme", "ada")
EVERYONE = (ADA, ADA_TOO, BOB, RIVAL)


def v(*numbers: float) -> Any:
    """A vector."""
    return np.array(numbers, np.float32)


def fill(store: Store, scope: Scope) -> None:
    """One of everything."""
    store.log.append(scope, [said("zebra one", "m1"), said("zebra two", "m2")], tokens=[2, 3], jobs=[Job("embed")])
    store.index.embed(scope, "message", "m", {"m1": v(1, 0), "m2": v(0, 1)})
    store.records.put(scope, [fact("of one", "zebra", sources=("m1",)), fact("of both", "zebra", sources=("m1", "m2"))])
    store.index.put(
        scope, [Item("turn", "t1", "zebra turn", sources=("m1",)), Item("turn", "t2", "zebra", sources=("m2",))]
    )
    store.index.embed(scope, "turn", "m", {"t1": v(1, 0), "t2": v(0, 1)})


class EraseTests(StoreTests):
    """Erasure is for good and takes along what was made of it."""

    def test_a_message_goes_with_all_that_cites_it(self, store: Store) -> None:
        fill(store, ADA)
        assert store.log.erase(ADA, ["m1"]) == Erased(messages=1, records=2, items=1)
        assert texts(store.log.read(ADA)) == ["zebra two"]
        assert store.log.get(ADA, ["m1"]) == store.records.find(ADA) == store.index.get(ADA, "turn", ["t1"]) == []
        assert set(found(store, ADA, "zebra")) == {"m2", "t2"}
        assert {match.id for match in store.index.nearest(ADA, v(1, 0), "m")} == {"m2", "t2"}

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

    def test_totals_follow(self, store: Store, clock: ManualClock) -> None:
        store.log.append(ADA, [said("a", "a")], tokens=[1])
        clock.forward(hours=1)
        store.log.append(ADA, [said("b", "b")], tokens=[2])
        store.log.erase(ADA, ["a"])
        (session,) = store.log.sessions(USER)
        assert (session.messages, session.tokens, session.first, session.last) == (1, 2, clock.now, clock.now)
        store.log.erase(ADA, ["b"])
        (session,) = store.log.sessions(USER)
        assert (session.messages, session.tokens, session.first, session.last) == (0, 0, None, None)

    def test_an_erased_id_is_free_again(self, store: Store) -> None:
        say(store, ADA, "a")
        store.log.erase(ADA, ["a"])
        (entry,) = store.log.append(ADA, [said("something else", "a")])
        assert (entry.seq, entry.message.text) == (2, "something else")

    def test_a_whole_session(self, store: Store) -> None:
        for scope in EVERYONE:
            fill(store, scope)
        assert store.log.erase(ADA) == Erased(messages=2, records=2, items=2, jobs=1)
        assert store.log.read(ADA) == store.records.find(ADA) == store.jobs.find(ADA) == []
        assert found(store, ADA, "zebra") == store.index.nearest(ADA, v(1, 0), "m") == []
        for scope in EVERYONE[1:]:
            assert len(store.log.read(scope)) == 2
            assert len(found(store, scope, "zebra")) == len(store.index.nearest(scope, v(1, 0), "m")) == 4
        assert [entry.seq for entry in say(store, ADA, "anew")] == [1]
        assert store.check() == []

    def test_a_whole_user(self, store: Store) -> None:
        for scope in EVERYONE:
            fill(store, scope)
        store.records.put(USER, [fact("profile", "zebra")])
        erased = store.log.erase(USER)
        assert erased == Erased(messages=4, records=5, items=4, jobs=2)
        assert store.log.scan(USER) == store.records.find(USER) == store.jobs.find(USER) == []
        assert len(store.log.scan(Scope("acme"))) == len(store.log.scan(Scope("rival"))) == 2

    def test_a_whole_tenant(self, store: Store) -> None:
        for scope in EVERYONE:
            fill(store, scope)
        store.log.erase(Scope("acme"))
        assert store.log.sessions(Scope("acme")) == store.records.find(Scope("acme")) == []
        assert found(store, Scope("acme"), "zebra") == []
        assert len(found(store, Scope("rival"), "zebra")) == 4

    def test_wider_things_that_cite_go_too(self, store: Store) -> None:
        say(store, ADA, "m")
        for scope in (Scope("acme"), USER):
            store.records.put(scope, [fact("cites", "it", sources=("m",)), fact("does not", "cite", sources=("x",))])
        store.log.erase(ADA)
        assert [record.key for record in store.records.find(Scope("acme"))] == ["does not", "does not"]

    def test_the_same_id_elsewhere_stays(self, store: Store) -> None:
        for scope in EVERYONE:
            fill(store, scope)
        store.log.erase(ADA, ["m1", "m2"])
        for scope in EVERYONE[1:]:
            assert (len(store.log.read(scope)), len(store.records.find(scope)), len(found(store, scope, "zebra"))) == (
                2,
                2,
                4,
            )

    def test_erasing_by_id_over_a_user(self, store: Store) -> None:
        for scope in EVERYONE:
            fill(store, scope)
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


class TransactionTests(StoreTests):
    """Many calls as one."""

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
        assert store.records.find(USER) == store.jobs.find(ADA) == store.log.sessions(Scope("new")) == []
        assert found(store, ADA, "zebra") == store.index.nearest(ADA, v(1, 0), "m") == []
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


class AnythingTests(StoreTests):
    """Any text comes back exactly, or is refused clearly; nothing reaches across scopes."""

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_any_text_comes_back(self, store: Store, text: str) -> None:
        messages = [
            Message("user", text, "1", name=text or None, metadata=freeze({text: text, "nan": [text]})),
            Message("tool", (ToolResult("c", (Text(text),)),), "2"),
        ]
        store.log.append(ADA, messages)
        kept = [entry.message.replace(at=None, received=None) for entry in store.log.read(ADA)]
        assert kept == messages
        store.log.tag(ADA, "1", {text + "tag": text})
        assert store.log.get(ADA, ["1"])[0].message.metadata[text + "tag"] == text
        assert store.log.verify(ADA) == []

    @pytest.mark.parametrize("id", HOSTILE_IDS)
    def test_any_id_names_just_one_thing(self, store: Store, id: str) -> None:
        scope = Scope(id, id, id)
        say(store, ADA, "bystander")
        store.log.append(scope, [said("apple", id)], jobs=[Job(id, key=id)])
        store.records.put(scope, [fact(id, 1, id=id, origin=id, trust=id, sources=(id,))])
        store.index.put(scope, [Item(id, id, "apple", sources=(id,))])
        store.index.embed(scope, id, id, {id: v(1, 0)})
        assert [entry.message.id for entry in store.log.get(scope, [id])] == [id]
        assert [record.id for record in store.records.find(Scope(id), kind=id if id == "fact" else None, key=id)] == [
            id
        ]
        assert found(store, Scope(id), "apple") == [id, id]
        assert found(store, scope, "apple", where=Filter(kinds=(id,))) == [id]
        assert [match.id for match in store.index.nearest(scope, v(1, 0), id)] == [id]
        assert [job.scope for job in store.jobs.claim([id], worker=id, tenant=id)] == [scope]
        assert store.log.erase(Scope(id, id)) == Erased(1, 1, 1, 1)
        assert texts(store.log.scan(Scope("acme"))) == ["bystander"]
        assert store.check() == []

    @pytest.mark.parametrize("id", ["", "x" * 1_001, "nul\x00", "half\ud83d", None, 7, b"bytes"])
    def test_what_can_not_be_an_id_is_refused(self, store: Store, id: Any) -> None:
        for make in (lambda: Scope(id), lambda: Scope("t", "u", id or ""), lambda: fact(id, 1), lambda: Item("k", id)):
            with pytest.raises(ConfigError):
                make()
        if id:
            with pytest.raises(ConfigError):
                store.log.append(ADA, [said("text", id)])
        assert store.log.read(ADA) == []

    @pytest.mark.parametrize("id", ["x" * 1_001, "nul\x00", "half\ud83d"])
    def test_asking_for_what_can_not_be_finds_nothing(self, store: Store, id: str) -> None:
        say(store, ADA, "a")
        assert store.log.get(ADA, [id]) == store.records.get(ADA, [id]) == store.index.get(ADA, "message", [id]) == []
        assert store.log.erase(ADA, [id]) == Erased()
        assert store.index.embed(ADA, "message", "m", {id: v(1, 0)}) == store.records.delete(ADA, [id]) == 0
        with pytest.raises(RecollectError):
            store.log.tag(ADA, id, {"x": 1})

    def test_ids_that_look_alike_differ(self, store: Store) -> None:
        alike = ["e\u0301", "\u00e9", "E\u0301", "a", "A", "a ", " a", "ａ", "1", "01", "1.0"]
        say(store, ADA, *alike)
        for id in alike:
            scope = Scope("acme", id, id)
            store.log.append(scope, [said(id)])
            assert texts(store.log.read(scope)) == [id]
        assert texts(store.log.read(ADA)) == alike

    def test_ten_megabytes(self, store: Store) -> None:
        text = "line of text\n" * 800_000 + "needle"
        (entry,) = store.log.append(ADA, [said(text, "big")])
        assert store.log.read(ADA) == [entry]
        assert entry.message.text == text
        assert found(store, ADA, "needle") == ["big"]
        store.log.erase(ADA, ["big"])
        assert found(store, ADA, "needle") == []

    def test_a_batch_of_five_thousand(self, store: Store) -> None:
        names = [f"message {number}" for number in range(5_000)]
        with store.transaction():
            for start in range(0, 5_000, 1_000):
                say(store, ADA, *names[start : start + 1_000])
        assert texts(store.log.read(ADA)) == names
        assert store.log.sessions(ADA)[0].messages == 5_000

    def test_numbers_survive(self, store: Store) -> None:
        numbers = [0, -1, 2**53 + 1, 10**30, 0.1, 1e300, -0.0, True, None]
        store.log.append(ADA, [said("a", "a", metadata=freeze({"numbers": numbers}))])
        kept = store.log.read(ADA)[0].message.metadata["numbers"]
        assert [repr(number) for number in kept] == [repr(number) for number in numbers]

    def test_times_survive(self, store: Store) -> None:
        for number, year in enumerate((1, 1969, 1970, 2026, 9999)):
            when = NOON.replace(year=year, microsecond=number)
            store.log.append(ADA, [said("x", str(year), at=when)])
            assert store.log.get(ADA, [str(year)])[0].message.at == when
        assert [session.first for session in store.log.sessions(ADA)] == [NOON.replace(year=1, microsecond=0)]

    def test_after_closing_nothing_works_and_closing_again_does(self, store: Store) -> None:
        store.close()
        store.close()
        for call in (lambda: store.log.read(ADA), lambda: say(store, ADA, "a"), lambda: store.jobs.claim(worker="w")):
            with pytest.raises(StoreUnavailable, match="closed"):
                call()


class ThreadTests(StoreTests):
    """Many at once."""

    def test_eight_threads_lose_nothing(self, store: Store) -> None:
        def work(name: int) -> None:
            for number in range(25):
                store.log.append(ADA, [said(f"{name}-{number}-a"), said(f"{name}-{number}-b")], tokens=[1, 1])

        _in_threads(work, 8)
        entries = store.log.read(ADA)
        assert [entry.seq for entry in entries] == list(range(1, 401))
        spoken = texts(entries)
        assert len(set(spoken)) == 400
        for place in range(0, 400, 2):
            assert spoken[place][:-1] == spoken[place + 1][:-1], "a batch was torn apart"
        assert store.log.sessions(ADA)[0].tokens == 400
        assert store.check() == []

    def test_a_refused_batch_among_many_hurts_no_other(self, store: Store) -> None:
        say(store, ADA, "taken")

        def work(name: int) -> None:
            for number in range(20):
                if name % 2:
                    with pytest.raises(Conflict):
                        store.log.append(ADA, [said("never"), said("other", "taken")])
                else:
                    say(store, ADA, f"{name}-{number}")

        _in_threads(work, 8)
        assert [entry.seq for entry in store.log.read(ADA)] == list(range(1, 82))
        assert "never" not in texts(store.log.read(ADA))

    def test_a_job_is_claimed_by_one_of_many(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("j") for _ in range(60)])
        got: list[str] = []

        def work(name: int) -> None:
            while jobs := store.jobs.claim(worker=str(name), limit=3):
                got.extend(job.id for job in jobs)
                for job in jobs:
                    store.jobs.finish(job)

        _in_threads(work, 6)
        assert len(got) == len(set(got)) == 60

    def test_readers_never_see_half_a_batch(self, store: Store) -> None:
        torn: list[int] = []
        done = threading.Event()

        def work(name: int) -> None:
            if name == 0:
                for number in range(40):
                    say(store, ADA, *(f"{number}-{part}" for part in range(5)))
                done.set()
            else:
                while not done.is_set():
                    torn.extend(count for count in [len(store.log.read(ADA))] if count % 5)

        _in_threads(work, 3)
        assert torn == []

    def test_two_handles_see_each_other(self, store: Store, second: Store) -> None:
        for number in range(10):
            writer, reader = (store, second) if number % 2 else (second, store)
            say(writer, ADA, str(number))
            writer.index.embed(ADA, "message", "m", {str(number): v(1, number)})
            assert texts(reader.log.read(ADA))[-1] == str(number)
            assert [match.id for match in reader.index.nearest(ADA, v(0, 1), "m", 1)] == [str(number)]
        second.log.erase(ADA)
        assert store.log.read(ADA) == store.index.nearest(ADA, v(0, 1), "m") == []
        assert [entry.seq for entry in say(store, ADA, "anew")] == [1]
        assert [entry.seq for entry in say(second, ADA, "more")] == [2]

    def test_two_handles_write_at_once(self, store: Store, second: Store) -> None:
        def work(name: int) -> None:
            for number in range(25):
                say((store, second)[name % 2], ADA, f"{name}-{number}")

        _in_threads(work, 4)
        assert [entry.seq for entry in store.log.read(ADA)] == list(range(1, 101))
        assert second.check() == []


class LastingTests(StoreTests):
    """What was written is there again."""

    def test_everything_is_there_after_a_restart(self, store: Store, open_store: OpenStore, clock: ManualClock) -> None:
        if not self.persistent:
            pytest.skip("this store ends with its handle")
        for scope in EVERYONE:
            fill(store, scope)
        store.log.tag(ADA, "m1", {"x": 1})
        store.log.erase(ADA, ["m2"])
        before = _everything(store)
        store.close()
        with open_store(clock) as again:
            assert _everything(again) == before
            assert [entry.seq for entry in say(again, ADA, "next")] == [3]
            assert again.check() == []

    def test_a_backup_is_the_same_store(self, store: Store, tmp_path: Path) -> None:
        if not self.persistent:
            with pytest.raises(ConfigError):
                store.backup(tmp_path / "backup")
            pytest.skip("this store ends with its handle")
        for scope in EVERYONE:
            fill(store, scope)
        before = _everything(store)
        store.backup(tmp_path / "backup")
        with pytest.raises(ConfigError):
            store.backup(tmp_path / "backup")
        store.log.erase(Scope("acme"))
        say(store, BOB, "later")
        store.restore(tmp_path / "backup")
        assert _everything(store) == before
        assert store.check() == []
        assert [entry.seq for entry in say(store, ADA, "next")] == [3]
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m", 2)] == ["t1", "m1"]

    def test_a_damaged_or_absent_backup_changes_nothing(self, store: Store, tmp_path: Path) -> None:
        if not self.persistent:
            with pytest.raises(ConfigError):
                store.restore(tmp_path / "none")
            pytest.skip("this store ends with its handle")
        fill(store, ADA)
        before = _everything(store)
        store.backup(tmp_path / "backup")
        data = bytearray((tmp_path / "backup").read_bytes())
        data[len(data) // 3 :] = bytes(len(data) - len(data) // 3)
        (tmp_path / "damaged").write_bytes(data)
        (tmp_path / "text").write_text("not a backup at all, just words " * 200)
        for name in ("none", "damaged", "text"):
            with pytest.raises(RecollectError):
                store.restore(tmp_path / name)
        assert _everything(store) == before


def _everything(store: Store) -> list[Any]:
    scopes = (Scope("acme"), Scope("rival"))
    return [
        (
            store.log.scan(scope),
            store.log.sessions(scope),
            store.records.find(scope),
            store.jobs.find(scope),
            sorted((match.scope.user or "", match.kind, match.id) for match in store.index.search(scope, "zebra", 100)),
            [(match.id, round(match.score, 5)) for match in store.index.nearest(scope, v(1, 0.5), "m", 100)],
        )
        for scope in scopes
    ]


def _in_threads(work: Any, count: int) -> None:
    failures: list[BaseException] = []

    def guarded(name: int) -> None:
        try:
            work(name)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(name,)) for name in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
