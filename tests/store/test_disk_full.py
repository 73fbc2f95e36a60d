"""A full disk: a clear error, reading goes on, and writing too once there is room, without a restart."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from recollect.errors import DiskFull, StoreUnavailable
from recollect.store import Store
from recollect.store.backup import making
from recollect.store.sqlite import SqliteStore, database
from recollect.types import Message, Scope
from tests.postgres import Databases, Server, running

from .disk import FullDisk

TRIP = Scope("acme", "ada", "trip")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", os.fspath(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can't be mounted here: it takes root on Linux")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", os.fspath(folder)], check=True)


def fill(store: Store) -> int:
    """How many messages went in before the disk was full."""
    dice = random.Random(1)
    for number in itertools.count():
        noise = dice.randbytes(5_000).hex()
        try:
            store.log.append(TRIP, [Message("user", f"number {number} {noise}", str(number))])
        except DiskFull as error:
            assert "free some space" in str(error)
            return number
    raise AssertionError


def check_through(store: Store, make_room: Callable[[], object]) -> None:
    kept = fill(store)
    assert kept > 0
    for _ in range(3):
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", random.Random(2).randbytes(1_000_000).hex(), "too much")])
    held = [str(number) for number in range(kept)]
    assert [entry.message.id for entry in store.log.read(TRIP)] == held
    assert [match.id for match in store.index.search(TRIP, f"{kept - 1}")] == [f"{kept - 1}"]
    make_room()
    store.log.append(TRIP, [Message("user", "room again", "after")])
    assert [entry.message.id for entry in store.log.read(TRIP)] == [*held, "after"]
    assert store.check() == []


def test_a_small_file_system_that_fills_up(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "2m") as folder:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(600_000))
        with SqliteStore(folder / "memory.db") as store:
            check_through(store, ballast.unlink)


def test_a_backup_to_a_small_file_system_names_the_file_that_has_no_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "200k") as folder, SqliteStore(tmp_path / "memory.db") as store:
        store.log.append(TRIP, [Message("user", random.Random(1).randbytes(200_000).hex())])
        with pytest.raises(DiskFull, match=r"small/copy\.db: .* on another disk"):
            store.backup(folder / "copy.db")
        assert list(folder.iterdir()) == []
        store.check_writable()


@pytest.fixture
def server() -> Iterator[Server]:
    with running("-c fsync=off", "-c autovacuum=off") as own:
        yield own


def test_a_small_file_system_that_fills_up_under_postgres(server: Server) -> None:
    psycopg = pytest.importorskip("psycopg")
    from recollect.store.postgres import PostgresStore

    with (
        small_disk(server.data.parent / "small", "40m") as folder,
        Databases(server.address).fresh(pgvector=False) as url,
    ):
        shutil.chown(folder, server.data.owner())
        with psycopg.connect(server.address, autocommit=True) as admin:
            admin.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
            name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
            admin.execute(f"ALTER DATABASE {name} SET TABLESPACE small")
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(10_000_000))
        with PostgresStore(url) as store:

            def make_room() -> None:
                with pytest.raises(DiskFull):
                    store.check_writable()
                ballast.unlink()
                store.check_writable()

            store.check_writable()
            check_through(store, make_room)


def test_a_disk_that_says_it_is_full(tmp_path: Path) -> None:
    disk = FullDisk("full-disk")
    with SqliteStore(tmp_path / "memory.db", vfs=disk.name) as store:
        store.log.append(TRIP, [Message("user", "number 0", "0")])
        disk.full = True
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", "word " * 2_000, "too much")])
        with pytest.raises(DiskFull, match=r"free some space \(erasing takes some, too\)"):
            store.log.erase(TRIP)
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0"]
        disk.full = False
        store.log.append(TRIP, [Message("user", "room again", "after")])
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0", "after"]
        assert store.check() == []


def test_a_moment_in_which_another_writes_does_not_make_a_full_disk_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 1)
    disk, file = FullDisk("full-and-busy"), tmp_path / "memory.db"
    with SqliteStore(file, vfs=disk.name) as store, closing(apsw.Connection(str(file))) as other:
        store.check_writable()
        disk.full = True
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", "word " * 2_000, "too much")])
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="busy"):
            store.log.append(TRIP, [Message("user", "number 0", "0")])
        other.execute("ROLLBACK")
        with pytest.raises(DiskFull):
            store.check_writable()
        disk.full = False
        store.check_writable()


def test_a_server_that_says_its_disk_is_full(postgres: Databases) -> None:
    psycopg = pytest.importorskip("psycopg")
    from recollect.store.postgres import PostgresStore

    with postgres.fresh(pgvector=False) as url, PostgresStore(url) as store, psycopg.connect(url) as owner:
        store.log.append(TRIP, [Message("user", "number 0", "0")])
        owner.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN RAISE disk_full; END $$;"
            "CREATE TRIGGER full_disk BEFORE INSERT ON recollect.messages EXECUTE FUNCTION no_room()"
        )
        owner.commit()
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", "too much", "too much")])
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0"]
        owner.execute("DROP TRIGGER full_disk ON recollect.messages")
        owner.commit()
        store.log.append(TRIP, [Message("user", "room again", "after")])
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0", "after"]
        assert store.check() == []


def test_a_file_that_has_no_room_is_told_by_its_name_and_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl"
    with pytest.raises(DiskFull, match=r"no room to write .*all\.jsonl: free some space"), making(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(PermissionError), making(target):
        raise PermissionError(errno.EACCES, "Permission denied")
    assert list(tmp_path.iterdir()) == []
