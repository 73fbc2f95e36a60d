"""The job queue in SQLite."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from recollect.store import codec, queue
from recollect.store.sqlite import scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.database import Database
from recollect.store.values import Job, JobState
from recollect.types import Scope

if TYPE_CHECKING:
    import apsw

_WAITING: Final = (
    "SELECT position FROM job WHERE scope = ? AND kind = ? AND key = ? AND state = 'waiting' AND key IS NOT NULL"
)
_ADD: Final = (
    "INSERT INTO job (position, scope, kind, key, state, attempts, since, due, payload)"
    " VALUES (?, ?, ?, ?, 'waiting', 0, ?, ?, ?)"
)
_GET: Final = (
    "SELECT position, job.kind, key, state, attempts, worker, due, error, payload, tenant, user, session"
    " FROM job JOIN scope ON scope.id = job.scope WHERE position = ?"
)
_FIRST: Final = (
    "SELECT position FROM job JOIN scope ON scope.id = job.scope WHERE state <> 'dead' AND <due>"
    " AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2))) AND (?3 IS NULL OR tenant = ?3)"
    " ORDER BY due, position LIMIT 1"
)
_DUE: Final = _FIRST.replace("<due>", "due <= ?1")
_SET_BACK: Final = _FIRST.replace("<due>", "due > ?1 AND since > ?4")
_MOVE: Final = (
    "UPDATE job SET state = ?, attempts = ?, worker = ?, since = ?, due = ?, error = ?, payload = ? WHERE position = ?"
)
_INSIDE: Final = scopes.by_scope(
    "SELECT position FROM job WHERE scope <scope> AND (?2 IS NULL OR state = ?2) ORDER BY position LIMIT ?3"
)

_SLACK: Final = queue.micros(queue.CLOCK_SLACK)


class SqliteJobs:
    """Jobs in a table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:
        """See `Jobs.enqueue`."""

        def work(change: Change) -> list[Job]:
            place = change.place(scope)
            return [_get(change.db, position) for position in enqueue(change, place, jobs)]

        return self._database.write(work) if jobs else []

    def claim(
        self,
        kinds: Sequence[str] = (),
        *,
        worker: str,
        lease: float = 60.0,
        limit: int = 1,
        tenant: str | None = None,
    ) -> list[Job]:
        """See `Jobs.claim`."""
        queue.check_claim(kinds, worker, lease, limit)
        bounds = (codec.id_list(kinds), tenant)
        return self._database.write(lambda change: _claim(change, bounds, worker, lease, limit))

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        """See `Jobs.renew`."""
        queue.check_lease(lease)
        return self._database.write(lambda change: _move(change, _held(change.db, job), lease))

    def finish(self, job: Job) -> None:
        """See `Jobs.finish`."""
        self._database.write(lambda change: _remove(change.db, _held(change.db, job)))

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        """See `Jobs.fail`."""
        text = queue.error_text(error)
        return self._database.write(lambda change: _fail(change, job, text, retry))

    def find(self, scope: Scope, *, state: JobState | None = None, limit: int = 100) -> list[Job]:
        """See `Jobs.find`."""
        codec.check_range(0, None, limit)
        with self._database.reading() as db:
            place = scopes.find(db, scope)
            return [] if place is None else _inside(db, scope, place, state, limit)

    def revive(self, scope: Scope) -> int:
        """See `Jobs.revive`."""
        return self._database.write(lambda change: _revive(change, scope))


def enqueue(change: Change, place: scopes.Place, jobs: Iterable[Job]) -> list[int]:
    """The positions of the jobs as they wait."""
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


def _claim(change: Change, bounds: tuple[str, str | None], worker: str, lease: float, limit: int) -> list[Job]:
    claimed: list[Job] = []
    while len(claimed) < limit and (job := _due(change, bounds)) is not None:
        if job.state == "running" and queue.is_dead(job.attempts):
            _move(change, job, 0, state="dead", error=job.error or "its lease ended")
        else:
            claimed.append(_move(change, job, lease, state="running", worker=worker, attempts=job.attempts + 1))
    return claimed


def _due(change: Change, bounds: tuple[str, str | None]) -> Job | None:
    now = codec.micros(change.now)
    row = change.db.execute(_DUE, (now, *bounds)).fetchone()
    if row is None:
        row = change.db.execute(_SET_BACK, (now, *bounds, now + _SLACK)).fetchone()
    return None if row is None else _get(change.db, row[0])


def _fail(change: Change, job: Job, error: str, retry: bool) -> Job:
    held = _held(change.db, job)
    if queue.is_dead(held.attempts, retry):
        return _move(change, held, 0, state="dead", error=error)
    if (other := _twin(change.db, held)) is not None:
        _remove(change.db, held)
        return other
    return _move(change, held, queue.backoff(held.attempts), state="waiting", error=error)


def _revive(change: Change, scope: Scope) -> int:
    place = scopes.find(change.db, scope)
    dead = [] if place is None else _inside(change.db, scope, place, "dead", -1)
    for job in dead:
        if _twin(change.db, job) is None:
            _move(change, job, 0, state="waiting", attempts=0, error=None)
        else:
            _remove(change.db, job)
    return len(dead)


def _inside(db: apsw.Connection, scope: Scope, place: scopes.Place, state: str | None, limit: int) -> list[Job]:
    rows = list(db.execute(_INSIDE[scopes.level(scope)], (place.id, state, limit)))
    return [_get(db, position) for (position,) in rows]


def _move(change: Change, job: Job, wait: float, **changes: Any) -> Job:
    now = codec.micros(change.now)
    due = now + queue.micros(wait)
    job = dataclasses.replace(job, due=codec.from_micros(due), **changes)
    worker = job.worker if job.state == "running" else None
    values = (job.state, job.attempts, worker, now, due, job.error)
    data = codec.sealed(codec.to_bytes(job.payload), job.kind, job.key, *values)
    change.db.execute(_MOVE, (*values, data, int(job.id)))
    return dataclasses.replace(job, worker=worker)


def _held(db: apsw.Connection, job: Job) -> Job:
    row = db.execute(_GET, (int(job.id),)).fetchone() if job.id.isdecimal() else None
    if row is None or job.worker is None:
        raise queue.lost(job)
    held = _job(row)
    if (held.state, held.worker, held.attempts) != ("running", job.worker, job.attempts):
        raise queue.lost(job)
    return held


def _twin(db: apsw.Connection, job: Job) -> Job | None:
    scope = db.execute("SELECT scope FROM job WHERE position = ?", (int(job.id),)).get
    row = db.execute(_WAITING, (scope, job.kind, job.key)).fetchone()
    return None if row is None else _get(db, row[0])


def _remove(db: apsw.Connection, job: Job) -> None:
    db.execute("DELETE FROM job WHERE position = ?", (int(job.id),))


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
