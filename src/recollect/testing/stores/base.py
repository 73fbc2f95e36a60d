"""What the parts of the suite share: a store, a clock that is set by hand, and short names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pytest

from recollect.store import Clock, Entry, Item, Job, Record, Store
from recollect.testing.clock import ManualClock
from recollect.testing.suite import Suite
from recollect.types import Message, Scope

ADA = Scope("acme", "ada", "trip")
ADA_TOO = Scope("acme", "ada", "work")
BOB = Scope("acme", "bob", "trip")
RIVAL = Scope("rival", "ada", "trip")
USER = Scope("acme", "ada")
ACME = Scope("acme")
EVERYONE = (ADA, ADA_TOO, BOB, RIVAL)
NOON = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)

HOSTILE_IDS = (
    "' OR 1=1 --",
    '"; DROP TABLE message; --',
    "../../etc/passwd",
    "..\\..\\x",
    "%s %d {0} {x}",
    "a%b_c",
    "😀👩\u200d👩\u200d👧",
    "שלום \u202e evil",
    "e\u0301 vs \u00e9",
    "line\nbreak\ttab\r",
    " leading and trailing ",
    "$1 ?1 :x @y",
    "NULL",
    "0",
    "\u0001\u001f\u007f",
    "x" * 1_000,
    "界" * 1_000,
)

HOSTILE_TEXTS = (
    "a\x00b\x00",
    "half \ud83d of a pair \udc00",
    "\ud83d",
    "\U0010ffff \uffff \ufffe",
    "' OR 1=1; --",
    "e\u0301\u0327 \u202eright to left\u202c שלום مرحبا",
    '{"not": "parsed"}',
    "\r\n\t\x1b[31m",
    "",
    " ",
)


OpenStore: TypeAlias = Callable[[Clock], Store]
"""Opens the test's own store; each call gives one more handle on the same store."""


class StoreTests(Suite):
    """The fixtures of the suite."""

    persistent: ClassVar[bool] = True
    """Whether the next handle sees what was written, and backups can be made."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """To be overridden: opens handles on one empty store."""
        raise NotImplementedError("give your suite an open_store fixture")

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The store's clock."""
        return ManualClock(NOON)

    @pytest.fixture
    def store(self, open_store: OpenStore, clock: ManualClock) -> Iterator[Store]:
        """An empty store."""
        with open_store(clock) as opened:
            yield opened

    @pytest.fixture
    def lasting(self) -> None:
        """Leaves out tests of what a store in one handle can't do."""
        if not self.persistent:
            pytest.skip("this store ends with its handle")

    @pytest.fixture
    def second(self, lasting: None, store: Store, open_store: OpenStore, clock: ManualClock) -> Iterator[Store]:
        """A second handle on the same store."""
        with open_store(clock) as opened:
            yield opened


def said(text: str, id: str = "", **fields: Any) -> Message:
    """A message of a user."""
    return Message("user", text, id, **fields)


def say(store: Store, scope: Scope, *texts: str) -> list[Entry]:
    """Append texts, each with itself as its id; returns their entries."""
    return store.log.append(scope, [said(text, text) for text in texts])


def texts(entries: list[Entry]) -> list[str]:
    """The texts of the entries."""
    return [entry.message.text for entry in entries]


def found(store: Store, scope: Scope, text: str, **options: Any) -> list[str]:
    """The ids of what a search finds."""
    return [match.id for match in store.index.search(scope, text, 100, **options)]


def fact(key: str, value: Any, **fields: Any) -> Record:
    """A record of kind fact."""
    return Record("fact", key, value, **fields)


def v(*numbers: float) -> Any:
    """A vector."""
    return np.array(numbers, np.float32)


def nothing(*found: Any) -> None:
    """Assert that each is empty."""
    assert found == ([],) * len(found)


def fill(store: Store, *scopes: Scope) -> None:
    """Put one of everything into a store, at each of the scopes."""
    for scope in scopes:
        store.log.append(scope, [said("zebra one", "m1"), said("zebra two", "m2")], tokens=[2, 3], jobs=[Job("embed")])
        store.index.embed(scope, "message", "m", {"m1": v(1, 0), "m2": v(0, 1)})
        store.records.put(
            scope, [fact("of one", "zebra", sources=("m1",)), fact("of both", "zebra", sources=("m1", "m2"))]
        )
        store.index.put(
            scope, [Item("turn", "t1", "zebra turn", sources=("m1",)), Item("turn", "t2", "zebra", sources=("m2",))]
        )
        store.index.embed(scope, "turn", "m", {"t1": v(1, 0), "t2": v(0, 1)})
