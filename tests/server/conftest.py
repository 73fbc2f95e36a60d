from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.running import Running, running


@pytest.fixture
def service() -> Iterator[Running]:
    with running() as found:
        yield found
