"""The controller builds contexts: it puts the newest turns and what every layer offers for a question in one budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
from recollect.flow.turns import last_asked
from recollect.frozen import EMPTY
from recollect.layers.all import Layers
from recollect.layers.ranking import Asked
from recollect.layers.sections import ScopedSection, offered
from recollect.layers.settled import Question, Settled
from recollect.layers.watch import Watch
from recollect.layers.windows import Windows
from recollect.recent import forget_all
from recollect.settings import Settings
from recollect.store import ANY, Filter, Store
from recollect.telemetry import Telemetry
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, count_tools
from recollect.traces import span
from recollect.types import Message, Scope


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """What a context is to be built for: the question, its time, the budget, and what is sent along with it.

    Without a question, the context is for the last user message of the session.
    """

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
    sections: Mapping[str, ScopedSection] = EMPTY
    windows: Windows = field(init=False)
    watch: Watch = field(init=False)
    settled: Settled = field(init=False)

    def __post_init__(self) -> None:
        count, layers = partial(count_message, count=self.count), self.layers
        self.windows = Windows(self.store, count, firm_turns(self.settings))
        self.watch = Watch(self.telemetry, self.settings, lambda: (layers.semantic.hits, layers.semantic.misses))
        self.settled = Settled(self.store)

    def context(self, scope: Scope, request: ContextRequest) -> Context:
        """Build the context for a session as it is now."""
        started = perf_counter()
        with span("context", scope, budget=request.budget) as note:
            fetched = self._fetch(scope, request)
            with self.store.reading():
                try:
                    context = self._build(scope, request, fetched)
                except BudgetTooSmall as error:
                    raise self._enough(scope, request, fetched, error) from None
                self.watch.built(scope, context, perf_counter() - started)
            note(tokens=context.tokens, records=sum(line.kept for line in context.offered))
        return context

    def _fetch(self, scope: Scope, request: ContextRequest) -> Mapping[str, Offer]:
        """Search the web if the question asks for news; returns what the program's own sections offer.

        Both may be slow, so this is done before the store is read.
        """
        if not (self.layers.tools.search or self.sections):
            return {}
        last = None
        if request.question is None:
            try:
                view = self._view(scope, request)
            except BudgetTooSmall:
                return {}  # `_build` raises the same error, and tells what is needed
            last = last_asked(view.shown.messages)
            if self.settled.before(_place(scope, view, last, request)):
                return {}
        text = _text(request.question or last)
        self.layers.tools.look_up(scope, text, request.at, last.id if last else None)
        return self._own_sections(scope, text)

    def _own_sections(self, scope: Scope, text: str) -> Mapping[str, Offer]:
        """What the sections that the program fills itself offer for a question."""
        return {name: offered(name, fill, scope, text) for name, fill in self.sections.items() if text.strip()}

    def _build(self, scope: Scope, request: ContextRequest, fetched: Mapping[str, Offer]) -> Context:
        """The context. The last question gets the same memory when it is asked again, as in an agent's loop."""
        view = self._view(scope, request)
        question = request.question or last_asked(view.shown.messages)
        place = _place(scope, view, question, request)
        if not request.question and (before := self.settled.before(place)):
            view = replace(view, shown=before.shown(view.shown, self.windows.count))
            return self._assemble(scope, view, before.offers, request)
        until = None if request.question else view.asked_at - 1
        started, measured = perf_counter(), self.layers.measured_seconds
        with span("search_memory", scope):
            offers = self._offers(scope, view, replace(request, question=question), fetched, before=until)
        taken = perf_counter() - started - (self.layers.measured_seconds - measured)
        self.watch.retrieved(max(0.0, taken))  # it is negative if another thread measured the embedder meanwhile
        context = self._assemble(scope, view, offers, request)
        self.settled.keep(place, context)
        return context

    def _enough(
        self, scope: Scope, request: ContextRequest, fetched: Mapping[str, Offer], error: BudgetTooSmall
    ) -> BudgetTooSmall:
        """The same error with a budget that is really enough: with the one it asks for, a later step may fail."""
        needed = 0
        while error.needed > needed:
            needed = error.needed
            try:
                self._build(scope, replace(request, budget=needed), fetched)
            except BudgetTooSmall as larger:
                error = larger
        return BudgetTooSmall(error.needed, request.budget, error.ledger, error.overhead)

    def replay(self, scope: Scope, request: ContextRequest, seq: int) -> Context:
        """The context as it was when the user's message with that number was about to be added."""
        entries = self.store.log.read(scope, after=seq - 1, until=seq) if seq > 0 else []
        if not entries:
            raise NotFound(f"this session has no message {seq}: it was erased or never added")
        if entries[0].message.role != "user":
            raise NotFound(f"message {seq} of this session is not a user's: no context was built for it")
        message = entries[0].message
        question = Message("user", message.content, name=message.name, at=message.at)
        asked = replace(request, question=question, at=message.at or request.at)
        view, before = self._view(scope, asked, seq - 1), entries[0].position - 1
        own = self._own_sections(scope, _text(asked.question))
        offers = self._offers(scope, view, asked, own, as_of=before, before=before)
        return self._assemble(scope, view, offers, asked)

    def tagged(self, scope: Scope, names: Collection[str]) -> None:
        """Drop what is cached that these tags of a session's messages change: pins change its window, scores recall."""
        if "pinned" in names:
            self.windows.forget(scope)
        self.settled.forget(scope)

    def forget(self, scope: Scope) -> None:
        """Drop what is cached of a scope, because messages in it were erased or changed."""
        self.layers.forget(scope)
        self.windows.forget(scope)
        self.forget_documents(scope)

    def forget_documents(self, scope: Scope) -> None:
        """Drop what is cached of a scope's documents and of contexts that may quote them, because some were erased."""
        self.layers.documents.forget()
        self.watch.forget(scope)
        self.settled.forget(scope)
        forget_all()

    def _view(self, scope: Scope, request: ContextRequest, until: int | None = None) -> View:
        """What the window shows beside the rest of the request, now or when message `until` was the newest."""
        room = Room.of(
            request.system,
            request.question,
            REPLY_TOKENS + count_tools(request.tools, self.count),
            request.budget,
            self.settings,
            self.windows.count,
        )
        return room.view(lambda limits: self.windows.view(scope, limits, room.overhead, until))

    def _offers(
        self,
        scope: Scope,
        view: View,
        request: ContextRequest,
        own: Mapping[str, Offer],
        *,
        as_of: int | None = None,
        before: int | None,
    ) -> Mapping[str, Offer]:
        """What every layer offers for the question now, or offered when `as_of` was the last position of the store.

        Only turns up to the position `before` are recalled: a question in the log must not answer itself. `own` holds
        the sections that the program fills itself.
        """
        text, at = _text(request.question), request.at
        if not text.strip():
            return {}
        settings, layers = self.settings, self.layers
        days = layers.semantic.days(scope, text, as_of)
        where = ANY if before is None else Filter(as_of=before)
        asked = Asked(text, at, scope.owner, where, settings.episodic_recency_weight, days)
        known = layers.semantic.offer(scope, text, at, as_of)
        shown = view.shown.messages
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

    def _assemble(self, scope: Scope, view: View, offers: Mapping[str, Offer], request: ContextRequest) -> Context:
        shown = view.shown
        if request.system:
            overhead = shown.overhead - self.windows.count(request.system)
            shown = replace(shown, messages=(request.system, *shown.messages), overhead=overhead)
        counts, reply = Counts(self.count, self.windows.count), self.settings.reply_tokens
        try:
            return assemble(
                shown,
                request.question,
                offers,
                request.budget - reply,
                self.settings,
                counts,
                session=scope.session or "",
            )
        except BudgetTooSmall as error:
            raise BudgetTooSmall(error.needed + reply, request.budget, error.ledger, error.overhead + reply) from None


def _place(scope: Scope, view: View, question: Message | None, request: ContextRequest) -> Question:
    number = view.last + 1 if request.question else view.asked
    beside = (len(request.system.text) if request.system else 0) + count_tools(request.tools, len)
    return Question(scope, number, question.text if question else "", request.budget, beside)


def _text(question: Message | None) -> str:
    return question.text[:MAX_QUESTION] if question else ""
