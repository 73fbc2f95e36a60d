"""The power fails at any moment: at `full` nothing acknowledged is lost, nothing is torn, nothing is damaged."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw
import pytest

from recollect.errors import StoreError
from recollect.store import Durability, Item
from recollect.store.sqlite import SqliteStore
from recollect.types import Message, Scope

from .disk import RecordingDisk, Step, after_power_cut

TRIP = Scope("acme", "ada", "trip")
RUNS = 10


@pytest.fixture(autouse=True)
def small_write_ahead_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes SQLite move its write-ahead file into the database every few calls, so that many cuts hit that."""
    monkeypatch.setattr(apsw, "connection_hooks", [lambda db: db.wal_autocheckpoint(20)])


@dataclass
class Recorded:
    """What a program asked of the disk, and what the log held at each acknowledgement."""

    steps: list[Step]
    states: list[tuple[str, ...]] = field(default_factory=lambda: [()])
    acknowledged: list[int] = field(default_factory=lambda: [0])

    def may_hold(self, cut: int) -> list[tuple[str, ...]]:
        """The states the log may be in after a cut: that of the last acknowledgement, or the one being written."""
        last = max(place for place, at in enumerate(self.acknowledged) if at <= cut)
        return self.states[last : last + 2]


def record(folder: Path, durability: Durability, seed: int) -> Recorded:
    """A day in the life of a store, on a disk that takes notes."""
    disk, dice = RecordingDisk(f"recording-{durability}-{seed}"), Random(seed)
    out = Recorded(disk.steps)
    kept: list[str] = []
    with SqliteStore(folder / "memory.db", durability=durability, vfs=disk.name) as store:
        for call in range(30):
            kind = dice.choice(("one", "one", "batch", "batch", "item", "erase", "reindex"))
            if kind == "erase" and kept:
                gone = dice.sample(kept, min(len(kept), 3))
                store.log.erase(TRIP, gone)
                kept = [id for id in kept if id not in gone]
            elif kind == "item":
                store.index.put(TRIP, [Item("note", f"n{call}", "a note " * dice.randint(1, 40))])
            elif kind == "reindex":
                store.reindex()
            else:
                ids = [f"{call}.{number}" for number in range(1 if kind == "one" else 7)]
                store.log.append(TRIP, [Message("user", f"{id} " + "word " * dice.randint(1, 40), id) for id in ids])
                kept += ids
            out.states.append(tuple(kept))
            out.acknowledged.append(len(disk.steps))
    return out


def verdict(folder: Path, recorded: Recorded, cut: int, files: dict[str, bytes]) -> str:
    """'whole', or what became of the store."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    may_hold, disk = recorded.may_hold(cut), RecordingDisk("after")
    try:
        with SqliteStore(folder / "memory.db", vfs=disk.name) as store:
            held = tuple(entry.message.id for entry in store.log.read(TRIP))
            if store.check():
                return "corrupt"
    except StoreError:
        return "corrupt"
    if held in may_hold:
        return "whole"
    return "lost" if held in recorded.states else "torn"


def cuts(folder: Path, durability: Durability, count: int, *, syncs: bool = True) -> Counter[str]:
    """What became of a store in so many power cuts."""
    seen: Counter[str] = Counter()
    for run in range(RUNS):
        (home := folder / f"{durability}-{run}-{syncs}").mkdir()
        recorded, dice = record(home, durability, run), Random(run)
        for _ in range(count // RUNS):
            cut = dice.randint(0, len(recorded.steps))
            files = after_power_cut(recorded.steps[:cut], dice, syncs=syncs)
            seen[verdict(home / "after", recorded, cut, files)] += 1
    return seen


def test_full_survives_every_power_cut(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count = 10_000 if request.config.getoption("--soak") else 1_000
    assert cuts(tmp_path, "full", count) == {"whole": count}


def test_normal_may_lose_the_last_but_never_tears(tmp_path: Path) -> None:
    seen = cuts(tmp_path, "normal", 100)
    assert seen["lost"] > 0, "a harness that sees no loss at `normal` proves nothing about `full`"
    assert seen["torn"] == seen["corrupt"] == 0


def test_a_disk_that_ignores_syncs_loses(tmp_path: Path) -> None:
    seen = cuts(tmp_path, "full", 100, syncs=False)
    assert seen["lost"] + seen["torn"] + seen["corrupt"] > 0, "the harness must notice a disk that lies"
