"""SQLite's errors as ours."""

from __future__ import annotations

import errno
from pathlib import Path

import apsw

from recollect.errors import DiskFull, StoreError, StoreUnavailable

_BUSY = (apsw.BusyError, apsw.LockedError)
_KEPT_OUT = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError)
_GONE = (apsw.ConnectionClosedError, apsw.IOError)
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)


def translated(error: apsw.Error | UnicodeDecodeError, path: str) -> StoreError:
    """Our error for one of SQLite's errors, or for text in the file that is not valid UTF-8."""
    if is_full(error):
        return DiskFull(
            f"no room to write {path}: nothing was written; free some space (erasing takes some, too) and try again"
        )
    if isinstance(error, _BUSY):
        return StoreUnavailable(
            f"{path} is busy: another process locked it for too long; nothing was written, try again"
        )
    if isinstance(error, (*_KEPT_OUT, *_GONE)):
        return StoreUnavailable(_unusable(error, path))
    if isinstance(error, _DAMAGED):
        return StoreError(f"{path} is {_damage(error)}")
    return StoreError(f"{path}: {error}")


def is_full(error: Exception) -> bool:
    """Whether the disk is full."""
    no_room = isinstance(error, apsw.IOError) and getattr(error, "system_errno", 0) in (errno.ENOSPC, errno.EDQUOT)
    return no_room or isinstance(error, apsw.FullError)


def is_busy(error: Exception) -> bool:
    """Whether another connection or process is in the way, so that trying again may work."""
    return isinstance(error, _BUSY)


def gone(path: str) -> StoreUnavailable:
    """The error for a file that is no longer where it was opened."""
    return StoreUnavailable(
        f"{path} was moved, replaced or deleted while it was open: nothing was written; put it back, or open it again"
    )


def _unusable(error: Exception, path: str) -> str:
    folder = Path(path).parent
    if isinstance(error, apsw.CantOpenError) and not _is_folder(folder):
        return f"there is no folder {folder} for {path}: make it first, or name another file"
    if _is_folder(Path(path)):
        return f"{path} is a folder: name a file in it"
    if isinstance(error, _KEPT_OUT):
        rights = "let this user read and write it, its -wal and -shm where they are, and its folder"
        return f"{path} can't be used ({error}): {rights}, or name another file"
    return f"{path} can't be used: {error}"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _damage(error: Exception) -> str:
    if isinstance(error, apsw.NotADBError):
        return "not a Recollect store: name another file; if it was one, move it aside and restore a backup"
    return f"damaged ({error}): move it and its -wal aside and restore a backup, or recover what a copy still has"
