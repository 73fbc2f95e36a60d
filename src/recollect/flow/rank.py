"""Which turns answer a question: every channel's signal, scaled and summed to one score a turn.

    score = 1.0 meaning + 0.3 neighbours' meaning + 0.8 keywords in the turn and around it + 0.6 speaker
          + 1.0 the user's own words + 1.0 date - 0.2 it asks something itself - 2.0 not said yet
          - 2.0 memory itself was the answer - 0.3 for each doubling of its length beyond 60 words
          + recency (0 unless asked for)
          + 0.3 x the best score in its session
          + 0.5 it is a short answer of an assistant's, soon after the best turn

The user's own words count as far as the turn agrees with the question, by its words or its meaning. Where words are all
there is to go by, length counts as far as the turn lacks words of the question: what shares no word with it is not
before what holds them all.

The weights were chosen on the development half of two sets of conversations; `benchmarks/recall.py` measures what each
one is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.flow.overlap import rarity
from recollect.flow.when import Period
from recollect.largest import largest

Numbers: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Marks: TypeAlias = NDArray[np.int32]
Near: TypeAlias = tuple[Places, Numbers]
"""Turns, each once, and their cosines."""

MEANING, NEIGHBOURS_MEANING, KEYWORDS = 1.0, 0.3, 0.8
SPEAKER, OWN_WORDS, DATE = 0.6, 1.0, 1.0
ASKS, ECHOED, NOT_YET, LENGTH, SESSION, ANSWER = -0.2, -2.0, -2.0, -0.3, 0.3, 0.5
LONG: Final = 60
"""Words from which on a turn pays for its length."""
TOO_LONG: Final = 100
"""A turn with more words neither lends them to its neighbours nor borrows theirs."""
SOON: Final = 6
"""How many turns after the best one may hold an answer to it."""
REACH, LENT = 2, 0.5
"""How many turns on each side lend their words, and what such a word counts."""
LONGEST: Final = TOO_LONG * (1 + 2 * REACH * LENT)
"""Words of the longest turn with what is lent to it; for keywords a longer one, of many passages, is no longer."""
ENOUGH: Final = 0.5
"""The part of the best match, by keywords or meaning, from which on the user's own words count in full."""
K1, B = 1.2, 0.75
HALF_LIFE: Final = 30
"""Days after which a turn counts half as recent."""
_NEWNESS: Final = 0.5 ** (np.arange(50 * HALF_LIFE + 1) / HALF_LIFE)
"""How recent a turn counts, by its age in days; older ones count as the last, future ones as the first."""
DATE_SLACK: Final = 10
"""People tell of an event some days after it; before it, a third of that."""
SPREAD: Final = 64
"""How many conversations are spread over a period; more don't fit, and follow in the order of time."""
LESS, MEASURED = 1.4, 500
"""Standard deviations taken off what chance would reach, and the number of turns up to which that was measured."""

OF_OWN: Final = 0.75
"""Standard deviations that are added to `floor` where a question is about the user."""


class Turns(NamedTuple):
    """What ranking knows of each turn, as columns; `before` and `after` are neighbours in its session, -1 for none.

    A short turn counts as if it held its short neighbours' words, too, at a discount: `lenders` has a row a turn with
    those neighbours, -1 for none, and `length` counts the words of a turn with what is lent to it, up to LONGEST.
    `worth` is what a turn is worth whatever is asked, but for `long`, what it pays for its length. `runs` is no column:
    it has the places where another session begins.
    """

    session: Marks
    before: Marks
    after: Marks
    lenders: Marks
    length: Numbers
    worth: Numbers
    long: Numbers
    day: Marks
    own: Numbers
    speaker: Marks
    runs: Marks


@dataclass(frozen=True, slots=True)
class Question:
    """What ranking knows of the question.

    `meaning` has the turns nearest in meaning; None where no turn's is known. `postings` has for each word the turns
    that hold it, each as often as it does.
    """

    meaning: Near | None
    postings: Sequence[Places]
    periods: Sequence[Period]
    today: int
    speaker: int | None = None
    prefer_own: bool = False
    recency: float = 0.0


def long(words: int) -> float:
    """What a turn with that many words pays for its length."""
    return LENGTH * math.log2(max(words / LONG, 1.0))


def lends(words: float) -> bool:
    """Whether a turn with that many words lends them to its neighbours and borrows theirs."""
    return words <= TOO_LONG


def score(turns: Turns, question: Question) -> tuple[Numbers, Numbers | None]:
    """One score a turn, the higher the better; and how well each answers whoever said it, where that matters."""
    matched = keywords(turns, question.postings)
    matched /= max(float(matched.max(initial=0.0)), 1e-6)
    by_words = question.meaning is None and len(question.postings) > 0
    total = KEYWORDS * matched
    total += turns.worth
    total += turns.long * (1 - held(turns, question.postings)) if by_words else turns.long
    if turns.day.max(initial=0) > question.today:
        total[turns.day > question.today] += NOT_YET
    if question.periods:
        total += DATE * dated(turns.day, question.periods)
    if question.recency:
        total += (question.recency * _NEWNESS).take(question.today - turns.day, mode="clip")
    if question.speaker is not None:
        total += SPEAKER * (turns.speaker == question.speaker)
    if question.meaning is not None:
        add_meaning(total, turns, question.meaning)
    whoever = total.copy() if question.prefer_own else None
    if question.prefer_own:
        own = OWN_WORDS * turns.own
        if by_words or question.meaning is not None:
            own *= agreeing(matched, question.meaning)
        total += own
    add_session_best(total, turns)
    return total, whoever


def agreeing(matched: Numbers, known: Near | None) -> Numbers:
    """How far each turn agrees with the question, by keywords or meaning: 1 from ENOUGH of the best match by either on.

    `matched` is its match by keywords, 1 at the best.
    """
    agree = matched / ENOUGH
    if known is not None:
        places, cosines = known
        middle = float(cosines.min()) if _few(len(agree), known) else _nearness(len(agree), known)[1]
        near = (cosines - middle) / (ENOUGH * max(float(cosines.max()) - middle, 1e-6))
        agree[places] = np.maximum(agree[places], near)
    return np.minimum(agree, 1.0, out=agree)


def add_meaning(total: Numbers, turns: Turns, known: Near) -> None:
    """Adds what each turn's nearness to the question, and its neighbours', is worth: 0 at the median, most at the best.

    A turn whose cosine is not known counts as the farthest that is. Where most are not known, that is the median, too,
    and only the neighbours of known turns have something near them.
    """
    places, cosines = known
    near, middle = _nearness(len(total), known)
    if _few(len(total), known):
        beside, middle_around = _beside(turns, places), middle
        around = _around(turns, near, beside, middle)
        total[places] += (cosines - middle) * (MEANING / max(float(cosines.max()) - middle, 1e-6))
    else:
        beside = np.arange(len(total))
        around = _around(turns, near, beside, middle)
        middle_around = median(around)
        total += _spread(near, middle, MEANING)
    total[beside] += _spread(around, middle_around, NEIGHBOURS_MEANING)


def nearer_half(turns: int, known: Near) -> Places:
    """The places of those of so many turns that are no farther from the best than from the median."""
    near, middle = _nearness(turns, known)
    return np.flatnonzero(2 * near >= middle + float(near.max()))


def _nearness(turns: int, known: Near) -> tuple[Numbers, float]:
    """How near each of so many turns is, and the median of that."""
    floor = float(known[1].min())
    near = np.full(turns, floor)
    near[known[0]] = known[1]
    return near, floor if _few(turns, known) else median(near)


def median(values: Numbers) -> float:
    """What `np.median` gives, which loads numpy.ma at its first call."""
    middle = (len(values) - 1) // 2, len(values) // 2
    parted = np.partition(values, middle)
    return (float(parted[middle[0]]) + float(parted[middle[1]])) / 2


def _few(turns: int, known: Near) -> bool:
    """Whether the cosines of so few turns are known that the farthest of them is the median."""
    return turns > 4 * len(known[0])


def _spread(near: Numbers, middle: float, most: float) -> Numbers:
    """What nearness is worth: 0 in the middle, `most` at the best, and no less than `-most`."""
    best = float(near.max(initial=-np.inf)) - middle
    return np.maximum((near - middle) * (most / max(best, 1e-6)), -most)


def _beside(turns: Turns, places: Places) -> Places:
    beside = np.concatenate((turns.before[places], turns.after[places]))
    return beside[beside >= 0].astype(np.int64)


def _around(turns: Turns, near: Numbers, at: Places, alone: float) -> Numbers:
    """How near the neighbours of these turns are on average."""
    before, after = turns.before[at], turns.after[at]
    has_before, has_after = before >= 0, after >= 0
    total = np.where(has_before, near[before], 0.0) + np.where(has_after, near[after], 0.0)
    neighbours = has_before.astype(np.float64) + has_after
    return np.where(neighbours > 0, total / np.maximum(neighbours, 1.0), alone)


def aligned(old: Near, new: Near) -> Near:
    """Another model's cosines on the scale of this one's: median to median, best to best where that is another."""
    places, cosines = old
    if not len(places) or not len(new[0]):
        return old
    middle, wanted = median(cosines), median(new[1])
    spread = float(cosines.max()) - middle
    stretch = (float(new[1].max()) - wanted) / spread if spread > 0.001 else 1.0
    return places, wanted + (cosines - middle) * stretch


def keywords(turns: Turns, postings: Sequence[Places]) -> Numbers:
    """BM25 over each turn together with the words its short neighbours lend it."""
    many = len(turns.length)
    if not postings:
        return np.zeros(many)
    word, place, seen = _seen(turns, postings)
    holders = np.bincount(word, seen > 0, len(postings))
    rare = np.log(1 + (many - holders + 0.5) / (holders + 0.5))
    mean = max(float(turns.length.sum()) / many, 1e-6)
    norm = K1 * (1 - B) + K1 * B / mean * turns.length[place]
    return np.bincount(place, rare[word] * seen * (K1 + 1) / (seen + norm), many).astype(np.float64, copy=False)


def _seen(turns: Turns, postings: Sequence[Places]) -> tuple[Places, Places, Numbers]:
    """Which words stand where, in the turn itself or lent to it, and how often: each word and turn once.

    They are counted by cells of a table with a row a word.
    """
    many, size = len(turns.length), 2 * REACH
    word = np.repeat(np.arange(len(postings)), [len(places) for places in postings])
    held = np.concatenate(postings)
    lent = turns.lenders.take(held, axis=0).ravel()
    there = np.flatnonzero(lent >= 0)
    word = np.concatenate((word, word[there // size]))
    place: Places = np.concatenate((held, lent[there].astype(np.int64)))
    cells = word * many + place
    times = np.full(len(cells), LENT)
    times[: len(held)] = 1.0
    numbers = np.arange(len(cells), dtype=np.int32)
    last = np.empty(len(postings) * many, np.int32)
    last[cells] = numbers
    same = last[cells]
    seen = np.bincount(same, times, len(cells)).astype(np.float64, copy=False)
    once = np.flatnonzero(same == numbers)
    return word[once], place[once], seen[once]


def held(turns: Turns, postings: Sequence[Places]) -> Numbers:
    """The part of the question's words that each turn holds itself, from 0 to 1; rare words count more."""
    many, total = len(turns.length), 0.0
    part = np.zeros(many)
    for places in postings:
        there = np.zeros(many, np.bool_)
        there[places] = True
        weight = rarity(int(np.count_nonzero(there)), many)
        part += weight * there
        total += weight
    return part / max(total, 1e-6)


def dated(days: Marks, periods: Sequence[Period]) -> Numbers:
    """1 inside a period, falling to 0 at DATE_SLACK days after it or a third of that before it."""
    best = np.zeros(len(days))
    for first, last in periods:
        gap = np.where(days < first, (first - days) * 3, np.where(days > last, days - last, 0))
        best = np.maximum(best, 1 - gap / DATE_SLACK)
    return best


def throughout(turns: Turns, scores: Numbers, said: Places) -> Places:
    """What was said, spread over its time: of each day's conversations the best turns, then the second best.

    Each conversation comes as far in time as can be from those before it, the newest first.
    """
    days, talk = np.unique(turns.day[said].astype(np.int64) << 32 | turns.session[said], return_inverse=True)
    by_talk = np.lexsort((-scores[said], talk))
    sizes = np.bincount(talk)
    turn = np.empty(len(said), np.int64)
    turn[by_talk] = np.arange(len(said)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return said[np.lexsort((_apart(days >> 32)[talk], turn))]


def _apart(days: Places) -> Places:
    """The rank of each of these days, in order of time, where the next is the farthest from all before it."""
    rank, gap = np.arange(len(days)) + SPREAD, np.full(len(days), np.iinfo(np.int64).max)
    for n in range(min(SPREAD, len(days))):
        next = len(days) - 1 if n == 0 else int(np.argmax(gap))
        rank[next] = n
        gap = np.minimum(gap, np.abs(days - days[next]))
        gap[rank < SPREAD] = -1
    return rank


def add_session_best(scores: Numbers, turns: Turns) -> None:
    """Adds to each turn a share of the best score in its session; turns in a row are mostly of one session."""
    if not len(scores):
        return
    session = turns.session[turns.runs]
    best = np.full(int(session.max()) + 1, -np.inf)
    np.maximum.at(best, session, np.maximum.reduceat(scores, turns.runs))
    ends = np.concatenate((turns.runs[1:], [len(scores)]))
    scores += np.repeat(SESSION * best[session], ends - turns.runs)


def add_answers(scores: Numbers, turns: Turns, best: int) -> None:
    """Adds ANSWER to what is short and not the user's own among the SOON turns after the best one in its session.

    The best one stays the best.
    """
    place = best
    for _ in range(SOON):
        place = int(turns.after[place])
        if place < 0:
            return
        if not turns.own[place] and not turns.long[place]:
            scores[place] = max(scores[place], min(scores[place] + ANSWER, scores[best]))


def matching(turns: Turns, question: Question) -> Places:
    """The places of the turns that hold a word of the question, or are of a day or a speaker it names."""
    there = np.zeros(len(turns.day), np.bool_)
    for held in question.postings:
        there[held] = True
    if question.periods:
        there |= dated(turns.day, question.periods) > 0
    if question.speaker is not None:
        there |= turns.speaker == question.speaker
    return np.flatnonzero(there)


def is_by_chance(above: float, turns: int, unheard: float, floor: float) -> bool:
    """Whether the nearest of `turns` turns is no nearer to a question than the nearest of as many unrelated texts.

    `above` says by how many standard deviations it is nearer than unrelated texts are on average. The nearest of n
    draws lies some sqrt(2 ln n) above their mean; LESS is taken off that, to be too low rather than too high. The
    bound rises by the part of the question that is `unheard`, and falls by `floor`.
    """
    chance = math.sqrt(2 * math.log(max(1, min(turns, MEASURED)))) - LESS
    return above <= chance + unheard - floor


def best_first(scores: Numbers, count: int) -> Places:
    """The places of the `count` best by score; of equal ones the earlier first."""
    places = largest(scores, count)
    return places[np.argsort(-scores[places], kind="stable")[:count]]
