"""A program to be killed: forks a process for each line it reads, which works until it is shot.

A line is `<work> <folder> <seed>`. What comes back on the pipe, a line each: `started <pid>`, then from the process
`ready` and `done <n>` for each call that returned, `over` if it has done all there is and only waits to be shot, and
`gone` when it is dead.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from recollect import Memory
from recollect.embed.hashing import HashingEmbedder
from recollect.store.sqlite import SqliteStore, migrate
from recollect.store.steps import Migration
from recollect.types import Message, Scope

TRIP = Scope("acme", "ada", "trip")
BATCH = 3
STEP = Migration(
    999,
    "later",
    "CREATE TABLE later (position INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;"
    "INSERT INTO later SELECT position, body FROM message;"
    "ALTER TABLE message ADD COLUMN later INTEGER;"
    "UPDATE message SET later = seq;",
)
"""A change of the schema that a later version might make."""


def messages(call: int) -> list[Message]:
    """What the n-th call appends: each text holds a word of its own."""
    return [Message("user", f"call{call}x{n} " + "word " * 20, f"{call}.{n}") for n in range(BATCH)]


def append(folder: Path, dice: Random) -> Iterator[int]:
    with SqliteStore(folder / "memory.db") as store:
        start = len(store.log.read(TRIP)) // BATCH
        for call in itertools.count(start):
            store.log.append(TRIP, messages(call))
            yield call


def migrated(folder: Path, dice: Random) -> Iterator[int]:
    steps = (*migrate.migrations(), STEP)
    vars(migrate)["migrations"] = lambda: steps
    with SqliteStore(folder / "memory.db"):
        yield 0
    for call in itertools.count(1):
        with SqliteStore(folder / f"new-{call}.db"):
            yield call


def backup(folder: Path, dice: Random) -> Iterator[int]:
    with SqliteStore(folder / "memory.db") as store:
        for call in itertools.count():
            store.backup(folder / f"copy-{call}.db")
            yield call


def reindex(folder: Path, dice: Random) -> Iterator[int]:
    with SqliteStore(folder / "memory.db") as store:
        for call in itertools.count():
            store.reindex()
            yield call


def erase(folder: Path, dice: Random) -> Iterator[int]:
    with SqliteStore(folder / "memory.db") as store:
        calls = sorted({int(entry.message.id.split(".")[0]) for entry in store.log.read(TRIP)})
        for call in calls:
            store.log.erase(TRIP, [message.id for message in messages(call)])
            yield call


def remember(folder: Path, dice: Random) -> Iterator[int]:
    """Turns through the front door, with its background at work; each states a fact of its own."""
    with Memory.open(folder / "memory.db", embedder=HashingEmbedder(32)) as memory:
        chat = memory.session("trip", user="ada")
        start = len(chat.history()) // 2
        for call in itertools.count(start):
            chat.add_turn(f"I like topic{call}x.", "Noted.")
            yield call


WORK: dict[str, Callable[[Path, Random], Iterator[int]]] = {
    "append": append,
    "migrate": migrated,
    "backup": backup,
    "reindex": reindex,
    "erase": erase,
    "remember": remember,
}


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def work(name: str, folder: str, seed: str) -> None:
    say("ready")
    for call in WORK[name](Path(folder), Random(seed)):
        say(f"done {call}")
    say("over")
    signal.pause()


def main() -> None:
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            try:
                work(*line.split())
            finally:
                os._exit(0)
        say(f"started {pid}")
        os.waitpid(pid, 0)
        say("gone")


if __name__ == "__main__":
    main()
