"""Erasure: removes messages and everything that cites them from every table and every file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import apsw

from recollect.store import checks
from recollect.store.sqlite import scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.items import remove_items, remove_sources
from recollect.store.sqlite.keywords import remove_words
from recollect.store.sqlite.vectors import remove_vectors
from recollect.store.values import MESSAGE, Erasable, Erased, Learned
from recollect.types import Scope

_ALL: Final = scopes.by_scope(
    "SELECT <fields> FROM message JOIN scope ON scope.id = message.session WHERE message.session <scope>"
)
_SOME: Final = scopes.by_scope(
    "SELECT <fields> FROM json_each(?2) AS wanted CROSS JOIN message ON message.id = wanted.value"
    " JOIN scope ON scope.id = message.session WHERE scope.id <scope>"
)
_ROWS: Final = "position, message.id, body, seq, hash, scope.id, user_id, tenant_id"
_CITING: Final = (
    "SELECT DISTINCT source.position FROM json_each(?) AS gone CROSS JOIN message ON message.position = gone.value"
    " CROSS JOIN scope ON scope.id = message.session"
    " CROSS JOIN source ON source.message = message.id AND source.scope IN (scope.id, user_id, tenant_id)"
)
_MESSAGES: Final = "DELETE FROM message WHERE position IN (SELECT value FROM json_each(?))"
_RECORDS: Final = "DELETE FROM record WHERE position IN (SELECT value FROM json_each(?)) RETURNING position"
_DERIVED: Final = scopes.by_scope(
    "SELECT position FROM record WHERE scope <scope> UNION ALL SELECT position FROM item WHERE scope <scope>"
)
_JOBS: Final = scopes.by_scope("DELETE FROM job WHERE scope <scope>")
_LEARNED: Final = (
    "SELECT position, kind, superseded_at IS NULL FROM record WHERE position IN (SELECT value FROM json_each(?))"
)
_COUNT_ITEMS: Final = "SELECT count(*) FROM item WHERE position IN (SELECT value FROM json_each(?))"
_COUNT_JOBS: Final = scopes.by_scope("SELECT count(*) FROM job WHERE scope <scope>")
_HEADS: Final = scopes.by_scope("DELETE FROM session WHERE scope <scope>")
_ERASED: Final = scopes.by_scope("DELETE FROM erased WHERE session <scope>")
_SCOPES: Final = scopes.by_scope("DELETE FROM scope WHERE id <scope>")
_TOTALS: Final = (
    "UPDATE session SET (messages, tokens, first, last) = ("
    " SELECT count(*), coalesce(sum(tokens), 0),"
    " (SELECT at FROM message WHERE session = ?1 ORDER BY seq LIMIT 1),"
    " (SELECT at FROM message WHERE session = ?1 ORDER BY seq DESC LIMIT 1)"
    " FROM message WHERE session = ?1) WHERE scope = ?1"
)


def erase(change: Change, scope: Scope, ids: Sequence[str] | None) -> Erased:
    """Erase messages or, without ids, the whole scope, with everything that cites them; returns how much was erased."""
    change.erased = change.forgot = True
    place = scopes.find(change.db, scope)
    if place == scopes.NOWHERE:
        return Erased()
    rows = _messages(change.db, place, ids, _ROWS)
    for position, id, body, _, _, *at in rows:
        remove_words(change, position, scopes.Place(*at), MESSAGE, id, body)
    gone = [row[0] for row in rows]
    derived = _derived(change.db, place, ids, gone)
    remove_vectors(change.db, gone)
    change.db.execute(_MESSAGES, (json.dumps(gone),))
    records, items = remove_records(change.db, derived), remove_items(change, derived)
    if ids is None:
        return Erased(len(rows), records, items, _remove_rest(change, place))
    left = [(session, seq, hash) for _, _, _, seq, hash, session, *_ in rows]
    change.db.executemany("INSERT INTO erased VALUES (?, ?, ?)", left)
    change.db.executemany(_TOTALS, {(session,) for session, _, _ in left})
    return Erased(len(rows), records, items)


def would_erase(db: apsw.Connection, scope: Scope, ids: Sequence[str] | None) -> Erasable:
    """What `erase` would remove."""
    place = scopes.find(db, scope)
    gone = [row[0] for row in _messages(db, place, ids, "position")]
    derived = json.dumps([*_derived(db, place, ids, gone)])
    records = (Learned(at, kind, bool(stands)) for at, kind, stands in db.execute(_LEARNED, (derived,)))
    items = db.execute(_COUNT_ITEMS, (derived,)).get
    jobs = db.execute(_COUNT_JOBS[place.level()], (place.id,)).get if ids is None else 0
    return Erasable(len(gone), frozenset(records), items, jobs)


def _messages(db: apsw.Connection, place: scopes.Place, ids: Sequence[str] | None, fields: str) -> list[Any]:
    queries, wanted = (_ALL, ()) if ids is None else (_SOME, (checks.id_list(ids),))
    return list(db.execute(queries[place.level()].replace("<fields>", fields), (place.id, *wanted)))


def _derived(db: apsw.Connection, place: scopes.Place, ids: Sequence[str] | None, gone: list[int]) -> set[int]:
    """Positions of records and items to erase: all that cite these messages and, without ids, all in the scope."""
    found = {row[0] for row in db.execute(_CITING, (json.dumps(gone),))}
    if ids is None:
        found.update(row[0] for row in db.execute(_DERIVED[place.level()], (place.id,)))
    return found


def remove_records(db: apsw.Connection, positions: set[int]) -> int:
    """Remove the records at these positions; returns how many there were."""
    gone = [row[0] for row in db.execute(_RECORDS, (json.dumps([*positions]),))]
    remove_sources(db, gone)
    return len(gone)


def _remove_rest(change: Change, place: scopes.Place) -> int:
    """Remove the rest of a scope that is erased as a whole; returns how many jobs there were."""
    level = place.level()
    change.db.execute(_JOBS[level], (place.id,))
    jobs = change.db.changes()
    for queries in (_HEADS, _ERASED, _SCOPES):
        change.db.execute(queries[level], (place.id,))
    change.forget_places()
    return jobs
