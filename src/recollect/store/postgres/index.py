"""The index in PostgreSQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import ConfigError
from recollect.store import codec
from recollect.store.postgres.database import Database, rows
from recollect.store.postgres.driver import Connection
from recollect.store.postgres.items import COLUMNS, PUT, PUT_WORDS, SOURCE, encode_item, item_from, passing, row_of
from recollect.store.postgres.keys import inside, key, keys, number, place
from recollect.store.postgres.lexemes import pieces
from recollect.store.postgres.search import nearest, search
from recollect.store.values import ANY, Filter, Item, Match
from recollect.store.vectors import check_length, checked, unit
from recollect.store.words import words
from recollect.types import Scope, check_id

if TYPE_CHECKING:
    from recollect.store.protocols import Vector

MOST_NUMBERS: Final = 16_000
"""The longest vector pgvector takes."""

_NEXT: Final = "SELECT nextval('recollect.positions')"
_DELETE: Final = "DELETE FROM recollect.items WHERE"
_HAVING: Final = "SELECT id, position FROM recollect.items WHERE"
_LENGTH: Final = "SELECT length FROM recollect.vectors WHERE tenant = %s AND model = %s LIMIT 1"
_EMBED: Final = (
    "INSERT INTO recollect.vectors (tenant, model, owner, session, position, length, vector)"
    " VALUES (%s, %s, %s, %s, %s, %s, %b::float8[]::vector)"
    " ON CONFLICT (tenant, model, owner, session, position) DO UPDATE SET vector = excluded.vector"
)
_MISSING: Final = (
    "AND NOT items.wordless AND NOT EXISTS (SELECT FROM recollect.vectors WHERE vectors.tenant = items.tenant"
    " AND vectors.model = %(model)s AND vectors.owner = items.owner AND vectors.session = items.session"
    " AND vectors.position = items.position) ORDER BY items.position LIMIT %(limit)s"
)
_DROP: Final = "DELETE FROM recollect.vectors WHERE"


class PostgresIndex:
    """Items in a table, their words in a tsvector, their vectors in pgvector's type."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        """See `Index.put`."""
        for item in items:
            codec.check_own_kind(item.kind)
        ready = [(item, encode_item(item), words(item.text)) for item in items]

        def work(db: Connection) -> None:
            for item, body, found in ready:
                put_item(db, scope, item, body, found)

        if ready:
            self._database.write(scope, work, repeatable=True)

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        """See `Index.embed`."""
        check_id(model, "model")
        directions = {id: unit(checked(vector)).tolist() for id, vector in vectors.items()}
        if longest := max(map(len, directions.values()), default=0):
            _check_storable(longest)
        by_key = {key(id): row for id, row in directions.items() if codec.storable(id)}
        if not by_key or not codec.storable(kind):
            return 0
        return self._database.write(scope, lambda db: _embed(db, scope, kind, model, by_key), repeatable=True)

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """See `Index.search`."""
        codec.check_count("k", k, 1)
        return self._database.read(scope.tenant, lambda db: search(db, scope, text, k, where))

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """See `Index.nearest`."""
        codec.check_count("k", k, 1)
        asked = unit(checked(vector)).tolist()
        if not codec.storable(model):
            return []

        def work(db: Connection) -> list[Match]:
            have = rows(db, _LENGTH, (key(scope.tenant), key(model)))
            for (length,) in have:
                check_length(model, length, len(asked))
            return nearest(db, scope, asked, model, k, where) if have else []

        return self._database.read(scope.tenant, work)

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        """See `Index.get`."""
        condition, known = inside(scope, "items")
        clauses = f"{condition} AND items.kind = %(kind)s AND items.id = ANY(%(ids)s) ORDER BY items.position"
        known |= {"kind": key(kind), "ids": keys(ids)}
        found = self._found(scope, clauses, known) if codec.storable(kind) else []
        return [item for id in ids for item in found if item.id == id]

    def missing(self, scope: Scope, model: str, *, kinds: Sequence[str] = (), limit: int = 1_000) -> list[Item]:
        """See `Index.missing`."""
        codec.check_count("limit", limit, 1)
        condition, known = passing(scope, Filter(tuple(kinds)))
        return self._found(scope, f"{condition} {_MISSING}", known | {"model": _key(model), "limit": min(limit, 2**62)})

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        """See `Index.delete`."""
        codec.check_own_kind(kind)
        condition, known = inside(scope, "items")
        query = " ".join((_DELETE, condition, "AND kind = %(kind)s AND id = ANY(%(ids)s) RETURNING id"))
        known |= {"kind": _key(kind), "ids": keys(ids)}
        return self._database.write(scope, lambda db: len(rows(db, query, known)))

    def drop(self, scope: Scope, model: str) -> int:
        """See `Index.drop`."""
        condition, known = inside(scope, "vectors")
        query = " ".join((_DROP, condition, "AND model = %(model)s RETURNING position"))
        return self._database.write(scope, lambda db: len(rows(db, query, known | {"model": _key(model)})))

    def _found(self, scope: Scope, condition: str, known: dict[str, Any]) -> list[Item]:
        query = "".join(("SELECT", COLUMNS, SOURCE, condition))
        found = self._database.read(scope.tenant, lambda db: rows(db, query, known))
        return [item_from(scope.tenant, row) for row in found]


def put_item(db: Connection, scope: Scope, item: Item, body: bytes, found: Sequence[str]) -> None:
    """The item in the place of one with its scope, kind and id."""
    condition, known = inside(scope, "items", exact=True)
    query = " ".join((_DELETE, condition, "AND kind = %(kind)s AND id = %(id)s"))
    db.execute(query, known | {"kind": key(item.kind), "id": key(item.id)})
    ((position,),) = rows(db, _NEXT)
    at = place(scope)
    db.execute(PUT, row_of(at, dataclasses.replace(item, scope=scope), position, len(found), body))
    for piece, text in enumerate(pieces(at, found)):
        db.execute(PUT_WORDS, (at.tenant, position, piece, text))


def _embed(db: Connection, scope: Scope, kind: str, model: str, by_key: Mapping[str, list[float]]) -> int:
    condition, known = inside(scope, "items", exact=True)
    query = " ".join((_HAVING, condition, "AND kind = %(kind)s AND id = ANY(%(ids)s)"))
    positions = dict(rows(db, query, known | {"kind": key(kind), "ids": list(by_key)}))
    if not positions:
        return 0
    at = place(scope)
    taken = {id: row for id, row in by_key.items() if id in positions}
    have = _length(db, at.tenant, key(model), next(iter(taken.values())))
    for row in taken.values():
        check_length(model, have, len(row))
    start = (at.tenant, key(model), at.owner, at.session)
    values = [(*start, positions[id], len(row), row) for id, row in taken.items()]
    db.cursor().executemany(_EMBED, values)
    return len(taken)


def _length(db: Connection, tenant: str, model: str, first: list[float]) -> int:
    for lock in (False, True):
        if lock:
            db.execute("SELECT pg_advisory_xact_lock(%s)", (number("model", tenant, model),))
        if have := rows(db, _LENGTH, (tenant, model)):
            return int(have[0][0])
    return len(first)


def _check_storable(longest: int) -> None:
    if longest > MOST_NUMBERS:
        raise ConfigError(
            f"a vector of {longest} numbers: PostgreSQL holds at most {MOST_NUMBERS:,}; use a smaller model"
        )


def _key(text: str) -> str | None:
    return key(text) if codec.storable(text) else None
