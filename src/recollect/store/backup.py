"""Writing the file of a backup or an export: it is complete or not there, and only one process writes it at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import BinaryIO, Final

from recollect.errors import ConfigError, DiskFull, StoreUnavailable

OTHER_KIND: Final = (
    "nothing was changed. A backup can only be restored into the same kind of store; "
    "use `recollect export` and `import` to move messages to another kind"
)
"""The end of errors about a file that is not a backup of this kind of store."""


@contextmanager
def making(target: Path) -> Iterator[Path]:
    """An empty file to write into; it becomes the target when the block ends without an error.

    What a killed process left behind is overwritten. ConfigError if another process is writing the same target.
    """
    _check_new(target)
    part = target.with_name(f"{target.name}.part")
    with _opened(part) as file:
        if not _locked(file, part):
            raise ConfigError(f"{target} is being written by another process: choose another file")
        try:
            _check_new(target)
            file.truncate(0)
            yield part
            _sync(part)
            part.rename(target)
            _sync(target.parent)
        except OSError as error:
            if error.errno in (ENOSPC, EDQUOT):
                raise no_room(target) from error
            raise
        finally:
            part.unlink(missing_ok=True)


def no_room(target: Path) -> DiskFull:
    """The error for a file that there is no room for."""
    return DiskFull(f"no room to write {target}: free some space, or name a file on another disk")


def _check_new(target: Path) -> None:
    with suppress(OSError):  # such as a name that is too long: opening it fails later
        if target.exists():
            raise ConfigError(f"{target} exists already: choose a new file")


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "ab", opener=private)
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"the file can't be written ({error}): name a file in another folder") from error


def private(path: str | Path, flags: int) -> int:
    """Open a file that, if it is new, no other user of this machine can read."""
    return os.open(path, flags, 0o600)


def _locked(file: BinaryIO, path: Path) -> bool:
    """Lock the file; False if another process has the lock, or had it and has moved or removed the file since."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
