"""Models that talk to the test provider."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from recollect import llm
from recollect.http import Retries
from recollect.llm import ChatModel
from recollect.testing import Provider

QUICK = Retries(first=0.001, jitter=0)
Serve = Callable[..., tuple[Provider, ChatModel]]


def timeout(fault: str) -> float:
    """Seconds that a model with a fault is waited for: few where it would never answer."""
    return 0.5 if fault in ("timeout", "drip", "stall") else 30


def stream_timeout(fault: str) -> float:
    """The same for a stream, which comes bit by bit: the first bits are there in time."""
    return {"timeout": 0.5, "stall": 2.5}.get(fault, 30)


def requests(provider: Provider, wanted: int) -> int:
    """How often it was asked: one whose answer is not waited for may learn of that late."""
    until = time.monotonic() + 30
    while len(provider.requests) < wanted and time.monotonic() < until:
        time.sleep(0.01)
    return len(provider.requests)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A provider of some style, and a model that asks it."""
    with ExitStack() as running:

        def started(style: Any = "openai", *given: Any, context: int | None = None, **more: Any) -> Any:
            provider = running.enter_context(Provider(style, *given, **more))
            return provider, llm.open(f"{style}:test-model", url=provider.url, context=context, retries=QUICK)

        yield started
