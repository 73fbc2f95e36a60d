"""Erasure: removes messages and everything that cites them from every table.

The bytes of deleted rows leave the server's files when it vacuums and recycles its write-ahead log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from recollect.store import codec
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.keys import inside
from recollect.store.values import MESSAGE, Erasable, Erased, Learned
from recollect.types import Scope

_MESSAGES: Final = "SELECT owner, session, id FROM recollect.messages WHERE id IS NOT NULL AND"
_GONE: Final = "unnest(%(owners)s::text[], %(sessions)s::text[], %(ids)s::text[]) AS gone (owner, session, id)"
# Materialized, so that the citations are read only once, whatever the planner knows about the table.
CITING: Final = """
WITH cites AS MATERIALIZED (
    SELECT position, owner, session, unnest(sources) AS source FROM recollect.<table>
    WHERE tenant = %(tenant)s AND owner = ANY(%(near)s)
)
SELECT DISTINCT position FROM cites JOIN <gone> ON gone.id = source
WHERE cites.owner IN ('', gone.owner) AND cites.session IN ('', gone.session)
""".replace("<gone>", _GONE)
_DELETE: Final = "DELETE FROM recollect.<table> WHERE tenant = %(tenant)s AND position = ANY(%(found)s) RETURNING kind"
_PLACED: Final = "SELECT position, kind<more> FROM recollect.<table> WHERE"
_FOUND: Final = "tenant = %(tenant)s AND position = ANY(%(found)s)"
_COUNT_JOBS: Final = "SELECT count(*) FROM recollect.jobs WHERE"
_BLANK: Final = " ".join(
    (
        "UPDATE recollect.messages SET id = NULL, body = NULL, salt = NULL, tags = NULL, names = NULL, tokens = 0 FROM",
        _GONE,
        "WHERE messages.tenant = %(tenant)s AND messages.owner = gone.owner AND messages.session = gone.session",
        "AND messages.id = gone.id",
    )
)
_TOTALS: Final = """
UPDATE recollect.sessions AS head SET (messages, tokens, first, last) = (
    SELECT count(*), coalesce(sum(tokens), 0), (array_agg(at ORDER BY seq))[1], (array_agg(at ORDER BY seq DESC))[1]
    FROM recollect.messages AS kept JOIN recollect.items USING (tenant, position)
    WHERE kept.tenant = head.tenant AND kept.owner = head.owner AND kept.session = head.session
) WHERE tenant = %(tenant)s AND (owner, session) IN (
    SELECT * FROM unnest(%(owners)s::text[], %(sessions)s::text[])
)
"""
_ALL: Final = "DELETE FROM recollect.<table> WHERE <inside>"


def erase(db: Connection, scope: Scope, ids: Sequence[str] | None) -> Erased:
    """Erase the messages with these keys or, without, the whole scope, and what cites them; returns how much."""
    gone = _messages(db, scope, ids)
    records = len(_citing(db, "records", gone))
    items = _derived(_citing(db, "items", gone))
    if ids is not None:
        db.later(_BLANK, gone)
        db.later(_TOTALS, gone)
        return Erased(len(gone["ids"]), records, items)
    records += len(_deleted(db, "records", scope))
    items += _derived(_deleted(db, "items", scope))
    jobs = len(_deleted(db, "jobs", scope))
    for table in ("messages", "sessions"):
        db.later(*_all(table, scope))
    return Erased(len(gone["ids"]), records, items, jobs)


def would_erase(db: Connection, scope: Scope, ids: Sequence[str] | None) -> Erasable:
    """What `erase` would remove."""
    gone, jobs, whole = _messages(db, scope, ids), 0, None
    if ids is None:
        whole, (condition, known) = scope, inside(scope, "jobs")
        ((jobs,),) = db.ask(" ".join((_COUNT_JOBS, condition)), known)
    records = frozenset(
        Learned(at, codec.from_bytes(names)[4] if names else kind, stands)
        for at, kind, names, stands in _going(db, "records", ", names, superseded_at IS NULL", gone, whole)
    )
    items = {at for at, kind in _going(db, "items", "", gone, whole) if kind != MESSAGE}
    return Erasable(len(gone["ids"]), records, len(items), jobs)


def _going(db: Connection, table: str, more: str, gone: dict[str, Any], whole: Scope | None) -> list[tuple[Any, ...]]:
    """The position, kind and `more` columns of what cites the messages, or is in a scope that goes as a whole."""
    query = _PLACED.replace("<table>", table).replace("<more>", more)
    rows = db.ask(" ".join((query, _FOUND)), {"tenant": gone["tenant"], "found": _cited(db, table, gone)})
    if whole is not None:
        condition, known = inside(whole, table)
        rows += db.ask(" ".join((query, condition)), known)
    return rows


def _messages(db: Connection, scope: Scope, ids: Sequence[str] | None) -> dict[str, Any]:
    condition, known = inside(scope, "messages")
    if ids is not None:
        condition, known = f"{condition} AND id = ANY(%(ids)s)", known | {"ids": list(ids)}
    found = db.ask(" ".join((_MESSAGES, condition)), known)
    owners, sessions, names = ([row[column] for row in found] for column in range(3))
    near = ["", *sorted(set(owners))]
    return {"tenant": known["tenant"], "near": near, "owners": owners, "sessions": sessions, "ids": names}


def _citing(db: Connection, table: str, gone: dict[str, Any]) -> list[tuple[Any, ...]]:
    found = _cited(db, table, gone)
    return db.ask(_DELETE.replace("<table>", table), {"tenant": gone["tenant"], "found": found})


def _cited(db: Connection, table: str, gone: dict[str, Any]) -> list[int]:
    return [position for (position,) in db.ask(CITING.replace("<table>", table), gone)]


def _all(table: str, scope: Scope) -> tuple[str, dict[str, Any]]:
    condition, known = inside(scope, table)
    return _ALL.replace("<table>", table).replace("<inside>", condition), known


def _deleted(db: Connection, table: str, scope: Scope) -> list[tuple[Any, ...]]:
    query, known = _all(table, scope)
    return db.ask(" ".join((query, "RETURNING kind")), known)


def _derived(kinds: list[tuple[Any, ...]]) -> int:
    return sum(1 for (kind,) in kinds if kind != MESSAGE)
