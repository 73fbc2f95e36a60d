"""How much of a question a text holds."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.overlap import FEW, dwelling, rarity, shares, unheard
from recollect.settings import Settings

words = st.sampled_from("abcdefgh")


@given(st.lists(words, unique=True), st.dictionaries(st.integers().map(str), st.frozensets(words)))
def test_a_share_is_from_none_to_all_and_grows_with_what_is_held(
    asked: list[str], held: dict[str, frozenset[str]]
) -> None:
    found = shares(asked, held)
    assert set(found) == set(held)
    for key, said in held.items():
        assert 0 <= found[key] <= 1 + 1e-9
        assert (found[key] > 0) == bool(said.intersection(asked))
        assert all(found[key] <= found[other] + 1e-9 for other, more in held.items() if said <= more)
    full = [key for key, said in held.items() if asked and said.issuperset(asked)]
    assert all(abs(found[key] - 1) < 1e-9 for key in full)


def test_a_word_that_every_text_holds_says_little_and_a_missing_one_much() -> None:
    held = {str(n): frozenset({"long", f"w{n}"}) for n in range(20)}
    assert shares(["long", "egg"], held)["3"] < 0.05
    assert shares(["long", "w3"], held)["3"] == 1
    assert shares(["long", "w3"], held)["4"] < 0.05


@given(st.integers(1, 2), st.integers(0, 6))
def test_of_a_few_texts_those_with_one_of_two_asked_words_are_about_the_question(about: int, others: int) -> None:
    held = {f"about {n}": frozenset({"warranty"}) for n in range(about)}
    held |= {f"other {n}": frozenset({"reset"}) for n in range(others)}
    found = shares(["long", "warranty"], held)
    assert all(found[f"about {n}"] >= Settings().documents_threshold for n in range(about))
    assert all(found[f"other {n}"] == 0 for n in range(others))


@given(st.lists(words, unique=True), st.dictionaries(st.integers(), st.lists(words).map(Counter)))
def test_a_text_dwells_on_a_word_the_more_often_it_says_it_in_the_same_room(
    asked: list[str], counted: dict[int, Counter[str]]
) -> None:
    found = dwelling(asked, counted)
    assert found == dwelling(asked, dict(reversed(counted.items())))
    for key, said in counted.items():
        held = said.keys() & set(asked)
        assert (found[key] > 0) == bool(held)
        roomy = {**counted, key: said + Counter(other=1)}
        for word in held:
            assert dwelling(asked, {**counted, key: said + Counter([word])})[key] > dwelling(asked, roomy)[key]


@given(st.integers(1, 20), st.integers(2, 40))
def test_a_text_of_the_usual_length_needs_a_word_twice_for_half_of_what_it_can_count(texts: int, length: int) -> None:
    counted = {n: Counter(b=length) for n in range(texts)} | {0: Counter(a=2, b=length - 2)}
    assert math.isclose(dwelling(["a"], counted)[0], rarity(1, max(texts, FEW)) / 2)


@given(st.lists(st.integers(0, 9)), st.integers(1, 9))
def test_what_is_unheard_is_from_none_to_all_and_shrinks_with_what_is_said(holders: list[int], texts: int) -> None:
    part = unheard(holders, texts)
    assert 0 <= part <= 1
    assert (part == 0) == (0 not in holders)
    assert not holders or unheard([0] * len(holders), texts) == 1
    assert unheard([max(1, held) for held in holders], texts) == 0
    assert unheard([*holders, 1], texts) <= part


def test_a_rare_word_that_was_said_weighs_more_than_a_common_one() -> None:
    assert unheard([0, 1], 100) < unheard([0, 90], 100)
