"""The server: a pool of connections, transactions, and retries after a lost connection."""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
import psycopg_pool

from recollect.errors import ConfigError, DiskFull, RecollectError
from recollect.store.checks import check_durability, check_open
from recollect.store.postgres import alive, errors
from recollect.store.postgres.connection import Connection, Pool, telling
from recollect.store.postgres.exchange import Values, statement
from recollect.store.postgres.keys import key, number
from recollect.store.postgres.migrate import has_pgvector, migrate
from recollect.store.postgres.turns import Turns
from recollect.store.protocols import Clock, Durability
from recollect.types import Scope

T = TypeVar("T")

WAIT: Final = 10.0
"""Seconds a call waits for a connection before the server counts as unreachable."""

WAIT_AGAIN: Final = 1.0
"""The same while the server counts as unreachable, so that a service can report that, or stop, without delay."""

MOST: Final = 16
"""The most connections that one store has open at the same time."""

ATTEMPTS: Final = 5
"""How often a call that collides with others is attempted."""

_NO_CHANGE: Final = "UPDATE recollect.settings SET value = value WHERE false"
"""A write that changes nothing, but fails if nothing can be written."""
_TAKE_ROOM: Final = "INSERT INTO recollect.settings VALUES ('room', %s)"
_LEAVE_ROOM: Final = "DELETE FROM recollect.settings WHERE name = 'room'"
_LITTLE: Final = 64_000
"""How many characters are written to find out whether there is room again."""

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_AT_A_MOMENT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_COMMIT: Final = "COMMIT"
_SAVEPOINT: Final = "SAVEPOINT inside"
_RELEASE: Final = "RELEASE SAVEPOINT inside"
_UNDO: Final = "ROLLBACK TO SAVEPOINT inside"
_SEE_ONE: Final = (
    "SELECT set_config('recollect.tenant', %s, true), set_config('recollect.every_tenant', '', true),"
    " set_config('synchronous_commit', %s, true)"
)
_SEE_ALL: Final = "SELECT set_config('recollect.every_tenant', 'on', true), set_config('synchronous_commit', %s, true)"
_PLAN: Final = "SELECT set_config('plan_cache_mode', %s, true), set_config('enable_seqscan', %s, true)"
_ONE_PLAN, _ANY_PLAN = ("force_generic_plan", "off"), ("auto", "on")
_LOCK_OWNER: Final = f"{_SEE_ONE}, pg_advisory_xact_lock_shared(%s), pg_advisory_xact_lock(%s)"
_LOCK_TENANT: Final = f"{_SEE_ONE}, pg_advisory_xact_lock(%s)"


class _First(NamedTuple):
    """The first statement of a transaction, which sets the tenant it sees and takes its locks."""

    query: str
    values: Values


class _Mine(threading.local):
    """The connection of a thread's transaction, which all its calls use."""

    connection: Connection | None = None


class Database:
    """A server that is open. `read` and `write` run a function in a transaction that sees one tenant, or all.

    Writers to one user wait for each other, and for writers to the whole tenant. Therefore sequence numbers have no
    gaps, and a user's positions become visible in order.
    """

    def __init__(self, url: str, durability: Durability, clock: Clock) -> None:
        self.clock = clock
        check_durability(durability)
        self._commit = "on" if durability == "full" else "off"
        self._mine = _Mine()
        self._process = os.getpid()
        self._wait = WAIT
        self._unreached: psycopg.Error | None = None
        self._full = False
        self._turns = Turns(MOST // 2, MOST - MOST // 4)
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
            self._conninfo = alive.conninfo(url)
        except psycopg.Error as error:
            raise ConfigError(f"not a PostgreSQL address: {' '.join(str(error).split())}") from error
        self.name = f"PostgreSQL {parts.get('dbname', '')} on {parts.get('host', 'this machine')}"
        with self.maintaining() as connection:
            self._check_encoding(connection)
            migrate(connection)
            self.pgvector = has_pgvector(connection)
        self._pool: Pool = psycopg_pool.ConnectionPool(
            self._conninfo,
            connection_class=telling(self._note_unreached),
            min_size=1,
            max_size=MOST,
            open=True,
            configure=alive.configure,
            reconnect_timeout=WAIT,
            name="recollect",
        )

    def close(self) -> None:
        """Close every idle connection, and the others once they are given back.

        Does nothing in a fork, because the connections belong to the process that opened them.
        """
        if os.getpid() == self._process:
            self._pool.close()

    def find(
        self, tenant: str | None, query: str, values: Values | None = None, *, one_plan: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of one query; a lost connection is replaced. `one_plan` makes one plan for all values, by index."""

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            if not one_plan:
                return connection.ask(query, values)
            connection.later(_PLAN, _ONE_PLAN)
            found = connection.ask(query, values)
            connection.later(_PLAN, _ANY_PLAN)
            return found

        return self._call(None, self._seeing(tenant), work, repeatable=True)

    def read(self, tenant: str | None, work: Callable[[Connection], T], *, at_a_moment: bool = False) -> T:
        """The result of a function that makes queries; with `at_a_moment` all see one moment. Retries as `find`."""
        return self._call(_AT_A_MOMENT if at_a_moment else _BEGIN, self._seeing(tenant), work, repeatable=True)

    def write(self, scope: Scope | None, work: Callable[[Connection], T], *, repeatable: bool = False) -> T:
        """Run a function in a transaction; returns its result once what it wrote is durable.

        The function may run more than once, but takes effect once. A `repeatable` one is run again even if the
        connection was lost during the commit. Without a scope it sees every tenant and waits for nobody.
        """
        with self._turn(scope) as until:
            first = self._seeing(None) if scope is None else self._locking(scope)
            return self._call(_BEGIN, first, work, repeatable, until)

    @contextmanager
    def transaction(self, scope: Scope | None = None) -> Iterator[None]:
        """Make every call of this thread inside the block part of one transaction; other writers to the scope wait."""
        first = None if scope is None else self._locking(scope)
        if (outer := self._mine.connection) is not None:
            with self._translated(), _savepoint(outer):
                if first is None:
                    outer.send()
                else:
                    _inside(outer, first, lambda _: None)
                yield
            return
        with self._turn(scope) as until, self._holding() as connection:
            try:
                _start(connection, first, until)
                yield
                _commit(connection)
            except psycopg.Error as error:
                raise self._failed(error, connection) from error

    def check_writable(self) -> None:
        """Raises if nothing can be written. If there was no room before, writes a little and deletes it again."""
        self.write(None, _write_a_little if self._full else lambda db: db.later(_NO_CHANGE))
        self._full = False

    @contextmanager
    def maintaining(self) -> Iterator[Connection]:
        """A connection without a transaction, for work that can't be done inside one."""
        try:
            with Connection.connect(self._conninfo, autocommit=True) as connection:
                alive.configure(connection)
                connection.is_bounded = False
                yield connection
        except psycopg.Error as error:
            raise errors.translated(error, self.name) from error

    def _call(
        self,
        begin: str | None,
        first: _First,
        work: Callable[[Connection], T],
        repeatable: bool,
        until: float | None = None,
    ) -> T:
        if (held := self._mine.connection) is not None:
            with self._translated():
                return _inside(held, first, work)
        retries = iter(range(1, ATTEMPTS))
        while True:
            connection = self._lend()
            connection.until = until
            try:
                return _run(connection, begin, first, work)
            except psycopg.Error as error:
                if not self._once_more(error, connection.committing, repeatable, next(retries, None)):
                    raise self._failed(error, connection) from error
            finally:
                self._take_back(connection)

    def _failed(self, error: psycopg.Error, connection: Connection) -> RecollectError:
        """The error for a failed transaction; if the connection was lost during the commit, the outcome is unknown."""
        if connection.committing and (errors.is_lost(error) or connection.closed):
            return errors.unknown(error, self.name)
        return errors.translated(error, self.name)

    def _once_more(self, error: psycopg.Error, committing: bool, repeatable: bool, retry: int | None) -> bool:
        if errors.is_unprepared(error):
            return True  # happens once per connection, which prepares no statements from then on
        if errors.is_collision(error):
            return retry is not None
        if not errors.is_lost(error) or retry != 1 or (committing and not repeatable):
            return False
        self._pool.drain()
        return True

    def _check_encoding(self, connection: Connection) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ("UTF8", None):
            raise ConfigError(
                f"{self.name} has the encoding {encoding}, which can't store every text: "
                "create a database with ENCODING 'UTF8' TEMPLATE template0"
            )

    def see_all(self, connection: Connection) -> None:
        """Let the connection's transaction see every tenant."""
        connection.ask(*self._seeing(None))

    def _seeing(self, tenant: str | None) -> _First:
        if tenant is None:
            return _First(_SEE_ALL, (self._commit,))
        return _First(_SEE_ONE, (key(tenant), self._commit))

    def _locking(self, scope: Scope) -> _First:
        seen = (key(scope.tenant), self._commit, number("tenant", scope.tenant))
        if scope.user is None:
            return _First(_LOCK_TENANT, seen)
        return _First(_LOCK_OWNER, (*seen, number("owner", scope.tenant, scope.user)))

    @contextmanager
    def _turn(self, scope: Scope | None) -> Iterator[float | None]:
        """Wait for a turn at the scope's lock before taking a connection; gives the time until which to wait for both.

        A thread that already has a connection doesn't wait.
        """
        if scope is None or self._mine.connection is not None:
            yield None
            return
        self._check_usable()
        with self._turns.of(scope) as until:
            if until is None:
                raise errors.busy(self.name)
            yield until

    @contextmanager
    def _holding(self) -> Iterator[Connection]:
        """A connection that every call of this thread inside the block uses."""
        connection = self._lend()
        self._mine.connection = connection
        try:
            yield connection
        finally:
            self._mine.connection = None
            self._take_back(connection)

    def _note_unreached(self, error: psycopg.Error) -> None:
        self._unreached = error

    def _check_usable(self) -> None:
        check_open(self.name, self._pool.closed, self._process)

    def _lend(self) -> Connection:
        self._check_usable()
        try:
            connection = self._pool.getconn(self._wait)
        except (psycopg.Error, psycopg_pool.PoolClosed) as error:
            self._wait = WAIT_AGAIN
            raise errors.translated(self._unreached or error, self.name) from error
        self._wait, self._unreached = WAIT, None
        connection.committing = False
        return connection

    def _take_back(self, connection: Connection) -> None:
        """Give a connection back. If it was read-only it is closed, because a new one may reach a writable server."""
        connection.forget()
        if connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.rollback()
        error = sys.exception()
        if errors.is_read_only(error):
            connection.close()
        self._full |= isinstance(error, DiskFull)
        self._pool.putconn(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise errors.translated(error, self.name) from error


def _write_a_little(db: Connection) -> None:
    db.later(_TAKE_ROOM, (secrets.token_hex(_LITTLE // 2),))
    db.later(_LEAVE_ROOM)


def _run(connection: Connection, begin: str | None, first: _First, work: Callable[[Connection], T]) -> T:
    """Run a function in its own transaction; without `begin`, in the implicit one of statements sent together."""
    if begin is not None:
        connection.later(begin)
    connection.later(*first)
    result = work(connection)
    if begin is not None:
        _commit(connection)
    return result


def _start(connection: Connection, first: _First | None, until: float | None) -> None:
    """Begin a transaction; once more if the server turns out not to have prepared its statements."""
    for again in (True, False):
        connection.until = until
        connection.later(_BEGIN)
        if first is not None:
            connection.later(*first)
        try:
            connection.send()
            return
        except psycopg.Error as error:
            if not (again and errors.is_unprepared(error)):
                raise
            connection.rollback()


def _inside(held: Connection, first: _First, work: Callable[[Connection], T]) -> T:
    """Run a function in a transaction that has begun; once more if the server hadn't prepared a statement of it."""
    try:
        return _nested(held, first, work)
    except psycopg.Error as error:
        if not errors.is_unprepared(error):
            raise
    return _nested(held, first, work)


def _nested(held: Connection, first: _First, work: Callable[[Connection], T]) -> T:
    with _savepoint(held):
        held.later(*first)
        return work(held)


def _commit(connection: Connection) -> None:
    """Commit. Raises if the transaction had failed, because the server then rolls back without an error."""
    connection.committing = True
    connection.later(_COMMIT)
    if connection.send()[-1].command_status != b"COMMIT":
        raise psycopg.errors.InFailedSqlTransaction("a call in this transaction failed: nothing of it was written")


@contextmanager
def _savepoint(held: Connection) -> Iterator[None]:
    """Undo what was done in the block, and only that, if it fails."""
    held.later(_SAVEPOINT)
    try:
        yield
        held.ask(_RELEASE)
    except BaseException:
        if statement(_SAVEPOINT) not in held.forget():
            with suppress(psycopg.Error):
                held.later(_UNDO)
                held.ask(_RELEASE)
        raise
