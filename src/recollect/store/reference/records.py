"""The reference records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from recollect.store import checks, rules
from recollect.store.reference.state import State, Tables
from recollect.store.values import Record, aware
from recollect.types import Scope


class ReferenceRecords:
    """Records in a dict."""

    def __init__(self, state: State) -> None:
        self._state = state

    def put(self, scope: Scope, records: Sequence[Record]) -> list[Record]:
        with self._state.changing() as tables:
            return [_put(tables, scope, record, self._state.clock()) for record in records]

    def supersede(self, scope: Scope, id: str, new: Record | None = None) -> Record | None:
        with self._state.changing() as tables:
            old = rules.check_standing(tables.records.get((scope, id)), scope, id)
            now = self._state.clock()
            if new is not None and (scope, new.id) in tables.records:
                raise rules.id_taken(new.id)
            kept = None if new is None else _put(tables, scope, new, now)
            tables.position += kept is None
            tables.ended[scope, id] = tables.position
            by = kept.id if kept else None
            tables.records[scope, id] = dataclasses.replace(old, superseded_at=now, superseded_by=by)
            return kept

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
        with self._state.reading() as tables:
            found = [
                r
                for r in _within(tables, scope, kind, key, exact)
                if r.position > after and _stood(tables, r, as_of) and rules.holds(r, aware(valid_at))
            ]
        return found[:limit]

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        with self._state.reading() as tables:
            return checks.in_order(ids, _within(tables, scope, None, None, False), lambda record: record.id)

    def history(self, scope: Scope, kind: str, key: str) -> list[Record]:
        with self._state.reading() as tables:
            return _within(tables, scope, kind, key, False)

    def extent(self, scope: Scope, kind: str) -> tuple[int, int]:
        with self._state.reading() as tables:
            found = _within(tables, scope, kind, None, exact=True)
            return len(found), max((record.position for record in found), default=0)

    def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        wanted = checks.each_once(ids)
        with self._state.changing() as tables:
            gone = [key for key in tables.records if key[1] in wanted and scope.covers(key[0])]
            for key in gone:
                tables.remove_record(key)
            return len(gone)


def _put(tables: Tables, scope: Scope, record: Record, now: datetime) -> Record:
    known = tables.records.get((scope, record.id))
    if known is not None:
        rules.check_same_record(record, known)
        return known
    tables.position += 1
    kept = rules.recorded(record, scope, tables.position, now)
    tables.records[scope, kept.id] = kept
    return kept


def _within(tables: Tables, scope: Scope, kind: str | None, key: str | None, exact: bool) -> list[Record]:
    found = [
        record
        for (at, _), record in tables.records.items()
        if (at == scope if exact else scope.covers(at)) and kind in (None, record.kind) and key in (None, record.key)
    ]
    return sorted(found, key=lambda record: record.position)


def _stood(tables: Tables, record: Record, as_of: int | None) -> bool:
    if as_of is None:
        return record.superseded_at is None
    assert record.scope is not None
    ended = tables.ended.get((record.scope, record.id))
    return record.position <= as_of and (ended is None or ended > as_of)
