"""How long a search takes, and what it spends its time on."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from _report import Goal, table

from recollect import Memory, Message, embed
from recollect.embed.hashing import HashingEmbedder
from recollect.layers import ranking
from recollect.types import Role, Scope

SPENT = {
    "by meaning": (ranking.Ranker, "_meaning"),
    "by words": (ranking, "_question"),
    "fusion": (ranking, "score"),
}
"""Which function's time is which part of a search; the rest is reading the turns and packing them."""


def latency(quick: bool) -> tuple[str, list[Goal]]:
    model = embed.open("auto")
    asked = [f"Where did we go on day {n}?" for n in range(40)]
    vector = statistics.median(timed(partial(model.embed, [q], kind="query")) for q in asked) if model else 0.0
    rows = [("turns in scope", "in the store", "p50", "p95", "question's vector", *SPENT, "reading", "first search")]
    at_10k = 0.0
    for turns, others in ((1_000, 0), (10_000, 0), (100_000, 900_000 * (not quick))):
        first, times, spent = searches(turns, others, 60)
        p50, p95 = statistics.median(times) + vector, sorted(times)[int(len(times) * 0.95)] + vector
        at_10k = p50 if turns == 10_000 else at_10k
        parts = (vector, *spent, p50 - vector - sum(spent))
        told = (f"{value:.1f}" for value in (p50, p95, *parts))
        rows.append((f"{turns:,}", f"{turns + others:,}", *told, f"{first:,.0f}"))
    return table(rows), [Goal("search, ms p50 at 10,000 turns", at_10k, 15.0, form="{:.1f}")]


def searches(turns: int, others: int, times: int) -> tuple[float, list[float], list[float]]:
    """Ms of the first search, of each later one, and of each part of them (the median)."""
    dice = Random(turns)
    common = [f"word{n}" for n in range(3_000)]
    start = datetime(2023, 1, 1, tzinfo=UTC)

    def thousand(block: int) -> list[Message]:
        texts = [" ".join(dice.choices(common, k=dice.randint(8, 40))) for _ in range(1_000)]
        roles: tuple[Role, Role] = ("assistant", "user")
        return [Message(roles[n % 2], text, at=start + timedelta(minutes=block + n)) for n, text in enumerate(texts)]

    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.db", embedder=HashingEmbedder(384), durability="normal") as memory,
    ):
        for block in range(0, turns, 1_000):
            memory.session(f"s{block}", user="me").add_many(thousand(block))
        memory.drain()
        for number in range(others // 1_000):
            memory.store.log.append(Scope("default", f"user {number}", "s"), thousand(number))
        chat = memory.session("question", user="me")
        first = timed(lambda: chat.recall("word1 word2 word3", 800))
        asked = [" ".join(dice.choices(common, k=6)) for _ in range(times)]
        with spending() as spent:
            found = [timed(partial(chat.recall, q, 800)) for q in asked]
        return first, found, [statistics.median(spent[part]) for part in SPENT]


@contextmanager
def spending() -> Iterator[dict[str, list[float]]]:
    """How many ms each part takes, call by call."""
    spent: dict[str, list[float]] = {part: [] for part in SPENT}
    before = {part: getattr(*place) for part, place in SPENT.items()}

    def watched(part: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            out: list[Any] = []
            spent[part].append(timed(lambda: out.append(before[part](*given))))
            return out[0]

        return call

    for part, place in SPENT.items():
        setattr(*place, watched(part))
    try:
        yield spent
    finally:
        for part, place in SPENT.items():
            setattr(*place, before[part])


def timed(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1_000
