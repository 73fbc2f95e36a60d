"""What the tests of the service share: one that runs, a proxy with its provider, a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.testing.provider import Provider
from tests.server.browser import browser, sample, tab, window
from tests.server.running import Running, running

__all__ = ["browser", "sample", "service", "tab", "window"]


@pytest.fixture
def service() -> Iterator[Running]:
    with running() as found:
        yield found


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider("openai", lambda asked: f"answer {len(asked.messages)}") as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
        yield found


@pytest.fixture
def proxy(provider: Provider) -> Iterator[Running]:
    with running(model="openai:test-model") as service:
        yield service
