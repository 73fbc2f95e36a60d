"""The reference job queue."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
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
        """See `Jobs.enqueue`."""
        with self._state.changing() as tables:
            return enqueue(tables, scope, jobs, self._state.clock())

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
        now = self._state.clock()
        with self._state.changing() as tables:
            ready = [q for q in tables.jobs.values() if _claimable(q, kinds, tenant, now)]
            claimed: list[Job] = []
            for queued in sorted(ready, key=lambda q: (q.due, q.number)):
                if queued.job.state == "running" and queue.is_dead(queued.job.attempts):
                    _move(tables, queued, now, 0, state="dead", error=queued.job.error or "its lease ended")
                elif len(claimed) < limit:
                    attempts = queued.job.attempts + 1
                    claimed.append(_move(tables, queued, now, lease, state="running", worker=worker, attempts=attempts))
            return claimed

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        """See `Jobs.renew`."""
        queue.check_lease(lease)
        with self._state.changing() as tables:
            return _move(tables, _held(tables, job), self._state.clock(), lease)

    def finish(self, job: Job) -> None:
        """See `Jobs.finish`."""
        with self._state.changing() as tables:
            del tables.jobs[_held(tables, job).job.id]

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        """See `Jobs.fail`."""
        now = self._state.clock()
        with self._state.changing() as tables:
            queued = _held(tables, job)
            text = queue.error_text(error)
            if queue.is_dead(queued.job.attempts, retry):
                return _move(tables, queued, now, 0, state="dead", error=text)
            if (other := _waiting(tables, queued.job)) is not None:
                del tables.jobs[queued.job.id]
                return other
            wait = queue.backoff(queued.job.attempts)
            return _move(tables, queued, now, wait, state="waiting", error=text)

    def find(self, scope: Scope, *, state: JobState | None = None, limit: int = 100) -> list[Job]:
        """See `Jobs.find`."""
        codec.check_range(0, None, limit)
        with self._state.reading() as tables:
            queued = sorted(_inside(tables, scope), key=lambda q: q.number)
            return [q.job for q in queued if state in (None, q.job.state)][:limit]

    def revive(self, scope: Scope) -> int:
        """See `Jobs.revive`."""
        now = self._state.clock()
        with self._state.changing() as tables:
            dead = [q for q in _inside(tables, scope) if q.job.state == "dead"]
            for queued in sorted(dead, key=lambda q: q.number):
                if _waiting(tables, queued.job) is None:
                    _move(tables, queued, now, 0, state="waiting", attempts=0, error=None)
                else:
                    del tables.jobs[queued.job.id]
            return len(dead)


def enqueue(tables: Tables, scope: Scope, jobs: Sequence[Job], now: datetime) -> list[Job]:
    """The jobs as they wait."""
    return [_enqueue(tables, scope, job, now) for job in jobs]


def _enqueue(tables: Tables, scope: Scope, job: Job, now: datetime) -> Job:
    codec.to_bytes(job.payload)
    new = Job(job.kind, job.payload, job.key, scope=scope)
    if (other := _waiting(tables, new)) is not None:
        return other
    tables.position += 1
    new = dataclasses.replace(new, id=str(tables.position))
    queued = Queued(new, tables.position, 0.0, 0.0)
    return _move(tables, queued, now, job.delay)


def _move(tables: Tables, queued: Queued, now: datetime, wait: float, **changes: Any) -> Job:
    due = now + timedelta(seconds=wait)
    job = dataclasses.replace(queued.job, due=due.astimezone(UTC), **changes)
    if job.state != "running":
        job = dataclasses.replace(job, worker=None)
    tables.jobs[job.id] = Queued(job, queued.number, now.timestamp(), due.timestamp())
    return job


def _claimable(queued: Queued, kinds: Sequence[str], tenant: str | None, now: datetime) -> bool:
    job = queued.job
    assert job.scope is not None
    return (
        job.state != "dead"
        and (not kinds or job.kind in kinds)
        and tenant in (None, job.scope.tenant)
        and queue.is_due(queued.due, queued.since, now.timestamp())
    )


def _held(tables: Tables, job: Job) -> Queued:
    queued = tables.jobs.get(job.id)
    if queued is None or job.worker is None or queued.job.state != "running":
        raise queue.lost(job)
    if (queued.job.worker, queued.job.attempts) != (job.worker, job.attempts):
        raise queue.lost(job)
    return queued


def _waiting(tables: Tables, job: Job) -> Job | None:
    if job.key is None:
        return None
    waiting = (q.job for q in tables.jobs.values() if q.job.state == "waiting" and q.job.id != job.id)
    same = (w for w in waiting if (w.scope, w.kind, w.key) == (job.scope, job.kind, job.key))
    return next(same, None)


def _inside(tables: Tables, scope: Scope) -> list[Queued]:
    return [q for q in tables.jobs.values() if q.job.scope is not None and scope.covers(q.job.scope)]
