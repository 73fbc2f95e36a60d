"""Everything the reference store holds, and the lock around it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from recollect.frozen import FrozenDict
from recollect.store.checks import check_open
from recollect.store.protocols import Clock
from recollect.store.values import Item, Job, Record
from recollect.store.vectors import Vector
from recollect.types import Message, Scope


@dataclass(frozen=True, slots=True)
class Kept:
    """A message's place in a session; `message` is None once it was erased."""

    position: int
    message: Message | None
    tokens: int
    salt: bytes
    hash: bytes
    tags: FrozenDict


@dataclass(frozen=True, slots=True)
class Queued:
    """A job, when it entered its state, and when it is due."""

    job: Job
    since: float
    due: float


ItemKey: TypeAlias = tuple[Scope, str, str]


@dataclass(slots=True)
class Tables:
    """The contents of the store. All values are immutable, so a shallow copy is a snapshot."""

    position: int = 0
    sessions: dict[Scope, tuple[Kept, ...]] = field(default_factory=dict)
    records: dict[tuple[Scope, str], Record] = field(default_factory=dict)
    ended: dict[tuple[Scope, str], int] = field(default_factory=dict)
    items: dict[ItemKey, Item] = field(default_factory=dict)
    vectors: dict[str, dict[ItemKey, Vector]] = field(default_factory=dict)
    jobs: dict[str, Queued] = field(default_factory=dict)

    def copy(self) -> Tables:
        """A snapshot."""
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        held = {name: dict(value) if isinstance(value, dict) else value for name, value in held.items()}
        held["vectors"] = {model: dict(vectors) for model, vectors in self.vectors.items()}
        return Tables(**held)

    def remove_item(self, key: ItemKey) -> None:
        """Remove an item, if there is one, and its vectors."""
        self.items.pop(key, None)
        for vectors in self.vectors.values():
            vectors.pop(key, None)

    def remove_record(self, key: tuple[Scope, str]) -> None:
        """Remove a record, and when it ended."""
        del self.records[key]
        self.ended.pop(key, None)

    def restore(self, before: Tables) -> None:
        """Restore everything from a snapshot, except that positions which were used are not used again."""
        for f in fields(self):
            if f.name != "position":
                setattr(self, f.name, getattr(before, f.name))


class State:
    """The tables behind one lock. A change happens completely or not at all."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.tables = Tables()
        self.closed = False
        self._lock = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """The tables, while nobody else can change them."""
        with self._lock:
            check_open(":memory:", self.closed, os.getpid())
            yield self.tables

    @contextmanager
    def changing(self) -> Iterator[Tables]:
        """The tables, to be changed; if the block fails, the changes are undone."""
        with self.reading():
            before = self.tables.copy()
            try:
                yield self.tables
            except BaseException:
                self.tables.restore(before)
                raise
