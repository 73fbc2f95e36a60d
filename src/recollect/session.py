"""A session: one conversation of a user, and what memory does for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from recollect import store
from recollect.answers import Document, Excerpt, Fact, FactType, Recalled
from recollect.arguments import (
    MAX_QUESTION,
    as_message,
    check_budget,
    check_given,
    check_number,
    check_question,
    check_whole,
    messages_only,
)
from recollect.controller import Wanted
from recollect.errors import ConfigError, DiskFull, StoreUnavailable
from recollect.flow.context import Context
from recollect.flow.fence import without_memory
from recollect.frozen import FrozenDict, freeze_dict
from recollect.layers.documents import Documents, Listed, Passages
from recollect.layers.episodic import Asked, item_of
from recollect.layers.tools import Tools
from recollect.layers.windows import always, repin, stays
from recollect.patterns import Patterns
from recollect.store import ANY, Entry, Erased, Filter
from recollect.store.codec import check_count
from recollect.tokens import count_message
from recollect.types import Message, Part, Role, Scope, check_id, with_zone

if TYPE_CHECKING:
    from recollect.memory import Memory

Excerpts: TypeAlias = list[Excerpt]

PAGE: Final = 1_000
"""Messages that are looked through at a time."""


def _filter(where: Filter) -> Filter:
    if not isinstance(where, Filter):
        raise ConfigError(f"where is {where!r}; give a Filter")
    return where


def entries_of(session: Session, limit: int | None, before: int | None, where: Filter = ANY) -> list[Entry]:
    """What `Session.history` has, each message with its number and its tokens."""
    check_count("limit", limit)
    check_count("before", before, 1)
    until = None if before is None else before - 1
    if _filter(where) == ANY:
        entries = session.memory.store.log.read(session.scope, until=until, limit=limit, reverse=True)
    else:
        entries = list(islice((one for one in _newest(session, until) if where.passes(item_of(one))), limit))
    return entries[::-1]


def _newest(session: Session, until: int | None) -> Iterator[Entry]:
    """The messages up to a number, the newest first."""
    while page := session.memory.store.log.read(session.scope, until=until, limit=PAGE, reverse=True):
        yield from page
        until = page[-1].seq - 1


@dataclass(frozen=True, slots=True)
class DocumentsOf:
    """A user's documents."""

    layer: Documents = field(repr=False)
    scope: Scope
    wake: Callable[[], None] = field(repr=False)

    def add(
        self,
        source: Path | str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Document:
        """The document of a file (by its Path) or a text, now found; one of the same name is replaced."""
        document = self.layer.add(self.scope, source, name=name, metadata=metadata, at=at)
        self.wake()
        return document

    def list(self) -> Listed:
        """The user's documents by name."""
        return self.layer.list(self.scope)

    def search(self, question: str, k: int | None = None) -> Passages:
        """The `k` best passages that are near enough to the question, best first."""
        return self.layer.search(self.scope, question, k)

    def remove(self, name: str) -> Document:
        """The document that is gone for good. Raises NotFound."""
        return self.layer.remove(self.scope, name)


@dataclass(frozen=True, slots=True)
class ToolsOf:
    """What tools and searches brought into a session."""

    layer: Tools = field(repr=False)
    scope: Scope
    clock: Callable[[], datetime] = field(repr=False)

    def add(self, excerpt: str, source: str, at: datetime | None = None) -> Excerpt:
        """The excerpt as kept until it expires; `source` says where it is from."""
        return self.layer.add(self.scope, excerpt, source, with_zone(at) if at else self.clock())

    def list(self) -> Excerpts:
        """What the session has that is not expired, in the order in which it came."""
        return self.layer.kept(self.scope, self.clock())

    def search(self, question: str, k: int = 5) -> Excerpts:
        """The `k` best of them that are to the point of a question, best first."""
        return self.layer.find(self.scope, question, self.clock(), k)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: what is added here is remembered for its user."""

    memory: Memory
    scope: Scope

    def add(self, /, message: Message | Role, content: str | Sequence[Part] = "", **fields: Any) -> Message:
        """Keep a message, given whole or by role and content; returns it with its id and times set.

        Memory that stands in it, because it was sent to a model, is not kept again.
        """
        given = as_message(message, content, fields)
        return next(iter(self.add_many([given])), given)

    def add_many(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Keep a batch, whole or not at all. It is found by its words at once, by its meaning within seconds."""
        memory = self.memory
        batch = [said for message in messages_only(messages) if (said := without_memory(message))]
        tokens = [count_message(message, memory.counter) for message in batch]
        with memory.store.transaction() if any(map(stays, batch)) else nullcontext():
            entries = memory.store.log.append(self.scope, batch, tokens=tokens, jobs=memory.jobs)
            memory.store.records.put(self.scope, always(entries))
        memory.added(self.scope, len(entries))
        memory.controller.watch.answered(self.scope, batch)
        return tuple(entry.message for entry in entries)

    def add_turn(
        self, user: str, assistant: str, *, score: float | None = None, metadata: Mapping[str, Any] | None = None
    ) -> tuple[Message, ...]:
        """Keep a question with its answer; `score` says how good the answer was, from 0 to 10."""
        noted = dict(freeze_dict(metadata, "metadata"))
        if score is not None:
            check_number("score", score, 0, 10)
            noted["score"] = score
        return self.add_many([Message("user", user), Message("assistant", assistant, metadata=FrozenDict(noted))])

    def context(
        self,
        question: str | Message | None = None,
        budget: int | None = None,
        *,
        system: str | None = None,
        at: datetime | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Context:
        """The best prompt for a question within `budget` tokens: the newest turns, what memory recalls, the question.

        Nothing is kept by it: `add` the question and the answer. Without a question it is for the last user message
        that was added, as in an agent's loop; tool calls and results after it stay after it. `system` comes first;
        `tools` are the schemas that go along with the request. Raises BudgetTooSmall where what must stay does not
        fit.
        """
        return self.memory.controller.context(self.scope, self._wanted(question, budget, system, at, tools))

    def replay(
        self,
        at: int,
        budget: int | None = None,
        *,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Context:
        """The context as it was built for the user message with that number, from what was kept until then."""
        check_whole("at", at)
        return self.memory.controller.replay(self.scope, self._wanted(None, budget, system, None, tools), at)

    def _wanted(
        self,
        question: str | Message | None,
        budget: int | None,
        system: str | None,
        at: datetime | None,
        tools: Sequence[Mapping[str, Any]],
    ) -> Wanted:
        memory = self.memory
        check_budget(budget)
        tokens = memory.settings.budget if budget is None else budget
        check_given(system=(system, isinstance(system, str | None), "text"))
        asked = Message("user", question) if isinstance(question, str) else question
        if not (asked is None or (isinstance(asked, Message) and asked.role == "user")):
            raise ConfigError("a question is text or a user's Message")
        return Wanted(asked, with_zone(at) if at else memory.clock(), tokens, system, tools)

    def history(
        self, limit: int | None = None, before: int | None = None, *, where: Filter = ANY
    ) -> tuple[Message, ...]:
        """The last `limit` messages (all without one) in order; `before` is the number of a message, from 1.

        `where` narrows it by time, role and metadata.
        """
        return tuple(entry.message for entry in entries_of(self, limit, before, where))

    def tag(self, id: str, /, **metadata: Any) -> Message:
        """Set metadata on a message of this session, such as a `score` that is given later; None takes a tag off."""
        if metadata.get("score") is not None:
            check_number("score", metadata["score"], 0, 10)
        store = self.memory.store
        with store.transaction(self.scope):
            entry = store.log.tag(self.scope, check_id(id, "the id of a message"), freeze_dict(metadata, "metadata"))
            store.records.put(self.scope, always([entry]))
            if "pinned" in metadata:
                repin(store, self.scope)
        self.memory.controller.tagged(self.scope, metadata)
        return entry.message

    def recall(
        self,
        question: str,
        budget: int = 800,
        k: int | None = None,
        at: datetime | None = None,
        scope: Literal["user", "session"] = "user",
        *,
        where: Filter = ANY,
        recency: float = 0.0,
    ) -> Recalled:
        """The turns that answer the question, best first, within `budget` tokens and at most `k`.

        Each hit holds turns of one session in the order of time, under their date. `at` is when the question is
        asked, if not now: "last May" counts from there. `scope` is all of the user's sessions, or this one; `where`
        narrows it by time, role and metadata. `recency` is what a turn of today gains over an old one.
        """
        check_whole("budget", budget)
        check_count("k", k)
        return self.memory.layers.episodic.recall(self._asked(question, at, scope, where, recency), budget, k)

    def search(
        self,
        question: str,
        k: int = 10,
        at: datetime | None = None,
        scope: Literal["user", "session"] = "user",
        *,
        where: Filter = ANY,
        recency: float = 0.0,
    ) -> Recalled:
        """The `k` best turns, one a hit, best first: `recall` without a budget.

        By words alone, only turns that hold one of them, or are of a day or a speaker that the question names.
        """
        check_whole("k", k)
        return self.memory.layers.episodic.search(self._asked(question, at, scope, where, recency), k)

    def _asked(self, question: str, at: datetime | None, scope: str, where: Filter, recency: float) -> Asked:
        check_question(question)
        _filter(where)
        check_number("recency", recency)
        text, when = question[:MAX_QUESTION], with_zone(at) if at else self.memory.clock()
        days = self.memory.layers.semantic.days(self.scope, text, where.as_of)
        return Asked(text, when, self._within(scope), where, recency, days)

    def _within(self, scope: str) -> Scope:
        if scope not in ("user", "session"):
            raise ConfigError(f"scope is {scope!r}; use 'user' for all sessions or 'session' for this one")
        if scope == "session" and self.scope.session is None:
            raise ConfigError("scope is 'session', and no session is named: name one, or use 'user' for all of them")
        return self.scope if scope == "session" else self.scope.owner

    @property
    def documents(self) -> DocumentsOf:
        """The user's documents: `add` a path or a text, `list`, `search`, `remove`."""
        return DocumentsOf(self.memory.layers.documents, self.scope.owner, self.memory.wake)

    @property
    def tools(self) -> ToolsOf:
        """What tools said in this session: `add` an excerpt with its source, `list`, `search`."""
        return ToolsOf(self.memory.layers.tools, self.scope, self.memory.clock)

    def facts(self, as_of: datetime | None = None) -> list[Fact]:
        """What the user said of themselves and still holds, or what was known and held at an earlier moment.

        A plan whose day is over, and the mood of another day, hold no longer. While nothing can be written, what was
        said last is not learned yet.
        """
        with suppress(DiskFull, StoreUnavailable):
            for scope in {self.scope, self.scope.owner}:
                self.memory.layers.semantic.catch_up(scope)
        known = self.memory.layers.semantic.facts(self.scope.owner, as_of)
        now = with_zone(as_of) if as_of else self.memory.clock()
        return [fact for fact in known if fact.valid_to is None or now < fact.valid_to]

    def remember(self, key: str, value: str | None, type: FactType = "user_profile") -> Fact | None:
        """The fact as known from now on, in place of what was known under that key; None ends it."""
        return self.memory.layers.semantic.remember(
            self.scope.owner, type, key, value, self.memory.clock(), self.scope.session or ""
        )

    def patterns(self) -> Patterns:
        """How the user talks with the assistant, counted over everything said so far."""
        return self.memory.layers.procedural.patterns(self.scope.owner)

    def summary(self) -> str:
        """What was said in this session, in a few hundred tokens of its own sentences."""
        return self.memory.layers.summary.text(self.scope)

    def stats(self) -> store.Session | None:
        """The session at a glance; None where nothing was said yet."""
        return next(iter(self.memory.store.log.sessions(self.scope, limit=1)), None)

    def forget(self, ids: Sequence[str] | None = None) -> Erased:
        """Erase these messages, or the whole session, for good: text, index and all that was learned from them."""
        return self.memory.forget(self.scope, ids)
