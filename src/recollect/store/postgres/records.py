"""Records in PostgreSQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from recollect.errors import StoreError
from recollect.store import checks, codec, rules
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.keys import inside, key, keys, known_key, named, names, place, told
from recollect.store.values import MEND, Damaged, Finding, Record, aware
from recollect.types import Scope

_COLUMNS: Final = (
    "SELECT owner, session, id, kind, key, names, position, superseded_at, superseded_by, body"
    " FROM recollect.records WHERE"
)
_EVERY: Final = _COLUMNS.replace(" FROM", ", valid_from, valid_to, sources FROM")
_PAGE: Final = " ".join((_EVERY, "tenant = %s AND position > %s ORDER BY position LIMIT 500"))
_PUT: Final = (
    "INSERT INTO recollect.records"
    " (tenant, owner, session, id, kind, key, position, valid_from, valid_to, sources, body, names)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_NEXT: Final = "SELECT nextval('recollect.positions')"
_END: Final = (
    "UPDATE recollect.records SET ended = %s, superseded_at = %s, superseded_by = %s"
    " WHERE tenant = %s AND owner = %s AND session = %s AND id = %s"
)
_EXTENT: Final = "SELECT count(*), coalesce(max(position), 0) FROM recollect.records WHERE"
_DELETE: Final = "DELETE FROM recollect.records WHERE"


class PostgresRecords:
    """Records in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, scope: Scope, records: Sequence[Record]) -> list[Record]:
        ready = [_identified(record) for record in records]
        now = self._database.clock()
        if not ready:
            return []
        return self._database.write(
            scope, lambda db: [_put(db, scope, record, now) for record in ready], repeatable=True
        )

    def supersede(self, scope: Scope, id: str, new: Record | None = None) -> Record | None:
        ready = None if new is None else _identified(new)
        now = self._database.clock()
        return self._database.write(scope, lambda db: _supersede(db, scope, id, ready, now))

    def find(
        self,
        scope: Scope,
        *,
        kind: str | None = None,
        key: str | None = None,
        valid_at: datetime | None = None,
        as_of: int | None = None,
        exact: bool = False,
        after: int = 0,
        limit: int | None = None,
    ) -> list[Record]:
        checks.check_range(after, as_of, limit)
        condition, known = inside(scope, "records", exact)
        time = aware(valid_at)
        clauses = [condition, "position > %(after)s", *_standing(as_of), *_valid(time), *_about(kind, key)]
        known |= {"after": after, "as_of": as_of, "limit": limit}
        known |= {"kind": known_key(kind), "key": known_key(key), "time": None if time is None else codec.micros(time)}
        return self._found(scope, " AND ".join(clauses) + " ORDER BY position LIMIT %(limit)s", known)

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        condition, known = inside(scope, "records")
        found = self._found(scope, f"{condition} AND id = ANY(%(ids)s) ORDER BY position", known | {"ids": keys(ids)})
        return checks.in_order(ids, found, lambda record: record.id)

    def history(self, scope: Scope, kind: str, key: str) -> list[Record]:
        condition, known = inside(scope, "records")
        clauses = " AND ".join((condition, *_about(kind, key)))
        known |= {"kind": known_key(kind), "key": known_key(key)}
        return self._found(scope, f"{clauses} ORDER BY position", known)

    def extent(self, scope: Scope, kind: str) -> tuple[int, int]:
        condition, known = inside(scope, "records", exact=True)
        query = " ".join((_EXTENT, condition, "AND kind = %(kind)s"))
        ((count, last),) = self._database.find(scope.tenant, query, known | {"kind": known_key(kind)})
        return count, last

    def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        condition, known = inside(scope, "records")
        query = " ".join((_DELETE, condition, "AND id = ANY(%(ids)s) RETURNING id"))
        known |= {"ids": keys(ids)}
        return self._database.write(scope, lambda db: len(db.ask(query, known)))

    def _found(self, scope: Scope, condition: str, known: dict[str, Any]) -> list[Record]:
        query = " ".join((_COLUMNS, condition))
        return [_record(scope, row) for row in self._database.find(scope.tenant, query, known)]


def damaged(db: Connection, tenant: str) -> Iterator[Damaged]:
    """The tenant's records that can't be read, or are found by what they do not say."""
    after = 0
    while page := db.ask(_PAGE, (key(tenant), after)):
        after = page[-1][6]
        for *ids, full, position in (row[:7] for row in page if not _is_whole(tenant, *row)):
            scope, (id, kind, about) = told(full, tenant, *ids)
            problem = f"the {kind} {about!r} (record {id!r}) is damaged"
            yield Damaged(position, Finding("records", problem, scope, fix=MEND))


def _is_whole(tenant: str, *row: Any) -> bool:
    try:
        record = _record(Scope(tenant), row[:-3])
    except (StoreError, *codec.DAMAGE):
        return False
    return row[-3:] == _found_by(record)


def _found_by(record: Record) -> tuple[int | None, int | None, list[str]]:
    since, until = (None if time is None else codec.micros(time) for time in (record.valid_from, record.valid_to))
    return since, until, keys(record.sources)


def _identified(record: Record) -> Record:
    named_record = record if record.id else dataclasses.replace(record, id=codec.new_id())
    codec.encode_record(named_record)
    return named_record


def _put(db: Connection, scope: Scope, record: Record, now: datetime) -> Record:
    known = _at(db, scope, record.id)
    if known is not None:
        rules.check_same_record(record, known)
        return known
    ((position,),) = db.ask(_NEXT)
    kept = rules.recorded(record, scope, position, now)
    full = names(scope.tenant, scope.user, scope.session, kept.id, kept.kind, kept.key)
    own = (key(kept.id), key(kept.kind), key(kept.key), position, *_found_by(kept))
    db.later(_PUT, (*place(scope), *own, codec.encode_record(kept), full))
    return kept


def _supersede(db: Connection, scope: Scope, id: str, new: Record | None, now: datetime) -> Record | None:
    rules.check_standing(_at(db, scope, id) if checks.storable(id) else None, scope, id)
    if new is not None and _at(db, scope, new.id) is not None:
        raise rules.id_taken(new.id)
    kept = None if new is None else _put(db, scope, new, now)
    ended = db.ask(_NEXT)[0][0] if kept is None else kept.position
    db.later(_END, (ended, now.isoformat(), None if kept is None else kept.id, *place(scope), key(id)))
    return kept


def _at(db: Connection, scope: Scope, id: str) -> Record | None:
    condition, known = inside(scope, "records", exact=True)
    found = db.ask(" ".join((_COLUMNS, condition, "AND id = %(id)s")), known | {"id": key(id)})
    return _record(scope, found[0]) if found else None


def _record(scope: Scope, row: Sequence[Any]) -> Record:
    *found, full, position, superseded_at, superseded_by, body = row
    tenant, owner, session, id, kind, about = codec.from_bytes(full) if full else (scope.tenant, *found)
    return codec.decode_record(
        body,
        superseded_at,
        kind=kind,
        key=about,
        id=id,
        scope=named(tenant, owner, session),
        position=position,
        superseded_by=superseded_by,
    )


def _standing(as_of: int | None) -> tuple[str, ...]:
    if as_of is None:
        return ("superseded_at IS NULL",)
    return ("position <= %(as_of)s", "(ended IS NULL OR ended > %(as_of)s)")


def _valid(time: datetime | None) -> tuple[str, ...]:
    if time is None:
        return ()
    return ("(valid_from IS NULL OR valid_from <= %(time)s)", "(valid_to IS NULL OR %(time)s < valid_to)")


def _about(kind: str | None, about: str | None) -> tuple[str, ...]:
    wanted = (("kind = %(kind)s", kind), ("key = %(key)s", about))
    return tuple(clause for clause, value in wanted if value is not None)
