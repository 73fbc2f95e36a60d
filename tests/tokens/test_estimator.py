"""The estimator: total over text, bounded, and seldom too low against the real encodings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError
from recollect.tokens import counter, estimate
from recollect.tokens.estimator import estimator
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


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "\udfff\ud800", "e\u0301" * 50, "\u202eabc\u202c", "\r\n\t"])
def test_odd_text_is_counted(text: str) -> None:
    assert 0 <= estimate(text) <= byte_length(text)


def test_a_lone_surrogate_counts_like_the_bytes_it_takes() -> None:
    assert 1 <= estimate("a\ud800b") <= 5


def test_counting_is_the_same_every_time() -> None:
    assert [estimate(text) for text in SAMPLES.values()] == [estimate(text) for text in SAMPLES.values()]


def test_an_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"'gpt2'.*any, o200k"):
        estimator("gpt2")


def published() -> list[list[str]]:
    rows = [line.split(" | ") for line in TABLE.read_text("utf-8").splitlines() if re.match(r"\| .*%", line)]
    assert len(rows) > 40
    return rows


def worst(column: int) -> float:
    return min(int(row[column].split("%")[0]) for row in published()) / 100


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("encoding, column", [("o200k_base", 2), ("cl100k_base", 3)])
def test_fresh_text_is_not_under_counted_beyond_the_published_worst(name: str, encoding: str, column: int) -> None:
    text = SAMPLES[name]
    real = counter(f"tiktoken:{encoding}")(text)
    assert estimate(text) >= real * (1 + worst(column) - 0.01)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimator_for_o200k_keeps_its_published_worst(name: str) -> None:
    text = SAMPLES[name]
    assert counter("estimate:o200k")(text) >= counter("tiktoken:o200k_base")(text) * (1 + worst(4) - 0.01)


@pytest.mark.parametrize("name", ["Greek", "Russian", "Hebrew", "Arabic", "Hindi", "Thai", "Chinese", "Japanese"])
def test_the_estimator_for_o200k_is_tighter_beyond_the_latin_script(name: str) -> None:
    assert counter("estimate:o200k")(SAMPLES[name]) < 0.8 * estimate(SAMPLES[name])


def test_common_text_is_not_over_counted_by_half() -> None:
    for name in ("English", "Python", "JSON, indented", "CSV"):
        assert estimate(SAMPLES[name]) <= 1.5 * counter("tiktoken:o200k_base")(SAMPLES[name]), name


def test_a_long_text_counts_at_least_the_sum_of_what_it_must() -> None:
    assert estimate("word " * 1000) >= 1000
    assert estimate("字" * 1000) >= 1000
