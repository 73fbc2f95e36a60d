"""Whatever is done to it, SQLite answers like the reference."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

from recollect.store import Clock
from recollect.store.sqlite import SqliteStore
from recollect.testing.stores.machine import StoreMachine


class SqliteMachine(StoreMachine):
    def open(self, folder: Path, clock: Clock) -> SqliteStore:
        return SqliteStore(folder / "memory.db", clock=clock, durability="normal")


TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(
    max_examples=int(os.environ.get("RECOLLECT_EXAMPLES", "25")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
