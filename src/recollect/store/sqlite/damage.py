"""Damaged rows of what was derived: finding them, and erasing them so that the rest can be used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, Literal, NamedTuple

import apsw

from recollect.store import codec
from recollect.store.protocols import Progress
from recollect.store.sqlite import keywords, scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.erase import remove_records
from recollect.store.sqlite.items import remove_items
from recollect.store.sqlite.records import beside
from recollect.store.sqlite.vectors import remove_vectors
from recollect.store.values import MEND, Damaged, Finding
from recollect.types import Scope

_RECORDS: Final = (
    "SELECT position, kind, key, record.id, tenant, user, session, check_sum, body, ended, superseded_at, superseded_by"
    " FROM record LEFT JOIN scope ON scope.id = record.scope ORDER BY position"
)
_ITEMS: Final = (
    "SELECT position, kind, item.id, tenant, user, session, check_sum, body, at, role"
    " FROM item LEFT JOIN scope ON scope.id = item.scope ORDER BY position"
)
_VECTORS: Final = (
    "SELECT vector.position, check_sum, data, length(data) IN (size, size * 4) AND EXISTS ("
    " SELECT scope, kind, at, role INTERSECT SELECT * FROM ("
    " SELECT session, 'message', at, role FROM message WHERE message.position = vector.position"
    " UNION ALL SELECT scope, kind, at, role FROM item WHERE item.position = vector.position))"
    " FROM vector JOIN model ON model.id = vector.model"
)
_JOBS: Final = "SELECT position, payload, kind, key, state, attempts, worker, since, due, error FROM job"
_REMOVE_JOBS: Final = "DELETE FROM job WHERE position IN (SELECT value FROM json_each(?))"


class Look(NamedTuple):
    """How to find the damaged rows of a table, and how to remove rows of it by position."""

    part: Literal["records", "index", "jobs"]
    damaged: Callable[[apsw.Connection], Iterator[Damaged]]
    remove: Callable[[Change, set[int]], object]


def mend(change: Change, progress: Progress | None = None) -> int:
    """Erase what is damaged of all that was derived, and make the keyword index anew; returns how much was erased."""
    count = 0
    for look in LOOKS:
        if gone := {row.number for row in look.damaged(change.db)}:
            look.remove(change, gone)
            count += len(gone)
    change.erased |= count > 0
    keywords.rebuild(change, progress)
    return count


def _records(db: apsw.Connection) -> Iterator[Damaged]:
    for position, kind, key, id, *names, sum, body, ended, at, by in db.execute(_RECORDS):
        if not codec.fits(sum, body, *beside(ended, at, by)):
            problem = f"the {kind} {key!r} (record {id!r}) is damaged"
            yield Damaged(position, Finding("records", problem, _scope(*names), fix=MEND))


def _items(db: apsw.Connection) -> Iterator[Damaged]:
    for position, kind, id, *names, sum, body, at, role in db.execute(_ITEMS):
        if not codec.fits(sum, body) or _seen(body) != (at, role):
            yield Damaged(position, Finding("index", f"the {kind} {id!r} is damaged", _scope(*names), fix=MEND))


def _vectors(db: apsw.Connection) -> Iterator[Damaged]:
    for position, sum, data, whole in db.execute(_VECTORS):
        if not codec.fits(sum, data) or not whole:
            problem = f"the vector of position {position} is damaged"
            yield Damaged(position, Finding("index", problem, fix=MEND))


def _jobs(db: apsw.Connection) -> Iterator[Damaged]:
    for position, payload, *rest in db.execute(_JOBS):
        if not isinstance(payload, bytes) or codec.sealed(payload[4:], *rest) != payload:
            yield Damaged(position, Finding("jobs", f"the job at position {position} is damaged", fix=MEND))


def _scope(tenant: str | None, user: str, session: str) -> Scope | None:
    return scopes.named(tenant, user, session) if tenant else None


def _seen(body: bytes) -> tuple[int | None, str | None]:
    said = codec.from_bytes(body)
    return None if said["at"] is None else codec.micros(datetime.fromisoformat(said["at"])), said["role"]


LOOKS: Final = (
    Look("records", _records, lambda change, gone: remove_records(change.db, gone)),
    Look("jobs", _jobs, lambda change, gone: change.db.execute(_REMOVE_JOBS, (json.dumps([*gone]),))),
    Look("index", _items, remove_items),
    Look("index", _vectors, lambda change, gone: remove_vectors(change.db, [*gone])),
)
