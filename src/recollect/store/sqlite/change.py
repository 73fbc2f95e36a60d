"""A write transaction."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Final

import apsw

from recollect.store.protocols import Clock
from recollect.store.sqlite import borders, keywords, scopes
from recollect.types import Scope

_BEGIN: Final = "BEGIN IMMEDIATE; SELECT position, epoch, indexed FROM counter WHERE id = 1"


def counted(db: apsw.Connection | apsw.Cursor, query: str) -> tuple[int, ...]:
    """The numbers that a query reads from the counter; CorruptError if its row is missing."""
    numbers: tuple[int, ...] | None = db.execute(query).fetchone()
    if numbers is None or not {int}.issuperset(map(type, numbers)):
        raise apsw.CorruptError("the counter is gone")
    return numbers


class Change:
    """A write transaction: the connection, the time, the next position, and how far the keyword index has got.

    - `cursor` is for statements whose rows are read before the next one; a new cursor for each would be slower.
    - `erased` says that something was deleted permanently, `forgot` that messages were.
    - `gone` are the items whose words must leave the keyword index, `removed` the words that did.
    - `ended` says that the transaction was committed, for a caller that was interrupted during the commit.
    """

    def __init__(self, cursor: apsw.Cursor, clock: Clock, places: dict[Scope, scopes.Place]) -> None:
        self.cursor, self.db, self._clock, self.places = cursor, cursor.connection, clock, places
        self.start, self.epoch, self.indexed = counted(cursor, _BEGIN)
        self.position = self.start
        self.erased = self.forgot = self.ended = False
        self.gone: list[tuple[int, scopes.Place, str, str, bytes]] = []
        self.removed: set[str] = set()

    @cached_property
    def now(self) -> datetime:
        """The time of the change."""
        return self._clock()

    def next(self) -> int:
        """A new position."""
        self.position += 1
        return self.position

    def place(self, scope: Scope) -> scopes.Place:
        """The scope's rows; missing ones are made."""
        known = self.places.get(scope)
        if known is None:
            known = self.places[scope] = scopes.make(self.db, scope)
        return known

    def forget_places(self) -> None:
        """Make every process forget the rows of scopes that it remembers, because some were removed."""
        self.places.clear()
        self.db.execute("UPDATE counter SET epoch = epoch + 1")

    def commit(self) -> None:
        """Commit the transaction, and bring the keyword index up to date first if needed."""
        if self.gone:
            keywords.take_out(self)
        if self.position - self.indexed >= keywords.LAG:
            keywords.catch_up(self)
        if self.erased and self.removed:
            borders.forget(self.db, self.removed)
        try:
            if self.position != self.start:
                self.cursor.execute("UPDATE counter SET position = ? WHERE id = 1; COMMIT", (self.position,))
            else:
                self.cursor.execute("COMMIT")
        finally:
            self.ended = not self.db.in_transaction
