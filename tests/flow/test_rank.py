"""Ranking: each channel does what it says, for any columns."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow import rank
from recollect.flow.overlap import rarity
from recollect.flow.rank import Near, Numbers, Places, Question, Turns


def turns_of(sessions: list[int], words: float | list[float] = 10) -> Turns:
    n, last = len(sessions), dict[int, int]()
    before, after = np.full(n, -1), np.full(n, -1)
    for place, session in enumerate(sessions):
        if session in last:
            before[place], after[last[session]] = last[session], place
        last[session] = place
    lengths = np.minimum(np.full(n, words, np.float64), rank.LONGEST)
    lenders = np.full((n, 2 * rank.REACH), -1)
    for side, step in enumerate((before, after)):
        for place in range(n):
            at = place
            for far in range(rank.REACH if rank.lends(lengths[place]) else 0):
                at = step[at]
                if at < 0 or not rank.lends(lengths[at]):
                    break
                lenders[place, side * rank.REACH + far] = at
    borrowed = np.array([sum(lengths[at] for at in row if at >= 0) for row in lenders], np.float64)
    return Turns(
        session=np.array(sessions, np.int32), before=before.astype(np.int32), after=after.astype(np.int32),
        lenders=lenders.astype(np.int32), length=lengths + rank.LENT * borrowed, worth=np.zeros(n), long=np.zeros(n),
        day=(np.arange(n) + 1_000).astype(np.int32), own=((np.arange(n) + 1) % 2).astype(np.float64),
        speaker=(np.arange(n) % 2).astype(np.int32),
        runs=np.array([at for at in range(n) if not at or sessions[at] != sessions[at - 1]], np.int32),
    )  # fmt: skip


def holding(*places: int) -> Places:
    return np.array(places, np.int64)


def near_by(known: dict[int, float]) -> Near:
    return np.array(list(known), np.int64), np.array(list(known.values()), np.float64)


def asking(**signals: Any) -> Question:
    base: dict[str, Any] = {"meaning": None, "postings": [], "periods": [], "today": 10_000}
    return Question(**{**base, **signals})


def scores_of(turns: Turns, question: Question) -> Numbers:
    return rank.score(turns, question)[0]


columns = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@given(columns, st.data())
def test_scores_are_finite_and_deterministic(sessions: list[int], data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(0, len(sessions) - 1)))
    known = {place: data.draw(st.floats(-1, 1)) for place in places}
    question = asking(
        meaning=near_by(known) if known else None, postings=[holding(*sorted(places))], periods=[(1_001, 1_003)]
    )
    scores = scores_of(turns_of(sessions), question)
    assert np.isfinite(scores).all()
    assert (scores == scores_of(turns_of(sessions), question)).all()
    assert sorted(rank.best_first(scores, len(scores))) == list(range(len(sessions)))


@given(columns, st.data())
def test_a_score_is_the_sum_of_what_its_signals_are_worth(sessions: list[int], data: st.DataObject) -> None:
    def each(*values: float) -> Numbers:
        return np.array([data.draw(st.sampled_from(values)) for _ in sessions])

    turns = turns_of(sessions)._replace(worth=each(0, -0.2, -2), long=each(0, -0.3), own=each(0, 1))
    held = np.flatnonzero(each(0, 1)) if data.draw(st.booleans()) else None
    near = near_by(dict(enumerate(each(-0.1, 0.2, 0.5)))) if data.draw(st.booleans()) else None
    question = asking(
        meaning=near, postings=[] if held is None else [held], today=data.draw(st.integers(998, 1_032)),
        periods=data.draw(st.sampled_from([[], [(1_001, 1_003)]])), recency=data.draw(st.sampled_from([0.0, 2.0])),
        speaker=data.draw(st.none() | st.integers(0, 1)), prefer_own=data.draw(st.booleans()),
    )  # fmt: skip
    matched = rank.keywords(turns, question.postings)
    matched /= max(matched.max(), 1e-6)
    total = 0.8 * matched + turns.worth - 2.0 * (turns.day > question.today)
    total += turns.long * (1 - rank.held(turns, [held]) if near is None and held is not None else 1)
    total += rank.dated(turns.day, question.periods) + 0.6 * (turns.speaker == question.speaker)
    total += question.recency * 0.5 ** (np.maximum(question.today - turns.day, 0) / 30)
    if near is not None:
        rank.add_meaning(total, turns, near)
    if question.prefer_own:
        total += turns.own * (1 if near is None and held is None else rank.agreeing(matched, near))
    best = [max(total[turns.session == session]) for session in sessions]
    assert scores_of(turns, question) == pytest.approx(total + 0.3 * np.array(best))


@given(columns, st.data())
def test_how_well_a_turn_answers_whoever_said_it_is_its_score_where_that_does_not_count(
    sessions: list[int], data: st.DataObject
) -> None:
    places = data.draw(st.sets(st.integers(0, len(sessions) - 1)))
    known = {place: data.draw(st.floats(-1, 1)) for place in places}
    meaning = near_by(known) if known else None
    turns, signals = turns_of(sessions), {"meaning": meaning, "postings": [holding(*sorted(places))]}
    _, whoever = rank.score(turns, asking(**signals, prefer_own=True))
    assert whoever is not None
    rank.add_session_best(whoever, turns)
    scores, same = rank.score(turns, asking(**signals))
    assert (whoever == scores).all()
    assert same is None


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


@given(columns, st.data())
def test_what_matches_holds_a_word_or_is_of_the_day_or_the_speaker(sessions: list[int], data: st.DataObject) -> None:
    turns, places = turns_of(sessions), st.sets(st.integers(0, len(sessions) - 1))
    words = data.draw(st.lists(places, max_size=3))
    speaker = data.draw(st.none() | st.integers(0, 1))
    day = data.draw(st.none() | st.integers(1_000, 1_030))
    question = asking(
        postings=[holding(*held) for held in words], speaker=speaker, periods=[] if day is None else [(day, day)]
    )
    wanted = set[int]().union(*words)
    wanted |= {place for place in range(len(sessions)) if turns.speaker[place] == speaker}
    wanted |= {place for place in range(len(sessions)) if day is not None and -4 < turns.day[place] - day < 10}
    assert rank.matching(turns, question).tolist() == sorted(wanted)


def test_a_long_turn_lends_nothing() -> None:
    assert rank.keywords(turns_of([0, 0, 0], words=500), [holding(1)])[0] == 0


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    turns = turns_of(list(range(20)))
    assert rank.keywords(turns, [holding(3)])[3] > rank.keywords(turns, [holding(*range(15))])[3]


def meaning(turns: Turns, known: dict[int, float]) -> Numbers:
    total = np.zeros(len(turns.session))
    rank.add_meaning(total, turns, near_by(known))
    return total


def test_meaning_is_nought_at_the_median_and_one_at_the_best() -> None:
    worth = meaning(turns_of([0, 1, 2]), {0: 0.7, 1: 0.8, 2: 0.9})
    assert worth.round(6).tolist() == [-1.0, 0.0, 1.0]


def test_meaning_takes_no_more_than_it_gives_where_most_turns_are_as_near_as_the_best() -> None:
    worth = meaning(turns_of([0, 1, 2]), {0: 0.3, 1: 0.9, 2: 0.9})
    assert worth.round(6).tolist() == [-rank.MEANING, 0.0, 0.0]


def plain_meaning(turns: Turns, known: dict[int, float]) -> Numbers:
    floor = min(known.values())
    near = [known.get(place, floor) for place in range(len(turns.session))]
    pairs = zip(turns.before, turns.after, strict=True)
    beside = [[near[at] for at in pair if at >= 0] for pair in pairs]
    around = [sum(each) / len(each) if each else float(np.median(near)) for each in beside]
    above = [np.array(values) - np.median(values) for values in (near, around)]
    own, lent = (np.maximum(each / max(*each, 1e-6), -1.0) for each in above)
    total: Numbers = rank.MEANING * own + rank.NEIGHBOURS_MEANING * lent
    return total


cosines = st.lists(st.integers(-99, 99).map(lambda percent: percent / 100), min_size=1, max_size=9)


@given(cosines, cosines)
def test_another_models_cosines_keep_their_order_and_get_this_ones_median_and_best(
    old: list[float], new: list[float]
) -> None:
    theirs, ours = near_by(dict(enumerate(old))), near_by(dict(enumerate(new)))
    places, scaled = rank.aligned(theirs, ours)
    assert list(places) == list(theirs[0])
    assert rank.median(scaled) == pytest.approx(rank.median(ours[1]))
    assert (np.diff(scaled[np.argsort(old)]) >= 0).all()
    if max(old) > rank.median(theirs[1]) + 0.001:
        assert scaled.max() == pytest.approx(max(new))
    else:
        assert scaled - rank.median(scaled) == pytest.approx(np.array(old) - rank.median(theirs[1]))
    assert rank.aligned(theirs, near_by({})) is theirs
    assert rank.aligned(near_by({}), ours)[0].size == 0


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_meaning_is_the_same_however_few_turns_are_known(sessions: list[int], data: st.DataObject) -> None:
    places = st.integers(0, len(sessions) - 1)
    cosines = st.floats(-1, 1).map(lambda cosine: round(cosine, 3))
    known = data.draw(st.dictionaries(places, cosines, min_size=1, max_size=data.draw(st.integers(1, 60))))
    turns = turns_of(sessions)
    assert meaning(turns, known) == pytest.approx(plain_meaning(turns, known), abs=1e-9)


def plain_keywords(turns: Turns, postings: list[Places]) -> Numbers:
    lengths = turns.length
    total = np.zeros(len(lengths))
    for places in postings:
        own = [list(places).count(place) for place in range(len(lengths))]
        seen = [
            mine + rank.LENT * sum(own[at] for at in row if at >= 0)
            for mine, row in zip(own, turns.lenders, strict=True)
        ]
        holders = sum(each > 0 for each in seen)
        rarity = math.log(1 + (len(seen) - holders + 0.5) / (holders + 0.5))
        norm = rank.K1 * (1 - rank.B + rank.B * lengths / lengths.mean())
        total += rarity * np.array(seen) * (rank.K1 + 1) / (np.array(seen) + norm)
    return total


@given(st.lists(st.integers(0, 128).map(lambda n: n / 128), min_size=1))
def test_the_nearer_half_is_what_is_no_farther_from_the_best_than_from_the_median(near: list[float]) -> None:
    found = rank.nearer_half(len(near), near_by(dict(enumerate(near))))
    middle = float(np.median(near))
    assert found.tolist() == [n for n, one in enumerate(near) if one >= middle and max(near) - one <= one - middle]
    assert near.index(max(near)) in found


def test_where_few_are_known_the_nearer_half_is_of_those() -> None:
    assert rank.nearer_half(50, near_by({3: 0.5, 7: 0.75, 9: 1.0})).tolist() == [7, 9]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1.0, 20.0, 500.0])), min_size=1, max_size=30), st.data())
def test_keywords_are_bm25_over_what_a_turn_has_and_borrows(each: list[tuple[int, float]], data: st.DataObject) -> None:
    turns = turns_of([session for session, _ in each], [words for _, words in each])
    postings = data.draw(
        st.lists(st.lists(st.integers(0, len(each) - 1), min_size=1).map(lambda p: holding(*sorted(p))), max_size=3)
    )
    assert rank.keywords(turns, postings) == pytest.approx(plain_keywords(turns, postings), abs=1e-9)


@given(st.lists(st.integers(-3, 3), max_size=300), st.integers(1, 40))
def test_the_best_come_first_and_of_equal_ones_the_earlier(scores: list[int], count: int) -> None:
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    assert rank.best_first(np.array(scores, np.float64), count).tolist() == order[:count]


def test_a_date_fades_faster_before_than_after() -> None:
    match = rank.dated(np.array([998, 1_000, 1_002, 1_012], np.int32), [(1_000, 1_001)])
    assert match[1] == 1 > match[2] > match[0] > match[3]


def test_what_was_not_said_yet_comes_last() -> None:
    assert rank.best_first(scores_of(turns_of([0, 1, 2]), asking(today=1_001)), 3)[-1] == 2


def test_a_named_speaker_and_the_users_own_words_come_first() -> None:
    assert rank.best_first(scores_of(turns_of([0, 1]), asking(speaker=1)), 2)[0] == 1
    assert rank.best_first(scores_of(turns_of([0, 1]), asking(prefer_own=True)), 2)[0] == 0


def test_a_long_turn_pays_for_its_length() -> None:
    turns = turns_of([0, 1])
    turns.long[0] = rank.long(640)
    short, long = scores_of(turns, asking())[[1, 0]]
    assert short > long


@given(columns, st.data())
def test_a_turn_holds_the_part_of_the_words_that_it_has_by_their_rarity(
    sessions: list[int], data: st.DataObject
) -> None:
    words = data.draw(st.lists(st.lists(st.integers(0, len(sessions) - 1), min_size=1), max_size=3))
    weights = [rarity(len(set(word)), len(sessions)) for word in words]
    parts = [
        sum(weight for word, weight in zip(words, weights, strict=True) if place in word) / (sum(weights) or 1)
        for place in range(len(sessions))
    ]
    found = rank.held(turns_of(sessions), [holding(*sorted(word)) for word in words])
    assert found.tolist() == pytest.approx(parts)


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=20), st.data())
def test_by_words_alone_what_holds_all_of_them_is_before_what_holds_none_however_long_it_is_and_whoever_said_it(
    words: list[int], data: st.DataObject
) -> None:
    turns = turns_of(list(range(len(words))), [float(each) for each in words])
    turns.long[:] = [rank.long(each) for each in words]
    place = data.draw(st.integers(0, len(words) - 1))
    scores = scores_of(turns, asking(postings=[holding(place)] * 2, prefer_own=True))
    assert rank.best_first(scores, 1).tolist() == [place]


@given(st.integers(0, 9), st.data())
def test_what_a_user_said_of_something_else_is_not_before_what_answers(answers: int, data: st.DataObject) -> None:
    turns = turns_of(list(range(10)))
    turns.own[:] = [place != answers for place in range(10)]
    near = {place: data.draw(st.floats(0.7, 0.72)) for place in range(10)} | {answers: 0.9}
    words = data.draw(st.sampled_from(([], [holding(answers)])))
    scores = scores_of(turns, asking(meaning=near_by(near), postings=words, prefer_own=True))
    assert rank.best_first(scores, 1).tolist() == [answers]


@given(st.floats(0, 1), st.integers(0, 9))
def test_own_words_count_in_full_from_half_of_the_best_match_on_by_words_or_by_meaning(part: float, best: int) -> None:
    matched, meant = np.zeros(10), dict.fromkeys(range(10), 0.7)
    matched[best], matched[best - 1] = 1.0, part
    assert rank.agreeing(matched, None)[best - 1] == min(1.0, 2 * part)
    by_both = rank.agreeing(np.zeros(10), near_by(meant | {best: 0.9, best - 1: 0.7 + 0.2 * part}))
    assert by_both[best - 1] == pytest.approx(min(1.0, 2 * part), abs=1e-6)
    assert rank.agreeing(matched, near_by(meant | {best - 2: 0.9}))[[best, best - 2]].tolist() == [1.0, 1.0]


def test_no_turns_have_no_scores() -> None:
    assert scores_of(turns_of([]), asking(postings=[])).tolist() == []


def test_what_a_turn_pays_for_its_length() -> None:
    assert rank.long(0) == rank.long(rank.LONG) == 0
    assert rank.long(8 * rank.LONG) == pytest.approx(3 * rank.LENGTH)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=40))
def test_each_turn_gets_its_share_of_the_best_in_its_session(each: list[tuple[int, int]]) -> None:
    sessions, scores = [session for session, _ in each], [score for _, score in each]
    best = [max(score for other, score in each if other == session) for session in sessions]
    found = np.array(scores, np.float64)
    rank.add_session_best(found, turns_of(sessions))
    assert found.tolist() == [score + rank.SESSION * most for score, most in zip(scores, best, strict=True)]


def test_short_answers_soon_after_the_best_turn_count_more() -> None:
    turns = turns_of([0] * 10 + [1] * 2)
    turns.long[3] = rank.long(2 * rank.LONG)
    for best, answers in ((0, [1, 5]), (7, [9]), (9, []), (10, [11])):
        scores = np.zeros(12)
        scores[best] = 1
        rank.add_answers(scores, turns, best)
        assert np.flatnonzero(scores == rank.ANSWER).tolist() == answers
    scores = np.array([0.9, 0.8, 0, 0, 0, 1.0] + [0] * 6)
    rank.add_answers(scores, turns, 0)
    assert (scores[1], scores[5]) == (0.9, 1.0)
    scores = np.array([0.01, -0.49] + [-1.0] * 10)
    rank.add_answers(scores, turns, 0)
    assert rank.best_first(scores, 2).tolist() == [0, 1]


parts = st.floats(0, 1)
many = st.integers(0, 10**6)


@given(st.floats(-9, 9), many, many, parts, parts, parts)
def test_more_turns_and_more_unheard_of_ask_for_a_nearer_turn(
    above: float, one: int, other: int, part: float, more: float, floor: float
) -> None:
    few, many = sorted((one, other))
    less, more = sorted((part, more))
    if rank.is_by_chance(above, few, less, floor):
        assert rank.is_by_chance(above, many, less, floor)
        assert rank.is_by_chance(above, few, more, floor)
        assert rank.is_by_chance(above - 1, few, less, floor)
        assert rank.is_by_chance(above, few, less, floor / 2)


def test_what_is_by_chance_of_many_is_not_of_few() -> None:
    assert rank.is_by_chance(1.5, turns=500, unheard=0.5, floor=0.5)
    assert not rank.is_by_chance(1.5, turns=20, unheard=0.5, floor=0.5)
    assert rank.is_by_chance(1.5, turns=20, unheard=1.0, floor=0.0)
    assert not rank.is_by_chance(1.5, turns=500, unheard=0.0, floor=1.0)


@given(columns, st.integers(1_000, 1_030), st.integers(0, 30), st.data())
def test_what_was_said_in_a_period_comes_a_turn_of_each_days_talk_at_a_time(
    sessions: list[int], first: int, many: int, data: st.DataObject
) -> None:
    n, last = len(sessions), first + many
    days = sorted(data.draw(st.lists(st.integers(1_000, 1_030), min_size=n, max_size=n)))
    turns = turns_of(sessions)._replace(day=np.array(days, np.int32))
    scores = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), np.float64)
    said = np.array([place for place in range(n) if first <= days[place] <= last], np.int64)
    places = rank.throughout(turns, scores, said).tolist()
    assert sorted(places) == said.tolist()
    talks = [(sessions[place], days[place]) for place in places]
    rounds = [talks[:at].count(talk) for at, talk in enumerate(talks)]
    assert rounds == sorted(rounds)
    best = [(talk, -scores[place]) for place, talk in zip(places, talks, strict=True)]
    assert all(one[1] <= two[1] for at, one in enumerate(best) for two in best[at:] if one[0] == two[0])
    begins = [day for (_, day), turn in zip(talks, rounds, strict=True) if turn == 0]
    assert begins[:1] == [day for day in days[::-1] if first <= day <= last][:1]
    for at in range(1, len(begins)):
        gaps = [min(abs(day - other) for other in begins[:at]) for day in begins[at:]]
        assert gaps[0] == max(gaps)


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_the_median_is_that_of_numpy(values: list[float]) -> None:
    assert rank.median(np.array(values)) == np.median(values)


def test_what_numpy_loads_for_its_own_median_is_not_loaded() -> None:
    code = (
        "import sys, numpy; from recollect.flow import rank; "
        "rank.nearer_half(2, (numpy.arange(2), numpy.ones(2))); sys.exit('numpy.ma' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
