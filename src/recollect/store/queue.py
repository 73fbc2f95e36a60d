"""The rules of the job queue, which every backend follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Protocol, get_args

from recollect.arguments import check_whole
from recollect.errors import ConfigError, Conflict
from recollect.store.checks import check_count
from recollect.store.values import Job, JobState
from recollect.types import check_id

MAX_ATTEMPTS: Final = 5
"""A job that was claimed this many times without being finished is dead."""

CLOCK_SLACK: Final = 60.0
"""If the clock goes back by more than this many seconds, all waiting times and leases set before are over."""

MAX_ERROR: Final = 10_000
STATES: Final = get_args(JobState)


def micros(seconds: float) -> int:
    """Seconds as whole microseconds."""
    return round(seconds * 1_000_000)


SLACK: Final = micros(CLOCK_SLACK)
"""`CLOCK_SLACK` in microseconds."""


def number(id: str) -> int:
    """A job's id as a number; 0, which no job has, if it is not a valid one."""
    return int(id) if id.isascii() and id.isdecimal() and len(id) < 19 else 0


def backoff(attempts: int) -> float:
    """Seconds to wait after that many attempts: 2, 4, 8 …, at most an hour."""
    return min(3600.0, 2.0 ** min(attempts, 12))


def is_due(due: float, since: float, now: float) -> bool:
    """Whether a waiting time or lease that was set at `since` is over at `now`."""
    return now >= due or now < since - CLOCK_SLACK


def is_spent(job: Job) -> bool:
    """Whether a running job may not be claimed again."""
    return job.state == "running" and job.attempts >= MAX_ATTEMPTS


class Rows(Protocol):
    """The jobs of a backend, inside one transaction."""

    def held(self, job: Job) -> Job:
        """The job as the store has it; Conflict if its worker has lost it."""

    def twin(self, job: Job) -> Job | None:
        """Another job with the same scope, kind and key that is waiting, if there is one."""

    def move(self, job: Job, wait: float, **changes: Any) -> Job:
        """Keep the job with these changes, due in `wait` seconds; returns it."""

    def remove(self, job: Job) -> None:
        """Remove the job."""


def claim(rows: Rows, job: Job, worker: str, lease: float) -> Job | None:
    """Give a job that is due to the worker; returns the job, or None if it had its last attempt and is dead now."""
    if is_spent(job):
        rows.move(job, 0, state="dead", error=job.error or "its lease ended")
        return None
    return rows.move(job, lease, state="running", worker=worker, attempts=job.attempts + 1)


def renew(rows: Rows, job: Job, lease: float) -> Job:
    """Start the lease of a job again from now; returns the job."""
    check_lease(lease)
    return rows.move(rows.held(job), lease)


def finish(rows: Rows, job: Job) -> None:
    """Remove a job that is done."""
    rows.remove(rows.held(job))


def fail(rows: Rows, job: Job, error: str, retry: bool) -> Job:
    """Make a job wait for its next attempt, or give it up; returns it, or another job that waits for the same work."""
    held, text = rows.held(job), error_text(error)
    if not retry or is_spent(held):
        return rows.move(held, 0, state="dead", error=text)
    if (other := rows.twin(held)) is not None:
        rows.remove(held)
        return other
    return rows.move(held, backoff(held.attempts), state="waiting", error=text)


def revive(rows: Rows, dead: Sequence[Job]) -> int:
    """Make dead jobs wait again; returns how many there were. If another already waits for the same, it is removed."""
    for job in dead:
        if rows.twin(job) is None:
            rows.move(job, 0, state="waiting", attempts=0, error=None)
        else:
            rows.remove(job)
    return len(dead)


def moved(job: Job, due: datetime, changes: dict[str, Any]) -> Job:
    """The job with these changes. Only a running job has a worker."""
    job = dataclasses.replace(job, due=due, **changes)
    return job if job.state == "running" else dataclasses.replace(job, worker=None)


def check_held(held: Job | None, job: Job) -> Job:
    """The job as the store has it, which is `held`; Conflict if `job` was never or is no longer its worker's."""
    running = held is not None and held.state == "running" and job.worker is not None
    if held is None or not running or (held.worker, held.attempts) != (job.worker, job.attempts):
        raise Conflict(
            f"job {job.id!r} ({job.kind}) is no longer claimed by {job.worker!r}: its lease ended or it is done; "
            "discard what was done for it"
        )
    return held


def check_claim(kinds: Sequence[str], worker: str, lease: float, limit: int) -> None:
    """Raises unless the arguments of `claim` are valid."""
    if isinstance(kinds, str):
        raise ConfigError(f"kinds={kinds!r}: give a list of kinds, not one text")
    for kind in kinds:
        check_id(kind, "a kind")
    check_id(worker, "worker")
    check_lease(lease)
    check_whole("limit", limit, 1)


def check_find(state: str | None, limit: int) -> None:
    """Raises unless the arguments of `find` are valid."""
    if state is not None and state not in STATES:
        raise ConfigError(f"state={state!r} is unknown: give one of {', '.join(STATES)}, or None for all")
    check_count("limit", limit, 1)


def check_lease(lease: float) -> None:
    """Raises unless a lease is a sensible number of seconds."""
    if not 1e-6 <= lease <= 10**6:
        raise ConfigError(f"lease={lease!r}: give a number of seconds from 0.000001 to a million")


def error_text(error: str) -> str:
    """The error text to keep: without characters that a backend can't store, and cut off if very long."""
    return error[:MAX_ERROR].replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
