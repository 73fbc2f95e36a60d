"""A search of the web is for what is new in the world, not for the user's own life."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.news import asks_for_news

TODAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    "question",
    [
        "What's the latest version of Python?",
        "any news about the election",
        "What is the price of gold?",
        "Who won the match last night?",
        "What is the current exchange rate of the euro?",
        "best phones 2026",
        "Which films come out in 2027?",
        "What's the weather in Oslo today?",
        "Tell me what happened in the markets this week",
        "Is the new album released yet?",
    ],
)
def test_a_question_about_what_is_new_asks_for_news(question: str) -> None:
    assert asks_for_news(question, TODAY)


@pytest.mark.parametrize(
    "question",
    [
        "What did I do today?",
        "What is my current address?",
        "What did you tell me last week?",
        "When does our lease end this year?",
        "How do I boil an egg?",
        "What happened in 1989?",
        "How is a weathered stone made?",
        "Explain currents in the ocean",
        "",
    ],
)
def test_others_do_not(question: str) -> None:
    assert not asks_for_news(question, TODAY)


@given(st.text(), st.dates())
def test_any_question_has_an_answer(question: str, today: date) -> None:
    assert asks_for_news(question, today) in (True, False)
