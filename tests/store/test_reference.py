"""The in-memory reference is a store like any other."""

from __future__ import annotations

import pytest

from recollect.store import Clock
from recollect.store.reference import ReferenceStore
from recollect.testing import StoreSuite
from recollect.testing.stores.base import OpenStore


class TestReference(StoreSuite):
    persistent = False

    @pytest.fixture
    def open_store(self) -> OpenStore:
        def opened(clock: Clock) -> ReferenceStore:
            return ReferenceStore(clock)

        return opened
