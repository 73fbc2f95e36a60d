"""A whole turn, add it and build the next context, beside mem0, LangGraph's store and Chroma with the same embedder.

CPU time: of the caller's thread, and of the process with its background, where ten turns are done when their vectors
are made and their facts are learned. The turns before belong to one user, or to many where the store is larger than the
user's share; those of the others have their words in the index, but no vectors.
"""

from __future__ import annotations

import math
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from _first import SIZES, Stub, first_contexts
from _plot import growth as plot
from _report import Goal, arguments, publish, table
from _timing import say, scratch, sentences
from langchain_core.embeddings import Embeddings

from recollect import Memory, Message, embed
from recollect.embed import Embedder
from recollect.types import Scope

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["ANONYMIZED_TELEMETRY"] = "False"

BUDGET = 2_000
ME = "ada"
BLOCK = 10
THEIRS = (2.4, 9.3)
"""What LangGraph's store took, in ms, where the goals of 2 and 4 ms were set."""
MOST = {"Mem0": 1_000}
"""Turns above which a system would take hours to fill."""


def pairs(seed: int) -> Iterator[tuple[str, str]]:
    """A question and an answer, without end."""
    texts = sentences(seed)
    for question in texts:
        yield f"{question}?", next(texts)


def messages(turns: Sequence[tuple[str, str]]) -> list[Message]:
    return [m for question, answer in turns for m in (Message("user", question), Message("assistant", answer))]


class System(Protocol):
    """A memory that is filled with turns, then measured."""

    clock: Callable[[], float]

    def fill(self, turns: Sequence[tuple[str, str]]) -> None: ...
    def turn(self, question: str, answer: str) -> int: ...
    def settle(self) -> None: ...
    def close(self) -> None: ...


class Recollect:
    """All layers, one context under a budget; durable appends at `normal`."""

    name = "recollect, background included"
    clock = staticmethod(time.process_time)

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.memory = Memory.open(folder / "memory.db", embedder=embedder, durability="normal")
        self.chat = self.memory.session("now", user=ME)

    def fill(self, turns: Sequence[tuple[str, str]]) -> None:
        for start in range(0, len(turns), 100):
            self.memory.session(f"before {start}", user=ME).add_many(messages(turns[start : start + 100]))
        self.memory.drain()

    def fill_others(self, turns: Iterator[tuple[str, str]]) -> None:
        for number, some in enumerate(iter(lambda: list(islice(turns, 100)), [])):
            self.memory.store.log.append(Scope("default", f"user {number // 10}", f"{number}"), messages(some))

    def turn(self, question: str, answer: str) -> int:
        context = self.chat.context(question, BUDGET)
        self.chat.add_turn(question, answer)
        return len(context.prompt)

    def settle(self) -> None:
        self.memory.drain()

    def close(self) -> None:
        self.memory.close()


class Caller(Recollect):
    """The same, but only what the caller waits for: the background's thread is not counted."""

    name = "recollect, the caller's thread"
    clock = staticmethod(time.thread_time)

    def settle(self) -> None: ...


class Same(Embeddings):
    """The same embedder as LangChain wants it, for those that take theirs from there."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in self.embedder.embed(texts, kind="passage")]

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self.embedder.embed([text], kind="query")[0].tolist()
        return vector


class LangGraph:
    """SqliteStore: vectors alone; search for five, put two."""

    name = "LangGraph SqliteStore"
    clock = staticmethod(time.process_time)

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            import sqlean  # the same module, with the extensions that the store needs and this Python was built without

            sys.modules["sqlite3"] = sqlean
        from langgraph.store.sqlite import SqliteStore

        index: Any = {"dims": embedder.dimension, "embed": Same(embedder), "text_fields": ["text"]}
        self._open = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self.store, self.n = self._open.__enter__(), 0
        self.store.setup()

    def fill(self, turns: Sequence[tuple[str, str]]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(turns), 100):
            texts = [text for pair in turns[start : start + 100] for text in pair]
            self.store.batch([PutOp((ME,), f"{start} {n}", {"text": text}) for n, text in enumerate(texts)])

    def turn(self, question: str, answer: str) -> int:
        found = self.store.search((ME,), query=question, limit=5)
        for text in (question, answer):
            self.n += 1
            self.store.put((ME,), f"now {self.n}", {"text": text})
        return len(found)

    def settle(self) -> None: ...

    def close(self) -> None:
        self._open.__exit__(None, None, None)


class Chroma:
    """A persistent collection; query for five of the user's, add two."""

    name = "Chroma"
    clock = staticmethod(time.process_time)

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb

        self.client = chromadb.PersistentClient(str(folder))
        self.collection: Any = self.client.create_collection("turns", embedding_function=None)
        self.embedder, self.n = embedder, 0

    def _add(self, texts: list[str]) -> None:
        rows = [row.tolist() for row in self.embedder.embed(texts, kind="passage")]
        ids = [f"{self.n + n}" for n in range(len(texts))]
        self.n += len(texts)
        self.collection.add(ids=ids, embeddings=rows, documents=texts, metadatas=[{"user": ME}] * len(texts))

    def fill(self, turns: Sequence[tuple[str, str]]) -> None:
        for start in range(0, len(turns), 100):
            self._add([text for pair in turns[start : start + 100] for text in pair])

    def turn(self, question: str, answer: str) -> int:
        vector = self.embedder.embed([question], kind="query")[0].tolist()
        found = self.collection.query(query_embeddings=[vector], n_results=5, where={"user": ME})
        self._add([question])
        self._add([answer])
        return len(found["ids"][0])

    def settle(self) -> None: ...

    def close(self) -> None:
        self.client.clear_system_cache()


class Mem0:
    """mem0 with `infer=False`, so that no model is called; Qdrant on disk, as it comes."""

    name = "mem0 (infer=False)"
    clock = staticmethod(time.process_time)

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        from mem0 import Memory as Theirs

        os.environ.setdefault("OPENAI_API_KEY", "none: no model is called")
        os.environ["MEM0_DIR"] = str(folder)
        self.memory = Theirs.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": embedder.dimension,
                        "collection_name": "turns",
                    },
                },
                "embedder": {"provider": "langchain", "config": {"model": Same(embedder)}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def fill(self, turns: Sequence[tuple[str, str]]) -> None:
        for question, answer in turns:
            self._add(question, answer)

    def _add(self, question: str, answer: str) -> None:
        said = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        self.memory.add(said, user_id=ME, infer=False)

    def turn(self, question: str, answer: str) -> int:
        found = self.memory.search(question, filters={"user_id": ME}, top_k=5)
        self._add(question, answer)
        return len(found["results"])

    def settle(self) -> None: ...

    def close(self) -> None:
        self.memory.vector_store.client.close()


SYSTEMS: tuple[Any, ...] = (Caller, Recollect, LangGraph, Chroma, Mem0)


def measured(
    system: Callable[[Path, Embedder], System], embedder: Embedder, own: int, others: int, steps: int
) -> list[float]:
    """CPU ms a turn, by blocks after the first, with so many turns of the user's own stored, and of others."""
    told = pairs(7)
    with scratch() as folder:
        made = system(folder, embedder)
        try:
            made.fill(list(islice(told, own)))
            if isinstance(made, Recollect):
                made.fill_others(islice(told, others))
            return [block(made, list(islice(told, BLOCK))) for _ in range(1 + steps // BLOCK)][1:]
        finally:
            made.close()


def block(made: System, turns: Sequence[tuple[str, str]]) -> float:
    """CPU ms a turn of some turns in a row, what they left to the background included."""
    started = made.clock()
    for question, answer in turns:
        if not made.turn(question, answer):
            raise SystemExit(f"{type(made).__name__} found nothing")
    made.settle()
    return 1_000 * (made.clock() - started) / BLOCK


def p(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def exponent(costs: Sequence[float], sizes: Sequence[int]) -> float:
    return math.log(costs[1] / costs[0]) / math.log(sizes[1] / sizes[0])


def main() -> int:
    args = arguments(__doc__ or "")
    sizes = (1_000, 5_000) if args.quick else (1_000, 50_000)
    stored = (1_000, 10_000) if args.quick else (1_000, 50_000, 1_000_000)
    steps = 60 if args.quick else 200
    say("One conversation …")
    steady = statistics.median(growth(600 if args.quick else 2_000) for _ in range(3))
    stub = Stub()
    rows: list[tuple[str, ...]] = [("", *(f"{size:,} turns" for size in sizes), "exponent")]
    costs: dict[str, list[float]] = {}
    for system in SYSTEMS:
        name = system.__name__
        say(f"{name} …")
        limits = [size for size in sizes if size <= MOST.get(name, size)]
        costs[name] = [statistics.median(measured(system, stub, size, 0, steps)) for size in limits]
        told = [f"{cost:,.1f}" for cost in costs[name]] + ["not run"] * (len(sizes) - len(limits))
        grown = f"{exponent(costs[name], sizes):.2f}" if len(limits) == 2 else "-"
        rows.append((system.name, *told, grown))
    flat = []
    for size in stored:
        say(f"Recollect, {size:,} turns in the store …")
        flat.append(measured(Caller, stub, 1_000, size - 1_000, 3 * steps))  # so that p95 is not the worst of all
    store_rows = [("turns in the store", "p50", "p95")]
    store_rows += [(f"{n:,}", f"{p(c, 0.5):.1f}", f"{p(c, 0.95):.1f}") for n, c in zip(stored, flat, strict=True)]
    first_rows, first = first_contexts(SIZES[:2] if args.quick else SIZES)
    real_rows, ratio, whole = real(steps) if (local := embed.open("auto")) else ([], math.nan, math.nan)
    ours = costs["Caller"]
    goals = [
        *turn_goals(ours, costs["LangGraph"], sizes),
        Goal("growth exponent", exponent(ours, sizes), 0.25),
        Goal("growth exponent in one conversation of 2,000 turns at 8k", steady, 0.1),
        Goal("the first context of a process / its rows by hand, with the most turns", first, 2.5),
        Goal("p95 with the largest store / with the smallest", p(flat[-1], 0.95) / p(flat[0], 0.95), 1.2),
    ]
    text = f"CPU ms of a turn, by the user's stored turns, with a stub embedder:\n\n{table(rows)}\n\n"
    text += f"The user has 1,000 turns, the others of the store belong to others:\n\n{table(store_rows)}\n\n"
    text += "CPU ms of the first context of a process, opening the store included; by hand with sqlite3 all rows are"
    text += f" read, the JSON of messages is parsed, and vectors are put into one array:\n\n{first_rows}"
    if local:
        goals.append(Goal("with the real embedder, the caller / the fastest peer", ratio, 0.5))
        goals.append(Goal("the same, background included / the fastest peer", whole, 0.5))
        text += f"\n\nWith {local.name}, 200 turns stored:\n\n{table(real_rows)}"
    if args.write:
        by_size = {system.name: dict(zip(sizes, costs[system.__name__], strict=False)) for system in SYSTEMS}
        plot("turn", by_size, "turns of the user that are stored", "CPU ms of a turn")
    peers = ", ".join(f"{name} {version(name)}" for name in ("langgraph-checkpoint-sqlite", "chromadb", "mem0ai"))
    return publish("turn", f"{text}\n\n{peers}.", {"costs": costs}, goals, args)


def turn_goals(ours: Sequence[float], theirs: Sequence[float], sizes: Sequence[int]) -> Iterator[Goal]:
    """What a turn may take: in ms, and beside LangGraph's store, which holds from one machine to the next."""
    for cost, peer, size, most, peer_then in zip(ours, theirs, sizes, (2.0, 4.0), THEIRS, strict=True):
        yield Goal(f"ms CPU of the caller, add + context at {size // 1000}k turns", cost, most)
        yield Goal(f"the same / LangGraph's store at {size // 1000}k turns", cost / peer, most / peer_then)


def growth(turns: int) -> float:
    """The growth exponent of one conversation's cost a turn, at 8,000 tokens, from its hundredth turn on."""
    costs: list[float] = []
    with scratch() as folder:
        made = Caller(folder, Stub())
        for question, answer in islice(pairs(3), turns):
            started = time.thread_time()
            made.chat.context(question, 8_000)
            made.chat.add_turn(question, answer)
            costs.append(time.thread_time() - started)
        made.close()
    starts = range(100, turns, 100)
    middles = [statistics.median(costs[start : start + 100]) for start in starts]
    return float(np.polyfit(np.log([start + 50 for start in starts]), np.log(middles), 1)[0])


def real(steps: int) -> tuple[list[tuple[str, ...]], float, float]:
    local = embed.open("auto")
    assert local is not None
    systems = (Caller, Recollect, LangGraph, Chroma)
    costs = {system.name: p(measured(system, local, 200, 0, steps // 2), 0.5) for system in systems}
    caller, whole, *others = costs.values()
    rows: list[tuple[str, ...]] = [("", "p50"), *((name, f"{cost:,.1f}") for name, cost in costs.items())]
    return rows, caller / min(others), whole / min(others)


if __name__ == "__main__":
    raise SystemExit(main())
