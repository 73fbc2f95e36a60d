"""What it costs to find something in a large store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import numpy as np
from _stores import Agents, LangGraph, RawRow
from _timing import Cost, median, say, scratch, sentences, timed

from recollect.store import Item, Store
from recollect.store.codec import _kept as decoded
from recollect.types import Message, Scope

SIZE, HIDDEN, QUERIES = 384, 32, 30
OWNED = 1_000


def owner(number: int) -> Scope:
    return Scope("acme", f"user{number}", "trip")


def fill(store: Store, have: int, want: int) -> None:
    """Messages up to that many, a thousand an owner."""
    texts = sentences(have + 7)
    for number in range(have // OWNED, want // OWNED):
        if number % 100 == 0:
            say(f"filling: {number * OWNED:,} of {want:,} messages …")
        store.log.append(owner(number), [Message("user", text) for text in islice(texts, OWNED)])


def last_fifty(store: Store, owners: int) -> Cost:
    """With nothing remembered in the process of what was read before, which would favour a small store."""
    dice, costs = Random(5), []
    for _ in range(200):
        scope = owner(dice.randrange(owners))
        decoded.cache_clear()
        costs.append(timed(partial(store.log.read, scope, limit=50, reverse=True)))
    return median(costs)


def keywords(store: Store, owners: int) -> Cost:
    """A question of four words of one message, asked of its owner."""
    dice, costs = Random(6), []
    for _ in range(100):
        scope = Scope("acme", f"user{dice.randrange(owners)}")
        trip = Scope(scope.tenant, scope.user, "trip")
        for entry in store.log.read(trip, after=dice.randrange(OWNED), limit=1):
            question = " ".join(dice.sample(entry.message.text.split(), 4))
            costs.append(timed(partial(store.index.search, scope, question, 10)))
    return median(costs)


def peers_last_fifty(sizes: Sequence[int]) -> dict[str, dict[int, Cost]]:
    """The same of the others, all in one session, which is what they index by."""
    out: dict[str, dict[int, Cost]] = {}
    for kind in (RawRow, Agents, LangGraph):
        out[kind.name] = {}
        with scratch() as folder:
            keeper, texts, have = kind(folder / "peer.db", "normal"), sentences(8), 0
            for size in sizes:
                if kind is LangGraph and size > 1_000:
                    break
                say(f"{kind.name}: reading the last 50 of {size:,} …")
                while have < size:
                    keeper.append([keeper.convert(text) for text in islice(texts, 1_000)])
                    have += 1_000
                out[kind.name][size] = median([timed(partial(keeper.last, 50)) for _ in range(50)])
            keeper.close()
    return out


def directions(count: int, dice: np.random.Generator, mixing: Any) -> Any:
    """Vectors with 32 hidden dimensions and noise, as embeddings have."""
    hidden = dice.normal(size=(count, HIDDEN)).astype(np.float32)
    noise = 0.3 * np.sqrt(HIDDEN) * dice.normal(size=(count, SIZE))
    rows = (hidden @ mixing + noise).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Searched(NamedTuple):
    """What it costs to find the ten nearest, with their names and as a context asks for them: where they stand."""

    cost: Cost
    positions: Cost
    recall: float
    first: float


def vectors(store: Store, count: int, scope: Scope, within: Scope | None = None) -> Searched:
    """One owner's vectors: the cost of a search there or `within` more, its recall, and seconds for the first."""
    say(f"{count:,} vectors of one owner …")
    within = within or scope
    dice = np.random.default_rng(count)
    mixing = dice.normal(size=(HIDDEN, SIZE)).astype(np.float32)
    asked = directions(QUERIES, dice, mixing)
    best = [list[tuple[float, str]]() for _ in asked]
    for start in range(0, count, 10_000):
        names = [f"v{start + place}" for place in range(min(10_000, count - start))]
        rows = directions(len(names), dice, mixing)
        with store.transaction():
            store.index.put(scope, [Item("note", name) for name in names])
            store.index.embed(scope, "note", "model", dict(zip(names, rows, strict=True)))
        for kept, scores in zip(best, asked @ rows.T, strict=True):
            top = np.argsort(-scores)[:10]
            kept[:] = sorted(kept + [(float(scores[place]), names[place]) for place in top], reverse=True)[:10]
    if within != scope:
        store.reindex()  # makes the index across users
    first = timed(lambda: store.index.nearest(within, asked[0], "model", 10))
    costs, bare, hits = [], [], []
    for vector, kept in zip(asked, best, strict=True):
        costs.append(timed(partial(store.index.nearest, within, vector, "model", 10)))
        bare.append(timed(partial(store.index.nearest_positions, within, vector, "model", 10)))
        found = store.index.nearest(within, vector, "model", 10)
        hits.append(len({match.id for match in found} & {name for _, name in kept}))
    return Searched(median(costs), median(bare), sum(hits) / (10 * len(hits)), first.wall / 1e6)
