"""The reference job queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.store import codec, queue
from recollect.store.reference.state import Queued, State, Tables
from recollect.store.values import Job, JobState
from recollect.types import Scope


class ReferenceJobs:
    """Jobs in a dict."""

    def __init__(self, state: State) -> None:
        self._state = state

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:
        with self._state.changing() as tables:
            return enqueue(tables, scope, jobs, self._state.clock())

    def claim(self, kinds: Sequence[str] = (), *, worker: str, lease: float = 60.0, limit: int = 1) -> list[Job]:
        queue.check_claim(kinds, worker, lease, limit)
        now = self._state.clock()
        with self._state.changing() as tables:
            due = [q for q in tables.jobs.values() if _claimable(q, kinds, now)]
            claimed, rows = list[Job](), _Rows(tables, now)
            for queued in sorted(due, key=lambda q: (q.due, int(q.job.id))):
                if len(claimed) == limit:
                    break
                if mine := queue.claim(rows, queued.job, worker, lease):
                    claimed.append(mine)
            return claimed

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        with self._state.changing() as tables:
            return queue.renew(_Rows(tables, self._state.clock()), job, lease)

    def finish(self, job: Job) -> None:
        with self._state.changing() as tables:
            queue.finish(_Rows(tables, self._state.clock()), job)

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        with self._state.changing() as tables:
            return queue.fail(_Rows(tables, self._state.clock()), job, error, retry)

    def find(self, scope: Scope, *, state: JobState | None = None, after: str = "", limit: int = 100) -> list[Job]:
        queue.check_find(state, limit)
        with self._state.reading() as tables:
            start, found = queue.number(after), _inside(tables, scope)
            return [job for job in found if int(job.id) > start and state in (None, job.state)][:limit]

    def revive(self, scope: Scope) -> int:
        with self._state.changing() as tables:
            dead = [job for job in _inside(tables, scope) if job.state == "dead"]
            return queue.revive(_Rows(tables, self._state.clock()), dead)


def enqueue(tables: Tables, scope: Scope, jobs: Sequence[Job], now: datetime) -> list[Job]:
    """Add jobs to the queue; returns the waiting jobs."""
    return [_enqueue(tables, scope, job, now) for job in jobs]


def _enqueue(tables: Tables, scope: Scope, job: Job, now: datetime) -> Job:
    codec.to_bytes(job.payload)
    new = Job(job.kind, job.payload, job.key, scope=scope)
    rows = _Rows(tables, now)
    if (other := rows.twin(new)) is not None:
        return other
    tables.position += 1
    return rows.move(new, job.delay, id=str(tables.position))


@dataclass(frozen=True, slots=True)
class _Rows:
    """See `queue.Rows`."""

    tables: Tables
    now: datetime

    def held(self, job: Job) -> Job:
        queued = self.tables.jobs.get(job.id)
        return queue.check_held(queued.job if queued else None, job)

    def twin(self, job: Job) -> Job | None:
        if job.key is None:
            return None
        waiting = (q.job for q in self.tables.jobs.values() if q.job.state == "waiting" and q.job.id != job.id)
        return next((w for w in waiting if (w.scope, w.kind, w.key) == (job.scope, job.kind, job.key)), None)

    def move(self, job: Job, wait: float, **changes: Any) -> Job:
        due = self.now + timedelta(seconds=wait)
        job = queue.moved(job, due.astimezone(UTC), changes)
        self.tables.jobs[job.id] = Queued(job, self.now.timestamp(), due.timestamp())
        return job

    def remove(self, job: Job) -> None:
        del self.tables.jobs[job.id]


def _claimable(queued: Queued, kinds: Sequence[str], now: datetime) -> bool:
    job = queued.job
    return (
        job.state != "dead"
        and (not kinds or job.kind in kinds)
        and queue.is_due(queued.due, queued.since, now.timestamp())
    )


def _inside(tables: Tables, scope: Scope) -> list[Job]:
    queued = sorted(tables.jobs.values(), key=lambda q: int(q.job.id))
    return [q.job for q in queued if q.job.scope is not None and scope.covers(q.job.scope)]
