"""The index in SQLite: words by FTS5, vectors by a scan of what the scope holds."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.largest import largest
from recollect.store import checks, codec
from recollect.store.sqlite import scopes
from recollect.store.sqlite.cache import Scored, VectorCache, VectorQuery
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.items import bare_items_at, items_at, names_at, put_item, remove_items
from recollect.store.sqlite.keywords import best_by_words, catch_up, is_late, late_by_words
from recollect.store.sqlite.vectors import (
    changed,
    embedded,
    find_model,
    find_thing,
    find_vectors,
    make_model,
    put_vector,
    vectors_at,
)
from recollect.store.values import ANY, MESSAGE, Filter, Item, Match
from recollect.store.vectors import Positions, Vector, checked, direction, positions
from recollect.store.words import query_words
from recollect.types import Scope, check_id

_BY_ID: Final = {
    True: scopes.by_scope(
        "SELECT position FROM json_each(?2) AS wanted CROSS JOIN message ON message.id = wanted.value"
        " WHERE session <scope> AND ?3 = 'message' ORDER BY wanted.key, position"
    ),
    False: scopes.by_scope(
        "SELECT position FROM json_each(?2) AS wanted CROSS JOIN item ON item.id = wanted.value"
        " WHERE item.scope <scope> AND item.kind = ?3 ORDER BY wanted.key, position"
    ),
}
_MISSING: Final = scopes.by_scope(
    "SELECT position FROM message WHERE session <scope> AND position > ?4"
    " AND (?3 = '[]' OR 'message' IN (SELECT value FROM json_each(?3)))"
    " AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.position = message.position AND model = ?2)"
    " UNION ALL SELECT position FROM item WHERE scope <scope> AND position > ?4"
    " AND (?3 = '[]' OR kind IN (SELECT value FROM json_each(?3)))"
    " AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.position = item.position AND model = ?2) ORDER BY 1"
)
_OWNERS: Final = scopes.by_scope("SELECT DISTINCT user_id FROM scope WHERE id <scope>")
_DROP: Final = scopes.by_scope("DELETE FROM vector WHERE scope <scope> AND model = ?2 AND owner = ?3")
_BATCH: Final = 256


class SqliteIndex:
    """Items in a table, their words in FTS5, their vectors in another."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.cache = VectorCache()

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        for item in items:
            checks.check_own_kind(item.kind)
        ready = [(item, codec.encode_item(item)) for item in items]

        def work(change: Change) -> None:
            place = change.place(scope)
            for item, body in ready:
                put_item(change, place, item, body)

        if ready:
            self._database.write(work)

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        check_id(model, "model")
        rows = {id: checked(vector) for id, vector in vectors.items() if checks.storable(id)}
        return self._database.write(lambda change: _embed(change, scope, kind, model, rows))

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """See `Index.search`; while the file can't be written to, what came last is ranked roughly."""
        checks.check_count("k", k, 1)
        asked = query_words(text)
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            if place == scopes.NOWHERE or not asked:
                return []
            if not (self._database.has_gone_words or is_late(db, place, where)):
                return _search(db, place, asked, where, k)
        self._database.write_if_free(catch_up)
        with self._database.reading(newest=True) as db:
            return _search(db, place, asked, where, k, late=True)

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        with self._database.reading() as db:
            return _matches(db, _best_first(_pairs(*self._near(db, scope, vector, model, k, where)))[:k])

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        with self._database.reading() as db:
            places, cosines = self._near(db, scope, vector, model, k, where)
        return (places, cosines) if len(places) <= k else _ordered(places, cosines, k)

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        with self._database.reading() as db:
            positions = _positions(db, scopes.find(db, scope), kind, ids)
            found = items_at(db, positions)
            return [found[position] for position in positions if position in found]

    def missing(
        self, scope: Scope, model: str, *, kinds: Sequence[str] = (), after: int = 0, limit: int = 1_000
    ) -> list[Item]:
        checks.check_range(after, None, limit)
        wanted = Filter(tuple(kinds)).kinds
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            known = find_model(db, place.tenant, model)
            bounds = (place.id, known.id if known else 0, checks.id_list(wanted), after)
            rows = db.execute(_MISSING[place.level()], bounds)
            return list(itertools.islice(_with_text(db, rows), limit))

    def vectors(
        self, scope: Scope, kind: str, model: str, ids: Sequence[str]
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            known = find_model(db, place.tenant, model)
            return _with_items(db, vectors_at(db, known, _positions(db, place, kind, ids)) if known else {})

    def embedded(
        self, scope: Scope, model: str, *, after: int = 0, limit: int = 1_000
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        checks.check_range(after, None, limit)
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            known = find_model(db, place.tenant, model)
            return _with_items(db, embedded(db, place, known, after, limit) if known else {})

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        checks.check_own_kind(kind)

        def work(change: Change) -> int:
            gone = remove_items(change, set(_positions(change.db, scopes.find(change.db, scope), kind, ids)))
            change.erased |= gone > 0
            return gone

        return self._database.write(work)

    def drop(self, scope: Scope, model: str) -> int:
        return self._database.write(lambda change: _drop(change, scope, model))

    def _near(self, db: apsw.Connection, scope: Scope, vector: Vector, model: str, k: int, where: Filter) -> Positions:
        """The k nearest and maybe a few more, in any order."""
        checks.check_count("k", k, 1)
        asked = direction(vector)
        exact = where.exact or scope.session is not None
        place, owned = find_vectors(db, scope, model, len(asked), exact=exact)
        cache = VectorCache() if self._database.in_transaction else self.cache
        wanted = VectorQuery(asked, k, place if exact else None, where)
        scored = [block for each in owned for block in cache.nearest(db, each, wanted)]
        cosines, places = _joined(scored)
        if where.metadata:
            return positions(itertools.islice(_passing(db, _pairs(*_ordered(places, cosines)), where), k))
        best = largest(cosines, k)
        return places[best], cosines[best].astype(float)


def _embed(change: Change, scope: Scope, kind: str, model: str, rows: Mapping[str, Vector]) -> int:
    place, taken = scopes.find(change.db, scope), 0
    for id, row in rows.items():
        thing = find_thing(change.db, place, kind, id)
        if thing is not None:
            known = make_model(change.db, place.tenant, model, len(row))
            put_vector(change.db, place, known, (*thing, kind), row)
            taken += 1
    return taken


def _drop(change: Change, scope: Scope, model: str) -> int:
    place = scopes.find(change.db, scope)
    known = find_model(change.db, place.tenant, model)
    if known is None:
        return 0
    gone = 0
    level = place.level()
    for (owner,) in list(change.db.execute(_OWNERS[level], (place.id,))):
        change.db.execute(_DROP[level], (place.id, known.id, owner))
        gone += change.db.changes()
        changed(change.db, owner)
    return gone


def _positions(db: apsw.Connection, place: scopes.Place, kind: str, ids: Sequence[str]) -> list[int]:
    query = _BY_ID[kind == MESSAGE][place.level()]
    return [row[0] for row in db.execute(query, (place.id, checks.id_list(ids), checks.askable(kind)))]


def _with_items(db: apsw.Connection, rows: Mapping[int, NDArray[np.float32]]) -> list[tuple[Item, NDArray[np.float32]]]:
    """The vectors at these positions, each with its item, by position."""
    found = items_at(db, list(rows))
    return [(found[position], row) for position, row in sorted(rows.items()) if position in found]


def _with_text(db: apsw.Connection, rows: Iterable[Any]) -> Iterator[Item]:
    for batch in _batches(row[0] for row in rows):
        found = items_at(db, batch)
        yield from (item for item in map(found.get, batch) if item and item.text)


def _search(
    db: apsw.Connection, place: scopes.Place, asked: Sequence[str], where: Filter, k: int, *, late: bool = False
) -> list[Match]:
    picky = _picky(where)
    ranked: Iterable[tuple[int, float]] = best_by_words(db, place, asked, where, -1 if picky else k)
    if late and (more := list(late_by_words(db, place, asked, where))):
        ranked = _best_first((*ranked, *more))
    return _matches(db, list(itertools.islice(_passing(db, ranked, where) if picky else ranked, k)))


def _picky(where: Filter) -> bool:
    return bool(where.since or where.before or where.roles or where.metadata or where.as_of is not None)


def _matches(db: apsw.Connection, found: Sequence[tuple[int, float]]) -> list[Match]:
    names = names_at(db, [position for position, _ in found])
    return [Match(*names[position], score) for position, score in found if position in names]


def _passing(db: apsw.Connection, ranked: Iterable[tuple[int, float]], where: Filter) -> Iterator[tuple[int, float]]:
    """Those of the ranked positions that pass the filter."""
    read = items_at if where.metadata else bare_items_at
    for batch in _batches(ranked):
        items = read(db, [position for position, _ in batch])
        yield from (pair for pair in batch if pair[0] in items and where.passes(items[pair[0]]))


def _joined(scored: list[Scored]) -> Scored:
    if len(scored) == 1:
        return scored[0]
    cosines, places = zip((np.zeros(0, np.float32), np.zeros(0, np.int64)), *scored, strict=True)
    return np.concatenate(cosines), np.concatenate(places)


def _ordered(places: NDArray[np.int64], cosines: NDArray[Any], k: int | None = None) -> Positions:
    """The best k positions with their cosines, or all, best first; of equal ones the later first."""
    order = np.lexsort((-places, -cosines))[:k]
    return places[order], cosines[order]


def _pairs(places: NDArray[np.int64], cosines: NDArray[Any]) -> list[tuple[int, float]]:
    return list(zip(places.tolist(), cosines.tolist(), strict=True))


def _best_first(found: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Positions with their scores, the best first; of equal ones the later."""
    return sorted(found, key=operator.itemgetter(1, 0), reverse=True)


def _batches(things: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(things)
    while batch := list(itertools.islice(rest, _BATCH)):
        yield batch
