"""Connections to a file: the writer's, and others that are lent for reads."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from recollect.errors import StoreUnavailable
from recollect.store.backup import private
from recollect.store.checks import check_open
from recollect.store.protocols import Durability
from recollect.store.sqlite import errors, scopes
from recollect.types import Scope

OLDEST: Final = 3_051_003
"""The first SQLite without the bug that could corrupt a WAL file."""

BUSY_MS: Final = 60_000
RETRY_SECONDS: Final = 0.01
WAL_PAGES: Final = 4_000
MAX_IDLE: Final = 8
WRITER_KB, READER_KB = 16_000, 4_000
"""How much of the file the writer's connection, and each reading one, keeps in memory at most."""


class Connection(apsw.Connection):
    """A connection that caches the rows of scopes while it sees a single moment."""

    places: dict[Scope, scopes.Place] | None = None


class Connections:
    """Makes connections to a file, lends them, and keeps a few idle ones for reuse."""

    def __init__(self, path: str, durability: Durability, vfs: str | None = None) -> None:
        check_engine()
        self.path = path
        self.closed = False
        self._process = os.getpid()
        self._place = str(Path(path).absolute())
        self._vfs = vfs
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._idle: deque[Connection] = deque()

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that opened the file and still holds the locks on it."""
        return os.getpid() != self._process

    def check_open(self) -> None:
        """Raises if the file is closed, or was opened before a fork."""
        check_open(self.path, self.closed, self._process)

    def connect(self, *, writes: bool = False) -> Connection:
        """Open a connection: with `writes` the writer's, which creates a missing file, otherwise one for reads."""
        try:
            return self._connected(writes)
        except apsw.Error as error:
            if not writes and not Path(self._place).exists():
                raise errors.gone(self.path) from error
            raise errors.translated(error, self.path) from error

    def _connected(self, writes: bool) -> Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
        if writes and self._vfs is None:
            _make_private(self._place)
        db = Connection(self._place, flags, self._vfs, statementcachesize=200)
        db.set_busy_timeout(BUSY_MS)
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # or most statements would be recompiled for every value
        _write_ahead(db)
        db.pragma("synchronous", self._synchronous)
        db.pragma("secure_delete", "ON")
        db.pragma("journal_size_limit", 64 * 2**20)
        db.wal_autocheckpoint(WAL_PAGES)
        db.pragma("cache_size", -WRITER_KB if writes else -READER_KB)
        db.pragma("temp_store", "MEMORY")
        return db

    def lent(self, *, at_a_moment: bool = False) -> AbstractContextManager[Connection]:
        """A connection for reads, for the length of a block; with `at_a_moment`, all its reads see the same moment."""
        return _Lent(self, at_a_moment)

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """A new connection that sees one moment and has nothing cached."""
        self.check_open()
        with closing(self.connect()) as db, Held(db, self.path):
            db.execute("BEGIN")
            yield db

    def borrowed(self, *, at_a_moment: bool) -> Connection:
        """A connection for reads, until it is given back."""
        self.check_open()
        try:
            db = self._idle.pop()
        except IndexError:
            db = self.connect()
        try:
            if at_a_moment:
                db.execute("BEGIN")
        except apsw.Error as error:
            self.give_back(db)
            raise errors.translated(error, self.path) from error
        return db

    def give_back(self, db: Connection) -> None:
        """Take back a borrowed connection and end its transaction."""
        if db.in_transaction:
            db.execute("ROLLBACK")
        if self.closed or len(self._idle) >= MAX_IDLE:
            db.close()
        else:
            self._idle.append(db)

    def close(self) -> None:
        """Stop lending connections, and close the idle ones."""
        self.closed = True
        while self._idle:
            self._idle.pop().close()


def _make_private(place: str) -> None:
    """Make the file, where there is none, readable by this user alone; SQLite gives its -wal and -shm the same mode.

    What goes wrong here, SQLite says better.
    """
    with suppress(OSError):
        os.close(private(place, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def _write_ahead(db: apsw.Connection) -> None:
    """Switch a file to WAL. Retries, as SQLite doesn't wait while another process does the same with a new file."""
    until = time.monotonic() + BUSY_MS / 1_000
    while True:
        try:
            db.pragma("journal_mode", "WAL")
            return
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(RETRY_SECONDS)


class _Lent:
    """A lent connection for the length of a block. Not a generator, as every read needs one and that costs 7 µs."""

    __slots__ = ("_at_a_moment", "_db", "_lender")

    def __init__(self, lender: Connections, at_a_moment: bool) -> None:
        self._lender, self._at_a_moment = lender, at_a_moment

    def __enter__(self) -> Connection:
        self._db = self._lender.borrowed(at_a_moment=self._at_a_moment)
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._lender.give_back(self._db)
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise errors.translated(error, self._lender.path) from error


class Held:
    """A connection that the caller has already, for the length of a block that raises SQLite's errors as ours."""

    __slots__ = ("_db", "_path")

    def __init__(self, db: apsw.Connection, path: str) -> None:
        self._db, self._path = db, path

    def __enter__(self) -> apsw.Connection:
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise errors.translated(error, self._path) from error


def check_engine() -> None:
    """Raises unless SQLite is new enough to be safe."""
    if apsw.SQLITE_VERSION_NUMBER < OLDEST:
        raise StoreUnavailable(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a file in WAL mode: pip install --upgrade 'apsw>=3.51.3'"
        )
