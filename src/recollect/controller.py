"""The controller: asks every layer what it offers for a question, and makes one context of it under one budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Any, Final, TypeAlias

from recollect.answers import Candidate
from recollect.arguments import MAX_QUESTION
from recollect.errors import BudgetTooSmall, ConfigError, NotFound
from recollect.flow.assemble import IN_CONVERSATION, Counts, Offer, assemble
from recollect.flow.context import Context, Line
from recollect.flow.window import Limits
from recollect.frozen import EMPTY
from recollect.layers.all import Layers
from recollect.layers.embedding import CHUNK
from recollect.layers.marks import there
from recollect.layers.own import Fill, offered
from recollect.layers.ranking import Asked
from recollect.layers.watch import Watch
from recollect.layers.windows import View, Windows
from recollect.recent import Recent
from recollect.settings import Settings
from recollect.store import ANY, Filter, Store
from recollect.telemetry import Telemetry
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, count_tools
from recollect.traces import span
from recollect.types import Message, Scope

Settled: TypeAlias = Mapping[str, Sequence[Candidate]]
"""What was offered for a question, and of it what the context took."""
_Key: TypeAlias = tuple[Scope, int, str, int]
"""A question by its session, its number there and its words, and the budget."""

KEPT_QUESTIONS: Final = 256
STEP: Final = 64
"""Tokens of a question, rounded up to so many, that the last turns leave free: questions alike share a window."""
MEMORY_FIRST: Final = (4_000, 10)
"""Tokens and turns of the conversation where the layout is memory-first and nothing else is set."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a context is asked for: the question (None: the last user message), when, and what goes along with it."""

    question: Message | None
    at: datetime
    budget: int
    system: str | None
    tools: Sequence[Mapping[str, Any]]


@dataclass(slots=True, eq=False)
class Controller:
    """Builds contexts from the layers."""

    store: Store
    count: TokenCounter
    settings: Settings
    layers: Layers
    telemetry: Telemetry
    sections: Mapping[str, Fill] = EMPTY
    windows: Windows = field(init=False)
    watch: Watch = field(init=False)
    _settled: Recent[_Key, tuple[Line, ...]] = field(default_factory=lambda: Recent(KEPT_QUESTIONS))
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        turns, most = self.settings.working_min_turns, self._most_turns
        self.windows = Windows(
            self.store, partial(count_message, count=self.count), turns if most is None else min(turns, most)
        )
        layers = self.layers
        self.watch = Watch(self.telemetry, self.settings, lambda: (layers.semantic.hits, layers.semantic.misses))

    def context(self, scope: Scope, wanted: Wanted) -> Context:
        """The context for a session as it is now."""
        started = perf_counter()
        with span("context", scope, budget=wanted.budget) as note:
            own = self._elsewhere(scope, wanted)
            with self.store.reading():
                context = self._built(scope, wanted, own, started)
            note(tokens=context.tokens, records=sum(line.kept for line in context.offered))
        return context

    def _elsewhere(self, scope: Scope, wanted: Wanted) -> Mapping[str, Offer]:
        """What is to be had beyond the store, asked for before that is read: a web search, sections of one's own."""
        if not (self.layers.tools.search or self.sections):
            return {}
        last = None
        if wanted.question is None:
            view = self._view(scope, wanted, None)
            last = _last_asked(view)
            if self._known(scope, _key(scope, view, last, wanted)):
                return {}
        said = _said(wanted.question or last)
        self.layers.tools.look_up(scope, said, wanted.at, last.id if last else None)
        return self._own(scope, said)

    def _own(self, scope: Scope, said: str) -> Mapping[str, Offer]:
        """What the sections of one's own have for a question."""
        return {name: offered(name, fill, scope, said) for name, fill in self.sections.items() if said.strip()}

    def _built(self, scope: Scope, wanted: Wanted, own: Mapping[str, Offer], started: float) -> Context:
        view = self._view(scope, wanted, None)
        question = wanted.question or _last_asked(view)
        key = _key(scope, view, question, wanted)
        lines = () if wanted.question else self._known(scope, key)
        offers = _settled(lines) or self._timed(scope, view, question, wanted, own)
        context = self._assembled(scope, view, offers, wanted)
        with self._lock:
            self._settled[key] = lines or context.offered
        self.watch.built(scope, context, perf_counter() - started)
        return context

    def _known(self, scope: Scope, key: _Key) -> tuple[Line, ...]:
        """What was settled for a question, unless something of it is gone."""
        with self._lock:
            lines = self._settled.get(key, ())
        return lines if lines and self._still_there(scope.owner, _settled(lines)) else ()

    def _still_there(self, owner: Scope, offers: Settled) -> bool:
        """Whether nothing was erased, here or elsewhere, that these offers quote."""
        quoted = [one for offer in offers.values() for one in offer if not one.out]
        chunks = list({id for one in quoted if one.section == "documents" for id in one.sources})
        cited = {place for one in quoted if one.section != "documents" for place in one.cites("")}
        records = list({id for one in quoted for id in one.records})
        if not cited <= there(self.store, owner, cited).keys():
            return False
        if len(self.store.records.get(owner, records)) < len(records):
            return False
        return len(self.store.index.get(owner, CHUNK, chunks)) == len(chunks)

    def _timed(
        self, scope: Scope, view: View, question: Message | None, wanted: Wanted, own: Mapping[str, Offer]
    ) -> Mapping[str, Offer]:
        started, said = perf_counter(), None if wanted.question else view.asked_at - 1
        with span("search_memory", scope):
            offers = self._ask(scope, view, question, wanted.at, None, said, own=own)
        self.watch.retrieved(perf_counter() - started)
        return offers

    def replay(self, scope: Scope, wanted: Wanted, seq: int) -> Context:
        """The context as it was when the message with that number, a user's, was about to be added."""
        entries = self.store.log.read(scope, after=seq - 1, until=seq) if seq > 0 else []
        if not entries:
            raise NotFound(f"message {seq} of this session is not there: it was erased, or never said")
        if entries[0].message.role != "user":
            raise NotFound(f"message {seq} of this session is no question of a user: there was no context for it")
        message = entries[0].message
        asked = replace(
            wanted, question=Message("user", message.content, name=message.name), at=message.at or wanted.at
        )
        view, before = self._view(scope, asked, seq - 1), entries[0].position - 1
        own = self._own(scope, _said(asked.question))
        offers = self._ask(scope, view, asked.question, asked.at, before, before, own=own)
        return self._assembled(scope, view, offers, asked)

    def tagged(self, scope: Scope, metadata: Mapping[str, Any]) -> None:
        """Drop what depends on these tags of a session's messages: a pin its window, a score what was recalled."""
        if "pinned" in metadata:
            self.windows.forget(scope)
        self._unsettle(scope)

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased or changed."""
        self.layers.forget(scope)
        self.windows.forget(scope)
        self.watch.forget(scope)
        self._unsettle(scope)

    def _unsettle(self, scope: Scope) -> None:
        """Drop what was settled for the questions of those who may have been told something of a scope."""
        with self._lock:
            for key in [key for key in self._settled if key[0].owner.covers(scope) or scope.covers(key[0])]:
                del self._settled[key]

    def _assembled(self, scope: Scope, view: View, offers: Mapping[str, Offer], wanted: Wanted) -> Context:
        shown = view.shown
        if wanted.system:
            system = Message("system", wanted.system)
            overhead = shown.overhead - self.windows.count(system)
            shown = replace(shown, messages=(system, *shown.messages), overhead=overhead)
        counts, reply = Counts(self.count, self.windows.count), self.settings.reply_tokens
        try:
            return assemble(
                shown,
                wanted.question,
                offers,
                wanted.budget - reply,
                self.settings,
                counts,
                session=scope.session or "",
            )
        except BudgetTooSmall as error:
            raise BudgetTooSmall(error.needed + reply, wanted.budget, error.ledger, error.overhead + reply) from None

    def _view(self, scope: Scope, wanted: Wanted, until: int | None) -> View:
        given = self._given(wanted)
        asked = given["question"].shown if "question" in given else 0
        extra = REPLY_TOKENS + count_tools(wanted.tools, self.count)
        overhead = extra + (given["system"].shown if "system" in given else 0)
        reply = self.settings.reply_tokens
        room = wanted.budget - reply - overhead
        if room < max(asked, 1):
            needed = wanted.budget - room + max(asked, 1)
            raise BudgetTooSmall(needed, wanted.budget, list(given.values()), extra + reply)
        roomy = self._limits(overhead + room - self._share(room))
        tight = replace(roomy, budget=overhead + room - asked)
        after = [replace(limits, follows=True) for limits in (roomy, tight)] if wanted.question else []
        last = [replace(limits, whole_pictures=False) for limits in (tight, *after[1:])]
        for limits in (roomy, tight, *after, *last):
            try:
                view = self._shown(scope, limits, overhead, until)
                wide = self._limits(overhead + room - math.ceil(asked / STEP) * STEP)
                return self._spared(scope, view, limits, wide, overhead, until) if limits is roomy else view
            except BudgetTooSmall as error:
                least = error
        needed = least.needed + asked + reply
        raise BudgetTooSmall(needed, wanted.budget, [*given.values(), *least.ledger], extra + reply)

    def _spared(self, scope: Scope, view: View, limits: Limits, wide: Limits, overhead: int, until: int | None) -> View:
        """The view, or a wider one where a cut would take turns that memory can't push out, and those have room."""
        cut_to = (limits.budget or 0) * limits.low_water
        if not view.shown.left_out or limits.last_messages or not cut_to < view.least <= (wide.budget or 0):
            return view
        try:
            least = max(self.windows.min_turns, limits.min_turns)
            return self._shown(scope, replace(wide, min_turns=least), overhead, until)
        except BudgetTooSmall:
            return view

    def _given(self, wanted: Wanted) -> dict[str, Line]:
        """What the caller gives and what that takes: the system text and the question."""
        system = Message("system", wanted.system) if wanted.system else None
        messages = {"system": system, "question": wanted.question}
        given = {
            section: Line(section, message.text, tokens, tokens, section)
            for section, message in messages.items()
            if message and (tokens := self.windows.count(message))
        }
        most = self.settings.system_tokens
        if most is not None and "system" in given and given["system"].tokens > most:
            raise ConfigError(
                f"the system text has {given['system'].tokens} tokens; system_tokens allows {most}:"
                " shorten it or raise that"
            )
        return given

    def _shown(self, scope: Scope, limits: Limits, overhead: int, until: int | None) -> View:
        if until is None:
            return self.windows.view(scope, limits, overhead)
        return self.windows.view_at(scope, limits, overhead, until)

    def _share(self, room: int) -> int:
        """What is kept free for memory and documents: their caps, but at most half of the room."""
        caps = (self.settings.memory_tokens, self.settings.documents_tokens)
        return min(sum(room if cap is None else cap for cap in caps), room // 2)

    @property
    def _most_turns(self) -> int | None:
        first = self.settings.layout == "memory-first"
        return self.settings.working_turns or (MEMORY_FIRST[1] if first else None)

    def _limits(self, budget: int) -> Limits:
        settings, tokens = self.settings, self.settings.working_tokens
        if settings.layout == "memory-first":
            tokens = tokens or MEMORY_FIRST[0]
        return Limits(
            budget if tokens is None else min(budget, tokens),
            settings.conversation_window if settings.context_budget is None else None,
            self._most_turns,
            settings.low_water,
            settings.min_turns,
            settings.min_messages,
            whole_pictures=True,
        )

    def _ask(
        self,
        scope: Scope,
        view: View,
        question: Message | None,
        at: datetime,
        as_of: int | None,
        said: int | None,
        *,
        own: Mapping[str, Offer],
    ) -> Mapping[str, Offer]:
        """What every layer offers for the question, as of a position of the store where one is given.

        `said` is the position before a question that is in the log already: it must not pass for its own answer.
        `own` is what the sections have that are no layer's.
        """
        text = _said(question)
        if not text.strip():
            return {}
        settings, layers = self.settings, self.layers
        days = layers.semantic.days(scope, text, as_of)
        where = ANY if said is None else Filter(as_of=said)
        asked = Asked(text, at, scope.owner, where, settings.episodic_recency_weight, days)
        known = layers.semantic.offer(scope, text, at, as_of)
        shown = {message.id: message.text for message in view.shown.messages}
        offers: dict[str, Callable[[], Offer]] = {
            "profile": lambda: [fact for fact in known if fact.section == "profile"],
            "facts": lambda: [fact for fact in known if fact.section == "facts"],
            "hints": lambda: layers.procedural.offer(scope.owner, as_of),
            "summary": lambda: layers.summary.offer(scope, view.first, as_of, view.before if as_of is None else None),
            "documents": lambda: layers.documents.offer(scope, text, as_of=as_of),
            "episodic": lambda: layers.episodic.offer(asked, settings.episodic_top_k, shown, scope.session or ""),
            "tools": lambda: layers.tools.offer(scope, text, at, as_of=as_of),
        }
        return {name: own.get(name, ()) if name in self.sections else offer() for name, offer in offers.items()}


def _key(scope: Scope, view: View, question: Message | None, wanted: Wanted) -> _Key:
    number = view.last + 1 if wanted.question else view.asked
    return scope, number, question.text if question else "", wanted.budget


def _said(question: Message | None) -> str:
    return question.text[:MAX_QUESTION] if question else ""


def _last_asked(view: View) -> Message | None:
    return next((message for message in reversed(view.shown.messages) if message.role == "user"), None)


def _settled(lines: Sequence[Line]) -> Settled:
    """The offers with what was decided on each: the same question gets the same again, as in an agent's loop.

    Only what was left out because the conversation shows it is decided anew: the conversation may be cut by then.
    """
    offers: dict[str, list[Candidate]] = {}
    for line in lines:
        out = "" if line.kept or line.rule == IN_CONVERSATION else line.rule
        offers.setdefault(line.section, []).append(
            Candidate(
                line.section,
                line.text,
                line.score,
                line.origin,
                line.sources,
                line.at,
                out,
                line.sessions,
                line.records,
            )
        )
    return offers
