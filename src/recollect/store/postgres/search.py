"""Finding items by words and by vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from recollect.store.postgres.database import rows
from recollect.store.postgres.driver import Connection
from recollect.store.postgres.items import passing, spelled
from recollect.store.postgres.keys import inside, key, place
from recollect.store.postgres.lexemes import lexemes, query
from recollect.store.values import ANY, Filter, Match
from recollect.store.words import query_words
from recollect.types import Scope

EXACT: Final = 20_000
"""A whole tenant is searched vector by vector up to this many; above, by the HNSW index that `reindex` makes."""

# BM25 as the reference computes it, over the items that pass the filter.
_SEARCH: Final = """
WITH hits AS MATERIALIZED (
    SELECT items.position, items.length, word.lexeme, word.positions[1]::float8 AS times
    FROM recollect.words JOIN recollect.items USING (tenant, position), unnest(words.words) AS word
    WHERE words.tenant = %(tenant)s AND words.words @@ %(query)s::tsquery AND word.lexeme = ANY(%(asked)s)
    AND <passing>
), size AS MATERIALIZED (
    SELECT count(*)::float8 AS texts, coalesce(nullif(avg(length), 0), 1)::float8 AS mean
    FROM recollect.items WHERE <passing>
), rare AS (
    SELECT lexeme, greatest(1e-6, ln((texts - count(*) + 0.5) / (count(*) + 0.5))) AS weight
    FROM hits, size GROUP BY lexeme, texts
), best AS (
    SELECT position, sum(weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))) AS score
    FROM hits JOIN rare USING (lexeme), size GROUP BY position ORDER BY score DESC, position DESC LIMIT %(k)s
)
SELECT owner, session, kind, id, names, score FROM best
JOIN recollect.items ON items.tenant = %(tenant)s AND items.position = best.position ORDER BY score DESC, best.position DESC
"""

_FOUND: Final = """
SELECT owner, session, kind, id, names, -away FROM best
JOIN recollect.items ON items.tenant = %(tenant)s AND items.position = best.position ORDER BY away, best.position DESC
"""
_PLAIN: Final = "WHERE vectors.model = %(model)s AND"
_JOINED: Final = "JOIN recollect.items USING (tenant, position) WHERE vectors.model = %(model)s AND"

# Every vector of the scope: adding nothing to the distance keeps the planner from using an index that finds only some.
_EXACT_START: Final = """
WITH best AS (
    SELECT vectors.position, (vectors.vector <#> %(asked)b::float8[]::vector) + 0 AS away FROM recollect.vectors
"""
_EXACT_END: Final = "ORDER BY away, vectors.position DESC LIMIT %(k)s)"

_COUNT: Final = "SELECT count(*) FROM (SELECT FROM recollect.vectors WHERE tenant = %s AND model = %s LIMIT %s) AS some"
_HNSW_START: Final = """
WITH best AS (
    SELECT vectors.position, vectors.vector::vector(<length>) <#> %(asked)b::float8[]::vector AS away
    FROM recollect.vectors
"""
_HNSW_END: Final = "AND vectors.length = <length> ORDER BY away LIMIT %(k)s)"
_HNSW_SETTINGS: Final = (
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true)"
)


def search(db: Connection, scope: Scope, text: str, k: int, where: Filter) -> list[Match]:
    """The k best items that share a word with the text."""
    asked = [*map(lexemes(key(scope.tenant)), query_words(text))]
    if not asked:
        return []
    condition, known = passing(scope, where)
    known |= {"query": query(scope, place(scope), where.exact, asked), "asked": asked, "k": min(k, 2**62)}
    return _matches(scope, rows(db, _SEARCH.replace("<passing>", condition), known))


def nearest(db: Connection, scope: Scope, asked: list[float], model: str, k: int, where: Filter) -> list[Match]:
    """The k items whose vectors point most nearly the same way."""
    known: dict[str, Any]
    if where == ANY:
        source, (condition, known) = _PLAIN, inside(scope, "vectors")
    else:
        source, (condition, known) = _JOINED, passing(scope, where)
        condition = f"{inside(scope, 'vectors', where.exact)[0]} AND {condition}"
    known |= {"asked": asked, "model": key(model), "k": min(k, 2**62)}
    parts = (_EXACT_START, source, condition, _EXACT_END, _FOUND)
    if scope.user is None and not where.exact and _is_large(db, scope, model):
        db.execute(_HNSW_SETTINGS, (str(max(100, min(2 * k, 1_000))),))
        parts = (_HNSW_START, source, condition, _HNSW_END, _FOUND)
    return _matches(scope, rows(db, "\n".join(parts).replace("<length>", str(len(asked))), known))


def _is_large(db: Connection, scope: Scope, model: str) -> bool:
    ((count,),) = rows(db, _COUNT, (key(scope.tenant), key(model), EXACT + 1))
    return bool(count > EXACT)


def _matches(scope: Scope, found: Sequence[Sequence[Any]]) -> list[Match]:
    out = []
    for *keys, names, score in found:
        where, kind, id = spelled(scope.tenant, keys, names)
        out.append(Match(where, kind, id, score))
    return out
