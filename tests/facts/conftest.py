"""A semantic layer, for the tests of facts."""

from __future__ import annotations

import pytest

from recollect.layers.semantic import Semantic
from recollect.store import Store


@pytest.fixture
def layer(store: Store) -> Semantic:
    return Semantic(store)
