"""Erasure: what is asked for and everything that cites it, out of every table.

The server takes the bytes of deleted rows out of its files as it vacuums and recycles its write-ahead log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from recollect.store.postgres.database import rows
from recollect.store.postgres.driver import Connection
from recollect.store.postgres.keys import inside
from recollect.store.values import MESSAGE, Erased
from recollect.types import Scope

_MESSAGES: Final = "SELECT owner, session, id FROM recollect.messages WHERE id IS NOT NULL AND"
_GONE: Final = "unnest(%(owners)s::text[], %(sessions)s::text[], %(ids)s::text[]) AS gone (owner, session, id)"
_CITES: Final = (
    "WHERE cites.tenant = %(tenant)s AND cites.owner IN ('', gone.owner) AND cites.session IN ('', gone.session)"
    " AND gone.id = ANY (cites.sources)"
)
_CITING_RECORDS: Final = " ".join(("DELETE FROM recollect.records AS cites USING", _GONE, _CITES, "RETURNING kind"))
_CITING_ITEMS: Final = " ".join(("DELETE FROM recollect.items AS cites USING", _GONE, _CITES, "RETURNING kind"))
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
_RECORDS: Final = "DELETE FROM recollect.records WHERE"
_ITEMS: Final = "DELETE FROM recollect.items WHERE"
_JOBS: Final = "DELETE FROM recollect.jobs WHERE"
_LOG: Final = ("DELETE FROM recollect.messages WHERE", "DELETE FROM recollect.sessions WHERE")


def erase(db: Connection, scope: Scope, ids: Sequence[str] | None) -> Erased:
    """How much is gone: the messages with these keys, or everything in the scope, and what cites it."""
    gone = _messages(db, scope, ids)
    records = len(rows(db, _CITING_RECORDS, gone))
    items = _derived(rows(db, _CITING_ITEMS, gone))
    if ids is not None:
        db.execute(_BLANK, gone)
        db.execute(_TOTALS, gone)
        return Erased(len(gone["ids"]), records, items)
    records += len(_deleted(db, _RECORDS, "records", scope))
    items += _derived(_deleted(db, _ITEMS, "items", scope))
    jobs = len(_deleted(db, _JOBS, "jobs", scope))
    for query, table in zip(_LOG, ("messages", "sessions"), strict=True):
        condition, known = inside(scope, table)
        db.execute(" ".join((query, condition)), known)
    return Erased(len(gone["ids"]), records, items, jobs)


def _messages(db: Connection, scope: Scope, ids: Sequence[str] | None) -> dict[str, Any]:
    condition, known = inside(scope, "messages")
    if ids is not None:
        condition, known = f"{condition} AND id = ANY(%(ids)s)", known | {"ids": list(ids)}
    found = rows(db, " ".join((_MESSAGES, condition)), known)
    owners, sessions, names = ([row[column] for row in found] for column in range(3))
    return {"tenant": known["tenant"], "owners": owners, "sessions": sessions, "ids": names}


def _deleted(db: Connection, query: str, table: str, scope: Scope) -> list[tuple[Any, ...]]:
    condition, known = inside(scope, table)
    return rows(db, " ".join((query, condition, "RETURNING kind")), known)


def _derived(kinds: list[tuple[Any, ...]]) -> int:
    return sum(1 for (kind,) in kinds if kind != MESSAGE)
