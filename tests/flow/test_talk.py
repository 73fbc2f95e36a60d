"""Questions about the talk itself."""

from __future__ import annotations

import pytest

from recollect.flow.talk import asks_of_talk


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
