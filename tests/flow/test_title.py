"""What people know a conversation by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect import Message
from recollect.flow.title import LONGEST, title
from recollect.frozen import FrozenDict


def test_the_tag_of_the_first_message_goes_before_the_words_of_the_user() -> None:
    system, user = Message("system", "Be brief."), Message("user", "Where does\n my sister live?")
    assert title([system, user]) == "Where does my sister live?"
    named = FrozenDict({"title": "Nadia"})
    assert title([system.replace(metadata=named), user]) == "Nadia"
    assert title([system, user.replace(metadata=named)]) == "Where does my sister live?"
    assert title([user.replace(metadata=FrozenDict({"title": 5}))]) == "Where does my sister live?"


def test_without_words_of_the_user_there_is_no_title() -> None:
    assert title([]) == title([Message("assistant", "Hello"), Message("user", " ")]) == ""


def test_half_a_surrogate_pair_is_told_as_a_question_mark() -> None:
    assert title([Message("user", "Nad\ud83dia")]) == "Nad?ia"


@given(st.text() | st.text("a b", min_size=50, max_size=1_000))
def test_a_title_is_one_short_line_of_what_was_said(text: str) -> None:
    told = title([Message("user", text)])
    assert len(told) <= LONGEST and told == " ".join(told.split())
    assert " ".join(text.split()).startswith(told.removesuffix("…")) or told == " ".join(text.split())
    assert bool(told) == bool(text.strip())
