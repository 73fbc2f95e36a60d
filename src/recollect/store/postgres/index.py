"""The index in PostgreSQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.store import checks, codec
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.items import COLUMNS, SOURCE, Prepared, insert, item_from, passing
from recollect.store.postgres.keys import inside, key, keys, known_key
from recollect.store.postgres.search import keywords, matches
from recollect.store.postgres.vectors import NAMED, PLACED, ByteVectors, PgVectors
from recollect.store.values import ANY, Filter, Item, Match
from recollect.store.vectors import Positions, Vector, direction, positions
from recollect.store.words import words
from recollect.types import Scope, check_id

_POSITIONS: Final = "SELECT nextval('recollect.positions') FROM generate_series(1, %s)"
_THESE: Final = "AND (kind, id) IN (SELECT * FROM unnest(%(kinds)s::text[], %(ids)s::text[]))"
_DELETE: Final = "DELETE FROM recollect.items WHERE"
_ITS: Final = (
    " FROM recollect.vectors WHERE vectors.tenant = items.tenant AND vectors.model = %(model)s"
    " AND vectors.owner = items.owner AND vectors.session = items.session AND vectors.position = items.position"
)
_MISSING: Final = "".join(
    (
        "AND items.position > %(after)s AND NOT items.wordless AND NOT EXISTS (SELECT",
        _ITS,
        ") ORDER BY items.position LIMIT %(limit)s",
    )
)
_EMBEDDED: Final = "".join((" AND EXISTS (SELECT", _ITS, ") ORDER BY items.position"))
_DROP: Final = "DELETE FROM recollect.vectors WHERE"


class PostgresIndex:
    """Items in a table, their words in tsvectors, their vectors in pgvector's type or as bytes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vectors = PgVectors() if database.pgvector else ByteVectors()

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        for item in items:
            checks.check_own_kind(item.kind)
        ready = [Prepared(item, words(item.text), codec.encode_item(item)) for item in items]
        if ready:
            self._database.write(scope, lambda db: _put(db, scope, ready), repeatable=True)

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        check_id(model, "model")
        rows = {id: direction(vector) for id, vector in vectors.items()}
        by_key = {key(id): row for id, row in rows.items() if checks.storable(id)}
        if not by_key or not checks.storable(kind):
            return 0
        kept = self._vectors
        return self._database.write(scope, lambda db: kept.embed(db, scope, kind, model, by_key), repeatable=True)

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        checks.check_count("k", k, 1)
        asked = keywords(scope, text, k, where)
        return [] if asked is None else matches(scope, self._database.find(scope.tenant, *asked, one_plan=True))

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        return matches(scope, self._nearest(scope, vector, model, k, where, NAMED))

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        return positions(self._nearest(scope, vector, model, k, where, PLACED))

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        condition, known = _these(scope, kind, ids)
        found = self._found(scope, f"{condition} ORDER BY items.position", known)
        return checks.in_order(ids, found, lambda item: item.id)

    def missing(
        self, scope: Scope, model: str, *, kinds: Sequence[str] = (), after: int = 0, limit: int = 1_000
    ) -> list[Item]:
        checks.check_range(after, None, limit)
        condition, known = passing(scope, Filter(tuple(kinds)))
        known |= {"model": known_key(model), "after": after, "limit": limit}
        return self._found(scope, f"{condition} {_MISSING}", known)

    def vectors(
        self, scope: Scope, kind: str, model: str, ids: Sequence[str]
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        condition, known = _these(scope, kind, ids)
        return self._with_vectors(scope, condition, known | {"model": known_key(model)})

    def embedded(
        self, scope: Scope, model: str, *, after: int = 0, limit: int = 1_000
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        checks.check_range(after, None, limit)
        condition, known = inside(scope, "items")
        known |= {"model": known_key(model), "after": after, "limit": limit}
        return self._with_vectors(scope, f"{condition} AND items.position > %(after)s", known, " LIMIT %(limit)s")

    def _with_vectors(
        self, scope: Scope, condition: str, known: Mapping[str, Any], limit: str = ""
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        query = "".join(("SELECT", COLUMNS, ", (SELECT vector", _ITS, ")", SOURCE, condition, _EMBEDDED, limit))
        found = self._database.find(scope.tenant, query, known)
        return [(item_from(scope.tenant, row[:-1]), self._vectors.read(row[-1])) for row in found]

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        checks.check_own_kind(kind)
        condition, known = _these(scope, kind, ids)
        query = " ".join((_DELETE, condition, "RETURNING id"))
        return self._database.write(scope, lambda db: len(db.ask(query, known)))

    def drop(self, scope: Scope, model: str) -> int:
        condition, known = inside(scope, "vectors")
        query = " ".join((_DROP, condition, "AND model = %(model)s RETURNING position"))
        return self._database.write(scope, lambda db: len(db.ask(query, known | {"model": known_key(model)})))

    def _nearest(self, scope: Scope, vector: Vector, model: str, k: int, where: Filter, wanted: str) -> list[Any]:
        checks.check_count("k", k, 1)
        asked, kept = direction(vector), self._vectors
        if not checks.storable(model):
            return []
        return self._database.read(
            scope.tenant, lambda db: kept.nearest(db, scope, asked, model, k, where=where, wanted=wanted)
        )

    def _found(self, scope: Scope, condition: str, known: dict[str, Any]) -> list[Item]:
        query = "".join(("SELECT", COLUMNS, SOURCE, condition))
        found = self._database.find(scope.tenant, query, known)
        return [item_from(scope.tenant, row) for row in found]


def _these(scope: Scope, kind: str, ids: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The condition and its parameters for the items in the scope with that kind and these ids."""
    condition, known = inside(scope, "items")
    asked = {"kind": known_key(kind), "ids": keys(ids)}
    return f"{condition} AND items.kind = %(kind)s AND items.id = ANY(%(ids)s)", known | asked


def _put(db: Connection, scope: Scope, ready: Sequence[Prepared]) -> None:
    condition, known = inside(scope, "items", exact=True)
    by_key = {(key(one.item.kind), key(one.item.id)): one for one in ready}
    kinds, ids = ([pair[part] for pair in by_key] for part in (0, 1))
    db.later(" ".join((_DELETE, condition, _THESE)), known | {"kinds": kinds, "ids": ids})
    positions = db.ask(_POSITIONS, (len(by_key),))
    insert(
        db,
        scope,
        [
            one._replace(item=dataclasses.replace(one.item, scope=scope, position=position))
            for one, (position,) in zip(by_key.values(), positions, strict=True)
        ],
    )
