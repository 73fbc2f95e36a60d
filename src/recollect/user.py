"""A user: what memory holds from all their conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from recollect.answers import Document, Fact, FactType, Kind, Recalled
from recollect.arguments import MAX_QUESTION, check_number, check_question, check_whole
from recollect.errors import ConfigError, DiskFull, StoreUnavailable
from recollect.layers import artifacts
from recollect.layers.artifacts import ARTIFACTS
from recollect.layers.documents import Documents, Listed, Passages
from recollect.layers.ranking import Asked
from recollect.patterns import Patterns
from recollect.store import ANY, Erasable, Erased, Filter
from recollect.store.checks import check_count
from recollect.traces import span
from recollect.types import Scope, check_id, with_zone

if TYPE_CHECKING:
    from recollect.memory import Memory


def checked_filter(where: Filter) -> Filter:
    """The filter itself; raises ConfigError where it is not a Filter."""
    if not isinstance(where, Filter):
        raise ConfigError(f"where is {where!r}; give a Filter")
    return where


@dataclass(frozen=True, slots=True)
class DocumentsOf:
    """A user's documents."""

    memory: Memory = field(repr=False)
    scope: Scope

    @property
    def _layer(self) -> Documents:
        return self.memory.layers.documents

    def add(
        self,
        source: Path | str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Document:
        """Add a file (as a Path) or a text, and return its document. It replaces a document of the same name."""
        document = self._layer.add(self.scope, source, name=name, metadata=metadata, at=at)
        self.memory.wake()
        return document

    def list(self) -> Listed:
        """The user's documents by name."""
        return self._layer.list(self.scope)

    def search(self, question: str, k: int | None = None) -> Passages:
        """The `k` best passages among those near enough to the question, best first."""
        return self._layer.search(self.scope, question, k)

    def remove(self, name: str) -> Document:
        """Remove a document for good, and return it. Raises NotFound."""
        document = self._layer.remove(self.scope, name)
        self.memory.controller.forget_documents(self.scope)
        return document


@dataclass(frozen=True, slots=True)
class User:
    """Everything kept about a user. A `Session` is one conversation: it can do all of this, and add messages."""

    memory: Memory = field(repr=False)
    scope: Scope

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
        """The messages that answer the question, best first, within `budget` tokens; at most `k`.

        Each hit holds messages of one session in the order of time, under their date. `at` is when the question is
        asked, if not now: "last May" counts back from there. `scope` is all of the user's sessions, or only this one;
        `where` filters by time, role and metadata. `recency` is how much a message of today gains over an old one.
        """
        check_whole("budget", budget)
        check_count("k", k)
        with span("search_memory", self.scope) as note:
            found = self.memory.layers.episodic.recall(self._asked(question, at, scope, where, recency), budget, k)
            note(records=len(found))
        return found

    def search(
        self,
        question: str,
        k: int = 10,
        at: datetime | None = None,
        scope: Literal["user", "session"] = "user",
        *,
        kind: Kind = "turns",
        where: Filter = ANY,
        recency: float = 0.0,
    ) -> Recalled:
        """The `k` best messages, one in each hit, best first: `recall` without a budget.

        Without an embedder, only messages that share a word with the question are found, or that are from a day or
        a speaker that it names. `kind` searches something other than messages (`turns`), by words: the `summary`, the
        `facts`, or what `tools` said; `where` can then filter by time only.
        """
        check_whole("k", k)
        with span("search_memory", self.scope) as note:
            found = self._found(kind, self._asked(question, at, scope, where, recency), k)
            note(records=len(found))
        return found

    def _found(self, kind: str, asked: Asked, k: int) -> Recalled:
        layers = self.memory.layers
        if kind == "turns":
            return layers.episodic.search(asked, k)
        if kind not in ARTIFACTS:
            raise ConfigError(f"kind is {kind!r}; use turns, {', '.join(ARTIFACTS)}")
        if kind == "facts":
            self._learn_facts()
        elif kind == "summary" and self.scope.session is not None:
            with suppress(DiskFull, StoreUnavailable):
                layers.summary.catch_up(self.scope)
        return artifacts.search(layers, kind, asked, k)

    def _asked(self, question: str, at: datetime | None, scope: str, where: Filter, recency: float) -> Asked:
        check_question(question)
        checked_filter(where)
        check_number("recency", recency, 0)
        text, when = question[:MAX_QUESTION], self.memory.clock() if at is None else with_zone(at)
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
        return DocumentsOf(self.memory, self.scope.owner)

    def facts(self, as_of: datetime | None = None) -> list[Fact]:
        """What the user said about themselves that still holds; with `as_of`, what was known and held at that moment.

        A plan whose day is over, or the mood of another day, no longer holds. While the store can't be written to,
        what was said last is missing.
        """
        self._learn_facts()
        known = self.memory.layers.semantic.facts(self.scope.owner, as_of)
        now = with_zone(as_of) if as_of else self.memory.clock()
        return [fact for fact in known if fact.valid_to is None or now < fact.valid_to]

    def fact_history(self, key: str) -> list[Fact]:
        """Every value that the fact with that key has had, oldest first, each with the messages that say it.

        `valid_to` is when a value ceased to hold.
        """
        self._learn_facts()
        return self.memory.layers.semantic.history(self.scope.owner, check_id(key, "the key of a fact"))

    def _learn_facts(self) -> None:
        """Learn from everything said so far, even if it fills no batch; do nothing if the store can't be written to."""
        with suppress(DiskFull, StoreUnavailable):
            for scope in {self.scope, self.scope.owner}:
                self.memory.layers.semantic.catch_up(scope)

    def remember(self, key: str, value: str | None, type: FactType = "user_profile") -> Fact | None:
        """Set a fact by hand, replacing what was known under that key, and return it. The value None ends the fact."""
        with span("upsert_memory", self.scope, records=1):
            return self.memory.layers.semantic.remember(
                self.scope.owner, type, key, value, self.memory.clock(), self.scope.session or ""
            )

    def forget_fact(self, key: str) -> list[Fact]:
        """Erase every value that the fact with that key has had for good, and return them. Raises NotFound.

        For a person or pet, what is known about them goes too. The messages that say it stay; `forget` erases those.
        """
        check_id(key, "the key of a fact")
        self._learn_facts()
        with span("delete_memory", self.scope) as note:
            gone = self.memory.layers.semantic.erase(self.scope.owner, key)
            note(records=len(gone))
        self.memory.controller.forget(self.scope.owner)
        return gone

    def patterns(self) -> Patterns:
        """How the user talks with the assistant, counted over everything said so far."""
        return self.memory.layers.procedural.patterns(self.scope.owner)

    def forget(self, ids: Sequence[str] | None = None) -> Erased:
        """Erase these messages for good, or without `ids` everything kept here: text, index, and what was learned."""
        return self.memory.forget(self.scope, ids)

    def would_forget(self, ids: Sequence[str] | None = None) -> Erasable:
        """What `forget` would erase; nothing is changed."""
        return self.memory.would_forget(self.scope, ids)
