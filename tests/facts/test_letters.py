"""Letters that regular expressions take for an i or an s, as a Turkish keyboard types them, are read as those."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.flow.facts.asked import wanted

from .scores import SAID, SETS, utterances
from .test_spoken import stated

TOLD = sorted({one.text for path in SETS.values() for one in utterances(path) if one.facts})
LIKE = {"i": "\u0131", "I": "\u0130", "s": "\u017f"}


@st.composite
def retyped(draw: Callable[[st.SearchStrategy[str]], str]) -> str:
    text = draw(st.sampled_from(TOLD))
    return "".join(draw(st.sampled_from((char, LIKE[char]))) if char in LIKE else char for char in text)


@given(retyped())
def test_any_such_text_is_read_without_fail(text: str) -> None:
    extract(text, SAID)
    wanted(text, [])


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("My w\u0131fe is Eva.", "wife", "Eva"),
        ("My K\u0130DS are Ann and Bob.", "child:ann", "Ann"),
        ("I am \u017fixty years old.", "age", "60"),
        ("I am fly\u0131ng to Rome tomorrow.", "todo:fly to rome", "fly to Rome"),
        ("I'm marr\u0131ed to Eva.", "spouse", "Eva"),
        ("I'm ret\u0131red.", "role", "retired"),
        ("I live in Kad\u0131k\u00f6y.", "place", "Kad\u0131k\u00f6y"),
    ],
)
def test_rules_read_them_and_names_keep_them(text: str, key: str, value: str) -> None:
    assert (key, value) in [(found.key, found.value) for found in extract(text, SAID)]


def test_so_are_questions_read() -> None:
    eva = stated("My wife is Eva.")
    assert wanted("Who is my w\u0131fe?", eva).people == {"wife"}
