"""Vectors, kept in pgvector's type and compared by the server, or kept as bytes and compared here."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import chain
from struct import pack
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ConfigError
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.exchange import Own
from recollect.store.postgres.items import BY_POSITION, passing
from recollect.store.postgres.keys import inside, key, number, place
from recollect.store.values import ANY, Filter
from recollect.store.vectors import check_length
from recollect.types import Scope

Row: TypeAlias = NDArray[np.float32]

MOST_NUMBERS: Final = 16_000
"""The longest vector pgvector takes."""

EXACT: Final = 20_000
"""A tenant's vectors are compared one by one up to this many; above that, the HNSW index that `reindex` makes is used.
The index gives up early if only few pass the filter; then all are compared."""

PAGE: Final = 2_000
"""How many vectors are fetched at a time to be compared here."""

_HAVING: Final = "SELECT id, position FROM recollect.items WHERE"
# Ordered by the key: without an order, the planner reads other tenants' rows until it finds one of this tenant.
_LENGTH: Final = (
    "SELECT length FROM recollect.vectors WHERE tenant = %s AND model = %s ORDER BY owner, session, position LIMIT 1"
)
_PUT: Final = """
INSERT INTO recollect.vectors (tenant, model, owner, session, length, position, vector)
SELECT %s, %s, %s, %s, %s, position, vector::<type> FROM unnest(%s::bigint[], %s::<given>[]) AS new (position, vector)
ON CONFLICT (tenant, model, owner, session, position) DO UPDATE SET vector = excluded.vector
"""
_PUT_PGVECTOR: Final = _PUT.replace("<type>", "vector").replace("<given>", "text")
_PUT_BYTES: Final = _PUT.replace("<type>", "bytea").replace("<given>", "bytea")

_OF_MODEL: Final = "WHERE vectors.model = %(model)s AND vectors.length = %(length)s AND"
_PLAIN: Final = "FROM recollect.vectors"
_JOINED: Final = "FROM recollect.vectors JOIN recollect.items USING (tenant, position)"
NAMED: Final = " ".join(
    (
        "SELECT owner, session, kind, id, names, -away FROM best AS found",
        BY_POSITION,
        "ORDER BY away, found.position DESC",
    )
)
"""Selects the scope, kind and id of each item found, and its cosine."""
PLACED: Final = "SELECT position, -away FROM best ORDER BY away, position DESC"
"""Selects the position of each item found, and its cosine."""

# Adding 0 to the distance keeps the planner from using the HNSW index, which may miss some.
_EXACT: Final = "WITH best AS (SELECT vectors.position, (vectors.vector <#> %(asked)s::vector) + 0 AS away"
_EXACT_BEST: Final = "ORDER BY away, vectors.position DESC LIMIT %(k)s)"
_COUNT: Final = (
    "SELECT count(*) FROM (SELECT FROM recollect.vectors WHERE tenant = %s AND model = %s LIMIT %s) AS counted"
)
_HNSW: Final = (
    "WITH best AS (SELECT vectors.position, vectors.vector::vector(<length>) <#> %(asked)s::vector(<length>) AS away"
)
_HNSW_BEST: Final = "AND vectors.length = <length> ORDER BY away LIMIT %(k)s)"
_HNSW_SETTINGS: Final = (
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true)"
)

_BYTES: Final = "SELECT vectors.position, vectors.vector"
_GIVEN: Final = (
    "WITH best AS (SELECT * FROM unnest(%(positions)s::bigint[], %(away)s::float8[]) AS given (position, away))"
)


class PgVectors:
    """Vectors in pgvector's type, as unit vectors."""

    def __init__(self) -> None:
        self._large: set[tuple[str, str]] = set()

    def embed(self, db: Connection, scope: Scope, kind: str, model: str, by_key: Mapping[str, Row]) -> int:
        """Keep vectors for the items with these keys; returns how many were kept."""
        for row in by_key.values():
            if len(row) > MOST_NUMBERS:
                raise ConfigError(
                    f"a vector has {len(row):,} numbers, but pgvector takes {MOST_NUMBERS:,} at most: "
                    "use a smaller model"
                )
        return _put(db, _PUT_PGVECTOR, scope, model, _taken(db, scope, kind, model, by_key), _text)

    def nearest(
        self, db: Connection, scope: Scope, asked: Row, model: str, k: int, *, where: Filter, wanted: str
    ) -> list[Any]:
        """The k items with the nearest vectors, each as `wanted`, which is NAMED or PLACED."""
        source, known = _candidates(scope, model, where, len(asked))
        known |= {"asked": _sent(asked), "k": k}
        if scope.user is None and not where.exact and self._is_large(db, key(scope.tenant), key(model)):
            db.later(_HNSW_SETTINGS, (str(max(100, min(2 * k, 1_000))),))
            query = " ".join((_HNSW, source, _HNSW_BEST, wanted)).replace("<length>", str(len(asked)))
            if len(found := db.ask(query, known)) == k:
                return found
        return db.ask(" ".join((_EXACT, source, _EXACT_BEST, wanted)), known) or _none(db, scope, model, asked)

    def read(self, data: bytes) -> Row:
        """The vector in a column's bytes; pgvector puts two 2-byte numbers before it."""
        return np.frombuffer(data, ">f4", offset=4).astype(np.float32)

    def _is_large(self, db: Connection, tenant: str, model: str) -> bool:
        """Whether a tenant has more than `EXACT` vectors. Remembered once true, as counting is slower than a search."""
        if (tenant, model) not in self._large:
            ((count,),) = db.ask(_COUNT, (tenant, model, EXACT + 1))
            if count <= EXACT:
                return False
            self._large.add((tenant, model))
        return True


class ByteVectors:
    """Vectors as bytes, for a server without pgvector: all in the scope are fetched and compared."""

    def embed(self, db: Connection, scope: Scope, kind: str, model: str, by_key: Mapping[str, Row]) -> int:
        return _put(db, _PUT_BYTES, scope, model, _taken(db, scope, kind, model, by_key), _bytes)

    def nearest(
        self, db: Connection, scope: Scope, asked: Row, model: str, k: int, *, where: Filter, wanted: str
    ) -> list[Any]:
        source, known = _candidates(scope, model, where, len(asked))
        best = _compared(db, " ".join((_BYTES, source)), known, asked, k)
        if not best:
            return _none(db, scope, model, asked)
        found = {"positions": [position for _, position in best], "away": [-score for score, _ in best]}
        return db.ask(" ".join((_GIVEN, wanted)), known | found)

    def read(self, data: bytes) -> Row:
        return np.frombuffer(data, "<f4").astype(np.float32)


def _compared(db: Connection, query: str, known: dict[str, Any], asked: Row, k: int) -> list[tuple[float, int]]:
    best: list[tuple[float, int]] = []
    db.send()
    with db.cursor("compared", binary=True) as cursor:
        cursor.execute(query, known)
        while page := cursor.fetchmany(PAGE):
            matrix = np.frombuffer(b"".join(row[1] for row in page), "<f4").reshape(len(page), -1)
            scores: list[float] = (matrix @ asked).tolist()
            best = heapq.nlargest(k, chain(best, zip(scores, (row[0] for row in page), strict=True)))
    return best


def _candidates(scope: Scope, model: str, where: Filter, length: int) -> tuple[str, dict[str, Any]]:
    condition, known = inside(scope, "vectors", where.exact)
    known |= {"model": key(model), "length": length}
    if where == ANY:
        return " ".join((_PLAIN, _OF_MODEL, condition)), known
    passes, values = passing(scope, where)
    return " ".join((_JOINED, _OF_MODEL, condition, "AND", passes)), known | values


def _taken(db: Connection, scope: Scope, kind: str, model: str, by_key: Mapping[str, Row]) -> dict[int, Row]:
    condition, known = inside(scope, "items", exact=True)
    query = " ".join((_HAVING, condition, "AND kind = %(kind)s AND id = ANY(%(ids)s)"))
    positions = dict(db.ask(query, known | {"kind": key(kind), "ids": list(by_key)}))
    taken = {positions[id]: row for id, row in by_key.items() if id in positions}
    if taken:
        have = _length(db, key(scope.tenant), key(model), next(iter(taken.values())))
        for row in taken.values():
            check_length(model, have, len(row))
    return taken


def _put(
    db: Connection, query: str, scope: Scope, model: str, taken: Mapping[int, Row], sent: Callable[[Row], str | bytes]
) -> int:
    if taken:
        at, rows = place(scope), list(taken.values())
        where = (at.tenant, key(model), at.owner, at.session, len(rows[0]))
        db.later(query, (*where, list(taken), [sent(row) for row in rows]))
    return len(taken)


def _length(db: Connection, tenant: str, model: str, first: Row) -> int:
    have = db.ask(_LENGTH, (tenant, model))
    if not have:  # another process may be writing the first one right now
        db.later("SELECT pg_advisory_xact_lock(%s)", (number("model", tenant, model),))
        have = db.ask(_LENGTH, (tenant, model))
    return int(have[0][0]) if have else len(first)


def _none(db: Connection, scope: Scope, model: str, asked: Row) -> list[Any]:
    """An empty result; raises if the model's vectors have another length than the one asked for."""
    for (length,) in db.ask(_LENGTH, (key(scope.tenant), key(model))):
        check_length(model, length, len(asked))
    return []


def _sent(row: Row) -> Own:
    """A vector in pgvector's binary form: its length and a zero, each of two bytes, and then its numbers."""
    return Own(pack("!hh", len(row), 0) + row.astype(">f4").tobytes())


def _text(row: Row) -> str:
    return f"[{','.join(f'{value:.9g}' for value in row.tolist())}]"


def _bytes(row: Row) -> bytes:
    return row.astype("<f4").tobytes()
