"""Files that are deleted, moved or replaced while a store has them open."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import StoreUnavailable
from recollect.store.sqlite import SqliteStore, files
from recollect.testing.stores.base import ADA, say, texts

from . import writers


@pytest.mark.parametrize("away", ["deleted", "replaced", "moved"])
def test_nothing_is_acknowledged_to_a_file_that_is_no_longer_there(
    path: Path, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_SECONDS", 0)
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        kept = path.rename(path.with_name("kept.db"))
        if away == "deleted":
            kept.unlink()
        elif away == "replaced":
            shutil.copy(kept, path)
        with pytest.raises(StoreUnavailable, match="moved, replaced or deleted"):
            say(store, ADA, "lost")
        with pytest.raises(StoreUnavailable, match="moved, replaced or deleted"), store.transaction():
            say(store, ADA, "lost")
        assert texts(store.log.read(ADA)) == ["before"]
        if away == "moved":
            kept.rename(path)
            say(store, ADA, "after")
            assert texts(store.log.read(ADA)) == ["before", "after"]


@pytest.mark.parametrize("beside", ["memory.db-wal", "memory.db-shm"])
def test_nothing_is_acknowledged_once_a_file_beside_it_is_gone(
    path: Path, beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_SECONDS", 0)
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        path.with_name(beside).unlink()
        with pytest.raises(StoreUnavailable, match=f"{beside} was moved, replaced or deleted"):
            say(store, ADA, "lost")
    with SqliteStore(path) as store:
        assert texts(store.log.read(ADA)) == ["before"]
        say(store, ADA, "after")
        assert store.check() == []


@pytest.mark.parametrize("beside", [["memory.db-shm"], ["memory.db-shm", "memory.db-wal"]])
@pytest.mark.parametrize("others", [0, 50])
def test_closing_keeps_what_was_kept_and_goes_over_nothing_that_others_wrote(
    path: Path, beside: list[str], others: int
) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, *map(str, range(50)))
        for name in beside:
            path.with_name(name).unlink()
        if others:  # they see nothing of this process
            command = [sys.executable, writers.__file__, str(path), "1", str(others)]
            subprocess.run(command, check=True)
    with SqliteStore(path) as store:
        assert store.check() == []
        ours = 0 if others and "memory.db-wal" in beside else 50
        assert len(store.log.read(ADA)) == ours + others


def test_who_reads_a_file_that_is_no_longer_there_is_told_and_makes_no_other(path: Path) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, "before")
        path.unlink()
        with pytest.raises(StoreUnavailable, match="moved, replaced or deleted"):
            store.check()
        assert not path.exists()
        path.mkdir()
        with pytest.raises(StoreUnavailable, match="is a folder"):
            store.check()


def test_a_relative_path_stays_the_same_file_wherever_the_process_goes(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_SECONDS", 0)
    monkeypatch.chdir(path.parent)
    with SqliteStore(path.name) as store:
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        say(store, ADA, "hello")
        assert texts(store.log.read(ADA)) == ["hello"]
        with store.reading():
            store.log.read(ADA)
            assert store.check() == []
            assert store.index.search(ADA, "hello")
