"""Episodic memory: finds the turns that answer a question, by meaning, words, speaker and date, within a budget."""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import islice
from typing import Final

from recollect.embed import Embedder
from recollect.errors import ModelError
from recollect.flow.pack import Moment, day_line, distinct, of_sessions, one_by_one, pack, turn_line
from recollect.flow.rank import Numbers, Question, aligned, best_first, score
from recollect.flow.when import ago, periods
from recollect.layers.columns import Columns, day_of, speaker_of
from recollect.store import ANY, MESSAGE, Entry, Filter, Item, Store
from recollect.store.words import COMMON, query_words, words
from recollect.types import Candidate, Hit, Recalled, Scope

log = logging.getLogger("recollect")

NEAREST: Final = 1_024
"""How many of the turns nearest in meaning are asked for; the others count as equally far."""
MESSAGES: Final = Filter(kinds=(MESSAGE,))
MAX_QUERY: Final = 4_000
"""Characters of a question that are looked at."""
FETCH: Final = 16
"""How many turns are read from the log at first; each further time it is twice as many."""
KEPT_SCOPES: Final = 64
NEAR_MISSES: Final = 3
"""How many turns that just missed a context are told on its receipt."""
MIN_SCORE: Final = 7.0
"""An answer that was scored lower than this is not recalled; one without a score is."""

_ASKS_ASSISTANT: Final = re.compile(
    r"\b(our (last |previous |earlier |past |prior )?(conversation|chat|discussion|session)"
    r"|(previous|earlier|last) (conversation|chat)|remind me"
    r"|you (said|told|mentioned|recommended|suggested|gave|provided|listed|wrote|explained|described|shared|named"
    r"|created|made|advised)|did you|your (answer|suggestion|recommendation|advice|list|reply|response))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, when it is asked, where its answer may lie, and how much newness counts."""

    text: str
    at: datetime
    within: Scope
    where: Filter = ANY
    recency: float = 0.0


@dataclass(frozen=True, slots=True)
class _Ranking:
    order: list[int] = field(default_factory=list)
    ids: list[tuple[str, str]] = field(default_factory=list)
    scores: Numbers | Sequence[float] = ()
    relevance: float = 0.0


@dataclass(slots=True, eq=False)
class Episodic:
    """Recall over a store. Without an embedder it goes by words alone.

    `former` is the embedder used before: its vectors serve until the new one's are made.
    """

    store: Store
    count: Callable[[str], int]
    embedder: Embedder | None = None
    former: Embedder | None = None
    min_score: float = MIN_SCORE
    floor: float = 0.0
    _kept: OrderedDict[Scope, Columns] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, asked: Asked, budget: int, k: int | None) -> Recalled:
        """Hits of the turns that answer the question, best first, within the budget."""
        ranking = self._rank(asked)
        moments = islice(distinct(self._read(asked, ranking)), k)
        matter = set(query_words(asked.text))
        return Recalled(pack(moments, budget, self.count, words, matter), ranking.relevance)

    def search(self, asked: Asked, k: int) -> Recalled:
        """The `k` best turns, a hit each."""
        ranking = self._rank(asked)
        return Recalled(one_by_one(islice(distinct(self._read(asked, ranking)), k)), ranking.relevance)

    def offer(self, asked: Asked, without: frozenset[str], k: int | None) -> Callable[[int], list[Candidate]]:
        """What a context gets of the turns that answer the question, but for those `without`, by the tokens there are.

        They come as up to `k` conversations, each under its dates; those that are next in rank come marked as out.
        """
        ranking = self._rank(asked)
        relevant = self._read(asked, ranking) if ranking.relevance > self.floor else iter(())
        moments = _Kept(moment for moment in distinct(relevant) if moment.id not in without)
        matter, today = set(query_words(asked.text)), date.fromordinal(day_of(asked.at))

        def day(at: datetime) -> str:
            return f"{day_line(at)} ({ago(date.fromordinal(day_of(at)), today)})"

        def within(tokens: int) -> list[Candidate]:
            hits = pack(of_sessions(moments, k), tokens, self.count, words, matter, day)
            taken = {id for hit in hits for id in hit.message_ids}
            left = [moment for moment in moments.read if moment.id not in taken]
            return [*map(_candidate, hits), *map(_missed, left[:NEAR_MISSES])]

        return within

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased."""
        with self._lock:
            for kept in [kept for kept in self._kept if kept.covers(scope) or scope.covers(kept)]:
                del self._kept[kept]

    def _columns(self, scope: Scope) -> Columns:
        with self._lock:
            columns = self._kept.setdefault(scope, Columns(scope))
            self._kept.move_to_end(scope)
            while len(self._kept) > KEPT_SCOPES:
                self._kept.popitem(last=False)
            return columns

    def _rank(self, asked: Asked) -> _Ranking:
        columns = self._columns(asked.within.owner)
        with columns.lock:
            columns.refresh(self.store, self.count)
            if not len(columns) or not asked.text.strip():
                return _Ranking()
            turns, question = columns.turns(), self._question(columns, asked)
            scores = score(turns, question)
            session = columns.session(asked.within.session) if asked.within.session else None
        order = [n for n in best_first(scores) if session is None or turns.session[n] == session]
        return _Ranking(order, columns.ids, scores, _relevance(question, len(turns.session)))

    def _read(self, asked: Asked, ranking: _Ranking) -> Iterator[Moment]:
        """The ranked turns from the log, best first, as far as they are asked for; what is gone there is left out."""
        for places in _ever_more(ranking.order):
            entries = self.store.log.get(asked.within, [ranking.ids[n][1] for n in places])
            by_id = {(entry.scope.session, entry.message.id): entry for entry in entries}
            for n in places:
                if (entry := by_id.get(ranking.ids[n])) and _passes(entry, asked.where, self.min_score):
                    yield _moment(entry, float(ranking.scores[n]))

    def _question(self, columns: Columns, asked: Asked) -> Question:
        today = date.fromordinal(day_of(asked.at))
        named = [] if columns.with_assistant else _named(asked.text, columns.speakers)
        dropped = {word for speaker in columns.speakers for word in words(speaker)}
        return Question(
            self._meaning(columns, asked.text),
            columns.postings([word for word in query_words(asked.text) if word not in dropped]),
            periods(asked.text, today),
            today.toordinal(),
            columns.speakers[named[0]] if len(named) == 1 else None,
            columns.with_assistant and not _ASKS_ASSISTANT.search(asked.text),
            asked.recency,
        )

    def _meaning(self, columns: Columns, question: str) -> dict[int, float] | None:
        if self.embedder is None:
            return None
        try:
            near = self._near(columns, question, self.embedder)
            if self.former is None:
                return near
            return {**aligned(self._near(columns, question, self.former), near), **near}
        except ModelError as error:
            log.warning("recall goes by keywords alone this time: %s", error)
            return None

    def _near(self, columns: Columns, question: str, embedder: Embedder) -> dict[int, float]:
        vector = embedder.embed([question], kind="query")[0]
        matches = self.store.index.nearest(columns.scope, vector, embedder.name, NEAREST, where=MESSAGES)
        places = ((columns.places.get((match.scope.session or "", match.id)), match.score) for match in matches)
        return {place: cosine for place, cosine in places if place is not None}


def _ever_more(order: list[int]) -> Iterator[list[int]]:
    start, size = 0, FETCH
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, size * 2


def _relevance(question: Question, turns: int) -> float:
    if question.meaning:
        return min(1.0, max(0.0, *question.meaning.values(), 0.0))
    if not question.postings:
        return 0.0
    held = [0] * turns
    for places, _ in question.postings:
        for place in places:
            held[place] += 1
    return max(held) / len(question.postings)


def _passes(entry: Entry, where: Filter, min_score: float) -> bool:
    message = entry.message
    given = message.metadata.get("score")
    if isinstance(given, (int, float)) and given < min_score:
        return False
    return where is ANY or where.passes(
        Item(MESSAGE, message.id, at=message.at, role=message.role, metadata=message.metadata, position=entry.position)
    )


def _moment(entry: Entry, points: float) -> Moment:
    message = entry.message
    at = message.at or datetime.fromtimestamp(0, UTC)
    return Moment(message.id, entry.scope.session or "", entry.seq, at, speaker_of(message), message.text, points)


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
    return Candidate("episodic", hit.text, hit.score, f"conversation {hit.session}", hit.message_ids, hit.at)


def _missed(moment: Moment) -> Candidate:
    origin = f"conversation {moment.session}"
    return Candidate("episodic", turn_line(moment), moment.score, origin, (moment.id,), moment.at, "lower in rank")


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
