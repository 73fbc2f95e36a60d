"""The first context of a process, and of a further user in it, beside reading the same rows by hand.

`_first.py 1000 10000` measures it alone.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from hashlib import shake_128
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from _report import table
from _timing import say, scratch, sentences

from recollect import Memory, Message
from recollect.embed import Kind
from recollect.types import Scope

SIZES = (1_000, 10_000, 50_000)
TIMES = 5
ME, OTHER = "ada", "ben"


class Stub:
    """A vector of any text, for next to nothing: the same text, the same vector."""

    name, dimension = "stub", 384

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> np.ndarray[Any, np.dtype[np.float32]]:
        drawn = b"".join(shake_128(text.encode()).digest(self.dimension) for text in texts)
        rows = np.frombuffer(drawn, np.int8).reshape(-1, self.dimension).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def first_contexts(sizes: Sequence[int] = SIZES) -> tuple[str, float]:
    """A table of CPU ms by the user's stored turns, and the ratio to reading by hand for the most of them."""
    rows: list[tuple[str, ...]] = [("turns", "first context", "the rows by hand", "ratio", "a further user's first")]
    ratio = 0.0
    for turns in sizes:
        say(f"the first context of a process, {turns:,} turns …")
        with scratch() as folder:
            one, two = folder / "one.db", folder / "two.db"
            fill(one, turns, ME)
            fill(two, turns, ME, OTHER)
            costs = [(alone("first", one), alone("by_hand", one), alone("further", two)) for _ in range(TIMES)]
        ours, hand, next_ones = (statistics.median(each) for each in zip(*costs, strict=True))
        ratio = ours / hand
        rows.append((f"{turns:,}", f"{ours:,.0f}", f"{hand:,.0f}", f"{ratio:.1f}", f"{next_ones:,.0f}"))
    return table(rows), ratio


def fill(file: Path, turns: int, *users: str) -> None:
    """So many turns of each user with their vectors, a hundred a session."""
    texts, stub = sentences(7), Stub()
    with Memory.open(file, embedder=None, durability="normal") as memory:
        for user, start in product(users, range(0, turns, 100)):
            scope = Scope("default", user, f"before {start}")
            said = [Message(("user", "assistant")[n % 2], text) for n, text in enumerate(islice(texts, 200))]
            ids = [entry.message.id for entry in memory.store.log.append(scope, said)]
            vectors = stub.embed([message.text for message in said])
            memory.store.index.embed(scope, "message", stub.name, dict(zip(ids, vectors, strict=True)))


def alone(what: str, file: Path) -> float:
    """CPU ms of one of those below, in a process of its own."""
    command = [sys.executable, __file__, what, str(file)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def context(memory: Memory, user: str) -> None:
    if not memory.session("now", user=user).context("Where did we go after the rain?", 2_000).memory:
        raise SystemExit("nothing was recalled")


def first(file: Path) -> float:
    """The first context of a process, opening the store included."""
    started = time.process_time()
    with Memory.open(file, embedder=Stub()) as memory:
        context(memory, ME)
    return time.process_time() - started


def further(file: Path) -> float:
    """The first context of a user in a process that made one for another."""
    with Memory.open(file, embedder=Stub()) as memory:
        context(memory, OTHER)
        started = time.process_time()
        context(memory, ME)
        return time.process_time() - started


def by_hand(file: Path) -> float:
    """What must be read at least: every message, its JSON parsed, and every vector into one array."""
    started = time.process_time()
    with closing(sqlite3.connect(file)) as db:
        said = db.execute("SELECT position, session, id, body FROM message ORDER BY position")
        bodies = [(*row[:3], json.loads(row[3])) for row in said]
        vectors = list(db.execute("SELECT position, data FROM vector ORDER BY id"))
        rows = np.frombuffer(b"".join(data for _, data in vectors), np.float32).reshape(len(bodies), -1)
        if rows.shape[1] != Stub.dimension:
            raise SystemExit("these are not the vectors")
    return time.process_time() - started


ACTS = {"first": first, "by_hand": by_hand, "further": further}

if __name__ == "__main__":
    if act := ACTS.get("".join(sys.argv[1:2])):
        print(1_000 * act(Path(sys.argv[2])))
    else:
        print(first_contexts([int(size) for size in sys.argv[1:]] or SIZES)[0])
