"""The file: one writer that commits what many threads ask for together, and readers beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Final, TypeVar

import apsw

from recollect.errors import ConfigError, DiskFull, MigrationError, RecollectError, StoreUnavailable
from recollect.store.protocols import Clock, Durability
from recollect.store.sqlite import errors, scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.connections import BUSY_MS, Connection, Connections, Held
from recollect.store.sqlite.files import Files
from recollect.store.sqlite.migrate import check_unchanged, migrate
from recollect.store.sqlite.writers import Request, Writers
from recollect.types import Scope

T = TypeVar("T")

FREE_MS: Final = 200
SCRUB_MS: Final = 1_000
SMALL: Final = 64 * 2**20
"""Bytes of a file up to which it is written anew once messages were erased."""
MAX_SCOPES: Final = 20_000

_GO_ON: Final = "UPDATE counter SET position = max(position, ?), epoch = max(epoch, ?) + 1"
"""After a restore: who has read up to a position must not miss what comes next."""
_COPY: Final = "a copy of the backup among the temporary files (SQLITE_TMPDIR names another folder for it)"


class _Mine(threading.local):
    """The change a thread is making in a block, or the connection it reads one moment by."""

    change: Change | None = None
    moment: Connection | None = None


class Database:
    """An open file. `write` runs a function in a write transaction, `reading` lends a connection that sees a moment."""

    def __init__(self, path: str, durability: Durability, clock: Clock, vfs: str | None = None) -> None:
        self.path, self.clock = path, clock
        self.connections = Connections(path, durability, vfs)
        self._writers = Writers()
        self._mine = _Mine()
        self._places: dict[Scope, scopes.Place] = {}
        self._epoch = -1
        self._unscrubbed = self._stale = False
        self._seen_to = 0
        """The last position in a block that was undone: who read it there takes no other for it."""
        try:
            self._writer = self.connections.connect(writes=True)
            migrate(self._writer, path)
            self._cursor = self._writer.cursor()
            self._failed = self._writer.readonly("main")
        except apsw.Error as error:
            raise errors.translated(error, path) from error
        self.scrub(wait=0)
        self._files = Files(self._writer, path)
        self._unscrubbed = False

    def reading(self, *, newest: bool = False) -> AbstractContextManager[apsw.Connection]:
        """A connection for reads that all see the same moment; inside a transaction of this thread, its own.

        Inside `moment` it is that moment, unless the newest is wanted.
        """
        mine = self._mine
        if mine.change is not None:
            return Held(mine.change.db, self.path)
        if mine.moment is not None and not newest:
            return Held(mine.moment, self.path)
        return self.connections.lent(at_a_moment=True)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Makes all reads of this thread inside the block see the same moment, that of the first."""
        if self._mine.change is not None or self._mine.moment is not None:
            yield
            return
        db = self.connections.borrowed(at_a_moment=True)
        self._mine.moment, db.places = db, {}
        try:
            yield
        finally:
            self._mine.moment = db.places = None
            self.connections.give_back(db)

    def write(self, work: Callable[[Change], T]) -> T:
        """Run a function in a write transaction, maybe in another thread and with others'; its result, once durable."""
        self.connections.check_open()
        if (change := self._mine.change) is not None:
            return self._nested(change, work)
        if self._writers.enter_if_free():
            try:
                return self._committed(work)
            finally:
                self._writers.release()
        request = Request(work)
        self._writers.serve(request, self._run)
        if request.error is not None:
            raise request.error
        result: T = request.result
        return result

    def write_if_free(self, work: Callable[[Change], None]) -> None:
        """`write` for work that can wait: it is skipped where others write for long, or the disk is full."""
        self.connections.check_open()
        if (change := self._mine.change) is not None:
            self._nested(change, work)
        elif self._writers.enter(FREE_MS / 1_000):
            try:
                self._writer.set_busy_timeout(FREE_MS)
                with suppress(DiskFull, StoreUnavailable):
                    self._committed(work)
            finally:
                self._writer.set_busy_timeout(BUSY_MS)
                self._writers.release()

    def check_writable(self) -> None:
        """Raises where nothing can be written; where a write failed, tries one that takes a position for nothing."""
        self.connections.check_open()
        self._files.check()
        if self._failed:
            self.write(Change.next)
            self._failed = False

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes every call of this thread inside the block part of one transaction."""
        self.connections.check_open()
        if (outer := self._mine.change) is not None:
            with self._savepoint(outer):
                yield
            return
        with self._writers.turn(self._run):
            try:
                change = self._mine.change = self._begin()
                yield
                change.commit()
            except BaseException as error:
                if self._mine.change is not None:
                    self._seen_to = self._mine.change.position
                self._undo(error)
                raise
            finally:
                self._mine.change = None
            self._after(change)

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside `transaction()`."""
        return self._mine.change is not None

    @property
    def has_gone_words(self) -> bool:
        """Whether this thread removed something in its transaction whose words the keyword index still has."""
        return self._mine.change is not None and bool(self._mine.change.gone)

    def _committed(self, work: Callable[[Change], T]) -> T:
        try:
            change = self._begin()
            result = self._done(work, change)
            change.commit()
        except BaseException as error:
            self._undo(error)
            raise
        self._after(change)
        return result

    def _run(self, batch: list[Request]) -> None:
        try:
            self._commit_for(batch, lambda change: _serve(change, batch))
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, StoreUnavailable):
                self._run_in_steps(batch)
                return
            _refuse(batch, error)

    def _run_in_steps(self, batch: list[Request]) -> None:
        """The same, one by one, after something went wrong: only the request that is refused gets its error."""
        try:
            self._commit_for(batch, lambda change: self._serve_in_steps(change, batch))
        except StoreUnavailable as error:
            _refuse(batch, error)
        except Exception:
            for request in batch:
                self._run([request])

    def _commit_for(self, batch: list[Request], serve: Callable[[Change], None]) -> None:
        """Serves and commits; what is durable is done, and not done again, though this thread be interrupted then."""
        change: Change | None = None

        def work(begun: Change) -> None:
            nonlocal change
            change = begun
            serve(begun)

        try:
            self._committed(work)
            _finish(batch)
        except (KeyboardInterrupt, SystemExit):
            if change is not None and change.ended:
                _finish(batch)
            raise

    def _serve_in_steps(self, change: Change, batch: list[Request]) -> None:
        for request in batch:
            try:
                self._nested(change, request.serve)
            except RecollectError as error:
                request.error = error

    def _nested(self, change: Change, work: Callable[[Change], T]) -> T:
        with self._savepoint(change):
            return self._done(work, change)

    def _done(self, work: Callable[[Change], T], change: Change) -> T:
        """What the work gives; text in the file that is none is told as damage."""
        try:
            return work(change)
        except UnicodeDecodeError as error:
            raise errors.translated(error, self.path) from error

    @contextmanager
    def _savepoint(self, change: Change) -> Iterator[None]:
        change.db.execute("SAVEPOINT step")
        indexed, gone, held = change.indexed, change.gone, len(change.gone)
        try:
            yield
        except BaseException:
            change.places.clear()
            del gone[held:]
            change.indexed, change.gone = indexed, gone
            if change.db.in_transaction:
                change.db.execute("ROLLBACK TO step; RELEASE step")
            raise
        change.db.execute("RELEASE step")

    def _begin(self) -> Change:
        if self.connections.closed:  # while it waited for its turn
            self.connections.check_open()
        self._files.check()
        change = Change(self._cursor, self.clock, self._places)
        change.position = max(change.position, self._seen_to)
        if change.epoch != self._epoch or len(self._places) > MAX_SCOPES:
            check_unchanged(change.db, self.path)
            self._places.clear()
            self._epoch = change.epoch
        return change

    def _after(self, change: Change) -> None:
        self._unscrubbed |= change.erased
        self._stale |= change.forgot
        if self._unscrubbed:
            self.scrub(SCRUB_MS if change.erased else 0)

    def _undo(self, error: BaseException) -> None:
        self._places.clear()
        if not self.connections.closed:
            self._cursor.close(force=True)
            self._cursor = self._writer.cursor()
            if self._writer.in_transaction:
                with suppress(apsw.Error):
                    self._writer.execute("ROLLBACK")
        self._failed |= isinstance(error, MigrationError)
        if isinstance(error, apsw.Error):
            told = errors.translated(error, self.path)
            if not errors.is_busy(error):
                self._failed = isinstance(told, DiskFull | StoreUnavailable)
            raise told from error

    def scrub(self, wait: int = SCRUB_MS) -> None:
        """Empties the write-ahead file, so that what was erased is in no file; if a reader is in the way, later.

        On opening, too: whoever erased may have been killed before.
        """
        self._writer.set_busy_timeout(wait)
        try:
            if self._stale:
                self._write_anew()
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._unscrubbed = False
        except apsw.Error:
            self._unscrubbed = True
        finally:
            self._writer.set_busy_timeout(BUSY_MS)

    def _write_anew(self) -> None:
        """Where SQLite moved a row from one page to another, a copy may be left in bytes that no page uses."""
        pages, size = (self._writer.pragma(name) for name in ("page_count", "page_size"))
        if pages * size <= SMALL:
            with suppress(apsw.FullError):
                self._writer.execute("VACUUM")
        self._stale = False

    def _refuse_inside(self, what: str) -> None:
        if self.in_transaction:
            raise ConfigError(f"{what} is not possible inside a transaction: end the block first")

    def close(self) -> None:
        """Closes every connection; what is being written is finished first."""
        self._refuse_inside("closing")
        if self.connections.forked:
            return
        with self._writers.turn(self._run):
            if self.connections.closed:
                return
            self.connections.close()
            if self._files.may_be_others():
                self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._writer.close()

    def replace(self, source: apsw.Connection) -> None:
        """Replace everything in the file by what the source holds, in one transaction."""
        self._refuse_inside("restoring")
        self.connections.check_open()
        with closing(apsw.Connection("")) as ready:
            try:
                with ready.backup("main", source, "main") as copy:
                    copy.step()
                migrate(ready, self.path)
            except apsw.Error as error:
                raise errors.translated(error, _COPY) from error
            with self._writers.turn(self._run):
                self._replace(ready)

    def _replace(self, ready: apsw.Connection) -> None:
        self.connections.check_open()
        self._files.check()
        try:
            with self._writer.backup("main", ready, "main") as copy:
                copy.step(0)  # from here on no one else writes
                with self.connections.lent() as db:
                    ready.execute(_GO_ON, db.execute("SELECT position, epoch FROM counter").get)
                copy.step()
            self.scrub()
        except apsw.Error as error:
            raise errors.translated(error, self.path) from error


def _serve(change: Change, batch: list[Request]) -> None:
    for request in batch:
        request.serve(change)


def _refuse(batch: list[Request], error: Exception) -> None:
    """Give all of them the error: a file that another process holds is held for each, so none need wait in turn."""
    for request in batch:
        request.error = error
        request.finish()


def _finish(batch: list[Request]) -> None:
    for request in batch:
        request.finish()
