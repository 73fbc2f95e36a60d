"""The suites that are shipped: a subclass passes all of its tests, or is none."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.testing import AdapterSuite, EmbedderSuite, MemorySuite, StoreSuite


@pytest.mark.parametrize("instead", [lambda suite: None, None])
@pytest.mark.parametrize(
    ("suite", "test"),
    [
        (AdapterSuite, "test_two_users_are_never_mixed"),
        (EmbedderSuite, "test_order_is_kept"),
        (MemorySuite, "test_by_role"),
        (StoreSuite, "test_hashes_chain"),
    ],
)
def test_a_suite_can_not_be_dodged(suite: type[Any], test: str, instead: object) -> None:
    with pytest.raises(TypeError, match=test):
        type("Dodger", (suite,), {test: instead})
