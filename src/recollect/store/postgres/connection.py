"""A connection that is given up where a statement takes too long, and that sends statements together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from recollect.store.postgres import alive
from recollect.store.postgres.driver import psycopg, psycopg_pool
from recollect.store.postgres.exchange import Sent, Statement, Values, exchange, failure, statement

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

_Key: TypeAlias = tuple[bytes, tuple[int, ...]]
_DONE: Final = psycopg.pq.ExecStatus.COMMAND_OK

MOST: Final = 100
"""Statements that the server knows by name at the same time, at most: those it need not plan each time."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """Statements whose answer nobody needs wait for one that is asked for; then all go in one journey."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiting: list[Statement] = []
        self._names: dict[_Key, bytes] = {}

    def later(self, query: str, values: Values | None = None) -> None:
        """Has a statement wait for the next that is sent; what it fails with is raised then."""
        self._waiting.append(statement(query, values))

    def ask(self, query: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """What a query finds, after all that waits."""
        self.later(query, values)
        answer = self.send()[-1]
        found = psycopg.adapt.Transformer(self)
        found.set_pgresult(answer)
        return found.load_rows(0, answer.ntuples, tuple)

    def send(self) -> list[PGresult]:
        """What is answered to all that waits."""
        sent = self._sent()
        results = self.wait(exchange(self.pgconn, sent))
        answers = self._answers(sent, results)
        if (error := failure(results)) is not None or len(answers) < len(sent):
            raise error or psycopg.OperationalError("the connection is lost")
        return answers

    def forget(self) -> list[Statement]:
        """What waited, and now is never sent."""
        waited, self._waiting = self._waiting, []
        return waited

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """What the server answers; the server is told to stop, if it hears, where that takes too long."""
        try:
            return super().wait(gen, interval, alive.LONGEST if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if self.pgconn.transaction_status != psycopg.pq.TransactionStatus.ACTIVE:
                raise
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=alive.CANCEL)
            self.pgconn.finish()
            raise psycopg.errors.QueryCanceled(f"no answer within {alive.LONGEST:g} seconds") from error

    def _sent(self) -> list[Sent]:
        """All that waits, which then waits no more."""
        out, new = [], dict[_Key, bytes]()
        for each in self.forget():
            key = each.sql, each.types
            name, is_new = self._names.get(key) or new.get(key, b""), False
            if not name and (count := len(self._names) + len(new)) < MOST:
                name, is_new = b"recollect%d" % count, True
                new[key] = name
            out.append(Sent(each, name, is_new))
        return out

    def _answers(self, sent: Sequence[Sent], results: Sequence[PGresult]) -> list[PGresult]:
        """The answers to statements, once the names are noted that the server took: all before one that failed."""
        answers: list[PGresult] = []
        rest = iter(results)
        for one in sent:
            if one.is_new and (taken := next(rest, None)) is not None and taken.status == _DONE:
                self._names[one.statement.sql, one.statement.types] = one.name
            answers += islice(rest, 1)
        return answers


Pool: TypeAlias = psycopg_pool.ConnectionPool[Connection]
