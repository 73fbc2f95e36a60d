"""Whether the file, its -wal and its -shm are still those that were opened."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import apsw

from recollect.store.sqlite import errors

LOOK_SECONDS: Final = 0.1
"""How often to look whether the file is still there, since what is written to a deleted file is lost."""


class Files:
    """The file of a connection with its -wal and -shm.

    A process that opens the file while these two are missing sees neither their contents nor our locks.
    """

    def __init__(self, db: apsw.Connection, path: str) -> None:
        self._path, self._name, self._locks = path, db.filename, f"{db.filename}-shm"
        self._found = {name: _found(name) for name in (db.filename, db.filename_wal, self._locks)}
        self._seen = time.monotonic()

    def check(self) -> None:
        """Raises if one of them was moved, replaced or deleted."""
        if (now := time.monotonic()) >= self._seen + LOOK_SECONDS:
            found = {name: _found(name) for name in self._found}
            for name, known in self._found.items():
                if not _same(found[name], known):
                    raise errors.gone(self._path + name.removeprefix(self._name))
            self._found, self._seen = found, now

    def may_be_others(self) -> bool:
        """Whether a process that didn't see our locks may have written, so that we must not write over it."""
        locks, file, known = _found(self._locks), _found(self._name), self._found[self._name]
        if _same(locks, self._found[self._locks]):
            return False
        return not (locks is None and file and known and file.st_mtime_ns == known.st_mtime_ns)


def _found(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


def _same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is other if one is None or other is None else os.path.samestat(one, other)
