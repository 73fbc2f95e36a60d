"""The file: one writer that commits what many threads ask for together, and readers beside it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from functools import cached_property
from typing import Final, TypeVar

import apsw

from recollect.errors import ConfigError, DiskFull, RecollectError, StoreUnavailable
from recollect.store.protocols import Clock, Durability
from recollect.store.sqlite import errors, keywords, scopes
from recollect.store.sqlite.migrate import migrate
from recollect.store.sqlite.turns import Request, Turns
from recollect.types import Scope

T = TypeVar("T")

OLDEST: Final = 3_051_003
"""The first SQLite without the bug that could corrupt a WAL file."""

BUSY_MS: Final = 60_000
RETRY_SECONDS: Final = 0.01
FREE_MS: Final = 200
SCRUB_MS: Final = 1_000
WAL_PAGES: Final = 4_000
MAX_IDLE: Final = 8
MAX_SCOPES: Final = 20_000

_BEGIN: Final = "BEGIN IMMEDIATE; SELECT position, epoch, indexed FROM counter"


class Change:
    """A write transaction: the connection, the time, the next position, and how far the keyword index has got.

    `cursor` spares making one for each statement, where rows are read before the next statement.
    """

    def __init__(self, cursor: apsw.Cursor, clock: Clock, places: dict[Scope, scopes.Place]) -> None:
        self.cursor, self.db, self._clock, self.places = cursor, cursor.connection, clock, places
        counter = cursor.execute(_BEGIN).fetchone()
        if counter is None or [*map(type, counter)] != [int, int, int]:
            raise apsw.CorruptError("the counter is gone")
        self.start, self.epoch, self.indexed = counter
        self.position: int = self.start
        self.erased = self.unreadable = False

    @cached_property
    def now(self) -> datetime:
        """The time of the change."""
        return self._clock()

    def next(self) -> int:
        """A position no one else has."""
        self.position += 1
        return self.position

    def place(self, scope: Scope) -> scopes.Place:
        """The scope's rows, made where they are missing."""
        known = self.places.get(scope)
        if known is None:
            known = self.places[scope] = scopes.make(self.db, scope)
        return known

    def forget_places(self) -> None:
        """Rows of scopes were removed: no one may rely on a number remembered before."""
        self.places.clear()
        self.db.execute("UPDATE counter SET epoch = epoch + 1")

    def commit(self) -> None:
        """Makes it durable."""
        if self.unreadable:
            keywords.rebuild(self)
        elif self.position - self.indexed >= keywords.LAG:
            keywords.catch_up(self)
        if self.position != self.start:
            self.cursor.execute("UPDATE counter SET position = ?; COMMIT", (self.position,))
        else:
            self.cursor.execute("COMMIT")


class Connection(apsw.Connection):
    """A connection that remembers the scopes' rows while it sees one moment."""

    places: dict[Scope, scopes.Place | None] | None = None


class _Mine(threading.local):
    """The change a thread is making in a block, or the connection it reads one moment by."""

    change: Change | None = None
    moment: Connection | None = None


class Database:
    """An open file. `write` runs a function in a write transaction, `reading` lends a connection that sees a moment."""

    def __init__(self, path: str, durability: Durability, clock: Clock, vfs: str | None = None) -> None:
        check_engine()
        self.path, self.clock = path, clock
        self._vfs = vfs
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._turns = Turns[Change]()
        self._idle: deque[Connection] = deque()
        self._mine = _Mine()
        self._places: dict[Scope, scopes.Place] = {}
        self._epoch = -1
        self._unscrubbed = False
        self.closed = False
        try:
            self._writer = self._connect()
            migrate(self._writer, path)
            self._cursor = self._writer.cursor()
        except apsw.Error as error:
            raise errors.translated(error, path) from error
        self.scrub(wait=0)
        self._unscrubbed = False

    def _connect(self) -> Connection:
        db = Connection(self.path, vfs=self._vfs, statementcachesize=200)
        db.set_busy_timeout(BUSY_MS)
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else most statements are compiled anew for every value
        _write_ahead(db)
        db.pragma("synchronous", self._synchronous)
        db.pragma("secure_delete", "ON")
        db.pragma("journal_size_limit", 64 * 2**20)
        db.wal_autocheckpoint(WAL_PAGES)
        db.pragma("cache_size", -16_000)
        db.pragma("temp_store", "MEMORY")
        return db

    def reading(self) -> AbstractContextManager[apsw.Connection]:
        """A connection for reads that all see the same moment; inside a transaction of this thread, its own."""
        mine = self._mine
        if mine.change is not None:
            return nullcontext(mine.change.db)
        return self.lent(at_a_moment=True) if mine.moment is None else nullcontext(mine.moment)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Makes all reads of this thread inside the block see the same moment, that of the first."""
        if self._mine.change is not None or self._mine.moment is not None:
            yield
            return
        with self.lent(at_a_moment=True) as db:
            self._mine.moment, db.places = db, {}
            try:
                yield
            finally:
                self._mine.moment = db.places = None

    def lent(self, *, at_a_moment: bool = False) -> AbstractContextManager[Connection]:
        """A connection beside the writer's, in no transaction unless its reads shall all see the same moment."""
        return _Lent(self, at_a_moment)

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """A new connection that sees a moment and has nothing cached."""
        if self.closed:
            raise errors.closed(self.path)
        db = self._connect()
        try:
            db.execute("BEGIN")
            yield db
        except (apsw.Error, UnicodeDecodeError) as error:
            raise errors.translated(error, self.path) from error
        finally:
            db.close()

    def borrowed(self) -> Connection:
        """A connection beside the writer's, until it is given back."""
        if self.closed:
            raise errors.closed(self.path)
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def give_back(self, db: Connection) -> None:
        """The end of `borrowed`, and of what it was reading."""
        if db.in_transaction:
            db.execute("ROLLBACK")
        if self.closed or len(self._idle) >= MAX_IDLE:
            db.close()
        else:
            self._idle.append(db)

    def write(self, work: Callable[[Change], T]) -> T:
        """What the function returns, once what it wrote is durable. It may run in any thread, together with others'."""
        if (change := self._mine.change) is not None:
            return self._nested(change, work)
        if self._turns.enter_if_free():
            try:
                return self._committed(work)
            finally:
                self._turns.release()
        request: Request[Change] = Request(work)
        self._turns.serve(request, self._run)
        if request.error is not None:
            raise request.error
        result: T = request.result
        return result

    def write_if_free(self, work: Callable[[Change], None]) -> None:
        """The same for work that can wait: it is left where others are writing for long, or the disk is full."""
        if (change := self._mine.change) is not None:
            self._nested(change, work)
        elif self._turns.enter(FREE_MS / 1_000):
            try:
                self._writer.set_busy_timeout(FREE_MS)
                with suppress(DiskFull, StoreUnavailable):
                    self._committed(work)
            finally:
                self._writer.set_busy_timeout(BUSY_MS)
                self._turns.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes every call of this thread inside the block part of one transaction."""
        if (outer := self._mine.change) is not None:
            with self._savepoint(outer):
                yield
            return
        with self._turns:
            try:
                change = self._mine.change = self._begin()
                yield
                change.commit()
            except BaseException as error:
                self._undo(error)
                raise
            finally:
                self._mine.change = None
            self._after(change)

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside `transaction()`."""
        return self._mine.change is not None

    def _committed(self, work: Callable[[Change], T]) -> T:
        try:
            change = self._begin()
            result = work(change)
            change.commit()
        except BaseException as error:
            self._undo(error)
            raise
        self._after(change)
        return result

    def _run(self, batch: list[Request[Change]]) -> None:
        try:
            self._committed(lambda change: _serve(change, batch))
        except Exception as error:
            if len(batch) > 1:
                self._run_in_steps(batch)
                return
            batch[0].error = error
        for request in batch:
            request.finish()

    def _run_in_steps(self, batch: list[Request[Change]]) -> None:
        """The same where something went wrong: who asked for what is refused is told alone."""
        try:
            self._committed(lambda change: self._serve_in_steps(change, batch))
        except Exception:
            for request in batch:
                self._run([request])
            return
        for request in batch:
            request.finish()

    def _serve_in_steps(self, change: Change, batch: list[Request[Change]]) -> None:
        for request in batch:
            try:
                self._nested(change, request.serve)
            except RecollectError as error:
                request.error = error

    def _nested(self, change: Change, work: Callable[[Change], T]) -> T:
        with self._savepoint(change):
            return work(change)

    @contextmanager
    def _savepoint(self, change: Change) -> Iterator[None]:
        change.db.execute("SAVEPOINT step")
        indexed = change.indexed
        try:
            yield
        except BaseException:
            change.places.clear()
            change.indexed = indexed
            if change.db.in_transaction:
                change.db.execute("ROLLBACK TO step; RELEASE step")
            raise
        change.db.execute("RELEASE step")

    def _begin(self) -> Change:
        if self.closed:
            raise errors.closed(self.path)
        change = Change(self._cursor, self.clock, self._places)
        if change.epoch != self._epoch or len(self._places) > MAX_SCOPES:
            self._places.clear()
            self._epoch = change.epoch
        return change

    def _after(self, change: Change) -> None:
        self._unscrubbed |= change.erased
        if self._unscrubbed:
            self.scrub()

    def _undo(self, error: BaseException) -> None:
        self._places.clear()
        if not self.closed:
            self._cursor.close(force=True)
            self._cursor = self._writer.cursor()
            if self._writer.in_transaction:
                with suppress(apsw.Error):
                    self._writer.execute("ROLLBACK")
        if isinstance(error, apsw.Error):
            raise errors.translated(error, self.path) from error

    def scrub(self, wait: int = SCRUB_MS) -> None:
        """Empties the write-ahead file, so that what was erased is in no file; if a reader is in the way, later.

        On opening, too: whoever erased may have been killed before.
        """
        self._writer.set_busy_timeout(wait)
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._unscrubbed = False
        except apsw.Error:
            self._unscrubbed = True
        finally:
            self._writer.set_busy_timeout(BUSY_MS)

    def _refuse_inside(self, what: str) -> None:
        if self.in_transaction:
            raise ConfigError(f"{what} is not possible inside a transaction: end the block first")

    def close(self) -> None:
        """Closes every connection; what is being written is finished first."""
        self._refuse_inside("closing")
        with self._turns:
            if self.closed:
                return
            self.closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

    def replace(self, source: apsw.Connection) -> None:
        """Everything in the file replaced by what the source holds, in one transaction."""
        self._refuse_inside("restoring")
        with self._turns:
            if self.closed:
                raise errors.closed(self.path)
            try:
                epoch = self._writer.execute("SELECT epoch FROM counter").get
                with self._writer.backup("main", source, "main") as copy:
                    copy.step()
                migrate(self._writer, self.path)
                self._writer.execute("UPDATE counter SET epoch = max(epoch, ?) + 1", (epoch,))
                self.scrub()
            except apsw.Error as error:
                raise errors.translated(error, self.path) from error


def _write_ahead(db: apsw.Connection) -> None:
    """Turns a file to WAL; where another process does the same with a new file, SQLite does not wait by itself."""
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
    """A connection for the length of a block. Every read takes one: as a generator it would cost 7 µs more."""

    __slots__ = ("_at_a_moment", "_database", "_db")

    def __init__(self, database: Database, at_a_moment: bool) -> None:
        self._database, self._at_a_moment = database, at_a_moment

    def __enter__(self) -> Connection:
        self._db = self._database.borrowed()
        try:
            if self._at_a_moment:
                self._db.execute("BEGIN")
        except apsw.Error as error:
            self._database.give_back(self._db)
            raise errors.translated(error, self._database.path) from error
        return self._db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._database.give_back(self._db)
        if isinstance(error, (apsw.Error, UnicodeDecodeError)):
            raise errors.translated(error, self._database.path) from error


def _serve(change: Change, batch: list[Request[Change]]) -> None:
    for request in batch:
        request.serve(change)


def check_engine() -> None:
    """Raises unless SQLite is new enough to be trusted with a log."""
    if apsw.SQLITE_VERSION_NUMBER < OLDEST:
        raise StoreUnavailable(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt a write-ahead log: pip install --upgrade 'apsw>=3.51.3'"
        )
