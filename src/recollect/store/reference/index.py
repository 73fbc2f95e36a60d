"""The reference index: plain BM25 and plain cosines over everything in the scope."""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.recent import remembered
from recollect.store import checks, codec
from recollect.store.reference.state import ItemKey, State, Tables
from recollect.store.values import ANY, Filter, Item, Match
from recollect.store.vectors import Positions, Vector, check_length, checked, direction, positions, unit
from recollect.store.words import query_words, words
from recollect.types import Scope, check_id


class ReferenceIndex:
    """Items in a dict."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        for item in items:
            checks.check_own_kind(item.kind)
            codec.to_bytes((item.text, item.metadata))
        with self._state.changing() as tables:
            for item in items:
                tables.remove_item((scope, item.kind, item.id))
                tables.position += 1
                kept = dataclasses.replace(item, scope=scope, position=tables.position)
                tables.items[scope, item.kind, item.id] = kept

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        check_id(model, "model")
        rows = {id: checked(vector) for id, vector in vectors.items()}
        with self._state.changing() as tables:
            held = tables.vectors.setdefault(model, {})
            known = {id: row for id, row in rows.items() if (scope, kind, id) in tables.items}
            for id, row in known.items():
                _check_model(tables, scope, model, len(row))
                held[scope, kind, id] = row
            return len(known)

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        checks.check_count("k", k, 1)
        asked = query_words(text)
        with self._state.reading() as tables:
            found = _within(tables, scope, where)
        scores = _bm25(asked, [_counted(item.text) for item in found])
        best = _best(k, [(item, score) for item, score in zip(found, scores, strict=True) if score > 0])
        return [Match(item.scope, item.kind, item.id, score) for item, score in best if item.scope is not None]

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        best = self._nearest(scope, vector, model, k, where)
        return [Match(item.scope, item.kind, item.id, score) for item, score in best if item.scope is not None]

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        return positions((item.position, score) for item, score in self._nearest(scope, vector, model, k, where))

    def _nearest(self, scope: Scope, vector: Vector, model: str, k: int, where: Filter) -> list[tuple[Item, float]]:
        checks.check_count("k", k, 1)
        asked = direction(vector)
        with self._state.reading() as tables:
            held = dict(tables.vectors.get(model, {}))
            found = _within(tables, scope, where)
            _check_model(tables, scope, model, len(asked))
        scored = [(item, float(unit(held[_key(item)]) @ asked)) for item in found if _key(item) in held]
        return _best(k, scored)

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        with self._state.reading() as tables:
            return checks.in_order(ids, _of_kind(tables, scope, kind), lambda item: item.id)

    def missing(
        self, scope: Scope, model: str, *, kinds: Sequence[str] = (), after: int = 0, limit: int = 1_000
    ) -> list[Item]:
        checks.check_range(after, None, limit)
        with self._state.reading() as tables:
            held = tables.vectors.get(model, {})
            inside = _within(tables, scope, Filter(tuple(kinds)))
            there = [item for item in inside if item.position > after and item.text]
            return [item for item in there if _key(item) not in held][:limit]

    def vectors(
        self, scope: Scope, kind: str, model: str, ids: Sequence[str]
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        with self._state.reading() as tables:
            held, wanted = tables.vectors.get(model, {}), checks.each_once(ids)
            inside = [item for item in _of_kind(tables, scope, kind) if item.id in wanted]
            return [(item, unit(held[_key(item)])) for item in inside if _key(item) in held]

    def embedded(
        self, scope: Scope, model: str, *, after: int = 0, limit: int = 1_000
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        checks.check_range(after, None, limit)
        with self._state.reading() as tables:
            held = tables.vectors.get(model, {})
            inside = [item for item in _within(tables, scope, ANY) if item.position > after and _key(item) in held]
            return [(item, unit(held[_key(item)])) for item in inside[:limit]]

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        checks.check_own_kind(kind)
        wanted = checks.each_once(ids)
        with self._state.changing() as tables:
            gone = [key for key in tables.items if scope.covers(key[0]) and key[1] == kind and key[2] in wanted]
            for key in gone:
                tables.remove_item(key)
            return len(gone)

    def drop(self, scope: Scope, model: str) -> int:
        with self._state.changing() as tables:
            held = tables.vectors.get(model, {})
            gone = [key for key in held if scope.covers(key[0])]
            for key in gone:
                del held[key]
            return len(gone)


def _key(item: Item) -> ItemKey:
    assert item.scope is not None
    return item.scope, item.kind, item.id


def _check_model(tables: Tables, scope: Scope, model: str, size: int) -> None:
    for (at, _, _), row in tables.vectors.get(model, {}).items():
        if at.tenant == scope.tenant:
            check_length(model, len(row), size)


def _within(tables: Tables, scope: Scope, where: Filter) -> list[Item]:
    found = [
        item
        for (at, _, _), item in tables.items.items()
        if (at == scope if where.exact else scope.covers(at)) and where.passes(item)
    ]
    return sorted(found, key=lambda item: item.position)


def _of_kind(tables: Tables, scope: Scope, kind: str) -> list[Item]:
    return [item for item in _within(tables, scope, ANY) if item.kind == kind]


@remembered(10_000)
def _counted(text: str) -> Counter[str]:
    return Counter(words(text))


def _bm25(asked: Sequence[str], texts: list[Counter[str]]) -> list[float]:
    mean = sum(map(Counter.total, texts)) / max(1, len(texts)) or 1.0
    rare = {word: _rarity(len(texts), sum(word in text for text in texts)) for word in asked}
    return [sum(rare[word] * _saturated(text, word, mean) for word in asked) for text in texts]


def _rarity(texts: int, having: int) -> float:
    return max(1e-6, math.log((texts - having + 0.5) / (having + 0.5)))


def _saturated(text: Counter[str], word: str, mean: float) -> float:
    count = text[word]
    return count * 2.2 / (count + 1.2 * (0.25 + 0.75 * text.total() / mean))


def _best(k: int, scored: list[tuple[Item, float]]) -> list[tuple[Item, float]]:
    return heapq.nsmallest(k, scored, key=lambda pair: (-pair[1], -pair[0].position))
