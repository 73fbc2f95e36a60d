"""kill -9 at any moment of any work: nothing acknowledged is lost, nothing is half done, the index fits the log."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import apsw
import pytest

from recollect import Memory
from recollect.embed.hashing import HashingEmbedder
from recollect.store.sqlite import SqliteStore, check, migrate
from recollect.types import Scope
from tests.programs import gone_after

from . import victim
from .victim import BATCH, STEP, TRIP, messages

CALLS = 40


class Shooter:
    """Has work started in a process and kills it, some calls and a moment later."""

    def __init__(self, victims: subprocess.Popen[bytes]) -> None:
        self._victims, self._rest = victims, b""

    def _line(self, timeout: float | None = None) -> list[str]:
        out = self._victims.stdout
        assert out is not None
        while b"\n" not in self._rest:
            if timeout is not None and not select.select([out], [], [], timeout)[0]:
                return []
            self._rest += (more := os.read(out.fileno(), 65_536))
            assert more, "the victims' parent died"
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode().split()

    def shoot(self, work: str, folder: Path, dice: Random) -> list[int]:
        """The calls that were acknowledged before the process was killed."""
        assert self._victims.stdin is not None
        self._victims.stdin.write(f"{work} {folder} {dice.random()}\n".encode())
        self._victims.stdin.flush()
        pid, done, wanted = 0, list[int](), dice.choice((0, 0, 1, 1, 2, 5))
        while not pid or len(done) < wanted:
            line = self._line()
            assert line[0] != "gone", "it failed"
            if line[0] == "over":
                break
            pid = int(line[1]) if line[0] == "started" else pid
            done += [int(line[1])] if line[0] == "done" else []
        until = self._line(timeout=dice.random() ** 2 * 0.05)
        assert until != ["gone"], "it failed"
        os.kill(pid, signal.SIGKILL)
        while until != ["gone"]:
            done += [int(until[1])] if until[:1] == ["done"] else []
            until = self._line()
        return done


@pytest.fixture(scope="module")
def shooter() -> Iterator[Shooter]:
    command = [sys.executable, victim.__file__]
    with gone_after(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as victims:
        yield Shooter(victims)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A file with some messages."""
    (folder := tmp_path / "filled").mkdir()
    with SqliteStore(folder / "memory.db", durability="normal") as store:
        for call in range(CALLS):
            store.log.append(TRIP, messages(call))
    return folder


def calls_held(store: SqliteStore) -> list[int]:
    """The calls whose messages are there, and that they are there wholly and in order, findable, without a finding."""
    entries = store.log.read(TRIP)
    assert [finding.problem for finding in store.check()] == []
    calls = [int(entry.message.id.split(".")[0]) for entry in entries[::BATCH]]
    assert [entry.message.id for entry in entries] == [message.id for call in calls for message in messages(call)]
    for call in calls[-3:]:
        assert [match.id for match in store.index.search(TRIP, f"call{call}x1")] == [f"{call}.1"]
    return calls


def in_files(folder: Path, word: str) -> list[str]:
    """The files of the database that hold these bytes."""
    return [path.name for path in folder.glob("memory.db*") if word.encode() in path.read_bytes()]


def shot_while_appending(shooter: Shooter, folder: Path, dice: Random) -> None:
    before = held(folder)
    done = shooter.shoot("append", folder, dice)
    after = held(folder)
    assert after[: len(before)] == before
    assert after == list(range(len(after)))
    assert set(done) <= set(after), "an acknowledged batch is lost"
    assert len(after) <= len(before) + len(done) + 1


def shot_while_migrating(shooter: Shooter, folder: Path, dice: Random) -> None:
    done = shooter.shoot("migrate", folder, dice)
    db = apsw.Connection(os.fspath(folder / "memory.db"))
    finished = migrate.version(db) == STEP.number
    assert finished or not done
    assert finished == db.table_exists("main", "later")
    assert db.execute("SELECT count(*) FROM message").get == CALLS * BATCH
    if finished:
        assert db.execute("SELECT count(*) FROM later").get == CALLS * BATCH
    db.close()
    with pytest.MonkeyPatch.context() as later:
        steps = (*migrate.migrations(), STEP)
        for module in (migrate, check):
            later.setattr(module, "migrations", lambda: steps)
        for path in folder.glob("*.db"):
            with SqliteStore(path) as store:
                assert calls_held(store) == (list(range(CALLS)) if path.name == "memory.db" else [])


def shot_while_backing_up(shooter: Shooter, folder: Path, dice: Random) -> None:
    done = shooter.shoot("backup", folder, dice)
    copies = sorted(folder.glob("copy-*.db"))
    assert {f"copy-{call}.db" for call in done} <= {path.name for path in copies}
    for path in copies[-2:]:
        with SqliteStore(path) as copy:
            assert calls_held(copy) == list(range(CALLS))
    with SqliteStore(folder / "memory.db") as store:
        store.backup(folder / f"copy-{len(copies)}.db")
    assert not list(folder.glob("*.part"))


def shot_while_reindexing(shooter: Shooter, folder: Path, dice: Random) -> None:
    shooter.shoot("reindex", folder, dice)
    assert held(folder) == list(range(CALLS))


def shot_while_erasing(shooter: Shooter, folder: Path, dice: Random) -> None:
    before = held(folder)
    done = shooter.shoot("erase", folder, dice)
    for call in done:
        assert in_files(folder, f"call{call}x") == []
    with SqliteStore(folder / "memory.db") as store:
        after = calls_held(store)
        gone = [call for call in before if call not in after]
        for call in gone:
            assert in_files(folder, f"call{call}x") == []
    assert gone[: len(done)] == done
    assert len(gone) <= len(done) + 1


def held(folder: Path) -> list[int]:
    with SqliteStore(folder / "memory.db") as store:
        return calls_held(store)


@pytest.mark.parametrize(
    ("shot", "fresh"),
    [
        (shot_while_appending, False),
        (shot_while_migrating, True),
        (shot_while_backing_up, True),
        (shot_while_reindexing, False),
        (shot_while_erasing, False),
    ],
)
def test_a_killed_process_leaves_a_whole_store(
    shot: Callable[[Shooter, Path, Random], None],
    fresh: bool,
    shooter: Shooter,
    filled: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    dice = Random(shot.__name__)
    folder = tmp_path / "shot"
    for kill in range(300 if request.config.getoption("--soak") else 20):
        if fresh or kill % 10 == 0:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(filled, folder)
        shot(shooter, folder, dice)


def test_every_turn_is_embedded_learned_and_summarised_once_whenever_it_is_killed(
    shooter: Shooter, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    dice, kept = Random(11), set[int]()
    for _ in range(1_000 if request.config.getoption("--soak") else 100):
        kept.update(shooter.shoot("remember", tmp_path, dice))
    later = datetime.now(UTC) + timedelta(hours=2)
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: later)
    scope = Scope("default", "ada", "trip")
    with Memory(store, embedder=HashingEmbedder(32)) as memory:
        memory.drain()
        chat = memory.session("trip", user="ada")
        said = [message.text for message in chat.history() if message.role == "user"]
        turns = len(said)
        assert said == [f"I like topic{n}x." for n in range(turns)]
        assert kept <= set(range(turns))
        assert store.index.missing(scope, HashingEmbedder(32).name) == []
        facts = [record.value["value"] for record in store.records.find(scope.owner, kind="fact")]
        assert sorted(facts) == sorted(f"topic{n}x" for n in range(turns))
        blocks = [record.key for record in store.records.find(scope, kind="summary")]
        assert len(blocks) == len(set(blocks)) == 2 * turns // 12
        assert store.jobs.find(Scope("default"), state="dead") == []
    assert turns > 50
