"""Which turns answer a question: every channel's signal, scaled and summed to one score a turn.

    score = 1.0 meaning + 0.3 neighbours' meaning + 0.8 keywords in the turn and around it + 0.6 speaker
          + 1.0 the user's own words + 1.0 date - 0.2 it asks something itself - 2.0 not said yet
          - 0.3 for each doubling of its length beyond 80 tokens + recency (0 unless asked for)
          + 0.3 x the best score in its session

The weights were chosen on the development half of two sets of conversations; `benchmarks/recall.py` measures what each
one is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.flow.when import Period

Numbers: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]
Posting: TypeAlias = tuple[Places, Numbers]
"""The turns that hold a word, and how often each does."""

MEANING, NEIGHBOURS_MEANING, KEYWORDS = 1.0, 0.3, 0.8
SPEAKER, OWN_WORDS, DATE = 0.6, 1.0, 1.0
ASKS, NOT_YET, LENGTH, SESSION = -0.2, -2.0, -0.3, 0.3
LONG_TOKENS: Final = 80
"""Tokens from which on a turn pays for its length."""
LONG_WORDS: Final = 100
"""Turns with more words neither lend them to their neighbours nor borrow any."""
REACH, LENT = 2, 0.5
"""How many turns on each side lend their words, and what such a word counts."""
K1, B = 1.2, 0.75
HALF_LIFE: Final = 30
"""Days after which a turn counts half as recent."""
DATE_SLACK: Final = 10
"""People tell of an event some days after it; before it, a third of that."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What ranking knows of each turn, as columns; `before` and `after` are neighbours in its session, -1 for none."""

    session: Places
    before: Places
    after: Places
    words: Numbers
    tokens: Numbers
    day: Places
    asks: NDArray[np.bool_]
    own: NDArray[np.bool_]
    speaker: Places


@dataclass(frozen=True, slots=True)
class Question:
    """What ranking knows of the question.

    `meaning` has the cosine of the turns nearest in meaning, by place; None where there is no model.
    """

    meaning: Mapping[int, float] | None
    postings: Sequence[Posting]
    periods: Sequence[Period]
    today: int
    speaker: int | None = None
    prefer_own: bool = False
    recency: float = 0.0


def score(turns: Turns, question: Question) -> Numbers:
    """One score a turn, the higher the better."""
    total = KEYWORDS * _to_best(keywords(turns, question.postings))
    total += DATE * dated(turns.day, question.periods)
    total += ASKS * turns.asks + NOT_YET * (turns.day > question.today)
    total += LENGTH * np.log2(np.maximum(turns.tokens / LONG_TOKENS, 1.0))
    if question.recency:
        total += question.recency * 0.5 ** (np.maximum(question.today - turns.day, 0) / HALF_LIFE)
    if question.speaker is not None:
        total += SPEAKER * (turns.speaker == question.speaker)
    if question.prefer_own:
        total += OWN_WORDS * turns.own
    if question.meaning:
        near, around = meaning(turns, question.meaning)
        total += MEANING * near + NEIGHBOURS_MEANING * around
    return total + SESSION * session_best(total, turns.session)


def meaning(turns: Turns, known: Mapping[int, float]) -> tuple[Numbers, Numbers]:
    """Each turn's nearness to the question and its neighbours': 0 at the median of what is known, 1 at the best."""
    cosines = np.fromiter(known.values(), np.float64, len(known))
    near = np.full(len(turns.session), cosines.min())
    near[np.fromiter(known.keys(), np.int64, len(known))] = cosines
    middle = float(np.median(near))
    has_before, has_after = turns.before >= 0, turns.after >= 0
    total = np.where(has_before, near[turns.before], 0.0) + np.where(has_after, near[turns.after], 0.0)
    neighbours = has_before.astype(np.float64) + has_after
    around = np.where(neighbours > 0, total / np.maximum(neighbours, 1.0), middle)
    return _from(middle, near), _from(float(np.median(around)), around)


def aligned(old: Mapping[int, float], new: Mapping[int, float]) -> dict[int, float]:
    """Another model's cosines on the scale of this one's: median to median, best to best."""
    if not old or not new:
        return dict(old)
    middle, wanted = float(np.median(list(old.values()))), float(np.median(list(new.values())))
    stretch = (max(new.values()) - wanted) / max(max(old.values()) - middle, 1e-6)
    return {place: wanted + (cosine - middle) * stretch for place, cosine in old.items()}


def keywords(turns: Turns, postings: Sequence[Posting]) -> Numbers:
    """BM25 over each turn together with the words its short neighbours lend it."""
    reach = _reach(turns)
    lengths = turns.words + LENT * _lent(turns.words, reach)
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1e-6))
    total = np.zeros(len(lengths))
    for places, counts in postings:
        own = np.zeros(len(lengths))
        own[places] = counts
        seen = own + LENT * _lent(own, reach)
        holders = int((seen > 0).sum())
        rarity = math.log(1 + (len(lengths) - holders + 0.5) / (holders + 0.5))
        total += rarity * seen * (K1 + 1) / (seen + norm)
    return total


def _reach(turns: Turns) -> list[Places]:
    """For each step to either side, the neighbour that lends its words there; -1 for none."""
    short = turns.words <= LONG_WORDS
    out: list[Places] = []
    for step in (turns.before, turns.after):
        at = np.where(short, np.arange(len(step)), -1)
        for _ in range(REACH):
            at = np.where(at >= 0, step[at], -1)
            at = np.where((at >= 0) & short[at], at, -1)
            out.append(at)
    return out


def _lent(values: Numbers, reach: Sequence[Places]) -> Numbers:
    lent = np.zeros(len(values))
    for at in reach:
        lent += np.where(at >= 0, values[at], 0.0)
    return lent


def dated(days: Places, periods: Sequence[Period]) -> Numbers:
    """1 inside a period, falling to 0 at DATE_SLACK days after it or a third of that before it."""
    best = np.zeros(len(days))
    for first, last in periods:
        gap = np.where(days < first, (first - days) * 3, np.where(days > last, days - last, 0))
        best = np.maximum(best, 1 - gap / DATE_SLACK)
    return best


def session_best(scores: Numbers, session: Places) -> Numbers:
    """For each turn, the best score in its session."""
    if not len(scores):
        return scores
    best = np.full(int(session.max()) + 1, -np.inf)
    np.maximum.at(best, session, scores)
    return best[session]


def best_first(scores: Numbers) -> list[int]:
    """The turns' places by score; of equal ones the earlier first."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def _to_best(values: Numbers) -> Numbers:
    return values / max(float(values.max()) if len(values) else 0.0, 1e-6)


def _from(base: float, values: Numbers) -> Numbers:
    return (values - base) / max(float(values.max()) - base, 1e-6)
