"""Text is cut into sentences without losing a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.sentences import sentences

PIECES = [
    "One. ",
    "two",
    "Dr. ",
    "3.14 ",
    "e.g. ",
    "?! ",
    "\n",
    "\n\n",
    "- item",
    "好。",
    "J. ",
    "…",
    ' "Ok." ',
    "a b ",
]


def cut(text: str, lines: bool = True) -> list[str]:
    return [text[a:b] for a, b in sentences(text, lines=lines)]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)), st.booleans())
def test_the_spans_cover_the_text_in_order_and_none_is_empty(text: str, lines: bool) -> None:
    parts = cut(text, lines)
    assert "".join(parts) == text
    assert all(parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I moved. Then I slept.", ["I moved. ", "Then I slept."]),
        ("Is it 3.14? Yes!", ["Is it 3.14? ", "Yes!"]),
        ("Ask Dr. Who or J. Smith. Now.", ["Ask Dr. Who or J. Smith. ", "Now."]),
        ("It costs e.g. five euros.", ["It costs e.g. five euros."]),
        ("He said \u201cGo.\u201d Then he went.", ["He said \u201cGo.\u201d ", "Then he went."]),
        ("我住在奥斯陆。你呢？", ["我住在奥斯陆。", "你呢？"]),
        ("Milk\nBread", ["Milk\n", "Bread"]),
        (
            '[{"id": 1}, {"id": 2},{"id": {"a": 3}, "b": 4}]',
            ['[{"id": 1}, ', '{"id": 2},', '{"id": {"a": 3}, "b": 4}]'],
        ),
        ("", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, parts: list[str]) -> None:
    assert cut(text) == parts


def test_wrapped_lines_are_one_sentence_but_paragraphs_and_lists_are_not() -> None:
    text = "This line is\nwrapped by hand.\n\nNext paragraph\n- one\n- two\n"
    assert cut(text, lines=False) == ["This line is\nwrapped by hand.\n\n", "Next paragraph\n", "- one\n", "- two\n"]
