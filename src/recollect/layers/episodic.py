"""Episodic memory: finds the turns that answer a question, by meaning, words, speaker and date, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Final

from recollect.answers import Candidate, Hit, Recalled
from recollect.embed import Embedder
from recollect.flow.days import ago, written
from recollect.flow.pack import Moment, distinct, of_sessions, one_by_one, pack, turn_line
from recollect.flow.passages import pieces
from recollect.flow.pronouns import with_what_it_means
from recollect.flow.sentences import Span
from recollect.flow.talk import asks_for_several, asks_of_talk
from recollect.layers.columns import Columns, speaker_of
from recollect.layers.marks import there
from recollect.layers.ranking import MANY, Asked, Ranker, Ranking
from recollect.settings import DEFAULTS
from recollect.store import ANY, Entry, Store
from recollect.store.codec import EPOCH
from recollect.store.values import item_of
from recollect.store.words import COMMON, query_words, words
from recollect.types import Message, Scope

SPARE: Final = 4
"""How many more turns are read from the log than seem to fit; each further read takes twice as many."""
FIRST: Final = 4
"""How many turns a context reads at first: they name the conversations that further ones are read from."""
NEAR_MISSES: Final = 3
"""How many turns that just missed a context are shown on its receipt."""


@dataclass(slots=True)
class _Chosen:
    """The conversations that a context quotes, `most` of them."""

    most: int | None
    sessions: set[str] = field(default_factory=set)

    @property
    def all(self) -> bool:
        return self.most is not None and len(self.sessions) >= self.most


@dataclass(slots=True, eq=False)
class Episodic:
    """Recall over a store. Without an embedder it goes by words alone.

    `former` is the embedder used before: its vectors serve until the new one's are made. An answer scored lower than
    `min_score` is not recalled, one without a score is. The more of a question was never said, the nearer what is
    recalled must be; a larger `floor` lets more through.
    """

    store: Store
    count: Callable[[str], int]
    embedder: Embedder | None = None
    former: Embedder | None = None
    min_score: float = DEFAULTS.episodic_min_score
    floor: float = DEFAULTS.episodic_floor
    ranker: Ranker = field(init=False)

    def __post_init__(self) -> None:
        self.ranker = Ranker(self.store, self.embedder, self.former)

    def recall(self, asked: Asked, budget: int, k: int | None) -> Recalled:
        """Hits of the turns that answer the question, best first, within the budget."""
        ranking = self.ranker.rank(asked)
        first = min(ranking.fitting(budget), MANY if k is None else k)
        moments = islice(distinct(self._read(asked, ranking, first)), k)
        matter = set(query_words(asked.text))
        hits = pack(moments, budget, self.count, words, matter)
        return Recalled(hits, ranking.relevance, self._by_chance(asked.text, ranking))

    def search(self, asked: Asked, k: int) -> Recalled:
        """The `k` best turns, a hit each; without vectors to compare, only turns that share words with the question."""
        ranking = self.ranker.rank(asked, only_matching=True)
        hits = one_by_one(islice(distinct(self._read(asked, ranking, k, whole=True)), k))
        return Recalled(hits, ranking.relevance, self._by_chance(asked.text, ranking))

    def offer(
        self, asked: Asked, k: int | None, said: Sequence[Message] = (), here: str = ""
    ) -> Callable[[int, frozenset[str]], list[Candidate]]:
        """A function that takes a number of tokens and the ids of the messages shown, and gives the turns that answer.

        They come as up to `k` conversations, each under its dates; those that are next in rank come marked as out. One
        of several conversations is that of the turn that answers best, whoever said it. Messages that the context
        shows, all of session `here`, are not among them, nor are the same words from elsewhere: those that may be shown
        are `said`. A question about the talk itself goes by time alone: what was said in the period that it names comes
        as one, of as many conversations as there is room for. So do the best answers to a question that asks for
        several things. One that says "she" or "it" is about what the user spoke of last.
        """
        question = asked.text
        asked = replace(asked, shown=frozenset((here, message.id) for message in said))
        if asks_of_talk(question):
            asked = replace(asked, by_time=True)
        else:
            before = (one.text for one in reversed(said) if one.role == "user" and one.text != question)
            asked = replace(asked, text=with_what_it_means(question, before, COMMON))
        ranking = self.ranker.rank(asked)
        together = ranking.throughout or asks_for_several(question)
        most = None if together else k
        nothing = not asked.by_time and self.ranker.is_off_topic(question, ranking, self.floor)
        whoever = None if ranking.whoever is None or asked.by_time else replace(ranking, scores=ranking.whoever)
        matter = set(query_words(asked.text))

        def day(at: datetime) -> str:
            return f"{written(at)} ({ago(at.date(), _there(asked.at, at).date())})"

        @cache
        def beside(ids: frozenset[str]) -> tuple[_Kept, _Chosen]:
            parts = [part for message in said if message.id in ids for part in pieces(message.text)]
            shown, chosen = frozenset((here, id) for id in ids), _Chosen(most)
            if whoever and not nothing and (most or 0) > 1 and _first(whoever, shown) != _first(ranking, shown):
                best = islice(distinct(self._read(asked, whoever, 0, shown=shown), parts), 1)
                chosen.sessions.update(moment.session for moment in best)
            read = iter(()) if nothing else self._read(asked, ranking, FIRST, chosen, shown)
            return _Kept(distinct(read, parts)), chosen

        @cache
        def packed(tokens: int, shown: frozenset[str]) -> list[Hit]:
            moments, chosen = beside(shown)
            return pack(of_sessions(moments, most, chosen.sessions), tokens, self.count, words, matter, day)

        def within(tokens: int, shown: frozenset[str]) -> list[Candidate]:
            hits, moments = packed(tokens, shown), beside(shown)[0]
            taken = {(hit.session, id) for hit in hits for id in hit.message_ids}
            left = [moment for moment in moments.read if (moment.session, moment.id) not in taken]
            quoted = [_in_time(hits)] if hits and together else map(_candidate, hits)
            return [*quoted, *map(_missed, left[:NEAR_MISSES])]

        return within

    def _by_chance(self, question: str, ranking: Ranking) -> bool:
        return not asks_of_talk(question) and self.ranker.is_off_topic(question, ranking, self.floor)

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased."""
        self.ranker.forget(scope)

    def _read(
        self,
        asked: Asked,
        ranking: Ranking,
        first: int,
        chosen: _Chosen | None = None,
        shown: frozenset[tuple[str, str]] = frozenset(),
        *,
        whole: bool = False,
    ) -> Iterator[Moment]:
        """Read the ranked turns from the log, best first, as they are asked for, but for those erased or shown already.

        Once all sessions are chosen, only their turns are read. Of a long message there are passages or, with `whole`,
        all of it where its best passage is.
        """
        size, columns, read = first + SPARE, ranking.columns, set[int]()
        # the ranking goes no further than `as_of`
        where = asked.where if asked.where.as_of is None else replace(asked.where, as_of=None)
        everything = where == ANY
        anew = False
        while True:
            if chosen and chosen.all:
                ranking, chosen, size = ranking.within(chosen.sessions), None, first + SPARE
            most = size + len(shown)
            named = ((place, columns.id_of(place)) for place in ranking.best(most) if place not in read)
            places = dict(islice(((place, id) for place, id in named if id not in shown), size))
            if not places and ranking.count < most:
                return
            entries = there(self.store, asked.within, dict.fromkeys(places.values()))
            gone = [place for place, id in places.items() if id not in entries]
            if self._forget_erased(columns, gone) and not read and not anew:
                ranking, anew = self.ranker.rank(asked, ranking.matching), True  # once: a damaged index lacks it again
                columns = ranking.columns
                continue
            for place, id in places.items():
                entry = entries.get(id)
                if entry is None or not _scores(entry, self.min_score):
                    continue
                if everything or where.passes(item_of(entry.message, entry.scope, entry.position)):
                    span = None if whole else columns.spans.get(place)
                    yield _moment(entry, float(ranking.scores[place]), span)
            read.update(places)
            size *= 2

    def _forget_erased(self, columns: Columns, gone: Sequence[int]) -> bool:
        """Drop columns that hold what another process erased, which would count in every ranking; whether it did.

        Where nothing follows the first missing message in the log, it is not erased but newer than the moment read.
        """
        erased = gone and self.store.log.scan(columns.scope, after=columns.position_of(min(gone)), limit=1)
        if erased:
            self.forget(columns.scope)
        return bool(erased)


def _first(ranking: Ranking, shown: frozenset[tuple[str, str]]) -> str | None:
    """The session of the best turn that is not shown."""
    ids = map(ranking.columns.id_of, ranking.best(ranking.count))
    return next((id[0] for id in ids if id not in shown), None)


def _scores(entry: Entry, least: float) -> bool:
    """Whether a message has a score of at least `least`, or none."""
    given = entry.message.metadata.get("score")
    return not isinstance(given, (int, float)) or isinstance(given, bool) or given >= least


def _moment(entry: Entry, points: float, span: Span | None) -> Moment:
    message, session = entry.message, entry.scope.session or ""
    at, text = message.at or EPOCH, message.text
    start, end = span or (0, len(text))
    order, goes_on = (entry.seq, start), end < len(text)
    speaker = " ".join(speaker_of(message).split()) or message.role  # on one line, whatever the name
    return Moment(message.id, session, order, at, speaker, text[start:end], points, goes_on)


@dataclass(slots=True)
class _Kept:
    """An iterator of moments that can be gone through again; `read` are those that came so far."""

    source: Iterator[Moment]
    read: list[Moment] = field(default_factory=list)

    def __iter__(self) -> Iterator[Moment]:
        yield from self.read
        for moment in self.source:
            self.read.append(moment)
            yield moment


def _there(asked: datetime, at: datetime) -> datetime:
    """The moment of a question by the clock of the zone in which something was said."""
    try:
        return asked.astimezone(at.tzinfo)
    except OverflowError:
        return asked


def _candidate(hit: Hit) -> Candidate:
    origin, sessions = f"conversation {hit.session}", (hit.session,) * len(hit.message_ids)
    return Candidate("episodic", hit.text, hit.score, origin, hit.message_ids, hit.at, sessions=sessions)


def _in_time(hits: Sequence[Hit]) -> Candidate:
    """What was said in several conversations, as one in the order of time."""
    told = [_candidate(hit) for hit in sorted(hits, key=lambda hit: hit.at)]
    return replace(
        told[0],
        text="\n".join(one.text for one in told),
        score=max(one.score for one in told),
        origin=told[0].origin if len(told) == 1 else f"{len(told)} conversations",
        sources=tuple(id for one in told for id in one.sources),
        sessions=tuple(session for one in told for session in one.sessions),
    )


def _missed(moment: Moment) -> Candidate:
    origin = f"conversation {moment.session}"
    fields = (turn_line(moment), moment.score, origin, (moment.id,), moment.at, "lower in rank", (moment.session,))
    return Candidate("episodic", *fields)
