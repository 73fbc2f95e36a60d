"""What was made of conversations, summaries, facts and excerpts of tools, is found by its words, by session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from recollect import ConfigError, Filter, Memory, Settings
from recollect.answers import Artifact
from recollect.layers.artifacts import ARTIFACTS
from recollect.store import open as open_store
from recollect.testing.clock import ManualClock
from tests.contexts import START
from tests.wrong import wrong

QUESTIONS: dict[Artifact, str] = {
    "summary": "What about the Vigeland park?",
    "facts": "Where do I live?",
    "tools": "Does it rain?",
}


pytestmark = pytest.mark.parametrize("anywhere", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def memory(anywhere: Any) -> Iterator[Memory]:
    clock, plan = ManualClock(START), Settings(summary_every_messages=4)
    with Memory(open_store(**anywhere, clock=clock), settings=plan, clock=clock) as memory:
        for city in ("Oslo", "Rome"):
            chat = memory.session(city, user="ada")
            chat.add_turn(f"I live in {city} now.", "Noted!")
            chat.add_turn(f"We saw the Vigeland park of {city} on 12 June.", "Lovely!")
            chat.tools.add(f"Rain in {city}, 6 degrees.", "weather")
            clock.now += timedelta(hours=1)
        memory.session("Oslo", user="eve").add_turn("I live in Oslo and saw the Vigeland park.", "So does Ada.")
        memory.drain()
        yield memory


@pytest.mark.parametrize("kind", ARTIFACTS)
def test_each_kind_is_found_in_its_session(memory: Memory, kind: Artifact) -> None:
    chat = memory.session("Rome", user="ada")
    found = chat.search(QUESTIONS[kind], scope="session", kind=kind)
    assert [hit.session for hit in found] == ["Rome"]
    assert "Rome" in found[0].text
    assert 0 < found.relevance == found[0].score <= 1
    assert found[0].at.tzinfo is not None
    said = {message.id for message in chat.history()}
    assert bool(found[0].message_ids) == (kind != "tools") and said.issuperset(found[0].message_ids)
    assert memory.session("new", user="ada").search(QUESTIONS[kind], scope="session", kind=kind) == []


@pytest.mark.parametrize(
    ("kind", "cities"), [("summary", {"Oslo", "Rome"}), ("facts", {"Rome"}), ("tools", {"Oslo", "Rome"})]
)
def test_each_kind_is_found_in_all_of_a_users_sessions_and_in_nobody_elses(
    memory: Memory, kind: Artifact, cities: set[str]
) -> None:
    found = memory.session("new", user="ada").search(QUESTIONS[kind], kind=kind)
    assert {hit.session for hit in found} == cities
    assert len(memory.session("new", user="ada").search(QUESTIONS[kind], k=1, kind=kind)) == 1
    assert memory.session("Oslo", user="bob").search(QUESTIONS[kind], kind=kind) == []


@pytest.mark.parametrize("kind", ARTIFACTS)
def test_what_shares_no_word_or_is_of_another_time_is_not_found(memory: Memory, kind: Artifact) -> None:
    chat = memory.session("Rome", user="ada")
    assert chat.search("Which wine goes with salmon?", kind=kind) == []
    assert chat.search(QUESTIONS[kind], kind=kind, where=Filter(since=START + timedelta(days=1))) == []
    for where in (Filter(roles=("user",)), Filter(as_of=0), Filter(metadata={"topic": "home"})):
        with pytest.raises(ConfigError, match=f"where can filter {kind} by time only"):
            chat.search(QUESTIONS[kind], kind=kind, where=where)
    assert chat.search(QUESTIONS[kind], kind=kind, where=Filter(since=START)) != []


def test_what_was_just_said_is_in_the_artifacts_of_its_session(memory: Memory) -> None:
    chat = memory.session("Bergen", user="ada")
    chat.add_turn("I live in Bergen now.", "Noted!")
    chat.add_turn("We took the Floibanen.", "Lovely!")
    assert [hit.text.partition(" (")[0] for hit in chat.search("Where do I live?", kind="facts")] == ["place: Bergen"]
    assert "Floibanen" in chat.search("Floibanen", kind="summary")[0].text


def test_what_was_erased_or_has_expired_is_not_found(memory: Memory) -> None:
    chat = memory.session("Rome", user="ada")
    later = START + timedelta(days=30)
    assert chat.search("rain", at=later, kind="tools") == []
    chat.forget()
    assert [chat.search(QUESTIONS[kind], scope="session", kind=kind) for kind in ARTIFACTS] == [[], [], []]
    assert [hit.text.partition(" (")[0] for hit in chat.search("Where do I live?", kind="facts")] == ["place: Oslo"]


def test_blocks_of_other_settings_are_not_found_twice(memory: Memory) -> None:
    memory.layers.summary.every = 2
    chat = memory.session("Rome", user="ada")
    texts = [hit.text for hit in chat.search("Vigeland park", scope="session", kind="summary")]
    assert texts == ["- user: We saw the Vigeland park of Rome on 12 June."]


def test_a_kind_that_there_is_not_is_refused(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="kind is 'fact'; use turns, summary, facts, tools"):
        memory.session("Rome", user="ada").search("Rome", kind=wrong("fact"))


def test_every_value_of_a_fact_is_on_record_with_its_message(memory: Memory) -> None:
    chat = memory.session("Rome", user="ada")
    oslo, rome = chat.fact_history("place")
    assert (oslo.value, rome.value, rome.valid_to) == ("Oslo", "Rome", None)
    assert oslo.valid_to == rome.at
    assert rome.sources == (chat.history()[0].id,)
    chat.add("user", "Actually, I moved to Bergen.")
    assert [fact.value for fact in chat.fact_history("place")] == ["Oslo", "Rome", "Bergen"]
    assert chat.fact_history("shoe size") == []
