"""A context for a question about the talk itself."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message, Settings
from recollect.embed.hashing import HashingEmbedder
from recollect.llm.recall import answer
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


@pytest.mark.parametrize("sessions", [1, 31])
def test_a_question_that_names_a_month_shows_what_was_said_throughout_it(clock: ManualClock, sessions: int) -> None:
    store, first = open_store(":memory:", clock=clock), START.replace(month=8, day=1)
    with Memory(store, embedder=None, clock=clock, settings=Settings(episodic_top_k=1)) as memory:
        for n in range(-20, 60):
            clock.now = first + timedelta(days=n)
            memory.session(f"s{n % sessions}", user="ada").add_turn(f"Parcel {n + 100} came.", "Noted!")
        clock.now += timedelta(days=10)
        chat = memory.session("later", user="ada")
        for question in ("What did I tell you in August?", "Give me a recap of August"):
            (line,) = (line for line in chat.context(question).receipt.lines if line.section == "episodic")
            days = [int(word) - 99 for word in line.text.split() if word.isdecimal() and len(word) == 3]
            assert days == sorted(days) and {1, 31} <= {*days} <= {*range(1, 32)}
            assert max(later - day for day, later in itertools.pairwise(days)) <= 3
        told = answer(chat.context("What did I tell you in August?", at=clock.now).prompt)
        assert "Parcel 100 " in told and "Parcel 12" in told
