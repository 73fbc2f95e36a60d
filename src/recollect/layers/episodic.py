"""Episodic memory: finds the turns that answer a question, by meaning, words, speaker and date, within a budget."""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from recollect.answers import Candidate, Hit, Recalled
from recollect.embed import Embedder
from recollect.embed.nearness import Nearness
from recollect.embed.scripts import reads
from recollect.errors import ModelError
from recollect.flow.pack import Moment, distinct, of_sessions, one_by_one, pack, turn_line
from recollect.flow.rank import (
    Near,
    Numbers,
    Places,
    Question,
    aligned,
    best_first,
    dated,
    is_by_chance,
    matching,
    score,
)
from recollect.flow.share import unheard
from recollect.flow.when import ago, periods, with_days, written
from recollect.frozen import EMPTY
from recollect.layers.columns import Columns, day_of, speaker_of
from recollect.layers.marks import there
from recollect.settings import DEFAULTS
from recollect.store import ANY, MESSAGE, Entry, Filter, Item, Store
from recollect.store.words import COMMON, query_words, words
from recollect.types import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray


log = logging.getLogger("recollect")

NEAREST: Final = ((16_384, 256), (1_024, 512), (0, 1_024))
"""How many of the turns nearest in meaning are asked for, where there are more turns than the first number. All others
count as equally far."""
MESSAGES: Final = Filter(kinds=(MESSAGE,))
SPARE: Final = 4
"""How many more turns are read from the log than seem to fit; each further time it is twice as many in all."""
MANY: Final = 64
"""How many of the best turns are looked at to tell how many fit."""
KEPT_BYTES: Final = 256 * 2**20
"""About how many bytes of turns are kept in memory beside those of the owner asked for."""
FIRST: Final = 4
"""How many turns a context reads at first: the best ones name the conversations that the others are of."""
NEAR_MISSES: Final = 3
"""How many turns that just missed a context are told on its receipt."""
_ASKS_ASSISTANT: Final = re.compile(
    r"\b(our (last |previous |earlier |past |prior )?(conversation|chat|discussion|session)"
    r"|(previous|earlier|last) (conversation|chat)|remind me"
    r"|you (said|told|mentioned|recommended|suggested|gave|provided|listed|wrote|explained|described|shared|named"
    r"|created|made|advised)|did you|your (answer|suggestion|recommendation|advice|list|reply|response))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, when it is asked, where its answer may lie, and how much newness counts.

    `days` are those of the user's life that the question may name: "my birthday" is "9 November".
    """

    text: str
    at: datetime
    within: Scope
    where: Filter = ANY
    recency: float = 0.0
    days: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Every turn's score, what is known of each, and which of them are meant where that is not all.

    `vector` is the question's, by the embedder in use, where that has vectors of turns; `unheard` is the part of the
    question that was never said; `matching` says that only turns that match are meant.
    """

    scores: Numbers
    columns: Columns
    relevance: float
    vector: NDArray[np.float32] | None = None
    unheard: float = 0.0
    places: Places | None = None
    matching: bool = False

    def best(self, count: int) -> list[int]:
        """The places of the best so many, best first."""
        if self.places is None:
            found = best_first(self.scores, count)
        else:
            found = self.places[best_first(self.scores[self.places], count)]
        places: list[int] = found.tolist()
        return places

    def within(self, sessions: Iterable[str]) -> _Ranking:
        """Those of some sessions alone."""
        session = self.columns.sessions(len(self.scores))
        there = np.zeros(len(session), np.bool_)
        for name in sessions:
            there |= session == self.columns.session(name)
        return replace(self, places=np.flatnonzero(there) if self.places is None else self.places[there[self.places]])

    def fitting(self, budget: int) -> int:
        """How many of the best may fit so many tokens, about: a word is taken for one."""
        left = budget
        for n, place in enumerate(self.best(MANY)):
            left -= self.columns.words[place]
            if left < 0:
                return n + 1
        return MANY


@dataclass(slots=True)
class _Chosen:
    """The conversations that a context quotes, at most so many."""

    most: int | None
    sessions: set[str] = field(default_factory=set)

    @property
    def all(self) -> bool:
        return self.most is not None and len(self.sessions) >= self.most


@dataclass(slots=True, eq=False)
class Episodic:
    """Recall over a store. Without an embedder it goes by words alone.

    `former` is the embedder used before: its vectors serve until the new one's are made. An answer scored lower than
    `min_score` is not recalled, one without a score is; where more than `floor` of a question was never said, it is
    nearer turns that are. `met` are the owners whose log is read for the first time.
    """

    store: Store
    count: Callable[[str], int]
    embedder: Embedder | None = None
    former: Embedder | None = None
    min_score: float = DEFAULTS.episodic_min_score
    floor: float = DEFAULTS.episodic_floor
    met: set[Scope] = field(default_factory=set)
    _nearness: Nearness | None = None
    _kept: OrderedDict[Scope, Columns] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, asked: Asked, budget: int, k: int | None) -> Recalled:
        """Hits of the turns that answer the question, best first, within the budget."""
        ranking = self._rank(asked)
        first = min(ranking.fitting(budget), MANY if k is None else k)
        moments = islice(distinct(self._read(asked, ranking, first)), k)
        matter = set(query_words(asked.text))
        return Recalled(pack(moments, budget, self.count, words, matter), ranking.relevance)

    def search(self, asked: Asked, k: int) -> Recalled:
        """The `k` best turns, a hit each; where there is no meaning to go by, of those that match."""
        ranking = self._rank(asked, only_matching=True)
        return Recalled(one_by_one(islice(distinct(self._read(asked, ranking, k)), k)), ranking.relevance)

    def offer(
        self, asked: Asked, k: int | None, said: Mapping[str, str] = EMPTY, here: str = ""
    ) -> Callable[[int, frozenset[str]], list[Candidate]]:
        """What a context gets of the turns that answer the question, by the tokens there are and the messages it shows.

        They come as up to `k` conversations, each under its dates; those that are next in rank come marked as out.
        Neither the messages it shows, which are of the session `here`, nor the same words from elsewhere are among
        them; `said` has those by their ids.
        """
        ranking = self._rank(asked)
        nothing = self._is_off_topic(ranking)
        matter, today = set(query_words(asked.text)), date.fromordinal(day_of(asked.at))

        def day(at: datetime) -> str:
            return f"{written(at)} ({ago(date.fromordinal(day_of(at)), today)})"

        @cache
        def beside(shown: frozenset[str]) -> tuple[_Kept, _Chosen]:
            chosen = _Chosen(k)
            known = frozenset((here, id) for id in shown)
            read = iter(()) if nothing else self._read(asked, ranking, FIRST, chosen, known)
            return _Kept(distinct(read, (said[id] for id in shown if id in said))), chosen

        def within(tokens: int, shown: frozenset[str]) -> list[Candidate]:
            moments, chosen = beside(shown)
            hits = pack(of_sessions(moments, k, chosen.sessions), tokens, self.count, words, matter, day)
            taken = {(hit.session, id) for hit in hits for id in hit.message_ids}
            left = [moment for moment in moments.read if (moment.session, moment.id) not in taken]
            return [*map(_candidate, hits), *map(_missed, left[:NEAR_MISSES])]

        return within

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased."""
        with self._lock:
            for kept in [kept for kept in self._kept if kept.covers(scope) or scope.covers(kept)]:
                del self._kept[kept]

    def _columns(self, scope: Scope) -> Columns:
        with self._lock:
            if scope not in self._kept:
                room = KEPT_BYTES - sum(columns.bytes for columns in self._kept.values())
                while self._kept and room < 0:
                    room += self._kept.popitem(last=False)[1].bytes
            columns = self._kept.setdefault(scope, Columns(scope))
            self._kept.move_to_end(scope)
            return columns

    def _rank(self, asked: Asked, only_matching: bool = False) -> _Ranking:
        columns, as_of = self._columns(asked.within.owner), asked.where.as_of
        with columns.lock:
            if self.embedder and not columns.position:
                self.met.add(columns.scope)
            columns.refresh(self.store, as_of)
        vectors = self._vectors(asked.text) if len(columns) and asked.text.strip() else []
        with columns.lock:
            if as_of is not None and columns.position > as_of:
                columns = columns.until(as_of)
            if not len(columns) or not asked.text.strip():
                return _Ranking(np.zeros(0), columns, 0.0)
            near, vector = self._meaning(columns, vectors, as_of) if vectors else (None, None)
            turns, question = columns.turns(), self._question(columns, asked, near)
            relevance = _relevance(question, len(columns))
            part = self._unheard(columns, asked, question)
            ranking = _Ranking(score(turns, question), columns, relevance, vector, part)
            if only_matching and not _has_meaning(question):
                every_word = replace(question, postings=columns.holding(query_words(asked.text)))
                ranking = replace(ranking, places=matching(turns, every_word))
            ranking = replace(ranking, matching=only_matching)
            return ranking if asked.within.session is None else ranking.within([asked.within.session])

    def _unheard(self, columns: Columns, asked: Asked, question: Question) -> float:
        """The part of a question that was never said; none where it names a speaker or a day of the talk.

        There is none without vectors either.
        """
        if not _has_meaning(question) or dated(columns.turns().day, question.periods).any():
            return 0.0
        holders = columns.holders([word for word in query_words(asked.text) if word not in columns.names])
        part = unheard(holders, len(columns))
        named = part and not columns.with_assistant and _named(asked.text, columns.speakers)
        return 0.0 if named else part

    def _is_off_topic(self, ranking: _Ranking) -> bool:
        """Whether a question is about nothing that was ever said, as far as words and meaning can tell.

        Some of it was never said, and the nearest turn is no nearer than by chance. Without a model, or before there
        are vectors, no word of it was ever said.
        """
        if ranking.relevance <= 0:
            return True
        if self.embedder is None or ranking.vector is None or not ranking.unheard or self.floor >= 1:
            return False
        if self._nearness is None:
            self._nearness = Nearness(self.embedder)
        try:
            above = self._nearness.above(ranking.relevance, ranking.vector)
        except ModelError:
            return False
        return is_by_chance(above, len(ranking.scores), ranking.unheard, self.floor)

    def _read(
        self,
        asked: Asked,
        ranking: _Ranking,
        first: int,
        chosen: _Chosen | None = None,
        shown: frozenset[tuple[str, str]] = frozenset(),
    ) -> Iterator[Moment]:
        """The ranked turns from the log, best first, as far as they are asked for; what is gone there is left out.

        So are those that are shown already. Once there are chosen sessions, only their turns are read.
        """
        size, columns, read = first + SPARE, ranking.columns, set[int]()
        where = replace(asked.where, as_of=None)  # the columns end there
        everything = where == ANY
        while True:
            if chosen and chosen.all:
                ranking, chosen = ranking.within(chosen.sessions), None
            best = ranking.best(size + len(shown))
            new = (place for place in best if place not in read and columns.ids[place] not in shown)
            places = list(islice(new, size))
            if not places and len(best) < size + len(shown):
                return
            entries = there(self.store, asked.within, [columns.ids[place] for place in places])
            gone = [place for place in places if columns.ids[place] not in entries]
            if self._forget_erased(columns, gone) and not read:
                ranking = self._rank(asked, ranking.matching)
                columns = ranking.columns
                continue
            for place in places:
                entry = entries.get(columns.ids[place])
                if entry and _scores(entry, self.min_score) and (everything or where.passes(item_of(entry))):
                    yield _moment(entry, float(ranking.scores[place]))
            read.update(places)
            size *= 2

    def _forget_erased(self, columns: Columns, gone: Sequence[int]) -> bool:
        """Whether columns were dropped that hold what another process erased: it would count in every ranking.

        What is only newer than the moment that is read has nothing after it there.
        """
        erased = gone and self.store.log.scan(columns.scope, after=columns.position_of(min(gone)), limit=1)
        if erased:
            self.forget(columns.scope)
        return bool(erased)

    def _question(self, columns: Columns, asked: Asked, near: Near | None) -> Question:
        today = date.fromordinal(day_of(asked.at))
        named = [] if columns.with_assistant else _named(asked.text, columns.speakers)
        return Question(
            near,
            columns.postings([word for word in query_words(asked.text) if word not in columns.names]),
            periods(with_days(asked.text, asked.days), today),
            today.toordinal(),
            columns.speakers[named[0]] if len(named) == 1 else None,
            columns.with_assistant and not _ASKS_ASSISTANT.search(asked.text),
            asked.recency,
        )

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
    ) -> tuple[Near, NDArray[np.float32] | None]:
        """What is nearest, and the question's vector by the embedder in use, where that one has some to compare."""
        where = MESSAGES if as_of is None else replace(MESSAGES, as_of=as_of)
        k = next(k for more, k in NEAREST if len(columns) > more)
        found = (
            self.store.index.nearest_positions(columns.scope, vector, model, k, where=where)
            for model, vector in vectors
        )
        near, *former = (columns.known(*each) for each in found)
        model, vector = vectors[0]
        compared = self.embedder is not None and model == self.embedder.name and len(near[0]) > 0
        for old in former:
            places, cosines = aligned(old, near)
            rest = ~np.isin(places, near[0])
            near = np.concatenate((near[0], places[rest])), np.concatenate((near[1], cosines[rest]))
        return near, vector if compared else None


def _has_meaning(question: Question) -> bool:
    return question.meaning is not None and len(question.meaning[0]) > 0


def _relevance(question: Question, turns: int) -> float:
    """How near the nearest turn is; without a model, the largest part of the question's words in one turn.

    It is rounded: of what has nothing in common with the question, some stores say 0 and others 4e-9.
    """
    if question.meaning is not None and len(question.meaning[0]):
        return min(1.0, max(0.0, round(float(question.meaning[1].max()), 6)))
    held = np.zeros(turns, np.int32)
    for places in question.postings:
        held[places] += 1  # once, however often the word stands there
    return float(held.max(initial=0)) / max(1, len(question.postings))


def _scores(entry: Entry, least: float) -> bool:
    """Whether what was said was scored high enough, or not at all."""
    given = entry.message.metadata.get("score")
    return not isinstance(given, (int, float)) or isinstance(given, bool) or given >= least


def item_of(entry: Entry) -> Item:
    """An entry as filters know it."""
    message = entry.message
    return Item(
        MESSAGE, message.id, at=message.at, role=message.role, metadata=message.metadata, position=entry.position
    )


def _moment(entry: Entry, points: float) -> Moment:
    message, session = entry.message, entry.scope.session or ""
    at = message.at or datetime.fromtimestamp(0, UTC)
    return Moment(message.id, session, entry.seq, at, speaker_of(message), message.text, points)


@dataclass(slots=True)
class _Kept:
    """Moments that can be gone through again; `read` are those that were reached so far."""

    source: Iterator[Moment]
    read: list[Moment] = field(default_factory=list)

    def __iter__(self) -> Iterator[Moment]:
        yield from self.read
        for moment in self.source:
            self.read.append(moment)
            yield moment


def _candidate(hit: Hit) -> Candidate:
    origin, sessions = f"conversation {hit.session}", (hit.session,) * len(hit.message_ids)
    return Candidate("episodic", hit.text, hit.score, origin, hit.message_ids, hit.at, sessions=sessions)


def _missed(moment: Moment) -> Candidate:
    origin = f"conversation {moment.session}"
    fields = (turn_line(moment), moment.score, origin, (moment.id,), moment.at, "lower in rank", (moment.session,))
    return Candidate("episodic", *fields)


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
