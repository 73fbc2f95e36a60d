"""Whom a question means by a pronoun."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.pronouns import LOOK_BACK, MAX_WORDS, with_names

_COMMON = "i is the in on when did does what who how she he said and so we my"
COMMON = frozenset(_COMMON.split())


@pytest.mark.parametrize(
    ("question", "said", "asked"),
    [
        ("When did she move?", ["Nadia called me today."], "When did she move? Nadia"),
        ("When did she move?", ["I met Nadia and Tom on Monday."], "When did she move? Nadia Tom"),
        ("What's his job?", ["Élise and I saw José in May."], "What's his job? Élise José"),
        ("What does he want?", ["I am meeting the landlord today."], "What does he want? landlord"),
        ("Where do they live?", ["So what?", "My parents called."], "Where do they live? parents"),
        ("Who is she?", ["We saw Ruth.", "We saw Nadia."], "Who is she? Ruth"),
        ("When did she move?", ["Thanks! Great. Please go on.", "Nadia called."], "When did she move? Nadia"),
        ("Did he write?", ["Remind Tom, please: Tom's report."], "Did he write? Tom"),
        ("Is it hers?", ["Nadia's bike broke."], "Is it hers? Nadia"),
    ],
)
def test_it_is_whom_the_user_spoke_of_last(question: str, said: Sequence[str], asked: str) -> None:
    assert with_names(question, said, COMMON) == asked


@pytest.mark.parametrize(
    "question",
    [
        "When did Tom move?", "Does she like Tom?", "When did it start?", "", "The heating is off",
        f"When did she {'really ' * MAX_WORDS}move?",
    ],
)  # fmt: skip
def test_a_question_that_has_a_name_or_no_pronoun_or_is_long_stays_as_it_is(question: str) -> None:
    assert with_names(question, ["Nadia called me today."], COMMON) == question


def test_what_was_said_long_before_does_not_count() -> None:
    assert with_names("Who is she?", ["so what"] * LOOK_BACK + ["Nadia called."], COMMON) == "Who is she?"


@given(st.text(), st.lists(st.text()))
def test_a_question_keeps_its_words(question: str, said: list[str]) -> None:
    assert with_names(question, said, COMMON).startswith(question)
