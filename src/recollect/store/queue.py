"""The rules of the job queue, as pure functions: every backend follows these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.errors import ConfigError, Conflict
from recollect.store.values import Job
from recollect.types import check_id

MAX_ATTEMPTS: Final = 5
"""A job claimed this often without being finished is dead."""

CLOCK_SLACK: Final = 60.0
"""Seconds the clock may go back before waiting times and leases set by its earlier reading are void."""

MAX_ERROR: Final = 10_000


def micros(seconds: float) -> int:
    """Seconds as the whole microseconds that stores count in."""
    return round(seconds * 1_000_000)


def backoff(attempts: int) -> float:
    """Seconds to wait after that many attempts: 2, 4, 8 … at most an hour."""
    return min(3600.0, 2.0 ** min(attempts, 12))


def is_due(due: float, since: float, now: float) -> bool:
    """Whether a waiting time or lease that was set at `since` is over at `now`."""
    return now >= due or now < since - CLOCK_SLACK


def is_dead(attempts: int, retry: bool = True) -> bool:
    """Whether a job that failed gets no further attempt."""
    return not retry or attempts >= MAX_ATTEMPTS


def check_claim(kinds: Sequence[str], worker: str, lease: float, limit: int) -> None:
    """Raises unless a claim can be made."""
    if isinstance(kinds, str):
        raise ConfigError(f"kinds={kinds!r}: give a list of kinds, not one text")
    check_id(worker, "worker")
    check_lease(lease)
    if limit < 1:
        raise ConfigError(f"limit={limit!r}: give a whole number of 1 or more")


def check_lease(lease: float) -> None:
    """Raises unless a lease is a sensible number of seconds."""
    if not 0 < lease <= 10**6:
        raise ConfigError(f"lease={lease!r}: give a number of seconds above 0, at most a million")


def lost(job: Job) -> Conflict:
    """The error for a job that is not, or no longer, its worker's."""
    return Conflict(
        f"job {job.id!r} ({job.kind}) is not claimed by {job.worker!r} any more: its lease ended or it is done; "
        "leave its effects out"
    )


def error_text(error: str) -> str:
    """What is kept of an error: text that any backend can hold, its end cut off where it is very long."""
    return error[:MAX_ERROR].replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
