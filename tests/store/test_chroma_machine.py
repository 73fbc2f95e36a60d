"""Whatever is done to it, Chroma beside SQLite answers like the reference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recollect.store import Clock
from recollect.store.sqlite import SqliteStore
from recollect.testing.stores.machine import StoreMachine

pytest.importorskip("chromadb", reason="the extra 'chroma' is not installed")
from recollect.store.chroma import ChromaStore


class ChromaMachine(StoreMachine):
    def open(self, folder: Path, clock: Clock) -> ChromaStore:
        return ChromaStore(
            SqliteStore(folder / "memory.db", clock=clock, durability="normal"), f"chroma:///{folder}/chroma"
        )


TestChromaMachine = ChromaMachine.TestCase
TestChromaMachine.settings = settings(
    max_examples=max(1, int(os.environ.get("RECOLLECT_EXAMPLES", "25")) // 5),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
