"""The job queue in SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw

from recollect.store import checks, codec, queue
from recollect.store.sqlite import scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.database import Database
from recollect.store.values import Job, JobState
from recollect.types import Scope

_WAITING: Final = (
    "SELECT position FROM job WHERE scope = ? AND kind = ? AND key = ? AND state = 'waiting' AND key IS NOT NULL"
)
_ADD: Final = (
    "INSERT INTO job (position, scope, kind, key, state, attempts, since, due, payload)"
    " VALUES (?, ?, ?, ?, 'waiting', 0, ?, ?, ?)"
)
_ROW: Final = (
    "SELECT position, kind, key, state, attempts, worker, due, error, payload, tenant, user, session"
    " FROM job CROSS JOIN scope ON scope.id = job.scope WHERE <which>"
)
_GET: Final = _ROW.replace("<which>", "position = ?")
_FIRST: Final = _ROW.replace(
    "<which>",
    "state <> 'dead' AND <due> AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))"
    " ORDER BY due, position LIMIT 1",
)
_DUE: Final = _FIRST.replace("<due>", "due <= ?1")
_SET_BACK: Final = _FIRST.replace("<due>", "due > ?1 AND since > ?3")
_MOVE: Final = (
    "UPDATE job SET state = ?, attempts = ?, worker = ?, since = ?, due = ?, error = ?, payload = ? WHERE position = ?"
)
_INSIDE: Final = scopes.by_scope(
    _ROW.replace("<which>", "scope <scope> AND (?2 IS NULL OR state = ?2) AND position > ?4 ORDER BY position LIMIT ?3")
)


class SqliteJobs:
    """Jobs in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:

        def work(change: Change) -> list[Job]:
            place = change.place(scope)
            return [_get(change.db, position) for position in enqueue(change, place, jobs)]

        return self._database.write(work) if jobs else []

    def claim(self, kinds: Sequence[str] = (), *, worker: str, lease: float = 60.0, limit: int = 1) -> list[Job]:
        queue.check_claim(kinds, worker, lease, limit)
        return self._database.write(lambda change: _claim(change, checks.id_list(kinds), worker, lease, limit))

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        return self._database.write(lambda change: queue.renew(_Rows(change), job, lease))

    def finish(self, job: Job) -> None:
        self._database.write(lambda change: queue.finish(_Rows(change), job))

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        return self._database.write(lambda change: queue.fail(_Rows(change), job, error, retry))

    def find(self, scope: Scope, *, state: JobState | None = None, after: str = "", limit: int = 100) -> list[Job]:
        queue.check_find(state, limit)
        with self._database.reading() as db:
            return _inside(db, scope, state, limit, queue.number(after))

    def revive(self, scope: Scope) -> int:
        return self._database.write(lambda change: queue.revive(_Rows(change), _inside(change.db, scope, "dead", -1)))


def enqueue(change: Change, place: scopes.Place, jobs: Iterable[Job]) -> list[int]:
    """Add jobs to the queue; returns the positions of the waiting jobs."""
    return [_enqueue(change, place, job) for job in jobs]


def _enqueue(change: Change, place: scopes.Place, job: Job) -> int:
    if job.key is not None:
        waiting = change.cursor.execute(_WAITING, (place.id, job.kind, job.key)).fetchone()
        if waiting is not None:
            return int(waiting[0])
    now, position = codec.micros(change.now), change.next()
    due = now + queue.micros(job.delay)
    data = codec.sealed(codec.to_bytes(job.payload), job.kind, job.key, "waiting", 0, None, now, due, None)
    change.cursor.execute(_ADD, (position, place.id, job.kind, job.key, now, due, data))
    return position


def _claim(change: Change, kinds: str, worker: str, lease: float, limit: int) -> list[Job]:
    claimed, rows = list[Job](), _Rows(change)
    while len(claimed) < limit and (job := _due(change, kinds)) is not None:
        if mine := queue.claim(rows, job, worker, lease):
            claimed.append(mine)
    return claimed


def _due(change: Change, kinds: str) -> Job | None:
    now = codec.micros(change.now)
    row = change.db.execute(_DUE, (now, kinds)).fetchone()
    if row is None:
        row = change.db.execute(_SET_BACK, (now, kinds, now + queue.SLACK)).fetchone()
    return None if row is None else _job(row)


def _inside(db: apsw.Connection, scope: Scope, state: str | None, limit: int, after: int = 0) -> list[Job]:
    place = scopes.find(db, scope)
    return [_job(row) for row in db.execute(_INSIDE[place.level()], (place.id, state, limit, after))]


@dataclass(frozen=True, slots=True)
class _Rows:
    """See `queue.Rows`."""

    change: Change

    def held(self, job: Job) -> Job:
        row = self.change.db.execute(_GET, (queue.number(job.id),)).fetchone()
        return queue.check_held(None if row is None else _job(row), job)

    def twin(self, job: Job) -> Job | None:
        db = self.change.db
        scope = db.execute("SELECT scope FROM job WHERE position = ?", (int(job.id),)).get
        row = db.execute(_WAITING, (scope, job.kind, job.key)).fetchone()
        return None if row is None else _get(db, row[0])

    def move(self, job: Job, wait: float, **changes: Any) -> Job:
        now = codec.micros(self.change.now)
        due = now + queue.micros(wait)
        job = queue.moved(job, codec.from_micros(due), changes)
        values = (job.state, job.attempts, job.worker, now, due, job.error)
        data = codec.sealed(codec.to_bytes(job.payload), job.kind, job.key, *values)
        self.change.db.execute(_MOVE, (*values, data, int(job.id)))
        return job

    def remove(self, job: Job) -> None:
        self.change.db.execute("DELETE FROM job WHERE position = ?", (int(job.id),))


def _get(db: apsw.Connection, position: int) -> Job:
    return _job(db.execute(_GET, (position,)).fetchone())


def _job(row: Any) -> Job:
    position, kind, key, state, attempts, worker, due, error, payload, *names = row
    return Job(
        kind,
        codec.unsealed(payload),
        key,
        id=str(position),
        scope=scopes.named(*names),
        state=state,
        attempts=attempts,
        worker=worker,
        due=codec.from_micros(due),
        error=error,
    )
