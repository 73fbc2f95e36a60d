"""The controller: one context under one budget, of what the window shows and what every layer offers for a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any

from recollect.arguments import MAX_QUESTION
from recollect.errors import BudgetTooSmall, NotFound
from recollect.flow.assemble import Counts, assemble
from recollect.flow.context import Context
from recollect.flow.fill import Offer
from recollect.flow.room import Room, View, firm_turns
from recollect.frozen import EMPTY
from recollect.layers.all import Layers
from recollect.layers.own import Fill, offered
from recollect.layers.ranking import Asked
from recollect.layers.settled import Question, Settled
from recollect.layers.watch import Watch
from recollect.layers.windows import Windows
from recollect.settings import Settings
from recollect.store import ANY, Filter, Store
from recollect.telemetry import Telemetry
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, count_tools
from recollect.traces import span
from recollect.types import Message, Scope


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a context is asked for: the question (None: the last user message), when, and what goes along with it."""

    question: Message | None
    at: datetime
    budget: int
    system: Message | None
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
    settled: Settled = field(init=False)

    def __post_init__(self) -> None:
        count, layers = partial(count_message, count=self.count), self.layers
        self.windows = Windows(self.store, count, firm_turns(self.settings))
        self.watch = Watch(self.telemetry, self.settings, lambda: (layers.semantic.hits, layers.semantic.misses))
        self.settled = Settled(self.store)

    def context(self, scope: Scope, wanted: Wanted) -> Context:
        """The context for a session as it is now."""
        started = perf_counter()
        with span("context", scope, budget=wanted.budget) as note:
            own = self._elsewhere(scope, wanted)
            with self.store.reading():
                context = self._built(scope, wanted, own)
                self.watch.built(scope, context, perf_counter() - started)
            note(tokens=context.tokens, records=sum(line.kept for line in context.offered))
        return context

    def _elsewhere(self, scope: Scope, wanted: Wanted) -> Mapping[str, Offer]:
        """What is to be had beyond the store, asked for before that is read: a web search, sections of one's own."""
        if not (self.layers.tools.search or self.sections):
            return {}
        last = None
        if wanted.question is None:
            view = self._view(scope, wanted)
            last = _last_asked(view)
            if self.settled.offers(_placed(scope, view, last, wanted)):
                return {}
        said = _said(wanted.question or last)
        self.layers.tools.look_up(scope, said, wanted.at, last.id if last else None)
        return self._own(scope, said)

    def _own(self, scope: Scope, said: str) -> Mapping[str, Offer]:
        """What the sections of one's own have for a question."""
        return {name: offered(name, fill, scope, said) for name, fill in self.sections.items() if said.strip()}

    def _built(self, scope: Scope, wanted: Wanted, own: Mapping[str, Offer]) -> Context:
        view = self._view(scope, wanted)
        question = wanted.question or _last_asked(view)
        asked = _placed(scope, view, question, wanted)
        if not wanted.question and (known := self.settled.offers(asked)):
            return self._assembled(scope, view, known, wanted)
        context = self._assembled(scope, view, self._timed(scope, view, question, wanted, own), wanted)
        self.settled.keep(asked, context.offered)
        return context

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
        self.settled.forget(scope)

    def forget(self, scope: Scope) -> None:
        """Drop what is kept in memory of a scope whose messages were erased or changed."""
        self.layers.forget(scope)
        self.windows.forget(scope)
        self.watch.forget(scope)
        self.settled.forget(scope)

    def _view(self, scope: Scope, wanted: Wanted, until: int | None = None) -> View:
        """What the window shows that leaves room for the rest, now or when message `until` was the newest."""
        room = Room.of(
            wanted.system,
            wanted.question,
            REPLY_TOKENS + count_tools(wanted.tools, self.count),
            wanted.budget,
            self.settings,
            self.windows.count,
        )
        return room.view(lambda limits: self.windows.view(scope, limits, room.overhead, until))

    def _timed(
        self, scope: Scope, view: View, question: Message | None, wanted: Wanted, own: Mapping[str, Offer]
    ) -> Mapping[str, Offer]:
        started, said = perf_counter(), None if wanted.question else view.asked_at - 1
        with span("search_memory", scope):
            offers = self._ask(scope, view, question, wanted.at, None, said, own=own)
        self.watch.retrieved(perf_counter() - started)
        return offers

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

    def _assembled(self, scope: Scope, view: View, offers: Mapping[str, Offer], wanted: Wanted) -> Context:
        shown = view.shown
        if wanted.system:
            overhead = shown.overhead - self.windows.count(wanted.system)
            shown = replace(shown, messages=(wanted.system, *shown.messages), overhead=overhead)
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


def _placed(scope: Scope, view: View, question: Message | None, wanted: Wanted) -> Question:
    number = view.last + 1 if wanted.question else view.asked
    return Question(scope, number, question.text if question else "", wanted.budget)


def _said(question: Message | None) -> str:
    return question.text[:MAX_QUESTION] if question else ""


def _last_asked(view: View) -> Message | None:
    return next((message for message in reversed(view.shown.messages) if message.role == "user"), None)
