"""What a user's words say of the answer before them, and the questions in them."""

from __future__ import annotations

import pytest

from recollect.flow.tally import asked, follow_up, traits


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Shorter please", "shorter"),
        ("TL;DR?", "shorter"),
        ("can you make that a bit shorter?", "shorter"),
        ("That's way too long.", "shorter"),
        ("Please be more concise", "shorter"),
        ("in one sentence please", "shorter"),
        ("keep it brief", "shorter"),
        ("Can you explain more?", "more"),
        ("tell me more", "more"),
        ("Could you elaborate?", "more"),
        ("please go deeper", "more"),
        ("more details please", "more"),
        ("explain that further", "more"),
        ("ELI5", "simpler"),
        ("explain it like I\u2019m five", "simpler"),
        ("too technical for me", "simpler"),
        ("I don't understand", "simpler"),
        ("in plain English please", "simpler"),
        ("can you give me an example?", "example"),
        ("Thanks!", "thanks"),
        ("ok great, thank you so much", "thanks"),
        ("Perfect!", "thanks"),
        ("that's wrong", "wrong"),
        ("No, that doesn't work.", "wrong"),
        ("this is not what I asked", "wrong"),
    ],
)
def test_a_reaction_is_read_for_what_it_asks(text: str, kind: str) -> None:
    assert follow_up(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Is there a shorter route to the station?",
        "How much longer does it take?",
        "Give me more recipes",
        "don't make it shorter",
        "no need for more detail",
        "What is the best example of Gothic architecture?",
        "Do simpler engines last longer?",
        "Explain how tides work",
        "The report " + "word " * 20 + "was too long, make it shorter",
        "What does thank you mean in Japanese?",
        "Is the flight to Oslo long?",
        "wrong way signs in Germany",
        "How do I exit vim",
        "ليس طويلا",
        "\x00",
    ],
)
def test_what_is_no_reaction_is_read_as_none(text: str) -> None:
    assert follow_up(text) == ""


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Hi. How do I reset it? It is v2.1 now.", ["How do I reset it?"]),
        ("how do I exit vim", ["how do I exit vim"]),
        ("I like tea.", []),
        ("これは何ですか？ありがとう。", ["これは何ですか？"]),
        ("What?\nWhy?", ["What?", "Why?"]),
        ("why " + "so " * 60 + "?", []),
        ("", []),
    ],
)
def test_questions_are_found(text: str, questions: list[str]) -> None:
    assert asked(text) == questions


def test_an_answer_has_traits() -> None:
    assert traits("Yes.", 3) == ["any", "short"]
    assert traits("- one\n- two\n\nOK?", 200) == ["any", "medium", "that ask back", "with a list"]
    assert traits("```py\n```\nfor example", 500) == ["any", "long", "with code", "with an example"]
    assert traits("| a | b |\n|---|---|\n| 1 | 2 |", 20) == ["any", "short", "with a table"]
