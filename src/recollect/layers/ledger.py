"""What models cost: each tenant's calls and tokens by day, kept in the store, with daily limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from recollect.store import Record, Store
from recollect.types import Scope

KIND: Final = "spent"


@dataclass(frozen=True, slots=True)
class Day:
    """What a tenant spent on a day."""

    day: str
    calls: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """Counts what each tenant spends on models, and says when the limit of the day is reached."""

    store: Store
    clock: Callable[[], datetime]
    calls: int
    tokens: int

    def today(self, tenant: str) -> Day:
        """What the tenant spent today."""
        day = self.clock().date().isoformat()
        return next((_day(record) for record in self._records(tenant, day)), Day(day))

    def days(self, tenant: str) -> list[Day]:
        """What the tenant spent, day by day."""
        return sorted(map(_day, self._records(tenant, None)), key=lambda day: day.day)

    def is_open(self, tenant: str) -> bool:
        """Whether the tenant may spend more today."""
        spent = self.today(tenant)
        return spent.calls < self.calls and spent.tokens < self.tokens

    def add(self, tenant: str, tokens: int, calls: int = 1) -> None:
        """Add calls, retries included, and their tokens, whether or not the answers were useful."""
        with self.store.transaction(Scope(tenant)):
            spent = self.today(tenant)
            old = [record.id for record in self._records(tenant, spent.day)]
            self.store.records.delete(Scope(tenant), old)
            value = {"calls": spent.calls + calls, "tokens": spent.tokens + tokens}
            self.store.records.put(Scope(tenant), [Record(KIND, spent.day, value)])

    def _records(self, tenant: str, day: str | None) -> list[Record]:
        return self.store.records.find(Scope(tenant), kind=KIND, key=day, exact=True)


def _day(record: Record) -> Day:
    return Day(record.key, record.value["calls"], record.value["tokens"])
