"""Clients of OpenAI and Anthropic that ask a test provider."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import openai

from recollect.testing import Provider

SYSTEM = "Be brief."
C = TypeVar("C")


def connect(provider: Provider, kind: Callable[..., C]) -> C:
    return kind(base_url=provider.url, api_key="none", max_retries=0)


HI: Any = [{"role": "user", "content": "Where does Nadia live?"}]
OSLO = "She lives in Oslo, in a house by the sea."
KEPT = [("user", "Where does Nadia live?"), ("assistant", OSLO)]


def stream_openai(client: openai.OpenAI) -> str:
    events = client.chat.completions.create(model="gpt", messages=HI, stream=True)
    return "".join(event.choices[0].delta.content or "" for event in events if event.choices)
