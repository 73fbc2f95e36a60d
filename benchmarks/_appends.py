"""What it costs to keep a message so that it stays."""

from __future__ import annotations

import gc
import os
import statistics
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from _stores import TRIP, Agents, Keeper, LangGraph, RawRow, RawRows, Recollect, SlowDisk
from _timing import Cost, median, say, scratch, sentences, timed

from recollect.frozen import FrozenDict
from recollect.store import Job
from recollect.store.sqlite.keywords import LAG
from recollect.types import Message

KEEPERS: tuple[type[Keeper], ...] = (Recollect, RawRow, RawRows, Agents, LangGraph)
FLOOR = "write + fdatasync"
SLOW = "recollect, a sync takes 2 ms longer"
FILLED = 10_000


def fdatasync_floor(folder: Path, calls: int) -> list[Cost]:
    """What it costs to append a page to a file and sync it."""
    handle = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    page = os.urandom(4096)

    def write() -> None:
        os.write(handle, page)
        os.fdatasync(handle)

    costs = [timed(write) for _ in range(calls)]
    os.close(handle)
    return costs


def appends(durability: str, batch: int, rounds: int) -> dict[str, Cost]:
    """What a message costs each keeper: medians of rounds, each of which takes words into the index, too."""
    say(f"appending {batch} at a time, {durability} …")
    calls = 3 * -(-LAG // batch) if batch > 1 else LAG
    costs: dict[str, list[Cost]] = {kind.name: [] for kind in KEEPERS}
    texts = sentences(1)
    with scratch() as folder:
        keepers = [kind(folder / f"{place}.db", durability) for place, kind in enumerate(KEEPERS)]
        for keeper in keepers:
            keeper.fill(texts, FILLED)
        for _ in range(rounds):
            drawn = [list(islice(texts, batch)) for _ in range(calls)]
            for keeper in keepers:
                costs[keeper.name].append(one_round(keeper, drawn))
        for keeper in keepers:
            keeper.close()
        costs[FLOOR] = fdatasync_floor(folder, LAG)
    return {name: median(each) for name, each in costs.items()}


def one_round(keeper: Keeper, drawn: Sequence[Sequence[str]]) -> Cost:
    ready = [[keeper.convert(text) for text in texts] for texts in drawn]
    gc.collect()
    cost = timed(lambda: [keeper.append(batch) for batch in ready])
    messages = sum(map(len, drawn))
    return Cost(cost.wall / messages, cost.cpu / messages)


def group_commit(calls: int) -> dict[str, dict[int, float]]:
    """Durable appends a second, one message each: by one thread or task and by eight at once, in turns."""
    say("group commit …")
    texts, rates = sentences(2), defaultdict[str, dict[int, list[float]]](lambda: {1: [], 8: []})
    disk = SlowDisk()
    with scratch() as folder:
        keepers: dict[str, Recollect | Agents] = {
            Recollect.name: Recollect(folder / "ours.db"),
            Agents.name: Agents(folder / "theirs.db"),
            SLOW: Recollect(folder / "slow.db", vfs=disk.name),
        }
        for keeper in keepers.values():
            keeper.fill(texts, FILLED)
        for name, many in [(name, many) for _ in range(5) for many in (1, 8) for name in keepers]:
            keeper = keepers[name]
            ready = [[keeper.convert(text) for text in islice(texts, calls)] for _ in range(many)]
            cost = timed(partial(keeper.append_at_once, ready))
            rates[name][many].append(calls * many / cost.wall * 1e6)
        for keeper in keepers.values():
            keeper.close()
    return {name: {many: statistics.median(each) for many, each in by.items()} for name, by in rates.items()}


def turn(durability: str, calls: int) -> tuple[Cost, Cost]:
    """The cost of a turn (two messages, their words, a job) in one transaction, and of the floor beside it."""
    say(f"a turn, {durability} …")
    texts = sentences(3)
    with scratch() as folder:
        keeper = Recollect(folder / "memory.db", durability)
        keeper.append([Message("user", text) for text in islice(texts, 1_000)])
        costs, floor = [], list[Cost]()
        for number in range(calls):
            said = [Message("user", next(texts)), Message("assistant", next(texts))]
            job = [Job("embed", FrozenDict({"turn": number}), str(number))]
            costs.append(timed(partial(keeper.store.log.append, TRIP, said, tokens=[30, 30], jobs=job)))
            if number % 50 == 0:
                floor += fdatasync_floor(folder, 50)
        keeper.close()
    return median(costs), median(floor)
