"""A note about "the user" says what he would say himself; what only mentions users says nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.flow.facts import extract, noted
from recollect.flow.facts.notes import in_first_person

from .scores import SAID

NOTES = {
    "User's name is Ada": {"name": "Ada"},
    "The user lives in Oslo and works at Equinor.": {"place": "Oslo", "company": "Equinor"},
    "The user\u2019s birthday is May 3.": {"birthday": "3 May"},
    "User is a software engineer at Google": {"role": "software engineer", "company": "Google"},
    "User doesn\u2019t eat meat": {"avoids:meat": "meat"},
    "The user also likes green tea but hates coffee.": {"likes:green tea": "green tea", "dislikes:coffee": "coffee"},
    "User walks her dog Rex every day": {"dog:rex": "Rex"},
    "User hates coffee and his cat is called Tom.": {"dislikes:coffee": "coffee", "cat:tom": "Tom"},
    "The user has two kids, Mia and Leo": {"child:mia": "Mia", "child:leo": "Leo"},
    "- User is vegetarian\n- User speaks Norwegian\n- User is 34 years old": {
        "diet": "vegetarian",
        "speaks:norwegian": "Norwegian",
        "age": "34",
    },
    "It rains. The user prefers short answers.": {"answer_length": "short"},
    "I live in Oslo": {"place": "Oslo"},
}
NOTHING = (
    "Users live in Oslo",
    "The user interface prefers dark mode",
    "The user story: I live in Oslo",
    "User met Tom and his wife Ann",
    "User might move to Rome",
    "User asked about hotels in Rome",
    "User said he lives in Oslo",
    "Does the user live in Oslo?",
    "The user lives in Oslo?",
    "The user",
)


@pytest.mark.parametrize("note", NOTES)
def test_a_note_says_what_the_user_would_say(note: str) -> None:
    assert {fact.key: fact.value for fact in noted(note, SAID)} == NOTES[note]


@pytest.mark.parametrize("note", NOTHING)
def test_what_only_mentions_users_says_nothing_of_him(note: str) -> None:
    assert noted(note, SAID) == []


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("User no longer works at Equinor.", "I no longer work at Equinor."),
        ("The user studies law", "I study law."),
        ("The user watches chess and goes home!", "I watch chess and goes home!"),
        ("The user was ill", "I was ill."),
        ("User passes exams", "I pass exams."),
    ],
)
def test_verbs_go_with_the_first_person(note: str, said: str) -> None:
    assert in_first_person(note) == said


@given(st.text(st.characters(exclude_categories=()), max_size=100), st.datetimes(timezones=st.just(UTC)))
def test_any_note_is_read_without_fail_and_cited_within(text: str, at: datetime) -> None:
    for note in (text, f"The user {text}", f"User's {text}\n{text}"):
        for found in noted(note, at):
            assert 0 <= found.span[0] < found.span[1] <= len(note)


@given(st.sampled_from([note for note in NOTES if note.startswith(("The user", "User"))]))
def test_people_who_write_of_users_say_nothing_of_themselves(note: str) -> None:
    assert extract(note, SAID) == []


def test_a_note_tells_that_it_is_one_until_the_user_says_the_same() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat, later = memory.session("a", user="ada"), memory.session("b", user="ada")
        chat.add("user", "I live in Paris.")
        chat.add("user", "The user lives in Oslo.", metadata={"via": "mcp"})
        chat.add("user", "The user lives in Oslo", metadata={"via": "mcp"})
        before = [(fact.value, fact.origin) for fact in chat.fact_history("place")]
        assert before == [("Paris", "user"), ("Oslo", "note")]
        (line,) = later.context("Where do I live?").offered[:1]
        assert line.text.startswith("place: Oslo (noted ") and line.origin == "a model's note"
        chat.add("user", "I live in Oslo.")
        assert [(fact.value, fact.origin, len(fact.sources)) for fact in chat.facts()] == [("Oslo", "user", 3)]
        (line,) = later.context("Where do I live?").offered[:1]
        assert line.text.startswith("place: Oslo (said ") and line.origin == "user"
        chat.add("user", "The user lives in Oslo.", metadata={"via": "mcp"})
        assert [fact.origin for fact in chat.facts()] == ["user"]


def test_only_what_was_noted_for_the_user_is_read_as_a_note() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("a", user="ada")
        chat.add("user", "The user lives in Paris.")
        chat.add("user", "The user lives in Oslo.", metadata={"via": "mcp"})
        assert [(fact.key, fact.value) for fact in chat.facts()] == [("place", "Oslo")]


@pytest.mark.processor(60)
@pytest.mark.parametrize("piece", ["\n", ".\n", " ", "\n ", "- \n", "user ", "\nuser", ". the ", "\r\n"], ids=repr)
def test_a_long_note_takes_no_time(piece: str) -> None:
    assert noted(piece * (100_000 // len(piece)), SAID) == []
