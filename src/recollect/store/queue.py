"""The rules of the job queue: every backend follows these."""

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
"""A job claimed this often without being finished is dead."""

CLOCK_SLACK: Final = 60.0
"""Where the clock goes back by more seconds than this, waiting times and leases set before that are over."""

MAX_ERROR: Final = 10_000
STATES: Final = get_args(JobState)


def micros(seconds: float) -> int:
    """Seconds as the whole microseconds that stores count in."""
    return round(seconds * 1_000_000)


SLACK: Final = micros(CLOCK_SLACK)
"""The same in microseconds."""


def number(id: str) -> int:
    """The number that a job's id stands for; 0, which no job has, where it is none."""
    return int(id) if id.isascii() and id.isdecimal() and len(id) < 19 else 0


def backoff(attempts: int) -> float:
    """Seconds to wait after that many attempts: 2, 4, 8 … at most an hour."""
    return min(3600.0, 2.0 ** min(attempts, 12))


def is_due(due: float, since: float, now: float) -> bool:
    """Whether a waiting time or lease that was set at `since` is over at `now`."""
    return now >= due or now < since - CLOCK_SLACK


def is_spent(job: Job) -> bool:
    """Whether a job was claimed for the last time."""
    return job.state == "running" and job.attempts >= MAX_ATTEMPTS


class Rows(Protocol):
    """The jobs of a backend inside one change."""

    def held(self, job: Job) -> Job:
        """The job as it is kept; Conflict where it is no longer its worker's."""

    def twin(self, job: Job) -> Job | None:
        """Another job of the same scope, kind and key that waits."""

    def move(self, job: Job, wait: float, **changes: Any) -> Job:
        """Keep the job with changes; its next state is due in `wait` seconds."""

    def remove(self, job: Job) -> None:
        """Remove the job."""


def claim(rows: Rows, job: Job, worker: str, lease: float) -> Job | None:
    """Make a job that is due the worker's; None for one whose last lease ended, which is dead from then on."""
    if is_spent(job):
        rows.move(job, 0, state="dead", error=job.error or "its lease ended")
        return None
    return rows.move(job, lease, state="running", worker=worker, attempts=job.attempts + 1)


def renew(rows: Rows, job: Job, lease: float) -> Job:
    """Count the lease of a job from now."""
    check_lease(lease)
    return rows.move(rows.held(job), lease)


def finish(rows: Rows, job: Job) -> None:
    """Remove a job that is done."""
    rows.remove(rows.held(job))


def fail(rows: Rows, job: Job, error: str, retry: bool) -> Job:
    """Have a job wait for its next attempt, or give it up; where another waits for the same, that one is returned."""
    held, text = rows.held(job), error_text(error)
    if not retry or is_spent(held):
        return rows.move(held, 0, state="dead", error=text)
    if (other := rows.twin(held)) is not None:
        rows.remove(held)
        return other
    return rows.move(held, backoff(held.attempts), state="waiting", error=text)


def revive(rows: Rows, dead: Sequence[Job]) -> int:
    """Have dead jobs wait again; returns how many. One for which another waits already is removed."""
    for job in dead:
        if rows.twin(job) is None:
            rows.move(job, 0, state="waiting", attempts=0, error=None)
        else:
            rows.remove(job)
    return len(dead)


def moved(job: Job, due: datetime, changes: dict[str, Any]) -> Job:
    """The job with changes; only one that runs has a worker."""
    job = dataclasses.replace(job, due=due, **changes)
    return job if job.state == "running" else dataclasses.replace(job, worker=None)


def check_held(held: Job | None, job: Job) -> Job:
    """The job as it is kept; Conflict where it is not, or no longer, its worker's."""
    running = held is not None and held.state == "running" and job.worker is not None
    if held is None or not running or (held.worker, held.attempts) != (job.worker, job.attempts):
        raise Conflict(
            f"job {job.id!r} ({job.kind}) is not claimed by {job.worker!r} any more: its lease ended or it is done; "
            "leave its effects out"
        )
    return held


def check_claim(kinds: Sequence[str], worker: str, lease: float, limit: int) -> None:
    """Raises unless a claim can be made."""
    if isinstance(kinds, str):
        raise ConfigError(f"kinds={kinds!r}: give a list of kinds, not one text")
    for kind in kinds:
        check_id(kind, "a kind")
    check_id(worker, "worker")
    check_lease(lease)
    check_whole("limit", limit, 1)


def check_find(state: str | None, limit: int) -> None:
    """Raises unless jobs can be asked for."""
    if state is not None and state not in STATES:
        raise ConfigError(f"state={state!r}: give one of {', '.join(STATES)}, or none for all")
    check_count("limit", limit, 1)


def check_lease(lease: float) -> None:
    """Raises unless a lease is a sensible number of seconds."""
    if not 1e-6 <= lease <= 10**6:
        raise ConfigError(f"lease={lease!r}: give a number of seconds, at least a millionth and at most a million")


def error_text(error: str) -> str:
    """What is kept of an error: text that any backend can hold, its end cut off where it is very long."""
    return error[:MAX_ERROR].replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
