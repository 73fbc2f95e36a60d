"""Stores and a semantic layer, for the tests of facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.layers.semantic import Semantic
from recollect.store import Store
from recollect.store import open as open_store


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = ":memory:" if request.param == "memory" else str(tmp_path / "memory.db")
    with open_store(url, durability="normal") as store:
        yield store


@pytest.fixture
def layer(store: Store) -> Semantic:
    return Semantic(store)
