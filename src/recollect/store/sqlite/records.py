"""Records in SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import apsw

from recollect.recent import remembered
from recollect.store import checks, codec, rules
from recollect.store.sqlite import scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.erase import remove_records
from recollect.store.sqlite.items import add_sources
from recollect.store.values import Record, aware
from recollect.types import Scope

_PUT: Final = "INSERT INTO record (position, scope, id, kind, key, check_sum, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
_END: Final = "UPDATE record SET ended = ?, superseded_at = ?, superseded_by = ?, check_sum = ? WHERE position = ?"
_FIELDS: Final = (
    "SELECT position, record.id, kind, key, body, check_sum, ended, superseded_at, superseded_by, tenant, user, session"
    " FROM record JOIN scope ON scope.id = record.scope WHERE record.scope <scope> AND <more> ORDER BY position"
)


def _query(condition: str) -> Mapping[str, str]:
    return scopes.by_scope(_FIELDS.replace("<more>", condition))


_STANDING: Final = (
    "position > ?4 AND (CASE WHEN ?5 IS NULL THEN ended IS NULL"
    " ELSE position <= ?5 AND (ended IS NULL OR ended > ?5) END)"
)
# A query for each combination of kind and key, so that each can use the database index of kinds and keys.
_FIND: Final = {
    (False, False): _query(f"{_STANDING} AND ?2 IS NULL AND ?3 IS NULL"),
    (True, False): _query(f"{_STANDING} AND kind = ?2 AND ?3 IS NULL"),
    (False, True): _query(f"{_STANDING} AND ?2 IS NULL AND key = ?3"),
    (True, True): _query(f"{_STANDING} AND kind = ?2 AND key = ?3"),
}
_HISTORY: Final = _query("kind = ?2 AND key = ?3")
_EXTENT: Final = "SELECT count(*), coalesce(max(position), 0) FROM record WHERE scope = ? AND kind = ?"
_GET: Final = _query("record.id IN (SELECT value FROM json_each(?2))")
_POSITIONS: Final = scopes.by_scope(
    "SELECT position FROM record WHERE scope <scope> AND id IN (SELECT value FROM json_each(?2))"
)


class SqliteRecords:
    """Records in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, scope: Scope, records: Sequence[Record]) -> list[Record]:
        for record in records:
            codec.encode_record(record)

        def work(change: Change) -> list[Record]:
            place = change.place(scope)
            return [_put(change, place, scope, record) for record in records]

        return self._database.write(work) if records else []

    def supersede(self, scope: Scope, id: str, new: Record | None = None) -> Record | None:
        return self._database.write(lambda change: _supersede(change, scope, id, new))

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
        when = aware(valid_at)
        out: list[Record] = []
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            query = _FIND[kind is not None, key is not None][place.level(exact)]
            bounds = (place.id, checks.askable(kind), checks.askable(key), after, as_of)
            for row in db.execute(query, bounds):
                record = _record(row)
                if rules.holds(record, when):
                    out.append(record)
                if len(out) == limit:
                    break
        return out

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        with self._database.reading() as db:
            return _get(db, scopes.find(db, scope), ids)

    def history(self, scope: Scope, kind: str, key: str) -> list[Record]:
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            about = (place.id, checks.askable(kind), checks.askable(key))
            return [_record(row) for row in db.execute(_HISTORY[place.level()], about)]

    def extent(self, scope: Scope, kind: str) -> tuple[int, int]:
        with self._database.reading() as db:
            ((count, last),) = db.execute(_EXTENT, (scopes.find(db, scope).id, checks.askable(kind)))
            return count, last

    def delete(self, scope: Scope, ids: Sequence[str]) -> int:

        def work(change: Change) -> int:
            place = scopes.find(change.db, scope)
            there = change.db.execute(_POSITIONS[place.level()], (place.id, checks.id_list(ids)))
            gone = remove_records(change.db, {position for (position,) in there})
            change.erased |= gone > 0
            return gone

        return self._database.write(work)


def _put(change: Change, place: scopes.Place, scope: Scope, record: Record) -> Record:
    known = _at(change.db, place, record.id) if record.id else None
    if known is not None:
        rules.check_same_record(record, known)
        return known
    kept = rules.recorded(record, scope, change.next(), change.now)
    body = codec.encode_record(kept)
    change.db.execute(_PUT, (kept.position, place.id, kept.id, kept.kind, kept.key, codec.check_sum(body), body))
    add_sources(change.db, kept.sources, place.id, kept.position)
    return kept


def _supersede(change: Change, scope: Scope, id: str, new: Record | None) -> Record | None:
    place = change.place(scope)
    old = rules.check_standing(_at(change.db, place, id), scope, id)
    if new is not None and new.id and _at(change.db, place, new.id) is not None:
        raise rules.id_taken(new.id)
    kept = None if new is None else _put(change, place, scope, new)
    ended = kept.position if kept else change.next()
    values = (ended, change.now.isoformat(), kept.id if kept else None)
    body = change.db.execute("SELECT body FROM record WHERE position = ?", (old.position,)).get
    change.db.execute(_END, (*values, codec.check_sum(body, *values), old.position))
    return kept


def _at(db: apsw.Connection, place: scopes.Place, id: str) -> Record | None:
    row = db.execute(_GET["exact"], (place.id, checks.id_list([id]))).fetchone()
    return None if row is None else _record(row)


def _get(db: apsw.Connection, place: scopes.Place, ids: Sequence[str]) -> list[Record]:
    rows = db.execute(_GET[place.level()], (place.id, checks.id_list(ids)))
    return checks.in_order(ids, map(_record, rows), lambda record: record.id)


def beside(*end: object) -> Sequence[object]:
    """What a record's checksum is of beside its bytes: how it ended, once it did."""
    return () if end == (None, None, None) else end


def _record(row: Sequence[Any]) -> Record:
    """The record of a row; small ones are cached."""
    return _kept(*row) if codec.is_small(row[4]) else _read(*row)


def _read(*row: Any) -> Record:
    position, id, kind, key, body, sum, ended, superseded_at, superseded_by, *names = row
    codec.check_whole(f"record {id!r}", sum, body, *beside(ended, superseded_at, superseded_by))
    return codec.decode_record(
        body,
        superseded_at,
        kind=kind,
        key=key,
        id=id,
        scope=scopes.named(*names),
        position=position,
        superseded_by=superseded_by,
    )


_kept: Final = remembered(codec.KEPT)(_read)
