"""By words alone, what holds those of the question is recalled, however long it is and whoever said it."""

from __future__ import annotations

import pytest

from recollect import Memory, Session, ToolCall, ToolResult

THEMES = ["weather", "dinner", "garden", "bike", "train", "exam", "guitar", "tax", "holiday", "printer"]
FILLER = "The minutes of that day tell what everyone said about paper and chairs. "
CLOSES = "The Helsinki office closes on 14 February 2027."
WHEN = "When does the Helsinki office close?"
PIN = "What is the PIN of the safe?"


def chat(session: Session, again: str) -> None:
    for theme in THEMES:
        for verb in ("looked at", "am tired of", "dreamt of"):
            session.add_turn(f"I {verb} the {theme} {again}, you know.", f"I would wait with the {theme}.")


@pytest.mark.parametrize("times", [5, 70])
@pytest.mark.parametrize("question", [WHEN, "Helsinki"])
def test_a_name_in_a_long_tool_result(times: int, question: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        session = memory.session("a", user="ada")
        chat(session, "again")
        session.add("user", "Read the minutes.")
        session.add("assistant", [ToolCall("c1", "read", "{}")])
        session.add("tool", [ToolResult("c1", FILLER * times + CLOSES + " " + FILLER * times)])
        session.add("assistant", "Read.")
        chat(session, "once more")
        memory.drain()
        fresh = memory.session("b", user="ada")
        assert any(CLOSES in hit.text for hit in fresh.search(question, 3))
        assert CLOSES in " ".join(hit.text for hit in fresh.recall(question, budget=400))
        assert CLOSES in fresh.context(question, budget=1_500).memory


@pytest.mark.parametrize("asked", [0, 1])
def test_a_long_message_though_the_question_was_asked_before(asked: int) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        for n, text in enumerate(("I live in Turku.", "My brother is Tim.", "I had soup yesterday.")):
            memory.session(f"c{n}", user="ada").add_turn(text, "All right.")
        memory.session("big", user="ada").add_turn(
            FILLER * 70 + "The PIN of the safe is 7790. " + FILLER * 70, "Noted."
        )
        for n in range(asked):
            memory.session(f"k{n}", user="ada").add_turn(PIN, "I don't know.")
        memory.drain()
        assert "7790" in memory.session("fresh", user="ada").context(PIN).memory


def test_a_short_answer_before_what_the_user_said_of_something_else() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        session = memory.session("a", user="ada")
        chat(session, "again")
        session.add_turn("Any news?", CLOSES)
        chat(session, "once more")
        memory.drain()
        assert CLOSES in memory.session("b", user="ada").recall(WHEN, k=5, budget=400)[0].text


@pytest.mark.parametrize(
    ("said", "asked", "unrelated"),
    [
        ("Meine Schwester ist nach Oslo gezogen.", "Wo wohnt meine Schwester?", "Wie komme ich nach Hamburg?"),
        ("Моя сестра переехала в Осло.", "Где живёт моя сестра?", "Сколько стоит билет в Казань?"),
        ("犬を飼っています。三歳です。", "うちの犬は何歳ですか?", "週末の天気はどうですか?"),
        ("我养了一只狗,三岁了。", "狗几岁?", "我想看一部电影,你有什么推荐?"),
    ],
)
def test_the_words_that_every_sentence_of_a_language_has_find_nothing(said: str, asked: str, unrelated: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        memory.session("a", user="ada").add_turn(said, "OK")
        memory.drain()
        later = memory.session("b", user="ada")
        assert said in later.context(asked, budget=1_000).memory
        assert later.context(unrelated, budget=1_000).memory == ""
