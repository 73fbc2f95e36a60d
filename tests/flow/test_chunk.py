"""Documents are cut into chunks that lose nothing, are never too large, and know where they stand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError
from recollect.flow.chunk import chunks, one_by_one
from recollect.tokens import estimate

PIECES = [
    "# Title\n",
    "\n## Part\n",
    "\n### Deep\n\n",
    "A sentence of some length. ",
    "Another one, with a number 4417! ",
    "\n\n",
    "- item\n",
    "```\n# no heading\n```\n",
    "x" * 400,
    "\f",
    "好" * 50 + "。",
    "e\u0301" * 60,
    "😀" * 30,
    "Old style\n=====\n",
]
documents = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
counters = st.sampled_from([estimate, len, lambda text: len(text.encode("utf-8", "surrogatepass")) // 2])


@given(documents, counters, st.integers(20, 120), st.integers(0, 19))
def test_every_character_is_in_a_chunk_and_no_chunk_is_too_large(
    text: str, count: Callable[[str], int], size: int, overlap: int
) -> None:
    found = chunks(text, count, size, overlap)
    assert all(text[chunk.start : chunk.end] == chunk.text and chunk.text for chunk in found)
    assert all(count(chunk.text) <= size for chunk in found)
    if text.strip():
        assert found[0].start == 0
        assert found[-1].end == len(text)
    assert list(islice(one_by_one(text, count, size, overlap), 2)) == found[:2]
    for one, other in pairwise(found):
        assert one.start < other.start <= one.end < other.end
        assert other.start == one.end or count(text[other.start : one.end]) <= overlap


def words_of(text: str) -> int:
    return len(text.split())


sections = st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 3, 12, 30, 36]), st.integers(1, 3)), max_size=9)


@given(sections, st.integers(0, 19))
def test_a_chunk_stands_under_the_headings_that_all_sections_in_it_share(
    parts: list[tuple[int, int, int]], overlap: int
) -> None:
    text, open_now, starts = "", list[tuple[int, str]](), list[tuple[int, tuple[str, ...]]]()
    for n, (level, length, times) in enumerate(parts):
        open_now = [one for one in open_now if one[0] < level] + [(level, f"T{n}")]
        starts.append((len(text), tuple(title for _, title in open_now)))
        text += f"{'#' * level} T{n}\n" + ("word " * length + "end.\n") * times
    for chunk in chunks(text, words_of, 40, overlap):
        before = [path for start, path in starts if start <= chunk.start][-1:]
        paths = before + [path for start, path in starts if chunk.start < start < chunk.end]
        last = paths[-1]
        shared = [last[:n] for n in range(len(last) + 1) if all(last[:n][: len(p)] == p[:n] for p in paths)]
        assert chunk.headings == shared[-1]


def test_a_chunk_knows_the_headings_it_stands_under() -> None:
    body = "Some words that say how it is done. " * 8
    text = f"# Guide\n\n{body}\n\n## Install\n\n{body}\n\n### Linux\n\n{body}\n\n## Use\n\n{body}"
    assert [chunk.headings for chunk in chunks(text, estimate)] == [
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Install", "Linux"),
        ("Guide", "Use"),
    ]


def test_short_sections_share_a_chunk_under_the_heading_they_share() -> None:
    text = "# Words\n\n## Log\n\nWhat was said.\n\n## Turn\n\nA question and its answer.\n"
    (chunk,) = chunks(text, estimate)
    assert (chunk.text, chunk.headings) == (text, ("Words",))


def test_a_comment_in_code_is_no_heading_and_a_new_page_is_one() -> None:
    code = "```python\n# not a heading\nx = 1\n```\n" + "It sets x to one. " * 20
    assert {chunk.headings for chunk in chunks(code, estimate)} == {()}
    pages = ("The first page says this. " * 20) + "\f" + ("The second page says that. " * 20)
    assert [chunk.headings for chunk in chunks(pages, estimate)] == [("page 1",), ("page 2",)]


LONG = "It goes on for a while. " * 20


@pytest.mark.parametrize(
    ("before", "closed"),
    [
        ("```pip install it``` does it.\n\n", True),
        ("~~~\n```\n~~~\n\n", True),
        ("~~~ a`b\n# no heading\n~~~\n\n", True),
        ("````md\n```\n# no heading\n```\n````\n\n", True),
        ("```\ncode\n  ```\n\n", True),
        ("- a\n  ```sh\n# no heading\n```\n\n", True),
        ("```sh\n# no heading\n```sh\n\n", False),
    ],
)
def test_headings_after_code_are_headings(before: str, closed: bool) -> None:
    found = chunks(f"# A\n\n{before}{LONG}\n# B\n\n{LONG}", estimate)
    assert {chunk.headings for chunk in found} == ({("A",), ("B",)} if closed else {("A",)})


def test_underlined_words_are_headings_but_in_code() -> None:
    text = f"Guide\n=====\n\n{LONG}\n\nUse\n---\n\n{LONG}\n\n```\n\nTotal\n-----\n4\n```\n\n{LONG}"
    assert {chunk.headings for chunk in chunks(text, estimate)} == {("Guide",), ("Guide", "Use")}


@pytest.mark.parametrize(("sign", "mark"), [("=", "#"), ("-", "##")])
def test_underlined_words_are_headings_of_the_first_two_levels(sign: str, mark: str) -> None:
    text = f"# A\n\n{LONG}\n\nUse\n{sign * 3}\n\n{LONG}\n\n### Log\n\n{LONG}\n\n{mark} End\n\n{LONG}"
    marked = text.replace(f"Use\n{sign * 3}", f"{mark} Use")
    assert [chunk.headings for chunk in chunks(text, estimate)] == [
        chunk.headings for chunk in chunks(marked, estimate)
    ]


def test_headings_stand_under_their_page() -> None:
    text = f"# A\n\n{LONG}\f{LONG}\n# B\n\n{LONG}"
    assert [chunk.headings for chunk in chunks(text, estimate)] == [("page 1", "A"), ("page 2",), ("page 2", "B")]


@given(st.integers(0, 9), st.integers(60, 400), st.integers(20, 60))
def test_what_has_no_sentences_is_cut_between_words_or_letters(before: int, words: int, size: int) -> None:
    text = "It begins. " * before + "kettle " * words
    assert all(text[chunk.start] in "Ik" for chunk in chunks(text, estimate, size, 0))
    accents = "x" * before + "e\u0301" * words
    assert all(accents[chunk.start] in "xe" for chunk in chunks(accents, estimate, size, 0))


@pytest.mark.parametrize(("text", "each"), [("\u0301" * 100, 1), ("\U0001f600" * 3, 30)])
def test_signs_that_can_not_be_cut_well_are_cut_all_the_same(text: str, each: int) -> None:
    found = chunks(text, lambda part: each * len(part), 20, 0)
    assert "".join(chunk.text for chunk in found) == text
    assert all(len(chunk.text) <= max(1, 20 // each) for chunk in found)


def test_lines_may_end_as_on_windows() -> None:
    text = f"Guide\n=====\n\n{LONG}\n\nUse\n---\n\n{LONG}\n\n## Log\n\n" + "no full stop\n\n" * 200
    one, other = (chunks(said, estimate, 100, 0) for said in (text, text.replace("\n", "\r\n")))
    assert {chunk.headings for chunk in other} == {chunk.headings for chunk in one} != {()}
    assert {chunk.text.strip().split("\r\n")[-1] for chunk in other[-5:]} == {"no full stop"}


@given(st.lists(st.integers(1, 12), min_size=20), st.integers(20, 60), st.integers(0, 19))
def test_a_chunk_begins_with_as_many_of_the_last_sentences_as_fit(lengths: list[int], size: int, overlap: int) -> None:
    said = ["A" + " word" * length + ". " for length in lengths]
    ends = [sum(map(len, said[: n + 1])) for n in range(len(said))]
    text = "".join(said)
    found = chunks(text, words_of, size, overlap)
    assert {chunk.end for chunk in found} <= set(ends)
    for one, other in pairwise(found):
        new = ends[ends.index(one.end) + 1]
        starts = [start for start in (0, *ends) if one.start < start <= one.end]
        fitting = [at for at in starts if words_of(text[at : one.end]) <= overlap and words_of(text[at:new]) <= size]
        assert other.start == fitting[0]
        assert words_of(text[one.start : new]) > size


def test_a_sentence_that_goes_on_in_the_next_line_is_not_cut() -> None:
    text = "It goes on for a while,\nand then it ends.\n" * 40
    assert all(chunk.text.endswith("ends.\n") for chunk in chunks(text, words_of, 56, 10))


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (19, 0), (100, 100), (100, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ConfigError, match="tokens"):
        chunks("text", estimate, size, overlap)


def test_nothing_gives_no_chunks() -> None:
    assert chunks("", estimate) == []
    assert chunks(" \n\t", estimate) == []


def test_a_chunk_of_three_short_sections_stands_under_what_all_of_them_share() -> None:
    text = "Notes.\n\n# Rome\n\n## Kings\nRomulus.\n\n## Republic\nBrutus.\n\n## Empire\nAugustus.\n"
    assert [chunk.headings for chunk in chunks(text, estimate)] == [("Rome",)]
    assert [chunk.headings for chunk in chunks(text + "\n# Greece\nSolon.\n", estimate)] == [()]


def test_a_chunk_of_short_pages_names_the_first_and_the_last() -> None:
    slides = "\f".join(f"Slide {n} has a few words." for n in range(1, 8))
    assert [chunk.headings for chunk in chunks(slides, estimate, size=100, overlap=0)] == [
        ("pages 1-3",),
        ("pages 4-6",),
        ("page 7",),
    ]
    titled = "\f".join(f"# Slide {n}\nIt has a few words." for n in range(1, 5))
    assert [chunk.headings for chunk in chunks(titled, words_of, size=100, overlap=0)] == [("pages 1-4",)]


def test_a_long_section_is_named_also_where_a_short_one_comes_before_it() -> None:
    text = "# Manual\n\n## Scope\nKettles.\n\n## Descaling\n" + "Fill it with vinegar and boil it twice. " * 90
    first, *rest = [chunk.headings for chunk in chunks(text, estimate, overlap=0)]
    assert first == ("Manual",)
    assert set(rest) == {("Manual", "Descaling")}


def test_for_the_first_chunk_the_rest_of_a_text_is_not_cut() -> None:
    counted = Mock(side_effect=estimate)
    next(one_by_one("A sentence of some length. " * 1_000, counted, 100, 0))
    assert counted.call_count < 50
