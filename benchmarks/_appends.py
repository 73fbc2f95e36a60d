"""What it costs to keep a message so that it stays."""

from __future__ import annotations

import gc
import os
import statistics
import threading
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from _stores import TRIP, Agents, Keeper, LangGraph, RawRow, RawRows, Recollect
from _timing import Cost, median, say, scratch, sentences, timed

from recollect.store import Job
from recollect.types import Message

KEEPERS: tuple[type[Keeper], ...] = (Recollect, RawRow, RawRows, Agents, LangGraph)
FLOOR = "write + fdatasync"


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


def appends(durability: str, batch: int, calls: int, rounds: int) -> dict[str, Cost]:
    """The median cost a message of each keeper that can be that durable."""
    say(f"appending {batch} at a time, {durability} …")
    kinds = [kind for kind in KEEPERS if durability == "full" or kind not in (Agents, LangGraph)]
    costs: dict[str, list[Cost]] = {kind.name: [] for kind in kinds}
    texts = sentences(1)
    with scratch() as folder:
        keepers = [kind(folder / f"{place}.db", durability) for place, kind in enumerate(kinds)]
        for _ in range(rounds):
            drawn = [list(islice(texts, batch)) for _ in range(calls)]
            for keeper in keepers:
                costs[keeper.name] += one_round(keeper, drawn, batch)
        for keeper in keepers:
            keeper.close()
        costs[FLOOR] = fdatasync_floor(folder, calls)
    return {name: median(each) for name, each in costs.items()}


def one_round(keeper: Keeper, drawn: Sequence[Sequence[str]], batch: int) -> list[Cost]:
    natives = [[keeper.convert(text) for text in texts] for texts in drawn]
    gc.collect()
    costs = [timed(lambda ready=ready: keeper.append(ready)) for ready in natives]
    return [Cost(cost.wall / batch, cost.cpu / batch) for cost in costs]


def group_commit(calls: int, threads: int = 8) -> tuple[float, float]:
    """Durable appends a second by one thread and by eight, one message each, in turns."""
    say("group commit …")
    texts, rates = sentences(2), {1: list[float](), threads: list[float]()}
    with scratch() as folder:
        keeper = Recollect(folder / "memory.db")
        for _ in range(5):
            for many, into in rates.items():
                ready = [[[keeper.convert(text)] for text in islice(texts, calls)] for _ in range(many)]
                workers = [
                    threading.Thread(target=lambda mine=mine: [keeper.append(m) for m in mine]) for mine in ready
                ]
                cost = timed(lambda workers=workers: ([w.start() for w in workers], [w.join() for w in workers]))
                into.append(calls * many / cost.wall * 1e6)
        keeper.close()
    return statistics.median(rates[1]), statistics.median(rates[threads])


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
            job = [Job("embed", {"turn": number}, str(number))]
            costs.append(
                timed(lambda said=said, job=job: keeper.store.log.append(TRIP, said, tokens=[30, 30], jobs=job))
            )
            if number % 50 == 0:
                floor += fdatasync_floor(folder, 50)
        keeper.close()
    return median(costs), median(floor)
