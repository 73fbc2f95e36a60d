"""The estimator on real agent and chat transcripts, which it has never been fitted on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from recollect.tokens import counter, estimate
from tests.shared import shared_path


def words(value: Any) -> Iterator[str]:
    if isinstance(value, str) and len(value) >= 200:
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from words(item)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
@pytest.mark.parametrize("file", ["agents.jsonl", "chats.jsonl"])
def test_at_most_one_text_in_a_hundred_is_under_counted(file: str, encoding: str) -> None:
    lines = shared_path("data", "transcripts", file).read_text("utf-8").splitlines()
    texts = [text for line in lines for text in words(json.loads(line))][:1500]
    exact = counter(f"tiktoken:{encoding}")
    under = [text for text in texts if estimate(text) < exact(text)]
    assert len(texts) >= 100
    assert len(under) <= len(texts) / 100
    assert sum(map(estimate, texts)) <= 1.6 * sum(map(exact, texts))
