"""What only a store in a file can show: its bytes, its schema, its locks, its processes."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from recollect.errors import ConfigError, Conflict, DiskFull, MigrationError, StoreError, StoreUnavailable
from recollect.store import Item, words
from recollect.store.sqlite import SqliteStore, connections, database, errors, migrate, writers
from recollect.store.sqlite.cache import VectorCache
from recollect.store.sqlite.change import Change
from recollect.store.steps import Migration
from recollect.testing.stores.base import ADA, BOB, USER, fact, fill, found, said, say, texts, v
from recollect.types import Scope
from tests.store.disk import with_raw
from tests.store.turns import together

FIXTURES = Path(__file__).parent.parent / "fixtures"


def everything_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


def test_an_erased_tenant_leaves_no_row(path: Path) -> None:
    tables = "scope", "session", "message", "erased", "record", "item", "source", "vector", "job"
    with SqliteStore(path) as store:
        fill(store, ADA)
        store.log.erase(ADA, ["m2"])
        assert all(rows(path, tables).values())
        store.log.erase(Scope(ADA.tenant))
        assert not any(rows(path, tables).values())


def rows(path: Path, tables: Sequence[str]) -> dict[str, int]:
    with closing(apsw.Connection(str(path))) as db:
        return {table: db.execute("SELECT count(*) FROM <table>".replace("<table>", table)).get for table in tables}


@pytest.mark.parametrize("whole", [True, False])
def test_erased_text_is_in_no_file(path: Path, whole: bool) -> None:
    secret = ["Xylophonistin", "Quokkajungen", "東京秘密", "Zwiebelfisch"]
    endings = [word[3:] for word in words.words(" ".join(secret)) if len(word) > 5]  # FTS5 shares beginnings
    marks = [text.encode() for text in (*secret, *endings)]
    with SqliteStore(path) as store:
        for number in range(300):
            say(store, BOB, f"bystander {number} talks about this and that")
        store.log.append(ADA, [said(" ".join(secret), "m", metadata={"who": secret[0]}, name=secret[1])])
        store.log.tag(ADA, "m", {"tagged": secret[3]})
        store.records.put(ADA, [fact(secret[0], secret[1], sources=("m",))])
        store.index.put(ADA, [Item("turn", secret[0], " ".join(secret), sources=("m",))])
        found(store, ADA, secret[0])
        before = everything_on_disk(path)
        assert all(mark in before for mark in marks)
        store.log.erase(ADA, None if whole else ["m"])
        after = everything_on_disk(path)
        assert [mark for mark in marks if mark in after] == []
        assert len(store.log.read(BOB)) == 300
        assert store.check() == []


def test_an_erased_word_that_began_a_page_of_the_index_is_in_no_file(path: Path) -> None:
    with SqliteStore(path, durability="normal") as store:
        store.log.append(ADA, [said(f"my card is 49927398{number:08}", f"{number:08}") for number in range(2_000)])
        with closing(apsw.Connection(str(path))) as db:
            borders = [row[0][1:].decode() for row in db.execute("SELECT term FROM words_idx")]
        cards = [border for border in borders if len(border) == 16]
        assert cards
        store.log.erase(ADA, [card[8:] for card in cards])
        after = everything_on_disk(path)
        assert [card for card in cards if card.encode() in after] == []
        assert store.check() == []
        for card in cards:
            assert found(store, ADA, card) == []
            assert found(store, ADA, str(int(card) + 1)) == [f"{int(card[8:]) + 1:08}"]


def test_erased_names_are_in_no_file(path: Path) -> None:
    scope = Scope("acme", "Xylophonistin", "Quokkajungen")
    with SqliteStore(path) as store:
        fill(store, scope)
        store.log.erase(Scope("acme", "Xylophonistin"))
        assert b"Xylophonistin" not in everything_on_disk(path)
        assert b"Quokkajungen" not in everything_on_disk(path)


def test_a_reader_in_the_way_of_erasure_only_delays_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "SCRUB_MS", 1)
    with SqliteStore(path) as store:
        say(store, ADA, "Xylophonistin")
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN; SELECT count(*) FROM message").fetchall()
        store.log.erase(ADA)
        assert b"Xylophonistin" in everything_on_disk(path)
        reader.close()
        say(store, ADA, "next")
        assert b"Xylophonistin" not in everything_on_disk(path)


def test_who_writes_after_an_erasure_does_not_wait_for_a_reader(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "SCRUB_MS", 1)
    waits, scrub = list[int](), database.Database.scrub

    def told(self: database.Database, wait: int) -> None:
        waits.append(wait)
        scrub(self, wait)

    with SqliteStore(path) as store, SqliteStore(path) as other:
        say(store, ADA, "secret", "public")
        monkeypatch.setattr(database.Database, "scrub", told)
        with other.reading():
            other.log.read(ADA)
            store.log.erase(ADA, ["secret"])
            say(store, ADA, "more", "and more")
            say(store, ADA, "most")
        say(store, ADA, "at last")
        say(store, ADA, "nothing left to do")
        assert waits == [1, 0, 0, 0]
        assert b"secret" not in everything_on_disk(path)


def test_a_newer_file_is_refused_and_untouched(path: Path) -> None:
    SqliteStore(path).close()
    with_raw(path, "INSERT INTO migration VALUES (999, 'from the future')")
    before = path.read_bytes()
    with pytest.raises(MigrationError, match="999"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_file_of_something_else_is_refused(path: Path) -> None:
    with_raw(path, "CREATE TABLE theirs (x)")
    with pytest.raises(MigrationError, match="something else"):
        SqliteStore(path)
    with SqliteStore(path.with_name("ours.db")) as store, pytest.raises(MigrationError, match="something else"):
        store.restore(path)
    path.write_text("just some text that is no database " * 50)
    with pytest.raises(StoreError, match="not a Recollect store"):
        SqliteStore(path)


def test_an_old_engine_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OLDEST", apsw.SQLITE_VERSION_NUMBER + 1)
    with pytest.raises(StoreUnavailable, match="apsw"):
        SqliteStore(path)
    assert not path.exists()


def test_a_migration_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(path).close()
    first = migrate.migrations()
    broken = Migration(len(first) + 1, "broken", "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr(migrate, "migrations", lambda: (*first, broken))
    with pytest.raises(Exception, match="nowhere"):
        SqliteStore(path)
    good = Migration(len(first) + 1, "good", "CREATE TABLE half (x);")
    monkeypatch.setattr(migrate, "migrations", lambda: (*first, good))
    with SqliteStore(path) as store:
        say(store, ADA, "a")
    assert migrate.version(apsw.Connection(str(path))) == len(first) + 1


def test_who_has_the_file_open_does_not_write_by_a_schema_that_a_newer_version_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrate.migrations()
    later = Migration(len(known) + 1, "later", "ALTER TABLE message ADD COLUMN more TEXT")
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        with monkeypatch.context() as newer:
            newer.setattr(migrate, "migrations", lambda: (*known, later))
            SqliteStore(path).close()
        refused = pytest.raises(MigrationError, match="restart this process with the version that the other one has")
        with refused:
            say(store, ADA, "after")
        with refused, store.transaction():
            pass
        with refused:
            store.check_writable()
        assert texts(store.log.read(ADA)) == ["before"]


def test_a_counter_of_positions_that_was_set_back_is_put_right(path: Path) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
    with_raw(path, "UPDATE counter SET position = 1, indexed = 1")
    with SqliteStore(path) as store:
        assert [finding.fix for finding in store.check() if "counter" in finding.problem] == ["run reindex"]
        store.reindex()
        assert store.check() == []
        say(store, ADA, "and on")
        assert store.check() == []


def test_without_its_counter_of_positions_a_file_is_not_written_to(path: Path) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
    with_raw(path, "PRAGMA ignore_check_constraints = ON; UPDATE counter SET id = 2")
    with SqliteStore(path) as store:
        with pytest.raises(StoreError, match="counter"):
            say(store, ADA, "lost")
        assert [finding.part for finding in store.check()] == ["file"]


def test_every_released_schema_opens(tmp_path: Path) -> None:
    fixtures = [FIXTURES / f"sqlite_v{step.number}.db" for step in migrate.migrations()]
    for fixture in fixtures:
        shutil.copy(fixture, tmp_path / fixture.name)
        with SqliteStore(tmp_path / fixture.name) as store:
            assert store.check() == []
            assert texts(store.log.read(ADA)) == ["zebra one", "zebra two"]
            assert len(store.records.find(USER)) == 2
            assert len(found(store, USER, "zebra")) == len(store.index.nearest(ADA, v(1, 0), "m")) == 4
            assert [entry.seq for entry in say(store, ADA, "and on")] == [3]


def test_changed_word_rules_rebuild_the_keyword_index(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, "apple")
    with_raw(path, "INSERT INTO words (words) VALUES ('delete-all')")
    monkeypatch.setattr(words, "VERSION", words.VERSION + 1)
    with SqliteStore(path) as store:
        assert found(store, ADA, "apple") == ["apple"]
        assert store.check() == []


def test_a_full_disk_stops_writing_only_while_it_is_full(path: Path) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        writer = store._database._writer
        writer.pragma("max_page_count", writer.pragma("page_count") + 3)
        with pytest.raises(DiskFull, match="room"):
            store.log.append(ADA, [said("x" * 1_000_000)])
        assert texts(store.log.read(ADA)) == ["before"]
        writer.pragma("max_page_count", 2**30)
        assert [entry.seq for entry in say(store, ADA, "after")] == [2]
        assert store.check() == []


def test_a_file_held_too_long_is_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 1)
    with SqliteStore(path) as store:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="busy"):
            say(store, ADA, "a")
        assert store.log.read(ADA) == []
        other.execute("ROLLBACK")
        other.close()
        assert [entry.seq for entry in say(store, ADA, "a")] == [1]


def test_all_that_wait_for_a_file_held_too_long_are_told_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 500)
    with SqliteStore(path) as store, closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()

        def write(_: int) -> float:
            with pytest.raises(StoreUnavailable, match="busy"):
                say(store, ADA, "a")
            return time.monotonic() - started

        with ThreadPoolExecutor(40) as pool:
            told = list(pool.map(write, range(40)))
        assert max(told) < 10
        other.execute("ROLLBACK")
        assert [entry.seq for entry in say(store, ADA, "a")] == [1]


@pytest.mark.parametrize("refused", [apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError])
def test_a_file_that_this_user_may_not_write_says_what_to_do(path: Path, refused: type[apsw.Error]) -> None:
    error = errors.translated(refused("attempt to write a readonly database"), str(path))
    assert isinstance(error, StoreUnavailable)
    assert "let this user read and write it, its -wal and -shm where they are, and its folder" in str(error)


@pytest.mark.parametrize("block", [SqliteStore.reading, SqliteStore.transaction])
def test_what_goes_wrong_in_a_block_by_itself_is_not_taken_for_damage_of_the_file(
    path: Path, block: Callable[[SqliteStore], AbstractContextManager[None]]
) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        with pytest.raises(UnicodeDecodeError), block(store):
            assert texts(store.log.read(ADA)) == ["before"]
            b"\xff".decode()
        with_raw(path, "UPDATE scope SET user = CAST(x'ff' AS TEXT) WHERE session <> ''")
        with block(store), pytest.raises(StoreError, match="damaged"):
            store.log.scan(Scope(ADA.tenant))


def test_those_that_read_at_once_keep_little_of_the_file_in_memory(path: Path) -> None:
    with SqliteStore(path) as store, ExitStack() as open_files:
        store.log.append(ADA, [said("x" * 3_500) for _ in range(2_500)])
        before = apsw.memory_used()
        for _ in range(connections.MAX_IDLE):
            db = open_files.enter_context(store._database.connections.lent())
            assert db.execute("SELECT count(*) FROM message NOT INDEXED WHERE body <> x'00'").get == 2_500
        assert apsw.memory_used() - before < connections.MAX_IDLE * 5 * 2**20


def test_who_deletes_nothing_does_not_have_the_file_written_out(path: Path) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
        log = path.with_name("memory.db-wal")
        for scope in (ADA, BOB):
            assert store.records.delete(scope, ["no"]) == store.index.delete(scope, "turn", ["no"]) == 0
        assert log.stat().st_size > 0
        assert store.index.delete(ADA, "turn", ["t1"]) == 1
        assert log.stat().st_size == 0


def test_a_refused_append_leaves_nothing_open(path: Path) -> None:
    with SqliteStore(path) as store:
        store.log.append(ADA, [said("a", "taken")])
        with pytest.raises(Conflict):
            store.log.append(ADA, [said("b"), said("c", "taken")])
        other = apsw.Connection(str(path))
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall() == [(0, 0, 0)]
        other.close()


def test_a_backup_from_before_other_word_rules_is_searched_by_todays(path: Path) -> None:
    with SqliteStore(path) as store:
        store.restore(FIXTURES / "sqlite_v1.db")
        assert store.check() == []


def test_a_writer_elsewhere_right_after_a_restore_writes_to_its_own_session(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(path) as store, SqliteStore(path) as elsewhere:
        say(store, ADA, "before")
        say(elsewhere, ADA, "before")
        store.backup(path.with_name("backup.db"))
        say(elsewhere, BOB, "not in the backup")

        def right_after() -> None:
            say(elsewhere, BOB, "right after")

        monkeypatch.setattr(store._database, "scrub", right_after)
        store.restore(path.with_name("backup.db"))
        say(store, Scope("acme", "eve", "new"), "hello")
        assert texts(store.log.read(BOB)) == ["right after"]
        assert texts(store.log.read(Scope("acme", "eve", "new"))) == ["hello"]


def test_a_position_that_was_given_while_a_backup_is_restored_is_not_given_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(path) as store, SqliteStore(path) as elsewhere:
        say(store, ADA, "before")
        store.backup(path.with_name("backup.db"))
        given = say(elsewhere, BOB, "not in the backup")

        def in_between(db: apsw.Connection, path: str) -> None:
            given.extend(say(elsewhere, BOB, "meanwhile"))
            migrate.migrate(db, path)

        monkeypatch.setattr(database, "migrate", in_between)
        store.restore(path.with_name("backup.db"))
        given.extend(say(elsewhere, BOB, "after"))
        assert [entry.position for entry in given] == [2, 3, 4]


def test_a_backup_is_made_ready_while_others_write_and_tells_where_it_has_no_room(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_between(db: apsw.Connection, path: str) -> None:
        writer.start()
        writer.join(10)
        assert not writer.is_alive()
        raise apsw.FullError("database or disk is full")

    with SqliteStore(path) as store:
        writer = threading.Thread(target=say, args=(store, ADA, "meanwhile"))
        say(store, ADA, "before")
        store.backup(path.with_name("backup.db"))
        monkeypatch.setattr(database, "migrate", in_between)
        with pytest.raises(DiskFull, match="SQLITE_TMPDIR"):
            store.restore(path.with_name("backup.db"))
        assert texts(store.log.read(ADA)) == ["before", "meanwhile"]


def test_more_writers_than_fit_in_a_batch_are_all_served(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "BATCH", 2)
    with SqliteStore(path) as store:
        assert together(store._database._writers, lambda number: say(store, ADA, str(number)), 7) == [None] * 7
        assert [entry.seq for entry in store.log.read(ADA)] == list(range(1, 8))


def test_writers_that_wait_are_committed_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[int] = []
    commit = Change.commit

    def counted(change: Change) -> None:
        commits.append(1)
        commit(change)

    monkeypatch.setattr(Change, "commit", counted)
    with SqliteStore(path) as store:
        say(store, ADA, "taken")
        commits.clear()

        def work(number: int) -> None:
            store.log.append(ADA, [said(str(number), "taken" if number == 3 else "")])

        errors = together(store._database._writers, work, 8)
        assert len(commits) == 1
        assert [number for number, error in enumerate(errors) if error] == [3]
        assert [entry.seq for entry in store.log.read(ADA)] == list(range(1, 9))
        assert store.check() == []


def test_what_can_not_be_done_inside_a_transaction_says_so(path: Path) -> None:
    with SqliteStore(path) as store:
        store.backup(path.with_name("backup"))
        with store.transaction():
            say(store, ADA, "a")
            for call in (store.close, lambda: store.restore(path.with_name("backup"))):
                with pytest.raises(ConfigError, match="transaction"):
                    call()
        assert texts(store.log.read(ADA)) == ["a"]


def test_vectors_beyond_the_cache_are_searched_too(path: Path) -> None:
    rows = np.random.default_rng(1).standard_normal((300, 8)).astype(np.float32)
    with SqliteStore(path) as store:
        store.index.put(ADA, [Item("chunk", str(n), "x") for n in range(300)])
        store.index.embed(ADA, "chunk", "m", {str(n): rows[n] for n in range(300)})
        best = [match.id for match in store.index.nearest(ADA, rows[7], "m", 5)]
        assert best[0] == "7"
        store.index.cache = VectorCache(limit=10)
        assert [match.id for match in store.index.nearest(ADA, rows[7], "m", 5)] == best


def test_a_backup_of_another_kind_of_store_is_not_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"PK" + b"another kind of file " * 100)
    with (
        SqliteStore(tmp_path / "memory.db") as store,
        pytest.raises(StoreError, match=r"no backup of a SQLite store.*export"),
    ):
        store.restore(tmp_path / "other")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_no_other_user_of_the_machine_may_read_a_new_store_or_backup(tmp_path: Path) -> None:
    path, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    before = os.umask(0o022)
    try:
        with SqliteStore(path) as store:
            say(store, ADA, "the code is 4711")
            store.backup(backup)
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("memory.db", "memory.db-wal", "memory.db-shm", "backup.db"), 0o600)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_file_that_others_were_let_into_stays_open_to_them(path: Path) -> None:
    SqliteStore(path).close()
    path.chmod(0o660)
    with SqliteStore(path) as store:
        say(store, ADA, "hello")
        assert {file.stat().st_mode & 0o777 for file in path.parent.glob(f"{path.name}*")} == {0o660}
