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
_POOLED: Final = "is behind a pooler that lends its connections by the transaction; nothing was written, try again"
_LATER: Final = dict.fromkeys(_UNPREPARED, _POOLED) | {
    _READ_ONLY: "is read-only: nothing was written; try again once it may be written to, or name its primary server"
}


def is_lost(error: Exception) -> bool:
    """Whether the server went away, rather than refused something."""
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
    """Whether the server has not prepared what we think it has, or the other way round."""
    return getattr(error, "sqlstate", None) in _UNPREPARED


def is_read_only(error: BaseException | None) -> bool:
    """Whether one of our errors says that the server lets nothing be written."""
    return getattr(getattr(error, "__cause__", None), "sqlstate", None) == _READ_ONLY


def translated(error: Exception, name: str) -> StoreError | ConfigError:
    """The error a caller gets for one of the driver's."""
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
        return ConfigError(f"{name}: the role lacks a right ({_reason(error)}); connect as the owner of the tables")
    return StoreError(f"{name}: {_reason(error)}")


def busy(name: str) -> StoreUnavailable:
    """The error for a call that waited for others too long."""
    return StoreUnavailable(f"{name} is busy: others were in the way too long; nothing was written, try again")


def unknown(error: Exception, name: str) -> StoreUnavailable:
    """The error for a connection that was lost while its transaction was being committed."""
    return StoreUnavailable(
        f"{name} went away during a commit ({_reason(error)}): it is not known whether this was written; "
        "look before you try again"
    )


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
