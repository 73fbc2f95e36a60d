"""The stores that every layer is tested on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store import Store
from recollect.store import open as open_store


@pytest.fixture(params=["reference", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = ":memory:" if request.param == "reference" else str(tmp_path / "memory.db")
    with open_store(url, durability="normal") as store:
        yield store
