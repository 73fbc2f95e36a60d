"""A connection that sends statements together, and is closed if one takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count, islice
from typing import Any, Final, Self, TypeAlias

import psycopg
import psycopg_pool
from psycopg.pq.abc import PGresult

from recollect.store.postgres import alive, errors
from recollect.store.postgres.exchange import Sent, Statement, Values, exchange, failure, statement

_Key: TypeAlias = tuple[bytes, tuple[int, ...]]
_DONE: Final = psycopg.pq.ExecStatus.COMMAND_OK

_STEPS: Final = (b"SAVEPOINT", b"RELEASE", b"ROLLBACK", b"COMMIT")
"""Statements that are never prepared, because a failure of the preparation would lose what was done before."""

MOST: Final = 100
"""How many statements may be prepared on the server, so that it need not plan them each time."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which statements wait until an answer is needed; then all are sent in one round trip.

    If the server doesn't know a statement that was prepared, there is a pooler in between, which gives each transaction
    another server connection. From then on no statements are prepared.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiting: list[Statement] = []
        self._names: dict[_Key, bytes] = {}
        self._numbers = count()
        self._prepares = True
        self.is_bounded = True
        self.until: float | None = None
        self.committing = False
        """Whether the commit of the transaction has begun."""

    def later(self, query: str, values: Values | None = None) -> None:
        """Queue a statement for the next `ask` or `send`, which raises its error if it fails."""
        self._waiting.append(statement(query, values))

    def ask(self, query: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Send all queued statements and then a query; returns the query's rows."""
        self.later(query, values)
        answer = self.send()[-1]
        found = psycopg.adapt.Transformer(self)
        found.set_pgresult(answer)
        return found.load_rows(0, answer.ntuples, tuple)

    def send(self) -> list[PGresult]:
        """Send all queued statements; returns the answers. If `until` is set, they must arrive before that time."""
        sent, until, self.until = self._sent(), self.until, None
        left = None if until is None else max(until - time.monotonic(), alive.LEAST)
        results = self.wait(exchange(self.pgconn, sent), timeout=left)
        answers = self._answers(sent, results)
        if (error := failure(results)) is not None or len(answers) < len(sent):
            if error is not None and errors.is_unprepared(error):
                self._prepares = False
                self._names.clear()
            raise error or psycopg.OperationalError("the connection is lost")
        return answers

    def forget(self) -> list[Statement]:
        """Drop all queued statements; returns them."""
        waited, self._waiting = self._waiting, []
        return waited

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server's answer. If that takes too long, cancel the statement and close the connection."""
        try:
            return super().wait(gen, interval, alive.LONGEST if timeout is None and self.is_bounded else timeout)
        except psycopg.OperationalError as error:
            if self.pgconn.transaction_status != psycopg.pq.TransactionStatus.ACTIVE:
                raise
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=alive.CANCEL)
            self.pgconn.finish()
            raise psycopg.errors.QueryCanceled(f"no answer within {alive.LONGEST:g} seconds") from error

    def _sent(self) -> list[Sent]:
        """Take all queued statements, each with the name it is prepared under or is to be prepared under."""
        out, new = [], dict[_Key, bytes]()
        for each in self.forget():
            key = each.sql, each.types
            name, is_new = self._names.get(key) or new.get(key, b""), False
            prepares = self._prepares and not each.sql.startswith(_STEPS)
            if not name and prepares and len(self._names) + len(new) < MOST:
                name, is_new = _name(next(self._numbers), key), True
                new[key] = name
            out.append(Sent(each, name, is_new))
        return out

    def _answers(self, sent: Sequence[Sent], results: Sequence[PGresult]) -> list[PGresult]:
        """The answers to the statements. Also remembers which ones the server has prepared, up to the first failure."""
        answers: list[PGresult] = []
        rest = iter(results)
        for one in sent:
            if one.is_new and (taken := next(rest, None)) is not None and taken.status == _DONE:
                self._names[one.statement.sql, one.statement.types] = one.name
            answers += islice(rest, 1)
        return answers


def telling(on_error: Callable[[psycopg.Error], None]) -> type[Connection]:
    """A class of connections that tells why one can't be made, which a pool keeps from those who wait for one."""

    class Telling(Connection):
        @classmethod
        def connect(cls, conninfo: str = "", **more: Any) -> Self:
            try:
                return super().connect(conninfo, **more)
            except psycopg.Error as error:
                on_error(error)
                raise

    return Telling


def _name(number: int, key: _Key) -> bytes:
    """A name that no other statement ever has, even if a pooler lends one server connection to several clients."""
    return b"recollect%d_%s" % (number, sha256(repr(key).encode()).hexdigest()[:16].encode())


Pool: TypeAlias = psycopg_pool.ConnectionPool[Connection]
