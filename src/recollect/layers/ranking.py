"""Every turn of a user ranked for a question: by meaning, words, speaker and date."""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.embed import Embedder
from recollect.embed.nearness import Nearness
from recollect.embed.scripts import ENGLISH, reads
from recollect.errors import ModelError
from recollect.flow.overlap import unheard
from recollect.flow.rank import (
    OF_OWN,
    Near,
    Numbers,
    Places,
    Question,
    Turns,
    add_answers,
    aligned,
    best_first,
    dated,
    is_by_chance,
    matching,
    nearer_half,
    score,
    throughout,
)
from recollect.flow.talk import asks_of_assistant, asks_of_own
from recollect.flow.when import Period, periods, with_days
from recollect.frozen import EMPTY
from recollect.layers.columns import PASSAGE, Columns
from recollect.store import ANY, MESSAGE, Filter, Store
from recollect.store.words import COMMON, is_foreign, query_words
from recollect.types import Scope

log = logging.getLogger("recollect")

NEAREST: Final = ((16_384, 256), (1_024, 512), (0, 1_024))
"""Pairs: of more turns than the first number, the second number of nearest ones in meaning are asked for. All others
count as equally far."""
MESSAGES: Final = Filter(kinds=(MESSAGE,))
PASSAGES: Final = Filter(kinds=(PASSAGE,))
MANY: Final = 64
"""How many of the best turns are looked at to estimate how many fit, and how many are put in order at first."""
KEPT_BYTES: Final = 256 * 2**20
"""About how many bytes of turns are kept in memory beside those of the owner asked for."""
LOOK: Final = 16
"""The bytes are added up again after one new owner for every LOOK that are kept: with many owners it takes long."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, when it is asked, where its answer may lie, and how much newness counts.

    `days` are dates of the user's life that the question may name: "my birthday" is "9 November". `by_time` says that
    its words and meaning don't count: it asks what was said lately or, where something was, on the days that it names.
    `shown` are the sessions and ids of messages that are at hand already.
    """

    text: str
    at: datetime
    within: Scope
    where: Filter = ANY
    recency: float = 0.0
    days: Mapping[str, str] = EMPTY
    by_time: bool = False
    shown: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every turn's score; `columns` has the turns, and `places` those that are meant, where that is not all.

    `vector` is the question's by the embedder in use, where turns have vectors of that one; `unheard` is the part of
    the question that was never said; `matching` says that only turns that match are meant, and `throughout` that they
    are those of a period, spread over it. `whoever` says how well each turn answers, whoever said it, where the user's
    own words are preferred.
    """

    scores: Numbers
    columns: Columns
    relevance: float
    vector: NDArray[np.float32] | None = None
    unheard: float = 0.0
    places: Places | None = None
    matching: bool = False
    throughout: bool = False
    whoever: Numbers | None = None
    _order: list[int] = field(default_factory=list, init=False)

    @property
    def count(self) -> int:
        """How many turns are meant."""
        return len(self.scores if self.places is None else self.places)

    def best(self, count: int) -> Iterator[int]:
        """The places of the `count` best, best first; they are put in order as they are asked for."""
        for n in range(min(count, self.count)):
            if n == len(self._order):
                scores = self.scores if self.places is None else self.scores[self.places]
                found = best_first(scores, max(MANY, 4 * n))
                self._order[n:] = (found if self.places is None else self.places[found])[n:].tolist()
            yield self._order[n]

    def within(self, sessions: Iterable[str]) -> Ranking:
        """The same with the turns of these sessions alone."""
        session = self.columns.sessions(len(self.scores))
        there = np.zeros(len(session), np.bool_)
        for name in sessions:
            there |= session == self.columns.session(name)
        return replace(self, places=np.flatnonzero(there) if self.places is None else self.places[there[self.places]])

    def fitting(self, budget: int) -> int:
        """About how many of the best fit `budget` tokens, counting a word as one."""
        left = budget
        for n, place in enumerate(self.best(MANY)):
            left -= self.columns.words[place]
            if left < 0:
                return n + 1
        return MANY


@dataclass(slots=True, eq=False)
class Ranker:
    """Ranks what a store holds. Without an embedder it goes by words alone.

    `former` is the embedder used before: its vectors serve until the new one's are made. `met` collects the owners
    whose log was read for the first time.
    """

    store: Store
    embedder: Embedder | None = None
    former: Embedder | None = None
    met: set[Scope] = field(default_factory=set)
    nearness: Nearness | None = field(init=False)
    _kept: OrderedDict[Scope, Columns] = field(default_factory=OrderedDict)
    _came: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.nearness = Nearness(self.embedder) if self.embedder else None

    def rank(self, asked: Asked, only_matching: bool = False) -> Ranking:
        """Rank the user's turns for a question; with `only_matching`, without vectors, only those that share words."""
        columns, as_of = self._columns(asked.within.owner), asked.where.as_of
        with columns.lock:
            if self.embedder and not columns.position:
                self.met.add(columns.scope)
            columns.refresh(self.store, as_of)
        vectors = self._vectors(asked.text) if len(columns) and asked.text.strip() and not asked.by_time else []
        with columns.lock:
            if as_of is not None and columns.position > as_of:
                columns = columns.until(as_of)
            if not len(columns) or not asked.text.strip():
                return Ranking(np.zeros(0), columns, 0.0)
            near, vector = self._meaning(columns, vectors, as_of) if vectors else (None, None)
            words = [word for word in query_words(asked.text) if word not in columns.names]
            named = [] if columns.with_assistant else _named(asked.text, columns.speakers)
            turns = columns.turns(asked.at.utcoffset() or timedelta())
            question = _question(columns, asked, words, named, near)
            relevance = _relevance(question, len(columns))
            part = 0.0 if named else _unheard(columns, words, question, turns)
            places = _meant(columns, turns, question, asked, only_matching)
            scores, whoever = score(turns, question)
            ranking = Ranking(scores, columns, relevance, vector, part, places, only_matching, whoever=whoever)
            if places is not None and asked.by_time:
                then = throughout(turns, scores, places[dated(turns.day[places], question.periods) == 1])
                scores[then] = np.linspace(1, 0, len(then), endpoint=False)
                ranking = replace(ranking, places=then, throughout=True) if len(then) else ranking
            if asked.within.session is not None:
                ranking = ranking.within([asked.within.session])
            if columns.with_assistant and not asked.by_time:
                ranking = _with_answers(ranking, turns, asked.shown)
            return ranking

    def is_off_topic(self, question: str, ranking: Ranking, floor: float) -> bool:
        """Whether a question is about nothing that was ever said, as far as words and meaning can tell.

        With vectors: some of its words were never said, and the nearest turn is no nearer than by chance. Without
        vectors, or in a language that the embedder was not trained on: none of its words was ever said. A question
        about the user is often about something that was said in other words, and need not be as near.
        """
        if ranking.relevance <= 0:
            return True
        if self.nearness is None or ranking.vector is None or not ranking.unheard or floor >= 1:
            return False
        if self.embedder and self.embedder.name in ENGLISH and is_foreign(question):
            return ranking.unheard == 1
        try:
            above = self.nearness.above(ranking.relevance, ranking.vector)
        except ModelError:
            return False
        return is_by_chance(above, len(ranking.scores), ranking.unheard, floor + OF_OWN * asks_of_own(question))

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased."""
        with self._lock:
            for kept in [kept for kept in self._kept if kept.covers(scope) or scope.covers(kept)]:
                del self._kept[kept]

    def _columns(self, scope: Scope) -> Columns:
        with self._lock:
            if scope not in self._kept:
                self._came += 1
                if self._came * LOOK > len(self._kept):
                    self._came = 0
                    self._make_room()
                self._kept[scope] = Columns(scope)
            self._kept.move_to_end(scope)
            return self._kept[scope]

    def _make_room(self) -> None:
        room = KEPT_BYTES - sum(columns.bytes for columns in self._kept.values())
        while self._kept and room < 0:
            room += self._kept.popitem(last=False)[1].bytes

    def _vectors(self, question: str) -> list[tuple[str, NDArray[np.float32]]]:
        """The question's vector by the embedder and by the former one, each with its model's name; none without one."""
        used = [embedder for embedder in (self.embedder, self.former) if embedder and self.embedder]
        try:
            return [(e.name, e.embed([question], kind="query")[0]) for e in used if reads(e.name, question)]
        except ModelError as error:
            log.warning("recall goes by keywords alone this time: %s", error)
            return []

    def _meaning(
        self, columns: Columns, vectors: Sequence[tuple[str, NDArray[np.float32]]], as_of: int | None
    ) -> tuple[Near | None, NDArray[np.float32] | None]:
        """The nearest turns, if any, and the question's vector by the embedder in use, if turns have such vectors."""
        where = MESSAGES if as_of is None else replace(MESSAGES, as_of=as_of)
        k = next(k for more, k in NEAREST if len(columns) > more)

        def nearest(model: str, vector: NDArray[np.float32]) -> Near:
            index = self.store.index
            found = columns.known(*index.nearest_positions(columns.scope, vector, model, k, where=where))
            if columns.spans:
                passages = index.nearest_positions(columns.scope, vector, model, k, where=PASSAGES)
                found = columns.with_passages(found, index, *passages, k)
            return columns.in_latin(found) if model in ENGLISH else found

        near, *former = (nearest(*each) for each in vectors)
        model, vector = vectors[0]
        compared = self.embedder is not None and model == self.embedder.name and len(near[0]) > 0
        for old in former:
            places, cosines = aligned(old, near)
            rest = ~np.isin(places, near[0])
            near = np.concatenate((near[0], places[rest])), np.concatenate((near[1], cosines[rest]))
        return near if len(near[0]) else None, vector if compared else None


def _with_answers(ranking: Ranking, turns: Turns, shown: Collection[tuple[str, str]]) -> Ranking:
    """The ranking where the answers to the best turn that is not shown count more."""
    best = next((place for place in ranking.best(ranking.count) if ranking.columns.id_of(place) not in shown), None)
    if best is None:
        return ranking
    add_answers(ranking.scores, turns, best)
    return replace(ranking)  # in its new order


def _question(columns: Columns, asked: Asked, words: list[str], named: list[str], near: Near | None) -> Question:
    """What ranking knows of a question: `words` are its own, without names of speakers, and `named` those speakers."""
    today = asked.at.date()
    return Question(
        near,
        [] if asked.by_time else columns.postings(words),
        periods(with_days(asked.text, asked.days), today),
        today.toordinal(),
        columns.speakers[named[0]] if len(named) == 1 else None,
        columns.with_assistant and not asks_of_assistant(asked.text),
        asked.recency,
    )


def _unheard(columns: Columns, words: list[str], question: Question, turns: Turns) -> float:
    """The part of a question's words that were never said; 0 without vectors, or where it names a day in the log."""
    if question.meaning is None or (question.periods and dated(turns.day, question.periods).any()):
        return 0.0
    return unheard(columns.holders(words), len(columns))


def _meant(columns: Columns, turns: Turns, question: Question, asked: Asked, only_matching: bool) -> Places | None:
    """The places of the turns that are meant; None where all are."""
    if asked.by_time:
        return columns.openings()
    if only_matching and question.meaning is None:
        return matching(turns, replace(question, postings=columns.holding(query_words(asked.text))))
    return _without_other_passages(columns, turns, question) if columns.spans else None


def _said_then(columns: Columns, turns: Turns, periods: Sequence[Period]) -> Places:
    """What was said in these periods or soon after, of a long message its beginning."""
    said = columns.openings()
    return said[dated(turns.day[said], periods) > 0]


def _without_other_passages(columns: Columns, turns: Turns, question: Question) -> Places:
    """All turns but the passages of long messages that nothing speaks for: no word of the question, nor its meaning.

    On the days that it names, the beginning of a long message counts as well.
    """
    there = np.ones(len(columns), np.bool_)
    there[list(columns.spans)] = False
    if question.periods:
        there[_said_then(columns, turns, question.periods)] = True
    for held in question.postings:
        there[held] = True
    if question.meaning is not None:
        there[nearer_half(len(columns), question.meaning)] = True
    return np.flatnonzero(there)


def _relevance(question: Question, turns: int) -> float:
    """How near the nearest turn is; without a model, the largest part of the question's words in one turn.

    It is rounded: where nothing is in common with the question, some stores give 0 and others 4e-9.
    """
    if question.meaning is not None:
        return min(1.0, max(0.0, round(float(question.meaning[1].max()), 6)))
    held = np.zeros(turns, np.int32)
    for places in question.postings:
        held[places] += 1  # once for each turn, however often it has the word
    return float(held.max(initial=0)) / max(1, len(question.postings))


def _named(question: str, speakers: dict[str, int]) -> list[str]:
    """The speakers a question names, also by a short form of at least three letters (Mel for Melanie)."""
    asked = set(re.findall(r"[^\W_]+", question.lower()))
    telling = [word for word in asked if len(word) >= 3 and word not in COMMON]
    return [
        speaker
        for speaker in speakers
        if asked.intersection(re.findall(r"[^\W_]+", speaker.lower()))
        or any(speaker.lower().startswith(word) for word in telling)
    ]
