"""Clients of OpenAI and Anthropic that ask a test provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from recollect.testing import Provider

SYSTEM = "Be brief."
C = TypeVar("C")


def connect(provider: Provider, kind: Callable[..., C]) -> C:
    return kind(base_url=provider.url, api_key="none", max_retries=0)
