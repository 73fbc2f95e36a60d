"""What the tests of the service share: one that runs, a proxy with its provider, a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recollect.server import metrics
from recollect.server import service as server_service
from recollect.testing.provider import Provider
from tests.server.browser import browser, sample, tab, window
from tests.server.running import Running, running

__all__ = ["browser", "sample", "service", "tab", "window"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy for a while does not make a store unready, nor its keys unknown."""
    monkeypatch.setattr(metrics, "READY_SECONDS", 30.0)
    monkeypatch.setattr(server_service, "KEYS_SECONDS", 30.0)


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
