"""The store on PostgreSQL beside psycopg by hand and LangGraph's PostgresStore.

Milliseconds by the clock: most of the work is the server's. It is the one at RECOLLECT_TEST_POSTGRES, or one started
from a package, which syncs every commit.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import count, islice
from os import environ

import psycopg
from _large import OWNED, Searched, fill, keywords, last_fifty, vectors
from _report import ROOT, Goal, arguments, publish, table
from _timing import Cost, say, sentences, timed
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore as LangGraphStore

from recollect.store.postgres import PostgresStore
from recollect.types import Message, Scope

sys.path.insert(0, str(ROOT))
from tests.postgres import NEWEST, PORTABLE, Databases, running

AT_ONCE, TENANT = 8, 30_000


class Keeper(ABC):
    """Somewhere to append messages of one session to."""

    name = ""

    def __init__(self, url: str, session: int) -> None:
        self.url, self.session = url, session

    @abstractmethod
    def append(self, texts: Sequence[str]) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


class Recollect(Keeper):
    name = "recollect"

    def __init__(self, url: str, session: int) -> None:
        super().__init__(url, session)
        self.store, self.scope = PostgresStore(url), Scope("acme", f"user{session}", "trip")

    def append(self, texts: Sequence[str]) -> None:
        self.store.log.append(self.scope, [Message("user", text) for text in texts])

    def close(self) -> None:
        self.store.close()


class ByHand(Keeper):
    """One row a message in one table, with its key: no numbers that must be free of gaps, no words, no hash."""

    name = "psycopg, one row"

    def __init__(self, url: str, session: int) -> None:
        super().__init__(url, session)
        self.numbers = count(1)
        self.db = psycopg.connect(url)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS by_hand (session int, seq int, body jsonb, PRIMARY KEY (session, seq))"
        )
        self.db.commit()

    def append(self, texts: Sequence[str]) -> None:
        rows = [(self.session, next(self.numbers), json.dumps({"role": "user", "content": text})) for text in texts]
        with self.db.cursor() as cursor:
            cursor.executemany("INSERT INTO by_hand VALUES (%s, %s, %s)", rows)
        self.db.commit()

    def close(self) -> None:
        self.db.close()


class LangGraph(Keeper):
    """An item a message, without vectors."""

    name = "langgraph PostgresStore"

    def __init__(self, url: str, session: int) -> None:
        super().__init__(url, session)
        self.stack, self.numbers = ExitStack(), count(1)
        self.store = self.stack.enter_context(LangGraphStore.from_conn_string(url))
        self.store.setup()

    def append(self, texts: Sequence[str]) -> None:
        place = (f"user{self.session}", "trip")
        self.store.batch([PutOp(place, f"{next(self.numbers):09d}", {"role": "user", "text": text}) for text in texts])

    def close(self) -> None:
        self.stack.close()


KEEPERS: tuple[type[Keeper], ...] = (Recollect, ByHand, LangGraph)


@contextmanager
def database() -> Iterator[str]:
    """The address of an empty one with pgvector."""
    with ExitStack() as stack:
        address = environ.get("RECOLLECT_TEST_POSTGRES")
        if address is None:
            package = PORTABLE if find_spec(PORTABLE) else NEWEST
            address = stack.enter_context(running(package=package)).address
        yield stack.enter_context(Databases(address).bare())


def appends(url: str, batch: int, rounds: int) -> dict[str, float]:
    """Milliseconds a message: medians of rounds in turns."""
    say(f"appending {batch} at a time …")
    texts, keepers = sentences(batch), [kind(url, batch) for kind in KEEPERS]
    costs: dict[str, list[float]] = {keeper.name: [] for keeper in keepers}
    calls = max(5, 100 // batch)
    for _ in range(rounds):
        drawn = [list(islice(texts, batch)) for _ in range(calls)]
        for keeper in keepers:
            cost = timed(partial(_each, keeper, drawn))
            costs[keeper.name].append(cost.wall / 1e3 / calls / batch)
    for keeper in keepers:
        keeper.close()
    return {name: statistics.median(each) for name, each in costs.items()}


def at_once(url: str, rounds: int, calls: int = 50) -> dict[str, float]:
    """Messages a second of several threads, each with its session and connection, one message at a time."""
    say(f"{AT_ONCE} at once …")
    texts, rates = sentences(3), dict[str, list[float]]()
    for kind in KEEPERS:
        keepers = [kind(url, 1_000 + n) for n in range(AT_ONCE)]
        for _ in range(rounds):
            drawn = [[[text] for text in islice(texts, calls)] for _ in keepers]
            cost = timed(partial(_together, keepers, drawn))
            rates.setdefault(kind.name, []).append(AT_ONCE * calls / cost.wall * 1e6)
        for keeper in keepers:
            keeper.close()
    return {name: statistics.median(each) for name, each in rates.items()}


def _each(keeper: Keeper, drawn: Sequence[Sequence[str]]) -> None:
    for texts in drawn:
        keeper.append(texts)


def _together(keepers: Sequence[Keeper], drawn: Sequence[Sequence[Sequence[str]]]) -> None:
    threads = [threading.Thread(target=_each, args=pair) for pair in zip(keepers, drawn, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def large(url: str, sizes: Sequence[int]) -> tuple[dict[int, Cost], dict[int, Cost]]:
    """Reading the last 50 messages of one owner and finding words of theirs, by messages stored."""
    reads, words, have = dict[int, Cost](), dict[int, Cost](), 0
    with PostgresStore(url, durability="normal") as store:
        for size in sizes:
            fill(store, have, size)
            have = size
            reads[size], words[size] = last_fifty(store, size // OWNED), keywords(store, size // OWNED)
    return reads, words


def nearest(url: str, quick: bool) -> dict[str, Searched]:
    """The ten nearest of one owner, and of a tenant with an index across its users."""
    with PostgresStore(url, durability="normal") as store:
        found = {
            f"one owner's {count:,}": vectors(store, count, Scope("acme", f"v{count}")) for count in (1_000, 10_000)
        }
        if not quick:
            found[f"a tenant's {TENANT:,}"] = vectors(store, TENANT, Scope("wide", "ada"), Scope("wide"))
    return found


def main() -> int:
    args: argparse.Namespace = arguments(__doc__)
    sizes, rounds = ((1_000, 10_000), 3) if args.quick else ((1_000, 100_000), 9)
    with database() as url:
        one, many, together = appends(url, 1, rounds), appends(url, 100, rounds), at_once(url, rounds)
    with database() as url:
        reads, words = large(url, sizes)
        near = nearest(url, args.quick)
    goals = [
        Goal(f"last 50, {sizes[-1]:,} / 1,000 stored", reads[sizes[-1]].wall / reads[1_000].wall, 1.5, form="{:.2f}x"),
        *(Goal(f"recall@10, {what}", found.recall, 0.98, True, "{:.3f}") for what, found in near.items()),
    ]
    rows = [(name, f"{one[name]:.2f}", f"{many[name]:.3f}", f"{together[name]:,.0f}") for name in one]
    heads = ("", *(f"{size:,}" for size in sizes))
    text = "\n\n".join(
        [
            "Appending, every commit synced:",
            table([("", "ms, 1 at a time", "ms each, 100 at a time", "messages/s, 8 at once"), *rows]),
            "One owner with 1,000 messages, ms by messages stored:",
            table([heads, ("last 50", *_ms(reads)), ("keywords", *_ms(words))]),
            "The ten nearest vectors (384 numbers):",
            table(
                [
                    ("", "ms", "recall"),
                    *((what, f"{found.cost.wall / 1e3:.1f}", f"{found.recall:.3f}") for what, found in near.items()),
                ]
            ),
            f"Python {platform.python_version()}; psycopg {version('psycopg')};"
            f" langgraph-checkpoint-postgres {version('langgraph-checkpoint-postgres')}.",
        ]
    )
    figures = {"appends_ms": {"1": one, "100": many}, "at_once": together}
    return publish("postgres", text, figures, goals, args)


def _ms(costs: dict[int, Cost]) -> list[str]:
    return [f"{cost.wall / 1e3:.2f}" for cost in costs.values()]


if __name__ == "__main__":
    sys.exit(main())
