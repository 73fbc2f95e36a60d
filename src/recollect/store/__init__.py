"""Where memory is kept: `open(url)` returns a store. What a store has acknowledged is never lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.errors import ConfigError
from recollect.store.protocols import Clock, Durability, Index, Jobs, Log, Progress, Records, Store
from recollect.store.values import (
    ANY,
    MESSAGE,
    Entry,
    Erasable,
    Erased,
    Filter,
    Finding,
    Item,
    Job,
    JobState,
    Learned,
    Match,
    Record,
    SessionStats,
    Spoken,
)
from recollect.types import Scope, local_now

__all__ = [
    "ANY",
    "MESSAGE",
    "Clock",
    "Durability",
    "Entry",
    "Erasable",
    "Erased",
    "Filter",
    "Finding",
    "Index",
    "Item",
    "Job",
    "JobState",
    "Jobs",
    "Learned",
    "Log",
    "Match",
    "Progress",
    "Record",
    "Records",
    "SessionStats",
    "Spoken",
    "Store",
    "each_session",
    "open",
]

MANY_SESSIONS: Final = 10_000
"""How many sessions `each_session` reads at a time. A large page, as a store may look at all that are left for each."""
_CONNINFO: Final = re.compile(r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=")


def open(url: str, *, index: str | None = None, durability: Durability = "full", clock: Clock = local_now) -> Store:
    """Open the store at a url: `memory.db` or `sqlite:///memory.db`, `postgresql://…`, `:memory:` for one in RAM.

    With `full` durability, writes survive a power cut; `normal` is faster, but a power cut may lose the latest writes.
    `index` has vectors searched by another engine: `chroma:///folder`, or `chroma://host:port` for a server.
    """
    if index is None:
        return _opened(url, durability, clock)
    if not index.startswith("chroma://"):
        raise ConfigError(f"index={index!r}: give chroma:///folder or chroma://host:port")
    from recollect.store.chroma import ChromaStore

    return ChromaStore(_opened(url, durability, clock), index)


def each_session(log: Log, scope: Scope) -> Iterator[SessionStats]:
    """Every session in the scope, most recently written to first."""
    before: int | None = None
    while page := log.sessions(scope, before=before, limit=MANY_SESSIONS):
        yield from page
        before = page[-1].position


def _opened(url: str, durability: Durability, clock: Clock) -> Store:
    scheme, found, rest = url.partition("://")
    if found and scheme in ("postgresql", "postgres"):
        from recollect.store.postgres import PostgresStore

        return PostgresStore(url, durability, clock)
    if _CONNINFO.match(url):
        raise ConfigError(
            "the store is given as name=value pairs (libpq): give it as postgresql://user:password@host/db"
        )
    path = rest.removeprefix("/") if found else url
    if not path or (found and scheme != "sqlite"):
        raise ConfigError(f"{url!r} is not a store: give a file, sqlite:///file, postgresql://… or :memory:")
    if path in (":memory:", "memory:"):
        from recollect.store.reference import ReferenceStore

        return ReferenceStore(clock)
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(path, durability=durability, clock=clock)
