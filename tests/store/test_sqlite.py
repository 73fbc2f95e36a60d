"""SQLite, the default store."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.store import Clock
from recollect.store.sqlite import SqliteStore
from recollect.testing import StoreSuite
from recollect.testing.stores.base import OpenStore


class TestSqlite(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        def opened(clock: Clock) -> SqliteStore:
            return SqliteStore(tmp_path / "memory.db", clock=clock)

        return opened
