"""A full disk: a clear error, reading goes on, and writing too once there is room, without a restart."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.errors import DiskFull
from recollect.store.sqlite import SqliteStore
from recollect.types import Message, Scope

from .disk import FullDisk

TRIP = Scope("acme", "ada", "trip")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    (folder := tmp_path / "small").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", os.fspath(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can't be mounted here: it takes root on Linux")
    yield folder
    subprocess.run(["umount", os.fspath(folder)], check=True)


def fill(store: SqliteStore) -> int:
    """How many messages went in before the disk was full."""
    for number in itertools.count():
        try:
            store.log.append(TRIP, [Message("user", f"number {number} " + "word " * 2_000, str(number))])
        except DiskFull as error:
            assert "free some space" in str(error)
            return number
    raise AssertionError


def check_through(store: SqliteStore, make_room: Callable[[], object]) -> None:
    kept = fill(store)
    assert kept > 0
    for _ in range(3):
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", "word " * 20_000, "too much")])
    held = [str(number) for number in range(kept)]
    assert [entry.message.id for entry in store.log.read(TRIP)] == held
    assert [match.id for match in store.index.search(TRIP, f"{kept - 1}")] == [f"{kept - 1}"]
    make_room()
    store.log.append(TRIP, [Message("user", "room again", "after")])
    assert [entry.message.id for entry in store.log.read(TRIP)] == [*held, "after"]
    assert store.check() == []


def test_a_small_file_system_that_fills_up(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(600_000))
    with SqliteStore(small_disk / "memory.db") as store:
        check_through(store, ballast.unlink)


def test_a_disk_that_says_it_is_full(tmp_path: Path) -> None:
    disk = FullDisk("full-disk")
    with SqliteStore(tmp_path / "memory.db", vfs=disk.name) as store:
        store.log.append(TRIP, [Message("user", "number 0", "0")])
        disk.full = True
        with pytest.raises(DiskFull):
            store.log.append(TRIP, [Message("user", "word " * 2_000, "too much")])
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0"]
        disk.full = False
        store.log.append(TRIP, [Message("user", "room again", "after")])
        assert [entry.message.id for entry in store.log.read(TRIP)] == ["0", "after"]
        assert store.check() == []
