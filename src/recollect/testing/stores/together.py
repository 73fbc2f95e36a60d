"""What a store must do for many callers at once, and over time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ConfigError, Conflict, RecollectError
from recollect.store import Job, Record, Store
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import (
    ACME,
    ADA,
    ADA_TOO,
    BOB,
    EVERYONE,
    USER,
    OpenStore,
    StoreTests,
    fill,
    nothing,
    said,
    say,
    texts,
    v,
)
from recollect.types import Scope


class ThreadTests(StoreTests):
    """Many callers at once."""

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

    def test_a_block_of_reads_holds_no_one_up(self, store: Store) -> None:
        with store.reading():
            assert store.log.read(ADA) == []
            writer = threading.Thread(target=say, args=(store, ADA, "a"))
            writer.start()
            writer.join(10)
            assert not writer.is_alive()
        assert texts(store.log.read(ADA)) == ["a"]

    def test_a_block_of_reads_knows_a_session_from_its_user_and_tenant(self, store: Store) -> None:
        fill(store, ADA, ADA_TOO, BOB)
        with store.reading():
            for scope, number in ((ADA, 1), (USER, 2), (ACME, 3)):
                assert len(store.log.sessions(scope)) == number
                assert len(store.records.find(scope)) == 2 * number

    def test_two_handles_see_each_other(self, store: Store, second: Store) -> None:
        for number in range(10):
            writer, reader = (store, second) if number % 2 else (second, store)
            say(writer, ADA, str(number))
            writer.index.embed(ADA, "message", "m", {str(number): v(1, number)})
            assert texts(reader.log.read(ADA))[-1] == str(number)
            assert [match.id for match in reader.index.nearest(ADA, v(0, 1), "m", 1)] == [str(number)]
        second.log.erase(ADA)
        nothing(store.log.read(ADA), store.index.nearest(ADA, v(0, 1), "m"))
        assert [entry.seq for entry in say(store, ADA, "anew")] == [1]
        assert [entry.seq for entry in say(second, ADA, "more")] == [2]

    def test_two_handles_write_at_once(self, store: Store, second: Store) -> None:
        def work(name: int) -> None:
            for number in range(25):
                say((store, second)[name % 2], ADA, f"{name}-{number}")

        _in_threads(work, 4)
        assert [entry.seq for entry in store.log.read(ADA)] == list(range(1, 101))
        assert second.check() == []

    @pytest.mark.parametrize("scope", [ADA, USER, ACME], ids=["session", "user", "tenant"])
    def test_what_a_transaction_reads_of_its_scope_holds_when_it_writes(
        self, store: Store, second: Store, scope: Scope
    ) -> None:
        def work(name: int) -> None:
            mine = (store, second)[name % 2]
            for _ in range(10):
                with mine.transaction(scope):
                    old = mine.records.find(scope, kind="count", exact=True)
                    mine.records.delete(scope, [record.id for record in old])
                    mine.records.put(scope, [Record("count", "n", sum(int(record.value) for record in old) + 1)])

        _in_threads(work, 4)
        assert [record.value for record in store.records.find(scope, kind="count")] == [40]

    def test_transactions_on_a_tenant_wait_for_each_other(self, store: Store, second: Store) -> None:
        def work(name: int) -> None:
            mine, users = ((store, (ADA, BOB)), (second, (BOB, ADA)))[name % 2]
            for number in range(5):
                with mine.transaction(ACME):
                    for scope in users:
                        say(mine, scope, f"{name}-{number}")
                    mine.records.put(ACME, [Record("note", f"{name}-{number}", True)])

        _in_threads(work, 4)
        assert len(store.log.scan(ACME)) == 40
        assert len(store.records.find(ACME, kind="note")) == 20


class LastingTests(StoreTests):
    """What was written is there again."""

    def test_a_store_that_ends_with_its_handle_has_no_backups(self, store: Store, tmp_path: Path) -> None:
        if self.persistent:
            pytest.skip("this store has backups")
        with pytest.raises(ConfigError):
            store.backup(tmp_path / "backup")
        with pytest.raises(ConfigError):
            store.restore(tmp_path / "backup")

    @pytest.mark.usefixtures("lasting")
    def test_everything_is_there_after_a_restart(self, store: Store, open_store: OpenStore, clock: ManualClock) -> None:
        fill(store, *EVERYONE)
        store.log.tag(ADA, "m1", {"x": 1})
        store.log.erase(ADA, ["m2"])
        before = _everything(store)
        store.close()
        with open_store(clock) as again:
            assert _everything(again) == before
            assert [entry.seq for entry in say(again, ADA, "next")] == [3]
            assert again.check() == []

    @pytest.mark.usefixtures("lasting")
    def test_a_backup_is_the_same_store(self, store: Store, tmp_path: Path) -> None:
        fill(store, *EVERYONE)
        before = _everything(store)
        store.backup(tmp_path / "backup")
        with pytest.raises(ConfigError):
            store.backup(tmp_path / "backup")
        store.log.erase(ACME)
        (later,) = say(store, BOB, "later")
        store.restore(tmp_path / "backup")
        assert _everything(store) == before
        assert store.check() == []
        (after,) = say(store, ADA, "next")
        assert after.seq == 3
        assert after.position > later.position, "who has read up to a position misses what comes next"
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m", 2)] == ["t1", "m1"]

    @pytest.mark.usefixtures("lasting")
    def test_any_name_of_a_file_is_one_of_a_backup(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        say(store, ADA, "a")
        for name in (":memory:", "file:x?mode=memory", "a b#c%20.db", "-"):
            store.backup(name)
            store.restore(name)
            assert (tmp_path / name).stat().st_size
        assert texts(store.log.read(ADA)) == ["a"]

    @pytest.mark.usefixtures("lasting")
    def test_of_backups_to_one_file_at_once_one_is_made_and_whole(self, store: Store, tmp_path: Path) -> None:
        fill(store, *EVERYONE)
        before, made = _everything(store), list[int]()

        def back_up(name: int) -> None:
            with suppress(ConfigError):
                store.backup(tmp_path / "backup")
                made.append(name)

        _in_threads(back_up, 6)
        assert len(made) == 1
        assert [file.name for file in tmp_path.iterdir() if file.name.startswith("backup")] == ["backup"]
        store.log.erase(ACME)
        store.restore(tmp_path / "backup")
        assert _everything(store) == before

    @pytest.mark.usefixtures("lasting")
    def test_a_damaged_or_absent_backup_changes_nothing(self, store: Store, tmp_path: Path) -> None:
        fill(store, ADA)
        before = _everything(store)
        store.backup(tmp_path / "backup")
        data = bytearray((tmp_path / "backup").read_bytes())
        data[len(data) // 3 :] = bytes(len(data) - len(data) // 3)
        (tmp_path / "damaged").write_bytes(data)
        (tmp_path / "text").write_text("not a backup at all, just words " * 200)
        for name in ("none", "damaged", "text", "x" * 300):
            with pytest.raises(RecollectError):
                store.restore(tmp_path / name)
        for name in ("", ".", "nul\x00", "x" * 300, "none/backup"):
            with pytest.raises(RecollectError):
                store.backup(f"{tmp_path}/{name}" if name else "")
        assert _everything(store) == before


def _everything(store: Store) -> list[Any]:
    scopes = (ACME, Scope("rival"))
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


def _in_threads(work: Callable[[int], None], count: int) -> None:
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count)))
