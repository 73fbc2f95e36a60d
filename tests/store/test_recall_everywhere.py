"""Recall finds the same in the same order on every store, with scores within a millionth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect import Memory, Message
from recollect.embed.hashing import HashingEmbedder
from recollect.store import open as open_store

START = datetime(2023, 5, 8, 12, tzinfo=UTC)
WORDS = ("train", "garden", "sister", "Oslo", "peanuts", "birthday", "museum", "hotel", "river", "bread", "winter")
QUESTIONS = (
    "Where does my sister live?",
    "peanuts in the bread",
    "What was on the eighth of May 2023?",
    "music by the river",
)


def recalled(memory: Memory) -> list[tuple[tuple[str, ...], str, float]]:
    for n in range(120):
        words = " ".join(WORDS[(n * step + n // 7) % len(WORDS)] for step in (1, 2, 3, 5, 7))
        said, at = f"{words} {n}", START + timedelta(hours=9 * n)
        message = Message("user" if n % 2 else "assistant", said, id=f"m{n}", at=at)
        memory.session(f"s{n // 20}", user="ada").add(message)
    memory.drain()
    chat = memory.session("question", user="ada")
    asked = START + timedelta(days=60)
    return [
        (h.message_ids, h.text, h.score)
        for q in QUESTIONS
        for h in (*chat.recall(q, 200, at=asked), *chat.search(q, at=asked))
    ]


@pytest.fixture(scope="module")
def expected() -> list[tuple[tuple[str, ...], str, float]]:
    with Memory.open(":memory:", embedder=HashingEmbedder(64)) as memory:
        return recalled(memory)


def test_recall_is_the_same(anywhere: Any, expected: list[tuple[tuple[str, ...], str, float]]) -> None:
    with Memory(open_store(**anywhere), embedder=HashingEmbedder(64)) as memory:
        found = recalled(memory)
    assert [hit[:2] for hit in found] == [hit[:2] for hit in expected]
    assert [hit[2] for hit in found] == pytest.approx([hit[2] for hit in expected], abs=1e-5)
