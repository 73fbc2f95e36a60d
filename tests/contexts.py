"""A memory with a clock of its own, a conversation of last month in it, and what was said in one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recollect import Memory, Session
from recollect.embed.hashing import HashingEmbedder
from recollect.store import open as open_store
from recollect.testing.clock import ManualClock

START = datetime(2025, 3, 3, 12, tzinfo=UTC)


def opened(tmp_path: Path, clock: ManualClock, **fields: Any) -> Memory:
    store = open_store(str(tmp_path / "memory.db"), durability="normal", clock=clock)
    return Memory(store, **{"embedder": HashingEmbedder(128), "clock": clock, **fields})


def told(memory: Memory, clock: ManualClock) -> Session:
    """A conversation of last month."""
    chat = memory.session("march", user="ada")
    chat.add("user", "My name is Ada and I live in Lisbon. My sister Nadia moved to Oslo.")
    chat.add("assistant", "Nice to meet you!")
    chat.add("user", "Please keep your answers short.")
    chat.add("assistant", "I will.")
    memory.drain()
    clock.now += timedelta(days=30)
    return memory.session("april", user="ada")


def said(memory: Memory, session: str = "trip", user: str = "ada") -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in memory.session(session, user=user).history()]
