"""Tool memory: excerpts from tools and the web, each with its source and date, quoted while they are fresh."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from recollect.answers import Candidate, Excerpt
from recollect.arguments import MAX_QUESTION, check_question
from recollect.errors import ConfigError
from recollect.flow.chunk import one_by_one
from recollect.flow.news import asks_for_news
from recollect.flow.pack import CUT
from recollect.layers.columns import in_utc
from recollect.layers.marks import check_there
from recollect.recent import Recent
from recollect.settings import DEFAULTS
from recollect.store import Entry, Filter, Item, Record, Store
from recollect.store.checks import check_count
from recollect.store.words import query_words, words
from recollect.types import Scope, check_id, with_zone

log = logging.getLogger("recollect")

Search: TypeAlias = Callable[[str], Sequence[Excerpt]]
"""A function that searches the web: it takes a question and returns excerpts, best first, within its own time limit."""

KIND: Final = "artifact"
LOOKED_AT: Final = 20
NEAR_MISSES: Final = 10
WEB_RESULTS: Final = 3
"""How many results of one search are kept."""
MAX_CHARS: Final = 4_000
"""How many characters of a web result are kept, and how many of any excerpt are compared with a question."""
EXCERPT_TOKENS: Final = 100
"""A longer excerpt is shown up to the last sentence that fits."""
SHARED: Final = 0.25
"""The share of a question's words that an excerpt must have to be to the point."""
AGE: Final = 0.5
"""The share of its score that an excerpt has lost by the time it expires."""
SEARCH_AGAIN: Final = timedelta(minutes=10)
KEPT: Final = 256


@dataclass(slots=True, eq=False)
class Tools:
    """What tools said in a session. `search`, if given, is called when a question asks for news."""

    store: Store
    count: Callable[[str], int]
    search: Search | None = None
    days: float = DEFAULTS.tools_days
    most: int = DEFAULTS.tools_top_k
    _searched: Recent[tuple[Scope, str], datetime] = field(default_factory=lambda: Recent(KEPT))
    _shortened: Recent[str, str] = field(default_factory=lambda: Recent(KEPT))

    def add(self, scope: Scope, excerpt: str, source: str, at: datetime) -> Excerpt:
        """Keep an excerpt until it expires, and return it. The same excerpt is kept once a day."""
        kept = Excerpt(excerpt, source, at)
        self.restore(scope, kept, at)
        return kept

    def restore(self, scope: Scope, excerpt: Excerpt, at: datetime, question: str = "") -> bool:
        """Keep an excerpt; returns whether it is new. `question` is what a web search found it for."""
        source = check_id(excerpt.source, "the source of an excerpt")
        if not excerpt.text.strip():
            raise ConfigError(f"the excerpt of {source} is empty: give the words that are worth keeping")
        return self._put(scope, [excerpt], with_zone(at), question)

    def offer(self, scope: Scope, question: str, at: datetime, *, as_of: int | None = None) -> list[Candidate]:
        """Excerpts that match a question asked at that time, best first; `as_of` leaves out what was kept later."""
        scored = (one for one, _ in self._scored(scope, question, at, as_of))
        best = sorted(scored, key=lambda one: (-one.score, one.origin, one.text))
        distinct = list({one.text: one for one in reversed(best)}.values())[::-1]
        fitting = [one for one in distinct if not one.out]
        over = [replace(one, out=f"more than {self.most}") for one in fitting[self.most :]]
        return [*fitting[: self.most], *(over + [one for one in distinct if one.out])[:NEAR_MISSES]]

    def forget(self) -> None:
        """Drop what is cached, such as which questions were searched for lately, because messages were erased."""
        self._searched.clear()
        self._shortened.clear()

    def kept(self, scope: Scope, at: datetime) -> list[Excerpt]:
        """The session's excerpts that have not expired at that time, in the order in which they were added."""
        return [_excerpt(record) for record in self.fresh(scope, at)]

    def fresh(self, scope: Scope, at: datetime) -> list[Record]:
        """The records of the excerpts that have not expired, of a session or of all a user's sessions."""
        records = self.store.records.find(scope, kind=KIND, exact=scope.session is not None)
        return [record for record in records if _holds(record, with_zone(at))]

    def find(self, scope: Scope, question: str, at: datetime, k: int = LOOKED_AT) -> list[Excerpt]:
        """The `k` excerpts that match a question best, best first."""
        check_question(question)
        check_count("k", k)
        scored = (one for one in self._scored(scope, question, at, None) if not one[0].out)
        best = sorted(scored, key=lambda one: (-one[0].score, one[0].origin))
        return [_excerpt(record) for _, record in best[:k]]

    def _scored(self, scope: Scope, question: str, at: datetime, as_of: int | None) -> list[tuple[Candidate, Record]]:
        """The excerpts that share words with a question, each as a candidate and as its record."""
        asked, at = question[:MAX_QUESTION], with_zone(at)
        wanted = set(query_words(asked))
        return [(self._candidate(record, wanted, at), record) for record in self._found(scope, asked, at, as_of)]

    def _found(self, scope: Scope, asked: str, at: datetime, as_of: int | None) -> list[Record]:
        if not self.store.records.find(scope, kind=KIND, exact=True, limit=1):
            return []
        where = Filter(kinds=(KIND,), since=_later(at, -self.days), before=_later(at, 1e-9), as_of=as_of, exact=True)
        matches = self.store.index.search(scope, asked, LOOKED_AT, where=where)
        records = self.store.records.get(scope, [match.id for match in matches])
        return [record for record in records if _holds(record, at)]

    def _candidate(self, record: Record, wanted: set[str], at: datetime) -> Candidate:
        text = record.value["text"]
        held = wanted.intersection(words(f"{text[:MAX_CHARS]} {record.value['question']}"))
        shared = len(held) / max(1, len(wanted))
        age = min(1.0, max(0.0, (at - (record.valid_from or at)) / timedelta(days=self.days)))
        out = "" if shared >= SHARED else "not to the point"
        score = shared * (1 - AGE * age)
        return Candidate(
            "tools", self._short(record), score, origin_of(record), at=record.valid_from, out=out, records=(record.id,)
        )

    def _short(self, record: Record) -> str:
        """An excerpt as it is shown, remembered under its id: that changes with its text."""
        found = self._shortened.get(record.id)
        if found is None:
            found = self._shortened[record.id] = _in_short(record.value["text"].strip(), self.count)
        return found

    def _is_due(self, scope: Scope, asked: str, at: datetime) -> bool:
        """Whether to search now: only for news, and not twice within minutes for the same question."""
        if not asks_for_news(asked, at.date()):
            return False
        last = self._searched.get((scope, asked))
        if last is not None and abs(at - last) < SEARCH_AGAIN:
            return False
        self._searched[scope, asked] = at
        return True

    def look_up(self, scope: Scope, question: str, at: datetime, id: str | None = None) -> None:
        """Search the web if a question asks for news, and keep what is found; failures are only logged.

        Call it before `offer`, and outside `Store.reading`, in which what it keeps would not be seen. Nothing is kept
        if the message `id` was erased meanwhile.
        """
        asked = question[:MAX_QUESTION]
        if self.search is None or not self._is_due(scope, asked, at):
            return
        try:
            found = [
                Excerpt(one.text[:MAX_CHARS], check_id(one.source, "a source"), one.at)
                for one in list(self.search(asked))[:WEB_RESULTS]
                if one.text.strip()
            ]
            with self.store.transaction(scope):
                self._put(scope, found, at, asked)
                check_there(self.store, scope, () if id is None else (id,))
        except Exception as error:  # a user's own search may raise anything
            log.warning("the web search failed this time: %s", type(error).__name__)  # its words may hold the question

    def _put(self, scope: Scope, found: Sequence[Excerpt], at: datetime, asked: str) -> bool:
        """Keep excerpts; returns whether any of them is new."""
        records = {record.id: record for record in (self._record(one, at, asked) for one in found)}
        if not records:
            return False
        with self.store.transaction(scope):
            for known in self.store.records.get(scope, list(records)):
                del records[known.id]
            items = [Item(KIND, id, f"{record.value['text']}\n{asked}", at=at) for id, record in records.items()]
            self.store.index.put(scope, items)
            self.store.records.put(scope, list(records.values()))
        return bool(records)

    def _record(self, one: Excerpt, at: datetime, asked: str) -> Record:
        day = in_utc(at).date()
        id = hashlib.blake2b(repr((one.text, one.source, day)).encode(), digest_size=16).hexdigest()
        since = min(one.at or at, at)
        value = {"text": one.text, "source": one.source, "question": asked}
        return Record(
            KIND,
            id,
            value,
            origin=one.source,
            trust="tool",
            valid_from=since,
            valid_to=_later(at, self.days),
            id=id,
        )


def searched_for(store: Store, session: Scope, messages: Sequence[Entry]) -> list[Record]:
    """The excerpts that a web search found for one of these messages."""
    asked = {entry.message.text[:MAX_QUESTION].strip() for entry in messages} - {""}
    kept = store.records.find(session, kind=KIND, exact=True) if asked else []
    return [record for record in kept if _question(record).strip() in asked]


def _in_short(text: str, count: Callable[[str], int]) -> str:
    """The text up to the last sentence that fits in EXCERPT_TOKENS."""
    if len(text) <= MAX_CHARS and count(text) <= EXCERPT_TOKENS:
        return text
    first = next(one_by_one(text[:MAX_CHARS], count, EXCERPT_TOKENS, 0))
    return f"{first.text.strip()} {CUT}"


def origin_of(record: Record) -> str:
    """Where an excerpt is from, for a reader: "web https://…" or "tool …"."""
    source: str = record.value["source"]
    return f"web {source}" if source.startswith(("http://", "https://")) else f"tool {source}"


def _holds(record: Record, at: datetime) -> bool:
    return record.valid_to is None or at < record.valid_to


def _excerpt(record: Record) -> Excerpt:
    return Excerpt(record.value["text"], record.value["source"], record.valid_from)


def _question(record: Record) -> str:
    return str(record.value.get("question", "")) if isinstance(record.value, Mapping) else ""


def _later(at: datetime, days: float) -> datetime | None:
    """That many days later; None if that is beyond the dates that a datetime can hold."""
    try:
        return at + timedelta(days=days)
    except OverflowError:
        return None
