"""The estimator on real agent and chat transcripts, which it has never been fitted on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import lt
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
def test_at_most_two_texts_in_a_thousand_are_under_counted(file: str, encoding: str) -> None:
    lines = shared_path("data", "transcripts", file).read_text("utf-8").splitlines()
    texts = [text for line in lines for text in words(json.loads(line))][:1500]
    exact = counter(f"tiktoken:{encoding}")
    estimated, real = [*map(estimate, texts)], [*map(exact, texts)]
    assert len(texts) >= 100
    assert sum(map(lt, estimated, real)) <= max(len(texts) / 500, 1)
    assert sum(estimated) <= 1.3 * sum(real)
