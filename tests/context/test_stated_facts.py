"""Facts that were stated by hand, in contexts: long ones, and those of a clock that was wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import Memory, Message
from recollect.layers.semantic import Semantic
from recollect.store import Record
from recollect.store.reference import ReferenceStore
from recollect.testing.clock import ManualClock
from recollect.types import Scope
from tests.contexts import opened

LONG = "a bag and a small tent, " * 70


@pytest.mark.parametrize("budget", [120, 300, 500])
def test_a_long_fact_leaves_a_small_prompt_to_others(memory: Memory, budget: int) -> None:
    chat = memory.session("trip", user="ada")
    chat.remember("luggage", LONG)
    chat.remember("place", "Oslo")
    chat.add_turn("Hello there.", "Hi!")
    question = "What luggage do I have?"
    context = chat.context(question, budget)
    assert "place: Oslo" in context.memory and "Hello there." in str(context.messages)
    (line,) = [line for line in context.receipt.lines if line.text.startswith("luggage")]
    assert (line.shown, line.rule) == (0, "no room")
    assert "luggage: a bag" in chat.context(question, 1_000).memory


def test_a_clock_that_was_ahead_lets_a_fact_stand_no_longer_than_another(tmp_path: Path, clock: ManualClock) -> None:
    def known(to: Memory) -> list[str]:
        return [fact.value for fact in to.user("ada").facts()]

    with opened(tmp_path, clock) as memory:
        chat = memory.session("trip", user="ada")
        clock.forward(days=1_000)
        chat.remember("place", "Oslo")
        chat.add("user", "I like jazz.")
        assert known(memory) == ["Oslo", "jazz"]
        clock.forward(days=-999)
        chat.add("user", "I live in Rome now and I hate jazz.")
        assert known(memory) == ["Rome", "jazz"]
        clock.forward(days=1)
        chat.remember("place", "Bergen")
        clock.forward(days=1)
        chat.add("user", "I moved to Porto.")
        assert sorted(known(memory)) == ["Porto", "jazz"]
        assert [fact.value for fact in chat.fact_history("place")] == ["Oslo", "Rome", "Bergen", "Porto"]
        with opened(tmp_path, clock) as anew:
            assert known(anew) == known(memory)


def test_what_is_said_after_a_clock_was_ahead_holds_though_it_is_learned_later(
    memory: Memory, clock: ManualClock
) -> None:
    chat = memory.session("trip", user="ada")
    clock.forward(days=1_000)
    chat.add("user", "I live in Oslo.")
    assert [fact.value for fact in chat.facts()] == ["Oslo"]
    clock.forward(days=-999)
    chat.add("user", "I live in Rome.")
    clock.forward(minutes=10)
    assert [fact.value for fact in chat.facts()] == ["Rome"]
    long_ago = clock() - timedelta(days=900)
    chat.add(Message("user", "I live in Cairo.", at=long_ago, received=long_ago))
    assert [fact.value for fact in chat.facts()] == ["Rome"]


def test_an_old_message_that_comes_after_a_clock_was_ahead_stays_old(memory: Memory, clock: ManualClock) -> None:
    chat = memory.session("trip", user="ada")
    clock.forward(days=1_000)
    chat.add("user", "I live in Oslo.")
    assert [fact.value for fact in chat.facts()] == ["Oslo"]
    clock.forward(days=-999)
    chat.add(Message("user", "I live in Cairo.", at=clock() - timedelta(days=900)))
    assert [fact.value for fact in chat.facts()] == ["Oslo"]


@example([(60, 0), (-30, 30), (0, -90)])
@given(st.lists(st.tuples(st.integers(-90, 90), st.integers(-90, 90)), min_size=3, max_size=6))
def test_facts_that_came_one_by_one_are_those_read_at_once_however_the_clock_was_set(
    moves: list[tuple[int, int]],
) -> None:
    clock = ManualClock(datetime(2026, 3, 2, tzinfo=UTC))
    store, user = ReferenceStore(clock), Scope("acme", "ada")
    layer = Semantic(store)
    for n, (minutes, dated) in enumerate(moves):
        clock.forward(minutes=minutes)
        at = (clock() + timedelta(minutes=dated)).isoformat()
        body = {"type": "user_profile", "value": f"{n}", "at": at, "order": at, "session": "", "ended": False}
        store.records.put(user, [Record("fact", "place", body, 1.0)])
        layer.facts(user)
    assert layer.history(user, "place") == Semantic(store).history(user, "place")
