"""A connection that sends statements together, and is closed where one takes too long."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import psycopg
import psycopg_pool

from recollect.store.postgres import alive, errors
from recollect.store.postgres.exchange import Sent, Statement, Values, exchange, failure, statement

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

_Key: TypeAlias = tuple[bytes, tuple[int, ...]]
_DONE: Final = psycopg.pq.ExecStatus.COMMAND_OK

_STEPS: Final = (b"SAVEPOINT", b"RELEASE", b"ROLLBACK", b"COMMIT")
"""Statements that are never prepared: where one failed for that, what was done before it would be lost."""

MOST: Final = 100
"""The most statements that are prepared on the server at the same time, so that it need not plan them each time."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection on which statements wait until an answer is needed; then all are sent in one round trip.

    Where the server does not know a statement that was prepared, a pooler on the way gives each transaction another of
    the server's connections: from then on none is prepared.
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
        """Whether the transaction had come to its commit."""

    def later(self, query: str, values: Values | None = None) -> None:
        """Have a statement wait until the next `ask` or `send`, which raises its error if it fails."""
        self._waiting.append(statement(query, values))

    def ask(self, query: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Send all that waits and then a query; returns what the query finds."""
        self.later(query, values)
        answer = self.send()[-1]
        found = psycopg.adapt.Transformer(self)
        found.set_pgresult(answer)
        return found.load_rows(0, answer.ntuples, tuple)

    def send(self) -> list[PGresult]:
        """Send all that waits; returns the answers, which must be there at the time `until`, where that is set."""
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
        """Drop all that waits, and return it."""
        waited, self._waiting = self._waiting, []
        return waited

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server's answer; where that takes too long, have it cancel the statement, and close."""
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
        """Take all that waits, each statement with the name under which the server has it or is to keep it."""
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
        """The answers to the statements; also remembers the names that the server took, up to one that failed."""
        answers: list[PGresult] = []
        rest = iter(results)
        for one in sent:
            if one.is_new and (taken := next(rest, None)) is not None and taken.status == _DONE:
                self._names[one.statement.sql, one.statement.types] = one.name
            answers += islice(rest, 1)
        return answers


def _name(number: int, key: _Key) -> bytes:
    """A name that no other statement ever has, also where a pooler lends one server connection to several of us."""
    return b"recollect%d_%s" % (number, sha256(repr(key).encode()).hexdigest()[:16].encode())


Pool: TypeAlias = psycopg_pool.ConnectionPool[Connection]
