"""Ranking: each channel does what it says, for any columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow import rank
from recollect.flow.rank import Posting, Question, Turns


def turns_of(sessions: list[int], words: float = 10, tokens: float = 20) -> Turns:
    n, last = len(sessions), dict[int, int]()
    before, after = np.full(n, -1), np.full(n, -1)
    for place, session in enumerate(sessions):
        if session in last:
            before[place], after[last[session]] = last[session], place
        last[session] = place
    return Turns(
        np.array(sessions, np.int64), before, after, np.full(n, float(words)), np.full(n, float(tokens)),
        np.arange(n) + 1_000, np.zeros(n, bool), np.arange(n) % 2 == 0, np.arange(n) % 2,
    )  # fmt: skip


def holding(*places: int) -> Posting:
    return np.array(places, np.int64), np.ones(len(places))


def asking(**signals: object) -> Question:
    base: dict[str, object] = {"meaning": None, "postings": [], "periods": [], "today": 10_000}
    return Question(**{**base, **signals})  # type: ignore[arg-type]


columns = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(columns, st.data())
def test_scores_are_finite_and_deterministic(sessions: list[int], data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(0, len(sessions) - 1)))
    known = {place: data.draw(st.floats(-1, 1)) for place in places}
    question = asking(meaning=known or None, postings=[holding(*sorted(places))], periods=[(1_001, 1_003)])
    scores = rank.score(turns_of(sessions), question)
    assert np.isfinite(scores).all()
    assert (scores == rank.score(turns_of(sessions), question)).all()
    assert sorted(rank.best_first(scores)) == list(range(len(sessions)))


@given(columns, st.data())
def test_the_turn_that_holds_the_word_is_first(sessions: list[int], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(sessions) - 1))
    found = rank.keywords(turns_of(sessions), [holding(place)])
    assert found[place] == found.max() > 0


def test_a_neighbour_lends_its_words_within_its_session_only() -> None:
    found = rank.keywords(turns_of([0, 0, 0, 0, 1]), [holding(1)])
    assert found[1] > max(found[0], found[2])
    assert min(found[0], found[2]) > 0
    assert found[3] > 0
    assert found[4] == 0


def test_a_long_turn_lends_nothing() -> None:
    assert rank.keywords(turns_of([0, 0, 0], words=500), [holding(1)])[0] == 0


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    turns = turns_of(list(range(20)))
    assert rank.keywords(turns, [holding(3)])[3] > rank.keywords(turns, [holding(*range(15))])[3]


def test_meaning_is_nought_at_the_median_and_one_at_the_best() -> None:
    near, _ = rank.meaning(turns_of([0, 1, 2]), {0: 0.7, 1: 0.8, 2: 0.9})
    assert near.round(6).tolist() == [-1.0, 0.0, 1.0]


def test_a_date_fades_faster_before_than_after() -> None:
    match = rank.dated(np.array([998, 1_000, 1_002, 1_012]), [(1_000, 1_001)])
    assert match[1] == 1 > match[2] > match[0] > match[3]


def test_what_was_not_said_yet_comes_last() -> None:
    assert rank.best_first(rank.score(turns_of([0, 1, 2]), asking(today=1_001)))[-1] == 2


def test_a_named_speaker_and_the_users_own_words_come_first() -> None:
    assert rank.best_first(rank.score(turns_of([0, 1]), asking(speaker=1)))[0] == 1
    assert rank.best_first(rank.score(turns_of([0, 1]), asking(prefer_own=True)))[0] == 0


def test_a_long_turn_pays_for_its_length() -> None:
    turns = turns_of([0, 1])
    turns.tokens[0] = 640
    short, long = rank.score(turns, asking())[[1, 0]]
    assert short > long


def test_no_turns_have_no_scores() -> None:
    assert rank.score(turns_of([]), asking(postings=[])).tolist() == []
