from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.browser import browser, sample, tab
from tests.server.running import Running, running

__all__ = ["browser", "sample", "service", "tab"]


@pytest.fixture
def service() -> Iterator[Running]:
    with running() as found:
        yield found
