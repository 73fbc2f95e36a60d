"""Tool memory: excerpts kept once with source and time, quoted while fresh; the web is asked only for news."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from recollect import Memory, Settings
from recollect.answers import Candidate, Excerpt
from recollect.errors import ConfigError, InvalidTranscript
from recollect.layers.tools import EXCERPT_TOKENS, Tools
from recollect.store import Filter, Store
from recollect.tokens import estimate
from recollect.types import Message, Scope
from tests.wrong import wrong

TRIP = Scope("acme", "ada", "trip")
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


class Web:
    """A web that answers with what it was given, and remembers what it was asked."""

    def __init__(self, *results: Excerpt) -> None:
        self.results, self.asked = results, list[str]()

    def __call__(self, question: str) -> Sequence[Excerpt]:
        self.asked.append(question)
        return self.results


def shown(offered: list[Candidate]) -> list[str]:
    return [one.text for one in offered if not one.out]


def looked_up(tools: Tools, question: str, at: datetime) -> list[Candidate]:
    tools.look_up(TRIP, question, at)
    return tools.offer(TRIP, question, at)


def test_an_excerpt_is_quoted_with_its_source_and_date(store: Store) -> None:
    tools = Tools(store, estimate)
    tools.add(TRIP, "Rain in Bergen, 6 degrees.", "weather", NOW)
    (offered,) = tools.offer(TRIP, "How is the rain in Bergen?", NOW + timedelta(hours=1))
    assert offered.section == "tools"
    assert offered.text == "Rain in Bergen, 6 degrees."
    assert offered.origin == "tool weather"
    assert offered.at == NOW


def test_it_is_kept_once_a_day_and_only_in_its_session(store: Store) -> None:
    tools = Tools(store, estimate)
    for hours in (0, 1, 2):
        tools.add(TRIP, "Rain in Bergen, 6 degrees.", "weather", NOW + timedelta(hours=hours))
    assert len(store.records.find(TRIP, kind="artifact")) == 1
    tools.add(TRIP, "Rain in Bergen, 6 degrees.", "weather", NOW + timedelta(days=1))
    assert len(store.records.find(TRIP, kind="artifact")) == 2
    assert shown(tools.offer(TRIP, "rain in Bergen", NOW + timedelta(days=1))) == ["Rain in Bergen, 6 degrees."]
    assert tools.offer(Scope("acme", "ada", "other"), "rain in Bergen", NOW) == []
    assert tools.offer(Scope("acme", "eve", "trip"), "rain in Bergen", NOW) == []
    assert len(store.index.search(TRIP, "Bergen", where=Filter(kinds=("artifact",)))) == 2


def test_it_expires(store: Store) -> None:
    tools = Tools(store, estimate, days=7)
    tools.add(TRIP, "Rain in Bergen, 6 degrees.", "weather", NOW)
    question = "rain in Bergen"
    assert shown(tools.offer(TRIP, question, NOW + timedelta(days=6, hours=23)))
    assert tools.offer(TRIP, question, NOW + timedelta(days=7)) == []
    assert tools.offer(TRIP, question, NOW - timedelta(minutes=1)) == []


def test_at_most_two_the_best_and_newest_first_and_the_others_say_why_not(store: Store) -> None:
    tools = Tools(store, estimate, most=2)
    tools.add(TRIP, "Bergen had rain on Monday.", "weather", NOW - timedelta(days=3))
    tools.add(TRIP, "Bergen had rain on Tuesday.", "weather", NOW - timedelta(days=2))
    tools.add(TRIP, "Bergen had rain on Wednesday.", "weather", NOW - timedelta(days=1))
    tools.add(TRIP, "Bergen is a town of fish and wood.", "guide", NOW)
    offered = tools.offer(TRIP, "How much rain had the town of Bergen per day and hour?", NOW)
    assert shown(offered) == ["Bergen is a town of fish and wood.", "Bergen had rain on Wednesday."]
    assert [one.out for one in offered] == ["", "", "more than 2", "more than 2"]
    assert shown(Tools(store, estimate, most=0).offer(TRIP, "rain in Bergen", NOW)) == []


def test_what_shares_too_few_words_is_not_to_the_point(store: Store) -> None:
    tools = Tools(store, estimate)
    tools.add(TRIP, "Bergen is a town.", "guide", NOW)
    (near_miss,) = tools.offer(TRIP, "Which hotel of the chain Grand Nordic offers breakfast near Bergen?", NOW)
    assert near_miss.out == "not to the point"
    assert tools.offer(TRIP, "How do I boil an egg?", NOW) == []


def test_a_long_excerpt_is_shown_short(store: Store) -> None:
    tools = Tools(store, estimate)
    tools.add(TRIP, "Rain in Bergen falls on 239 days. " * 5_000, "weather", NOW)
    (offered,) = tools.offer(TRIP, "rain in Bergen", NOW)
    assert offered.text.endswith("days. […]")
    assert estimate(offered.text) <= EXCERPT_TOKENS + 5


def test_a_long_excerpt_is_shortened_once(store: Store) -> None:
    counted = Mock(side_effect=estimate)
    tools = Tools(store, counted)
    tools.add(TRIP, "Rain in Bergen falls on 239 days. " * 100, "weather", NOW)
    first = tools.offer(TRIP, "rain in Bergen", NOW)
    many = counted.call_count
    assert tools.offer(TRIP, "rain in Bergen", NOW) == first
    assert counted.call_count == many > 0
    tools.forget()
    assert tools.offer(TRIP, "rain in Bergen", NOW) == first
    assert counted.call_count == 2 * many


def test_news_are_searched_for_kept_and_quoted(store: Store) -> None:
    web = Web(
        Excerpt("Python 3.15 was released in October.", "https://example.org/a", NOW - timedelta(days=400)),
        Excerpt("Completely different words.", "https://example.org/b"),
        Excerpt("A third result on snakes.", "https://example.org/c"),
        Excerpt("A fourth result.", "https://example.org/d"),
    )
    tools = Tools(store, estimate, web)
    offered = looked_up(tools, "What is the latest Python?", NOW)
    assert web.asked == ["What is the latest Python?"]
    assert len(shown(offered)) == 2
    assert {one.origin for one in offered} == {f"web https://example.org/{page}" for page in "abc"}
    assert {one.at for one in offered} == {NOW, NOW - timedelta(days=400)}
    records = store.records.find(TRIP, kind="artifact")
    assert {record.value["source"] for record in records} == {f"https://example.org/{page}" for page in "abc"}
    assert {record.trust for record in records} == {"tool"}


def test_the_web_is_asked_only_for_news_and_not_again_within_minutes(store: Store) -> None:
    web = Web(Excerpt("Python 3.15 was released.", "https://example.org/a"))
    tools = Tools(store, estimate, web)
    for question in ("How do I boil an egg?", "What did I do today?", ""):
        looked_up(tools, question, NOW)
    assert web.asked == []
    question = "What is the latest Python?"
    first = looked_up(tools, question, NOW)
    assert looked_up(tools, question, NOW + timedelta(minutes=1))[0].text == first[0].text
    assert len(web.asked) == 1
    looked_up(tools, question, NOW + timedelta(minutes=30))
    assert len(web.asked) == 2


def test_the_web_is_not_asked_where_the_section_is_switched_off() -> None:
    for cap in (0, 200):
        web, settings = Web(), Settings(tools_tokens=cap)
        with Memory.open(":memory:", embedder=None, settings=settings, search=web) as memory:
            memory.session("trip", user="ada").context("What is the latest Python?")
        assert len(web.asked) == (cap > 0)


def test_looking_back_asks_no_one_and_sees_what_was_there(store: Store) -> None:
    web = Web(Excerpt("Python 3.15 was released.", "https://example.org/a"))
    tools = Tools(store, estimate, web)
    (entry,) = store.log.append(TRIP, [Message("user", "hi")])
    assert shown(looked_up(tools, "What is the latest Python?", NOW))
    assert tools.offer(TRIP, "What is the latest Python?", NOW, as_of=entry.position) == []
    assert len(web.asked) == 1


@pytest.mark.parametrize(
    "search",
    [
        lambda question: 1 / 0,
        lambda question: None,
        lambda question: ["not an excerpt"],
        lambda question: [Excerpt("No source.", "")],
        lambda question: [Excerpt("Python", "https://example.org"), None],
    ],
)
def test_a_search_that_fails_is_a_warning_and_never_in_the_way(
    store: Store, caplog: pytest.LogCaptureFixture, search: Callable[[str], Any]
) -> None:
    tools = Tools(store, estimate, search)
    tools.add(TRIP, "Python 3.14 is the latest.", "release notes", NOW)
    with caplog.at_level(logging.WARNING, "recollect"):
        assert shown(looked_up(tools, "What is the latest Python?", NOW)) == ["Python 3.14 is the latest."]
    assert "web search" in caplog.text


def test_the_log_does_not_tell_the_question_or_the_key_of_a_search_that_fails(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    refused = OSError("403 for https://search.example/?key=4711&q=What+is+the+latest+Python")
    looked_up(Tools(store, estimate, Mock(side_effect=refused)), "What is the latest Python?", NOW)
    assert caplog.messages == ["the web search failed this time: OSError"]


def test_what_cannot_be_kept_is_refused(store: Store) -> None:
    tools = Tools(store, estimate)
    with pytest.raises(ConfigError, match="empty"):
        tools.add(TRIP, "  ", "weather", NOW)
    with pytest.raises(ConfigError, match="source"):
        tools.add(TRIP, "Rain.", "", NOW)
    with pytest.raises(InvalidTranscript, match="text"):
        tools.add(TRIP, wrong(6), "weather", NOW)


def test_odd_text_and_the_ends_of_time_are_taken(store: Store) -> None:
    tools = Tools(store, estimate)
    for at in (datetime.min, datetime.max, datetime(2026, 1, 1)):
        tools.add(TRIP, "code \ud800 4417 \x00 \u202etoday", "weather", at)
        assert shown(tools.offer(TRIP, "code 4417", at)) == ["code \ud800 4417 \x00 \u202etoday"]


def test_what_a_session_keeps_can_be_listed_and_searched(store: Store) -> None:
    tools = Tools(store, estimate)
    long = "The timetable of the ferry to Bergen. " + "It sails at nine. " * 100
    tools.add(TRIP, "Snow in Oslo.", "weather", NOW - timedelta(days=6))
    tools.add(TRIP, long, "timetable", NOW)
    tools.add(TRIP, "The ferry to Bergen is late.", "https://example.org", NOW)
    assert [(one.text, one.source) for one in tools.kept(TRIP, NOW)] == [
        ("Snow in Oslo.", "weather"),
        (long, "timetable"),
        ("The ferry to Bergen is late.", "https://example.org"),
    ]
    found = tools.find(TRIP, "When does the ferry to Bergen sail?", NOW)
    assert [one.source for one in found] == ["timetable", "https://example.org"]
    assert found[0] == Excerpt(long, "timetable", NOW)
    assert tools.find(TRIP, "When does the ferry to Bergen sail?", NOW, 1) == found[:1]
    assert tools.find(TRIP, "Which wine goes with salmon?", NOW) == []
    assert [one.source for one in tools.kept(TRIP, NOW + timedelta(days=2))] == ["timetable", "https://example.org"]
    elsewhere = Scope("acme", "ada", "other")
    assert (tools.kept(elsewhere, NOW), tools.find(elsewhere, "ferry", NOW)) == ([], [])
