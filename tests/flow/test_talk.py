"""What questions are about beside their topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.talk import MAX_WORDS, asks_for_several, asks_of_own, asks_of_talk


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about yesterday?", "what did we talk about", "What was our last conversation about?",
        "What did I tell you on Monday?", "what did we discuss two weeks ago", "Remind me what we said in May.",
        "What do you remember from yesterday?", "what happened last week", "What did we talk about in May 2024?",
        "What did I tell you on May 3rd, 2024?", "what did we discuss on the 3rd of May", "What did I say in 2024?",
        "What did we talk about on 2024-05-01?", "What happened in July?", "what happened on Monday",
        "What did I do in July?", "What was I doing on 3 May?", "what have we been up to lately",
        "What did we do on Friday?", "What did we work on last week?", "what have we been working on this month",
        "Give me a recap of last week", "Can you summarise everything from August?",
    ],
)  # fmt: skip
def test_a_question_without_a_topic_is_about_the_talk(question: str) -> None:
    assert asks_of_talk(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about in Oslo?", "What did I say about the bridge?", "Where do I live?", "What time is it?",
        "What did Nadia tell you?", "Tell me a joke", "Do you remember me?", "", "?", "say " * 20_000,
        "What happened?", "What did I do in Oslo?", "What did I do?", "What did I do before?",
        "What do I do on Monday?", "What did I do with the keys yesterday?", "What did I say about 1984?",
        "What did I say about 3 tickets?", "What did I say about work?", "Which model did we work on last week?",
        "What did we work on?", "Summarize this", "Give me a summary of the meeting last week",
    ],
)  # fmt: skip
def test_any_other_is_not(question: str) -> None:
    assert not asks_of_talk(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is my address?", "Where did I park?", "Which router do we use?", "What do I pay for the gym?",
        "Am I late?", "Who visited us?", "Have I read it?", "our budget",
    ],
)  # fmt: skip
def test_a_question_of_the_user_s_life_is_about_the_user(question: str) -> None:
    assert asks_of_own(question)


@pytest.mark.parametrize(
    "question",
    ["How do I bake bread?", "Which US state is the largest?", "Who is the king?", "", "Minerals?", "my " * 20_000],
)
def test_one_that_anybody_might_ask_is_not_about_the_user(question: str) -> None:
    assert not asks_of_own(question)


@given(st.integers(0, 2 * MAX_WORDS))
def test_a_long_text_that_names_the_user_is_not_about_the_user(others: int) -> None:
    assert asks_of_own("my" + " story" * others) == (others < MAX_WORDS)


@pytest.mark.parametrize(
    "question",
    [
        "Which books have I read?", "How many times did I run in March?", "what kinds of music do we like",
        "List our trips.", "Which grades did I get so far?", "How often did it rain?", "What red cars has Tim seen?",
        "which colours of paint did I like", "Which doctors haven't I called?", "What parts of the U.S. have I seen?",
        "Which cities in Italy did I visit?", "What books by Le Guin have we read?",
    ],
)  # fmt: skip
def test_one_for_many_things_asks_for_several(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which book did I read?", "What does Tim do?", "What was it?", "Which bus is it?", "What is his name?",
        "What comes next?", "What happens if I restart it?", "Which works best?", "What brings you here?",
        "What does James do to stay fit?", "What helps against headaches?", "", "a" * 20_000, "which a" * 20_000,
    ],
)  # fmt: skip
def test_one_for_a_single_thing_does_not(question: str) -> None:
    assert not asks_for_several(question)
