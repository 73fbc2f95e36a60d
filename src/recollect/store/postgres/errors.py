"""PostgreSQL's errors as ours."""

from __future__ import annotations

from typing import Final

import psycopg
import psycopg_pool

from recollect.errors import ConfigError, DiskFull, StoreError, StoreUnavailable

_AGAIN: Final = frozenset({"40001", "40P01"})
_UNPREPARED: Final = frozenset({"26000", "42P05"})
_BUSY: Final = frozenset({"40001", "40P01", "55P03", "57014"})
_GONE: Final = ("08", "53", "57P")
_READ_ONLY: Final = "25006"
_POOLED: Final = "is behind a pooler that lends its connections by transaction: nothing was written, try again"
_LATER: Final = dict.fromkeys(_UNPREPARED, _POOLED) | {
    _READ_ONLY: "is read-only: nothing was written; try again when it can be written to, or name its primary server"
}


def is_lost(error: Exception) -> bool:
    """Whether the server is gone, rather than having refused something."""
    if isinstance(error, psycopg_pool.PoolTimeout | psycopg.InterfaceError):
        return True
    state: str | None = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state.startswith(("08", "57P"))


def is_collision(error: Exception) -> bool:
    """Whether another transaction was in the way, so that trying again may work."""
    return getattr(error, "sqlstate", None) in _AGAIN


def is_unprepared(error: Exception) -> bool:
    """Whether the server hasn't prepared a statement that we think it has, or the other way round."""
    return getattr(error, "sqlstate", None) in _UNPREPARED


def is_read_only(error: BaseException | None) -> bool:
    """Whether one of our errors was raised because the server is read-only."""
    return getattr(getattr(error, "__cause__", None), "sqlstate", None) == _READ_ONLY


def translated(error: Exception, name: str) -> StoreError | ConfigError:
    """Our error for one of the driver's errors."""
    state = getattr(error, "sqlstate", None) or ""
    if state == "53100":
        return DiskFull(f"no room to write on {name}: nothing was written; free some space and try again")
    if state in _BUSY:
        return busy(name)
    if state in _LATER:
        return StoreUnavailable(f"{name} {_LATER[state]}")
    if is_lost(error) or state.startswith(_GONE):
        return StoreUnavailable(f"{name} can't be reached ({_reason(error)}); nothing was written, try again")
    if state == "42501":
        return ConfigError(f"{name}: the role lacks a privilege ({_reason(error)}): connect as the tables' owner")
    return StoreError(f"{name}: {_reason(error)}")


def busy(name: str) -> StoreUnavailable:
    """The error for a call that waited too long for others."""
    return StoreUnavailable(f"{name} is busy: waited too long for other writers; nothing was written, try again")


def unknown(error: Exception, name: str) -> StoreUnavailable:
    """The error for a connection that was lost while its transaction was being committed."""
    return StoreUnavailable(
        f"{name} was lost during a commit ({_reason(error)}): it is not known whether this was written; "
        "read what is there before you try again"
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
