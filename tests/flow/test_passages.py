"""A long text is cut into passages that together say all of it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from recollect.flow.pack import CUT, passage
from recollect.flow.passages import LONG, SIZE, passages

texts = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(["word", " ", "\n", ". ", "x" * 700, " " * 700, "東京"]), max_size=20),
    st.sampled_from([1, 30, 900]),
)


@given(texts)
@example(" " * LONG + "end")
@example("a" * (LONG + 1))
def test_passages_are_in_order_and_hold_all_that_is_said(text: str) -> None:
    spans = passages(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    if len(text) > LONG:
        assert all(SIZE // 4 <= end - start <= SIZE and text[start:end].strip() for start, end in spans)
    else:
        assert spans == [(0, len(text))]


def test_a_passage_ends_with_a_line_else_with_a_sentence_else_with_a_word() -> None:
    def ends(text: str) -> set[str]:
        return {text[start:end][-2:] for start, end in passages(text)[:-1]}

    assert ends("One. two three\n" * 300) == {"e\n"}
    assert ends("One. two three " * 300) == {". "}
    assert {end[-1] for end in ends("one two three " * 300)} == {" "}


def test_a_passage_shows_where_its_text_goes_on() -> None:
    assert passage("one two three ", 0, 14) == "one two three "
    assert passage("one two three", 4, 8) == f"{CUT} two {CUT}"
    assert passage("one two three", 0, 4) == f"one {CUT}"
    assert passage("one two three", 8, 13) == f"{CUT} three"
