"""The estimator: total over text, bounded, and seldom too low against the real encodings."""

from __future__ import annotations

import re
import string
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory, store
from recollect.errors import BudgetTooSmall, ConfigError
from recollect.tokens import counter, estimate
from recollect.tokens.estimator import cut, estimator
from tests.tokens.token_samples import texts

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
SAMPLES = texts()
TABLE = Path(__file__).parents[2] / "docs" / "tokens.md"
PER_JOIN = 6
"""Tokens that joining two texts may add: what starts at a text's first byte, and the pair at the seam."""


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@given(ANY_TEXT)
def test_any_text_has_from_none_to_as_many_tokens_as_bytes(text: str) -> None:
    assert 0 <= estimate(text) <= byte_length(text)


@given(ANY_TEXT.filter(bool))
def test_text_that_is_not_empty_is_never_free(text: str) -> None:
    assert estimate(text) >= 1


@given(ANY_TEXT, ANY_TEXT)
def test_joining_texts_never_loses_tokens_and_adds_few(first: str, second: str) -> None:
    joined = estimate(first + second)
    assert joined >= max(estimate(first), estimate(second)) - 1
    assert joined <= estimate(first) + estimate(second) + PER_JOIN


@given(st.lists(ANY_TEXT, min_size=1, max_size=6))
def test_a_text_of_lines_that_were_counted_before_has_as_many_tokens_as_a_new_one(lines: list[str]) -> None:
    fresh, knowing, text = estimator(), estimator(), "\n".join(lines)
    for line in lines[1:]:
        knowing(line)
    assert knowing(text) == fresh(text)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "\udfff\ud800", "e\u0301" * 50, "\u202eabc\u202c", "\r\n\t"])
def test_odd_text_is_counted(text: str) -> None:
    assert 0 <= estimate(text) <= byte_length(text)


def test_a_lone_surrogate_counts_like_the_bytes_it_takes() -> None:
    assert 1 <= estimate("a\ud800b") <= 5


def test_an_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"'gpt2'.*any, o200k"):
        estimator("gpt2")


def published() -> list[list[str]]:
    rows = [line.split(" | ") for line in TABLE.read_text("utf-8").splitlines() if re.match(r"\| .*%", line)]
    assert len(rows) > 40
    return rows


def worst(column: int) -> float:
    return min(int(row[column].split("%")[0]) for row in published()) / 100


def pieces(text: str) -> list[str]:
    """The text in pieces of 600 characters; a rest of less than 200 belongs to the piece in front."""
    return [text[at : at + 600 if at + 800 < len(text) else None] for at in range(0, max(len(text) - 199, 1), 600)]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    "kind, encoding, column",
    [("estimate", "o200k_base", 2), ("estimate", "cl100k_base", 3), ("estimate:o200k", "o200k_base", 4)],
)
def test_no_piece_of_fresh_text_is_under_counted_beyond_the_published_worst(
    name: str, kind: str, encoding: str, column: int
) -> None:
    exact, count = counter(f"tiktoken:{encoding}"), counter(kind)
    assert min(count(piece) / exact(piece) - 1 for piece in pieces(SAMPLES[name])) >= worst(column) - 0.01


def test_the_published_worst_of_the_default_is_a_few_percent() -> None:
    assert min(worst(2), worst(3)) >= -0.03


SAFE = (
    "English, longer",
    "English",
    "Python",
    "JSON",
    "JSON, indented",
    "CSV",
    "Chinese",
    "Japanese",
    "Hindi",
    "emoji",
    "base64",
)


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_common_kinds_of_fresh_text_are_not_under_counted_by_more_than_a_percent(name: str, encoding: str) -> None:
    exact = counter(f"tiktoken:{encoding}")
    assert min(estimate(piece) / exact(piece) - 1 for piece in pieces(SAMPLES[name])) >= -0.01


@pytest.mark.parametrize("name", ["Greek", "Russian", "Hebrew", "Arabic", "Hindi", "Thai", "Chinese", "Japanese"])
def test_the_estimator_for_o200k_is_tighter_beyond_the_latin_script(name: str) -> None:
    assert counter("estimate:o200k")(SAMPLES[name]) < 0.9 * estimate(SAMPLES[name])


@pytest.mark.parametrize(
    "name, most", [("English, longer", 0.22), ("Python", 0.3), ("JSON", 0.2), ("JSON, indented", 0.2), ("CSV", 0.2)]
)
def test_common_text_is_not_over_counted_by_much(name: str, most: float) -> None:
    for encoding in ("o200k_base", "cl100k_base"):
        assert estimate(SAMPLES[name]) <= (1 + most) * counter(f"tiktoken:{encoding}")(SAMPLES[name])


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\r\n", "\r", "\v", "\f", " \n", "\n ", "\n\n  ", "\u3000", "\x00"])
@pytest.mark.parametrize("times", [50, 200, 5000])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_white_space_however_long_is_not_under_counted(blank: str, times: int, encoding: str) -> None:
    assert estimate(blank * times) >= counter(f"tiktoken:{encoding}")(blank * times)


@pytest.mark.parametrize("row", ["!@#$%^&*()_+", ".:-=+*#%@.-:+", "\"'\"'", ")))(((", "++++[>++<-]>.>---.<<", "@#$%&!"])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_rows_of_mixed_signs_are_not_under_counted(row: str, encoding: str) -> None:
    assert estimate(row * 100) >= counter(f"tiktoken:{encoding}")(row * 100)


@given(st.text(string.punctuation, min_size=100, max_size=400))
def test_whatever_signs_follow_each_other_are_seldom_under_counted(row: str) -> None:
    assert estimate(row) >= 0.9 * counter("tiktoken:o200k_base")(row)


def test_a_long_text_counts_at_least_the_sum_of_what_it_must() -> None:
    assert estimate("word " * 1000) >= 1000
    assert estimate("字" * 1000) >= 1000


def test_a_question_of_any_length_is_counted_once_while_a_context_is_built_for_it() -> None:
    memory = Memory(store.open(":memory:"))
    with patch("recollect.tokens.estimator.cut", Mock(wraps=cut)) as counted, memory:
        with pytest.raises(BudgetTooSmall):
            memory.session("trip", user="ada").context("Where do we go? " * 50_000, budget=8_000)
        long = [call for call in counted.call_args_list if len(call.args[0]) > 100_000]
    assert len(long) == 1
