"""PostgreSQL, the store for many processes."""

from __future__ import annotations

import pytest

from recollect.store import Clock
from recollect.store.postgres import PostgresStore
from recollect.testing import StoreSuite
from recollect.testing.stores.base import OpenStore


class TestPostgres(StoreSuite):
    @pytest.fixture
    def open_store(self, postgres_url: str) -> OpenStore:
        def opened(clock: Clock) -> PostgresStore:
            return PostgresStore(postgres_url, clock=clock)

        return opened
