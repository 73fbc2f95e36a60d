"""The store beside raw sqlite3, the OpenAI Agents SDK's SQLiteSession and LangGraph's SqliteSaver.

Medians of interleaved rounds, so that whatever else the machine does hits all alike. Files are in the folder for
temporary files, which should be on the disk you mean.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import apsw
from _appends import FLOOR, SLOW, appends, group_commit, turn
from _large import OWNED, Searched, fill, keywords, last_fifty, peers_last_fifty, vectors
from _report import Goal, arguments, publish, table
from _stores import Agents, RawRows, Recollect
from _timing import Cost, scratch

from recollect.store.sqlite import SqliteStore
from recollect.types import Scope

PEERS = ("openai-agents", "langgraph-checkpoint-sqlite")
WAYS = (("full", 1), ("normal", 1), ("full", 100), ("normal", 100))


def a_message(costs: Mapping[str, Cost]) -> list[tuple[str, ...]]:
    ours = costs[Recollect.name].wall
    return [
        (
            name,
            f"{1e6 / cost.wall:,.0f}",
            f"{cost.wall:,.0f}",
            f"{cost.cpu:,.0f}",
            f"{cost.wall / ours:,.2f}x",
        )
        for name, cost in costs.items()
    ]


def append_part(quick: bool) -> tuple[list[Goal], str, dict[str, Any]]:
    found = {way: appends(*way, rounds=3 if quick else 9) for way in WAYS}
    at_once = group_commit(40 if quick else 100)
    one, eight = at_once[Recollect.name].values()
    goals = [
        Goal(
            f"sqlite3 with the same rows / ours, {durability}, {batch} at a time",
            costs[RawRows.name].wall / costs[Recollect.name].wall,
            0.8,
            True,
            "{:.2f}x",
        )
        for (durability, batch), costs in found.items()
    ]
    goals += [
        Goal(
            f"SQLiteSession / ours, {durability}, {batch} at a time",
            costs[Agents.name].wall / costs[Recollect.name].wall,
            3,
            True,
            "{:.1f}x",
        )
        for (durability, batch), costs in found.items()
    ]
    goals.append(Goal("ours / SQLiteSession, full, 8 at once", eight / at_once[Agents.name][8], 3, True, "{:.1f}x"))
    goals.append(Goal("8 threads / 1 thread, full", eight / one, 5, True, "{:.1f}x"))
    slow_one, slow_eight = at_once[SLOW].values()
    goals.append(Goal("the same where a sync takes 2 ms longer", slow_eight / slow_one, 5, True, "{:.1f}x"))
    parts = []
    for (durability, batch), costs in found.items():
        parts += [
            f"Appending {batch} at a time, `{durability}`:",
            table([("", "messages/s", "µs each", "CPU µs each", "to ours"), *a_message(costs)]),
        ]
    rows = [(name, f"{by[1]:,.0f}", f"{by[8]:,.0f}") for name, by in at_once.items()]
    parts += ["Messages/s at `full`, one at a time, by threads or tasks at once:", table([("", "1", "8"), *rows])]
    figures = {f"{d}, {b}": {name: asdict(cost) for name, cost in costs.items()} for (d, b), costs in found.items()}
    return goals, "\n\n".join(parts), {"appends": figures, "group_commit": at_once}


def turn_part(quick: bool) -> tuple[list[Goal], str, dict[str, Any]]:
    calls = 200 if quick else 1_000
    normal, _ = turn("normal", calls)
    full, floor = turn("full", calls)
    goals = [
        Goal("ms a turn, normal, p50", normal.wall / 1e3, 0.5),
        Goal("ms a turn above the floor, full, p50", (full.wall - floor.wall) / 1e3, 0.4),
    ]
    rows = [
        (name, f"{cost.wall / 1e3:.2f}", f"{cost.cpu / 1e3:.2f}")
        for name, cost in (("`normal`", normal), ("`full`", full), (FLOOR, floor))
    ]
    text = "A turn (two messages, their words, a job) in one transaction, p50:\n\n" + table(
        [("", "ms", "CPU ms"), *rows]
    )
    return goals, text, {"turn": {"normal": asdict(normal), "full": asdict(full), "floor": asdict(floor)}}


@dataclass
class Large:
    """What was measured of large stores, by messages stored, of the peers by name, and by vectors of one owner."""

    sizes: tuple[int, ...]
    reads: dict[int, Cost]
    words: dict[int, Cost]
    near: dict[int, Searched]
    peers: dict[str, dict[int, Cost]]

    @property
    def goals(self) -> list[Goal]:
        most = self.sizes[-1]
        growth = self.reads[most].cpu / self.reads[1_000].cpu
        goals = [Goal(f"last 50, {most:,} / 1,000 stored", growth, 1.5, form="{:.2f}x")]
        goals += [
            Goal(f"CPU ms, keywords of one owner, {size:,} stored", self.words[size].cpu / 1e3, bound)
            for size, bound in ((100_000, 0.5), (1_000_000, 3))
            if size in self.words
        ]
        bounds = {1_000: (0.2, 1.0), 10_000: (1.5, 1.0), most: (15, 0.98)}
        for count, found in self.near.items():
            cost, recall = bounds[count]
            goals.append(Goal(f"CPU ms, {count:,} vectors of one owner", found.cost.cpu / 1e3, cost))
            goals.append(Goal("the same, as a context asks: where they stand", found.positions.cpu / 1e3, cost))
            goals.append(Goal(f"recall@10, {count:,} vectors", found.recall, recall, True, "{:.3f}"))
        return goals

    @property
    def text(self) -> str:
        heads = [f"{size:,}" for size in self.sizes]
        everyone = {Recollect.name: self.reads} | self.peers
        reads = [
            (name, *(f"{by[size].cpu:,.0f}" if size in by else "-" for size in self.sizes))
            for name, by in everyone.items()
        ]
        words = (Recollect.name, *(f"{cost.cpu / 1e3:.2f}" for cost in self.words.values()))
        near = [
            (
                f"{count:,}",
                f"{found.cost.cpu / 1e3:.2f}",
                f"{found.cost.wall / 1e3:.2f}",
                f"{found.positions.cpu / 1e3:.2f}",
                f"{found.recall:.3f}",
                f"{found.first:.1f}",
            )
            for count, found in self.near.items()
        ]
        return "\n\n".join(
            [
                "Reading the last 50 messages, CPU µs, by messages stored (ours a thousand a user; the others all in "
                "one session, which is what they index by):",
                table([("", *heads), *reads]),
                "Keywords of one owner with 1,000 messages, CPU ms, by messages stored:",
                table([("", *heads), words]),
                f"The ten nearest among one owner's vectors (384 numbers) in a store of {sum(self.near):,}:",
                table([("", "CPU ms", "ms", "positions, CPU ms", "recall", "first search, s"), *near]),
            ]
        )

    @property
    def figures(self) -> dict[str, Any]:
        everyone = {"recollect": self.reads} | self.peers
        return {
            "last_50": {name: {n: asdict(cost) for n, cost in by.items()} for name, by in everyone.items()},
            "keywords": {n: asdict(cost) for n, cost in self.words.items()},
            "vectors": {
                n: {
                    **asdict(found.cost),
                    "positions": asdict(found.positions),
                    "recall": found.recall,
                    "first_s": found.first,
                }
                for n, found in self.near.items()
            },
        }


def large_part(quick: bool) -> tuple[list[Goal], str, dict[str, Any]]:
    sizes = (1_000, 100_000) if quick else (1_000, 100_000, 1_000_000)
    reads, words, have = dict[int, Cost](), dict[int, Cost](), 0
    with scratch() as folder, SqliteStore(folder / "large.db", durability="normal") as store:
        for size in sizes:
            fill(store, have, size)
            have = size
            reads[size] = last_fifty(store, size // OWNED)
            words[size] = keywords(store, size // OWNED)
        near = {count: vectors(store, count, Scope("acme", f"v{count}")) for count in (1_000, 10_000, sizes[-1])}
    found = Large(sizes, reads, words, near, peers_last_fifty(sizes))
    return found.goals, found.text, found.figures


def main() -> int:
    args: argparse.Namespace = arguments(__doc__)
    goals, texts, figures = list[Goal](), list[str](), dict[str, Any]()
    for part in (append_part, turn_part, large_part):
        more, text, found = part(args.quick)
        goals += more
        texts.append(text)
        figures |= found
    peers = ", ".join(f"{name} {version(name)}" for name in PEERS)
    texts.append(f"Python {platform.python_version()}; SQLite {apsw.sqlite_lib_version()}; {peers}.")
    return publish("store", "\n\n".join(texts), figures, goals, args)


if __name__ == "__main__":
    sys.exit(main())
