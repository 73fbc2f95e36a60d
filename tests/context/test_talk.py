"""A context for a question about the talk itself."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message, Settings
from recollect.embed.hashing import HashingEmbedder
from recollect.store import open as open_store
from recollect.testing.clock import ManualClock
from tests.contexts import START

SAID = {"spring": "The bridge is 64 metres.", "summer": "I looked at the Thief last.", "autumn": "The rent is 890."}


@pytest.mark.parametrize("embedder", [None, HashingEmbedder(128)])
@pytest.mark.parametrize(
    ("question", "session"),
    [
        ("What did we talk about yesterday?", "autumn"),
        ("What did we talk about three weeks ago?", "summer"),
        ("What was our last conversation about?", "autumn"),
        ("what did I tell you", "autumn"),
    ],
)
def test_it_recalls_what_was_said_at_the_time_that_is_named_or_last(
    tmp_path: Path, clock: ManualClock, embedder: HashingEmbedder | None, question: str, session: str
) -> None:
    assert clock() == START
    store = open_store(str(tmp_path / "memory.db"), durability="normal", clock=clock)
    with Memory(store, embedder=embedder, clock=clock, settings=Settings(episodic_top_k=1)) as memory:
        for name, said in SAID.items():
            clock.now += timedelta(days=20)
            memory.session(name, user="ada").add_turn(said, "Noted!")
        clock.now += timedelta(days=1)
        memory.drain()
        asking = memory.session("winter", user="ada")
        lines = asking.context(question).receipt.lines
        assert [line.origin for line in lines if line.section == "episodic" and line.shown] == [
            f"conversation {session}"
        ]
        assert asking.context("What did we say about zebras in Peru?").memory == ""


def test_of_a_time_that_is_named_all_conversations_are_recalled_and_no_others(clock: ManualClock) -> None:
    said = {200: "I bought a boat."} | {ago: f"We paint room {ago}." for ago in range(1, 6)}
    with Memory(open_store(":memory:"), embedder=None, clock=clock) as memory:
        for ago, text in said.items():
            message = Message("user", text, at=clock() - timedelta(days=ago))
            memory.session(f"{ago} days ago", user="ada").add(message)
        asking = memory.session("now", user="ada")
        told = asking.context("What did we talk about in the past week?").memory
        assert [f"We paint room {n}." in told for n in range(1, 6)] == [True] * 5
        assert "boat" not in told
        then = clock() + timedelta(days=99)  # nothing was said the day before
        assert "We paint room 1." in asking.context("What did we talk about yesterday?", at=then).memory
