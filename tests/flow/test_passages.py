"""A long text is cut into passages that together say all of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.flow.pack import CUT, Moment, pack, turn_line
from recollect.flow.passages import LONG, SIZE, passages, pieces
from recollect.flow.sentences import Span

texts = st.builds(
    lambda parts, times: "".join(parts) * times,
    st.lists(st.sampled_from(["word", " ", "\n", ". ", "x" * 700, " " * 700, "東京"]), max_size=20),
    st.sampled_from([1, 30, 900]),
)


@given(texts)
@example(" " * LONG + "end")
@example("a" * LONG)
@example("a" * (LONG + 1))
def test_passages_are_in_order_and_hold_all_that_is_said(text: str) -> None:
    spans = passages(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert "".join("".join(text[a:b] for a, b in spans).split()) == "".join(text.split())
    if len(text) > LONG:
        assert all(SIZE // 4 <= len(text[start:end]) <= SIZE and text[start:end].strip() for start, end in spans)
    else:
        assert spans == [(0, len(text))]
    assert pieces(text) == [text[start:end] for start, end in spans]


def test_a_passage_ends_with_a_line_else_with_a_sentence_else_with_a_word() -> None:
    def ends(text: str) -> set[str]:
        return {text[start:end][-2:] for start, end in passages(text)[:-1]}

    assert ends("One. two three\n" * 300) == {"e\n"}
    assert ends("One. two three " * 300) == {". "}
    assert {end[-1] for end in ends("one two three " * 300)} == {" "}


NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
LINES = [*(f"Line {n} of a log tells of the harbour and some soup." for n in range(400)), "  x = 1", "東京" * 400]
lines = st.lists(st.sampled_from(LINES), min_size=150, max_size=200)


def parts_of(text: str, spans: Sequence[Span], id: str = "m") -> list[Moment]:
    return [Moment(id, "a", (1, a), NOON, "ada", text[a:b], 1.0, b < len(text)) for a, b in spans]


def packed(moments: Sequence[Moment], budget: int) -> str:
    """What is packed of one message, without its day; tokens are characters."""
    hits = pack(moments, budget, len, str.split, {"soup."})
    assert sum(len(hit.text) + 1 for hit in hits) <= budget
    assert [hit.message_ids for hit in hits] == [("m",)] * len(hits)
    return hits[0].text.split("\n", 1)[1] if hits else ""


def test_a_passage_shows_where_its_text_goes_on() -> None:
    def shown(text: str, *span: int) -> str:
        (moment,) = parts_of(text, [(span[0], span[1])])
        return turn_line(moment)

    assert shown("one two three ", 0, 14) == "ada: one two three "
    assert shown("one two three", 4, 8) == f"ada: {CUT} two {CUT}"
    assert shown("one two three", 0, 4) == f"ada: one {CUT}"
    assert shown("one two three", 8, 13) == f"ada: {CUT} three"


@given(lines, st.sampled_from(["\n", "\n\n", " "]), st.randoms(use_true_random=False))
def test_passages_of_a_message_are_one_quote_whatever_their_order(
    said: list[str], between: str, random: Random
) -> None:
    text = between.join(said)
    spans = passages(text)
    taken = sorted(random.sample(spans, random.randint(1, len(spans))))
    wide = list[Span]()
    for a, b in taken:
        start = wide.pop()[0] if wide and wide[-1][1] == a else a
        wide.append((start, b))
    quote = f" {CUT} ".join(text[a:b].strip() for a, b in wide)
    before, after = f"{CUT} " * (wide[0][0] > 0), f" {CUT}" * (wide[-1][1] < len(text))
    moments = parts_of(text, taken)
    for _ in range(3):
        assert packed(moments, 10**6) == f"ada: {before}{quote}{after}"
        random.shuffle(moments)


@pytest.mark.parametrize("best", [0, 1])
def test_beside_a_whole_passage_the_one_before_or_after_it_is_quoted_as_far_as_there_is_room(best: int) -> None:
    text = "\n".join(LINES)
    moments = parts_of(text, passages(text)[:2])
    whole, other = moments[best], moments[1 - best]
    enough = next(budget for budget in range(5_000) if other.text.strip() in packed([whole, other], budget))
    for room in range(1, 300):
        quote = packed([whole, other], enough - room)
        assert whole.text.strip() in quote
        assert CUT in quote
        assert any(line in quote for line in other.text.splitlines())


@given(lines, st.integers(1, 200), st.randoms(use_true_random=False), st.integers(0, 4_000), st.integers(0, 2_000))
def test_one_quote_of_passages_is_within_the_budget_and_more_of_it_loses_nothing(
    said: list[str], blanks: int, random: Random, budget: int, more: int
) -> None:
    text = (" " * blanks).join(said)
    moments = parts_of(text, passages(text)[:12])
    random.shuffle(moments)
    less, larger = packed(moments, budget), packed(moments, budget + more)
    assert [m.text for m in moments if m.text.strip() in less and m.text.strip() not in larger] == []
    assert f"{CUT} {CUT}" not in less
    assert less.count("ada: ") <= 1
