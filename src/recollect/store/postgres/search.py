"""Finding items by words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from recollect.store.postgres.items import BY_POSITION, passing, spelled
from recollect.store.postgres.keys import key
from recollect.store.postgres.lexemes import lexemes, query
from recollect.store.values import Filter, Match
from recollect.store.words import query_words
from recollect.types import Scope

# BM25 as in the reference store, over the items that pass the filter. Items are first found by their words only, since
# without table statistics the planner might read all rows of the owner or the tenant.
_SEARCH: Final = """
WITH asked AS MATERIALIZED (
    SELECT lexeme, lexeme::tsquery AS it, (lexeme || ':D')::tsquery AS once, (lexeme || ':C')::tsquery AS twice,
        (lexeme || ':B')::tsquery AS thrice
    FROM unnest(%(asked)s::text[]) AS lexeme
), found AS MATERIALIZED (
    SELECT position, words FROM recollect.words
    WHERE words @@ %(query)s::tsquery AND (tenant = %(tenant)s) IS TRUE
), hits AS MATERIALIZED (
    SELECT items.position, items.length, asked.lexeme, CASE
        WHEN words @@ asked.once THEN 1 WHEN words @@ asked.twice THEN 2 WHEN words @@ asked.thrice THEN 3
        ELSE (SELECT positions[1] FROM unnest(words) AS word WHERE word.lexeme = asked.lexeme)
    END::float8 AS times
    FROM found <by position> JOIN asked ON words @@ asked.it WHERE <passing>
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
SELECT owner, session, kind, id, names, score FROM best AS found <by position>
ORDER BY score DESC, found.position DESC
""".replace("<by position>", BY_POSITION)


def keywords(scope: Scope, text: str, k: int, where: Filter) -> tuple[str, dict[str, Any]] | None:
    """The query for the k best items that share a word with the text; None if the text has no words."""
    asked = [*map(lexemes(key(scope.tenant)), query_words(text))]
    if not asked:
        return None
    condition, known = passing(scope, where)
    known |= {"query": query(scope, where.exact, asked), "asked": asked, "k": k}
    return _SEARCH.replace("<passing>", condition), known


def matches(scope: Scope, found: Sequence[Sequence[Any]]) -> list[Match]:
    """The matches of rows with owner, session, kind, id, names and score."""
    out = []
    for *keys, names, score in found:
        where, kind, id = spelled(scope.tenant, keys, names)
        out.append(Match(where, kind, id, score))
    return out
