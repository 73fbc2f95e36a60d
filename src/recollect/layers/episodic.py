"""Episodic memory: finds the turns that answer a question, by meaning, words, speaker and date, within a budget."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from recollect.embed import Embedder
from recollect.flow.pack import Moment, distinct, one_by_one, pack
from recollect.flow.rank import Question, best_first, score
from recollect.flow.when import periods
from recollect.layers.columns import Columns, speaker_of
from recollect.store import MESSAGE, Entry, Filter, Store
from recollect.store.words import COMMON, query_words, words
from recollect.types import Hit, Scope

NEAREST: Final = 1_024
"""How many of the turns nearest in meaning are asked for; the others count as equally far."""
MAX_QUERY: Final = 4_000
"""Characters of a question that are looked at."""
FETCH: Final = 16
"""How many turns are read from the log at first; each further time it is twice as many."""
KEPT_SCOPES: Final = 64
MIN_SCORE: Final = 7.0
"""An answer that was scored lower than this is not recalled; one without a score is."""

_ASKS_ASSISTANT: Final = re.compile(
    r"\b(our (last |previous |earlier |past |prior )?(conversation|chat|discussion|session)"
    r"|(previous|earlier|last) (conversation|chat)|remind me"
    r"|you (said|told|mentioned|recommended|suggested|gave|provided|listed|wrote|explained|described|shared|named"
    r"|created|made|advised)|did you|your (answer|suggestion|recommendation|advice|list|reply|response))\b",
    re.IGNORECASE,
)


@dataclass(slots=True, eq=False)
class Episodic:
    """Recall over a store. Without an embedder it goes by words alone."""

    store: Store
    count: Callable[[str], int]
    embedder: Embedder | None = None
    _kept: OrderedDict[Scope, Columns] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def recall(self, within: Scope, question: str, budget: int, k: int | None, at: datetime) -> list[Hit]:
        """Hits of the turns that answer a question asked at that time, best first, within the budget."""
        asked = set(query_words(question[:MAX_QUERY]))
        return pack(islice(self._found(within, question, at), k), budget, self.count, words, asked)

    def search(self, within: Scope, question: str, k: int, at: datetime) -> list[Hit]:
        """The `k` best turns, a hit each."""
        return one_by_one(islice(self._found(within, question, at), k))

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

    def _found(self, within: Scope, question: str, at: datetime) -> Iterator[Moment]:
        """The turns that `within` covers, best first, none twice; read from the log as far as they are asked for."""
        yield from distinct(self._ranked(within, question[:MAX_QUERY], at))

    def _ranked(self, within: Scope, question: str, at: datetime) -> Iterator[Moment]:
        columns = self._columns(within.owner)
        with columns.lock:
            columns.refresh(self.store, self.count)
            if not len(columns) or not question.strip():
                return
            turns = columns.turns()
            scores = score(turns, self._question(columns, question, at))
            ids, session = columns.ids, columns.session(within.session) if within.session else None
        order = [n for n in best_first(scores) if session is None or turns.session[n] == session]
        for places in _ever_more(order):
            entries = self.store.log.get(within, [ids[n][1] for n in places])
            by_id = {(entry.scope.session, entry.message.id): entry for entry in entries}
            for n in places:
                if (entry := by_id.get(ids[n])) and _good(entry):
                    yield _moment(entry, float(scores[n]))

    def _question(self, columns: Columns, question: str, at: datetime) -> Question:
        today = at.astimezone(UTC).date()
        named = [] if columns.with_assistant else _named(question, columns.speakers)
        dropped = {word for speaker in columns.speakers for word in words(speaker)}
        asked = [word for word in query_words(question) if word not in dropped]
        return Question(
            self._meaning(columns, question),
            columns.postings(asked),
            periods(question, today),
            today.toordinal(),
            columns.speakers[named[0]] if len(named) == 1 else None,
            columns.with_assistant and not _ASKS_ASSISTANT.search(question),
        )

    def _meaning(self, columns: Columns, question: str) -> dict[int, float] | None:
        if self.embedder is None:
            return None
        vector = self.embedder.embed([question], kind="query")[0]
        matches = self.store.index.nearest(
            columns.scope, vector, self.embedder.name, NEAREST, where=Filter(kinds=(MESSAGE,))
        )
        places = ((columns.places.get((match.scope.session or "", match.id)), match.score) for match in matches)
        return {place: cosine for place, cosine in places if place is not None}


def _ever_more(order: list[int]) -> Iterator[list[int]]:
    start, size = 0, FETCH
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, size * 2


def _good(entry: Entry) -> bool:
    given = entry.message.metadata.get("score")
    return not isinstance(given, (int, float)) or given >= MIN_SCORE


def _moment(entry: Entry, points: float) -> Moment:
    message = entry.message
    at = message.at or datetime.fromtimestamp(0, UTC)
    return Moment(message.id, entry.scope.session or "", entry.seq, at, speaker_of(message), message.text, points)


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
