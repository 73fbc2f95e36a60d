"""What a question means by a pronoun."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.pronouns import FEW, LOOK_BACK, MAX_WORDS, MOST, with_what_it_means

_COMMON = "i is the in on at when where did does what who how she he said and so we my it that there was for of a to"
COMMON = frozenset(_COMMON.split())


@pytest.mark.parametrize(
    ("question", "said", "asked"),
    [
        ("When did she move?", ["Nadia called me today."], "When did she move? Nadia called me"),
        ("When did she move?", ["I met Nadia and Tom on Monday."], "When did she move? met Nadia Tom"),
        ("What does he want?", ["I met the landlord in May."], "What does he want? met landlord"),
        ("When is it?", ["I need a suit for Priya's wedding."], "When is it? need suit Priya s wedding"),
        ("How much did that cost?", ["My root canal was awful."], "How much did that cost? root canal awful"),
        ("What do I pay there?", ["The gym Vertigo is full."], "What do I pay there? gym Vertigo full"),
        ("And where?", ["Our wedding cake broke."], "And where? Our wedding cake broke"),
        ("Where was it?", ["Great, thanks!", "Priya married."], "Where was it? Great thanks Priya married"),
        ("Which hotel?", ["I flew to Porto."], "Which hotel? flew Porto"),
        ("since when", ["My knee hurts."], "since when knee hurts"),
        ("Who is she?", ["We saw Ruth run home.", "We saw Nadia."], "Who is she? saw Ruth run home"),
    ],
)
def test_it_is_what_the_user_spoke_of_last(question: str, said: Sequence[str], asked: str) -> None:
    assert with_what_it_means(question, said, COMMON) == asked


@pytest.mark.parametrize(
    "question",
    [
        "When did Tom move?", "Does she like Tom?", "", "The heating is off", "What is the book that I read?",
        "Is there milk?", "How much in this year?", "Who works at IT?",
        "Which car do we drive?", "What's new?", "How old am I?", "Whose birthday is next?", "Thanks!", "Why Oslo?",
        "what cake recipe went well for Easter", "Welches Hotel?", "Which hotel? Never mind, sing me a song!",
        "What colour has the cover it lies under today?", f"When did she {'really ' * MAX_WORDS}move?",
    ],
)  # fmt: skip
def test_a_question_that_says_what_it_is_about_stays_as_it_is(question: str) -> None:
    assert with_what_it_means(question, ["Nadia called me today."], COMMON) == question


def test_what_was_said_long_before_does_not_count() -> None:
    said = ["so what"] * LOOK_BACK + ["Nadia called."]
    assert with_what_it_means("Who is she?", said, COMMON) == "Who is she?"


@pytest.mark.parametrize(
    ("question", "cakes", "meant"),
    [
        ("Where is it?", MOST - 1, ["Nadia", *["cake"] * (MOST - 1)]),
        ("Where is it?", MOST, []),
        ("Where is she?", MOST, ["Nadia"]),
    ],
)
def test_a_long_message_does_not_outweigh_the_question(question: str, cakes: int, meant: Sequence[str]) -> None:
    said = ["so what", "Nadia " + "cake " * cakes]
    assert with_what_it_means(question, said, COMMON) == " ".join((question, *meant))


@given(st.text(), st.lists(st.text()))
def test_a_question_keeps_its_words(question: str, said: list[str]) -> None:
    assert with_what_it_means(question, said, COMMON).startswith(question)


@given(st.lists(st.lists(st.sampled_from(["Nadia", "cake", "the", "is", "may"]), max_size=8).map(" ".join)))
def test_words_are_taken_from_the_newest_messages_until_there_are_a_few(said: list[str]) -> None:
    taken, expected = with_what_it_means("Where was it?", said, COMMON).split()[3:], list[str]()
    for text in said[:LOOK_BACK]:
        expected += [word for word in text.split() if word in ("Nadia", "cake") and len(expected) < FEW]
    assert taken == expected
