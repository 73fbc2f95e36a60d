"""Procedural memory: a user's habits, counted over the log as `Patterns`, and hints from them for a context.

A user's log is counted in parts of a thousand messages. Each part is counted once and stored as a record that cites its
messages: erasing one of them erases the record, and the next analysis counts what is left of that part. The total of
all parts and the newest messages is stored as one more record; a context reads only that. These records hold JSON as
text, because freezing nested values would take longer than counting. Questions that mean the same in other words are
grouped by the vectors that their messages have in the index.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.answers import Candidate
from recollect.errors import ConfigError, Conflict, DiskFull, StoreUnavailable
from recollect.flow.patterns import Hint, derive, hints, most_asked
from recollect.flow.tally import Recurring, Tally
from recollect.layers.marks import check_cited, drop_citing, retry_when_gone
from recollect.patterns import Patterns
from recollect.recent import remembered
from recollect.settings import DEFAULTS
from recollect.store import MESSAGE, Entry, Item, Job, Record, Store
from recollect.store.stem import MAX_WORD
from recollect.store.words import COMMON, common_words, split, words
from recollect.tokens.message import MESSAGE_TOKENS
from recollect.types import Message, Scope

JOB: Final = Job("patterns", key="patterns", delay=60.0)
"""The job that checks whether an analysis is due: one a minute at most, a minute after something was said."""
KIND: Final = "pattern"
PART: Final = 1_000
"""Messages in a part."""
KEPT: Final = 256
"""Users whose hints are remembered."""

_WORD: Final = re.compile(r"[^\W_]+")
_CHAT: Final = """
answer anything ask best better change come correct create day detail done easy else everything example explain
find fine first following give good great hello help hey hi idea keep kind later less list long look lot love
mean need new next nice number old part people perfect please point possible problem provide put question
quick right short show simple someone start stop sure take talk tell thank thing time today tomorrow try two
understand use way week work write wrong year yesterday
"""
_NO_TOPIC: Final = COMMON.union(words(_CHAT))
"""Words that are in every conversation, whatever it is about."""
_ASKING: Final = """
actual actually add additional advice ago already always amazing appreciate area around aspect attend available
aware back base between big bit both bring busy can case certain check choose clear close common compare complete
concern confirm consider continue couple curious current currently daily decide definitely depend difference
different difficult during early effective end enjoy enough especially even ever everyone exact excite expect
experience experiment explore extra factor far favorite feel few final finish focus forward found friendly full fun
further general glad half handle happen happy hard hear heard high hope hour however huge imagine important improve
include incorporate increase information inspiration instead interest issue last late lately let little local matter
maybe mention mind minute moment month morning much multiple notice now often online option organize original
overall own particular particularly personal pick place plan popular prefer prepare pretty previous probably purpose
rather reach ready real reason recent recently recommend recommendation regular related remember resource result
second seem sense separate set several side similar since situation small soon sound speak special specific stay
stuff suggest suggestion suit suppose term think though thought three tip together tonight total toward turn type
typical upcoming usual usually various wait weekend whole within without wonder worry worth
"""
_NOT_KEPT: Final = (Conflict, DiskFull, StoreUnavailable)
_SAY_LITTLE: Final = frozenset(words(_ASKING))
"""Words that questions on any topic use: they tell questions apart, but name no topic."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The counts of the log between two positions; `cites` has the session and id of each message counted.

    `whole` says that it has as many messages as a part should have.
    """

    after: int
    to: int
    tally: Tally
    cites: tuple[tuple[str, str], ...] = ()
    whole: bool = True


@dataclass(slots=True, eq=False)
class Procedural:
    """The patterns of each user, analysed again after every `every` conversations.

    `model` names the embedder whose vectors tell which questions mean the same; without it, their words do.
    """

    store: Store
    count: Callable[[str], int]
    every: int = DEFAULTS.patterns_every_sessions
    max_tokens: int | None = DEFAULTS.hints_tokens
    model: str | None = None

    def catch_up(self, scope: Scope) -> int:
        """Analyse the user's patterns if enough conversations have passed; returns 1 if it did, else 0."""
        due = self._due(_owner(scope))
        if due:
            self._analyse(_owner(scope))
        return int(due)

    def learn(self, job: Job) -> int:
        """`catch_up` for a job, which it finishes."""
        scope = _owner(job.scope)
        if not self._due(scope):
            self.store.jobs.finish(job)
            return 0
        self._analyse(scope, job)
        return 1

    def patterns(self, scope: Scope) -> Patterns:
        """The user's patterns, analysed now over everything said so far."""
        return self._analyse(_owner(scope))

    def offer(self, scope: Scope, as_of: int | None = None) -> list[Candidate]:
        """Hints from the last analysis, the most useful first. Those beyond `max_tokens` are marked as left out."""
        kept = self._kept(_owner(scope), as_of)
        offered, learned = list[Candidate](), (kept.id,) if kept else ()
        room = math.inf if self.max_tokens is None else self.max_tokens
        for n, hint in enumerate(_hints(kept.value["patterns"]) if kept else ()):
            tokens = self.count(f"{hint.text}\n")
            out = "" if tokens <= room else "over the tokens for hints"
            room -= 0 if out else tokens
            offered.append(
                Candidate(
                    "hints",
                    hint.text,
                    1 / (n + 1),
                    "habits of the user",
                    hint.sources,
                    out=out,
                    sessions=hint.sessions,
                    records=learned,
                )
            )
        return offered

    def _due(self, scope: Scope) -> bool:
        kept = self._kept(scope)
        if kept is None and self.store.records.find(scope, kind=KIND, key="part", exact=True, limit=1):
            return True
        recent = self.store.log.sessions(scope, limit=self.every)
        return len(recent) == self.every and recent[-1].position > (kept.value["position"] if kept else 0)

    def _kept(self, scope: Scope, as_of: int | None = None) -> Record | None:
        found = self.store.records.find(scope, kind=KIND, key="patterns", as_of=as_of, exact=True)
        return found[-1] if found else None

    def _analyse(self, scope: Scope, job: Job | None = None) -> Patterns:
        """Analyse the patterns, starting over if messages are erased meanwhile."""
        return retry_when_gone(partial(self._analyse_once, scope, job), partial(drop_citing, self.store, scope, KIND))

    def _analyse_once(self, scope: Scope, job: Job | None) -> Patterns:
        """Analyse the patterns; store them and finish the job in one transaction.

        If another process was faster or the store can't be written to, the patterns are returned anyway; with a job,
        that raises an error.
        """
        parts = self._parts(scope)
        fresh, newest = self._unread(scope, parts)
        tally = Tally()
        for part in sorted([*parts, *fresh, newest], key=lambda part: part.after):
            tally.add(part.tally)
        patterns = derive(tally, self._meanings(scope, tally.questions), _SAY_LITTLE)
        with suppress(*_NOT_KEPT) if job is None else nullcontext(), self.store.transaction():
            self._keep(scope, patterns, newest.to)
            check_cited(self.store, scope, _cites(patterns))
            if job is not None:
                self.store.jobs.finish(job)
        return patterns

    def _meanings(self, scope: Scope, questions: Mapping[str, Recurring]) -> dict[str, NDArray[np.float32]]:
        """The vectors of the questions to compare: those of messages that say little besides the question."""
        if self.model is None:
            return {}
        asked = {(questions[bag].session, questions[bag].source): bag for bag in most_asked(questions)}
        found = self.store.index.vectors(scope, MESSAGE, self.model, list({id for _, id in asked}))
        vectors = {}
        for item, vector in found:
            session = item.scope.session if item.scope else None
            bag = asked.get((session or "", item.id)) or asked.get(("", item.id))
            if bag and _is_all(questions[bag], item):
                vectors[bag] = vector
        return vectors

    def _keep(self, scope: Scope, patterns: Patterns, position: int) -> None:
        value = {"position": position, "patterns": json.dumps(patterns.to_dict())}
        new = Record(KIND, "patterns", value, origin="user", sources=_ids(_cites(patterns)))
        old = self._kept(scope)
        if old is None:
            self.store.records.put(scope, [new])
        elif old.value != new.value:
            self.store.records.supersede(scope, old.id, new)

    def _parts(self, scope: Scope) -> list[_Part]:
        found = self.store.records.find(scope, kind=KIND, key="part", exact=True)
        parts = [_Part(r.value["after"], r.value["to"], Tally.from_dict(json.loads(r.value["tally"]))) for r in found]
        return sorted(parts, key=lambda part: part.after)

    def _unread(self, scope: Scope, parts: Sequence[_Part]) -> tuple[list[_Part], _Part]:
        """Count what is not counted yet; returns the missing parts, and the newest messages, too few for a part."""
        fresh: list[_Part] = []
        start = 0
        for part in parts:
            while start < part.after:
                fresh.append(self._kept_part(scope, self._counted(scope, start, part.after)))
                start = fresh[-1].to
            start = part.to
        while (newest := self._counted(scope, start)).whole:
            fresh.append(self._kept_part(scope, newest))
            start = newest.to
        return fresh, newest

    def _kept_part(self, scope: Scope, part: _Part) -> _Part:
        """Store a part in a transaction of its own, so that others can write between two parts; returns the part."""
        with suppress(*_NOT_KEPT), self.store.transaction():
            self.store.records.put(scope, [_record(part)])
            check_cited(self.store, scope, part.cites)
        return part

    def _counted(self, scope: Scope, after: int, until: int | None = None) -> _Part:
        """Count the next part of the log after a position, up to `until` or to the end of the log."""
        page = self.store.log.scan(scope, after=after, limit=PART)
        entries = [entry for entry in page if until is None or entry.position <= until]
        whole = len(entries) == PART
        to = entries[-1].position if entries and (whole or until is None) else until or after
        tally, cites = Tally(), dict[tuple[str, str], None]()
        before = dict[Scope, Message | None]()
        for entry in entries:
            if entry.scope not in before:
                before[entry.scope] = self._before(entry)
            looked = _count(tally, entry, before[entry.scope], self.count)
            cites.update(dict.fromkeys((entry.scope.session or "", message.id) for message in looked))
            before[entry.scope] = entry.message
        return _Part(after, to, tally, tuple(cites), whole)

    def _before(self, entry: Entry) -> Message | None:
        if entry.seq == 1:
            return None
        found = self.store.log.read(entry.scope, until=entry.seq - 1, limit=1, reverse=True)
        return found[0].message if found else None


def recount(store: Store, scope: Scope, positions: Sequence[int]) -> None:
    """Have the next analysis count messages again whose score changed. Call it in the transaction that changes them."""
    parts = store.records.find(scope.owner, kind=KIND, key="part", exact=True) if positions else []
    held = [part.id for part in parts if any(part.value["after"] < at <= part.value["to"] for at in positions)]
    if held:
        store.records.delete(scope.owner, held)


def _owner(scope: Scope | None) -> Scope:
    if scope is None or scope.user is None:
        raise ConfigError("patterns belong to a user: give a scope that names one")
    return scope.owner


@remembered(KEPT)
def _hints(patterns: str) -> list[Hint]:
    """The hints for patterns in JSON; they are the same for every context until the next analysis."""
    return hints(Patterns.from_dict(json.loads(patterns)))


def _cites(patterns: Patterns) -> tuple[tuple[str, str], ...]:
    """The messages whose words are in the patterns, by session and id."""
    return tuple(dict.fromkeys((said.session, said.source) for said in (*patterns.questions, *patterns.topics)))


def _ids(cites: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id for _, id in cites))


def _is_all(question: Recurring, message: Item) -> bool:
    """Whether a message says little besides a question, so that its vector can stand for the question."""
    there = message.scope is not None and message.scope.session in question.sessions
    return there and 2 * len(question.text) >= len(message.text)


def _record(part: _Part) -> Record:
    value = {"after": part.after, "to": part.to, "tally": json.dumps(part.tally.to_dict())}
    return Record(KIND, "part", value, origin="user", sources=_ids(part.cites), id=f"part-{part.after}-{part.to}")


def _count(tally: Tally, entry: Entry, before: Message | None, count: Callable[[str], int]) -> list[Message]:
    """Count what the user said, or an answer; returns the messages that were looked at for that."""
    message = entry.message
    if message.role == "user":
        tally.said(entry.scope.session or "", message, before, topic_words)
        return [message, before] if before else [message]
    if message.role == "assistant" and not message.tool_calls and message.text.strip():
        tally.answered(message, _tokens(entry, count))
        return [message]
    return []


def _tokens(entry: Entry, count: Callable[[str], int]) -> int:
    """The tokens of a message's text: the count from its arrival, or a new count if that included other things."""
    message = entry.message
    plain = isinstance(message.content, str) and message.name is None
    return entry.tokens - MESSAGE_TOKENS if plain and entry.tokens > MESSAGE_TOKENS else count(message.text)


def topic_words(text: str) -> list[tuple[str, str]]:
    """The words that say what a text is about, each as its stem and as it is written in the text."""
    known = (_told(word) if len(word) <= MAX_WORD else _told.__wrapped__(word) for word in _WORD.findall(text))
    found, common = [told for each in known for told in each], common_words(text)
    return found if common is COMMON else [told for told in found if not common.issuperset(split(told[1]))]


@remembered(20_000)
def _told(word: str) -> tuple[tuple[str, str], ...]:
    stems = words(word)
    if len(stems) > 1:
        return tuple((pair, pair) for pair in stems if len(pair) == 2)
    tells = stems and not _NO_TOPIC.intersection((stems[0], word.lower())) and not word.isdigit() and len(word) > 1
    return ((stems[0], word),) if tells else ()
