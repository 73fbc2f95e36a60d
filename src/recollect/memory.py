"""Memory: everything that was said, kept safely and found again. Open one, take a session, add and recall.

with Memory.open("memory.db") as memory:
    chat = memory.session("trip", user="ada")
    chat.add("user", "My sister Nadia moved to Oslo in May.")
    chat.recall("Where does my sister live?", budget=200)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self

from recollect import embed, store
from recollect.controller import Controller, Wanted
from recollect.embed import Embedder
from recollect.embed.cached import CachedEmbedder
from recollect.errors import ConfigError
from recollect.flow.context import Context
from recollect.flow.fence import without_memory
from recollect.frozen import freeze_dict
from recollect.layers import embedding
from recollect.layers.background import Background
from recollect.layers.embedding import Embedding
from recollect.layers.episodic import MAX_QUERY, Asked, Episodic
from recollect.layers.windows import always, stays
from recollect.settings import Settings
from recollect.store import ANY, Erased, Filter, Store
from recollect.telemetry import OnAlert, Telemetry
from recollect.tokens import TokenCounter, count_message, estimate
from recollect.tokens import counter as open_counter
from recollect.types import Message, Part, Recalled, Role, Scope, as_message, messages_only, with_zone

DEFAULTS: Final = Settings()


class Memory:
    """A store with its background work. Safe to share between threads."""

    def __init__(
        self,
        kept_in: Store,
        *,
        embedder: Embedder | None = None,
        former: Embedder | None = None,
        counter: TokenCounter = estimate,
        settings: Settings = DEFAULTS,
        on_alert: OnAlert | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = kept_in
        self.counter = counter
        self.settings = settings
        self.clock = clock
        self.embedder = CachedEmbedder(embedder) if embedder else None
        self.episodic = Episodic(kept_in, counter, self.embedder, former, settings.episodic_min_score)
        self.telemetry = Telemetry(on_alert)
        self.controller = Controller(kept_in, counter, settings, self.episodic, self.telemetry)
        self.jobs = [embedding.JOB] if embedder else []
        learners = {embedding.JOB.kind: Embedding(kept_in, embedder).learn} if embedder else {}
        self._background = Background(kept_in, learners) if learners else None

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        embedder: str | Embedder | None = "auto",
        former: str | Embedder | None = None,
        counter: TokenCounter | str = estimate,
        settings: Settings = DEFAULTS,
        index: str | None = None,
        durability: store.Durability = "full",
    ) -> Memory:
        """The memory in a file (or at a `postgresql://` address); without one, `memory.db` in the data folder.

        `embedder` is one, its name as `embed.open` takes it, or None to go by keywords alone; `auto` is the local
        model where it was pulled. After a change of model, `former` is the one used before: its vectors serve until
        `reindex` has given every message one of the new model. `index` names Chroma as the place for vectors.
        """
        if url is None:
            url = embed.models.data_dir() / "memory.db"
            url.parent.mkdir(parents=True, exist_ok=True)
        new, old = (embed.open(which) if isinstance(which, str) else which for which in (embedder, former))
        kept_in = store.open(str(url), index=index, durability=durability)
        count = counter if callable(counter) else open_counter(counter)
        return cls(kept_in, embedder=new, former=old, counter=count, settings=settings)

    def session(self, id: str, *, user: str, tenant: str = "default") -> Session:
        """One conversation of a user; it is there as soon as something is added to it."""
        return Session(self, Scope(tenant, user, id))

    def reindex(self, progress: store.Progress | None = None, tenant: str = "default") -> int:
        """How many items the keyword index holds, built anew; messages without a vector get one in the background."""
        items = self.store.reindex(progress)
        before: int | None = None
        while self.embedder and (page := self.store.log.sessions(Scope(tenant), before=before)):
            for session in page:
                self.store.jobs.enqueue(session.scope, [embedding.JOB])
            before = page[-1].position
        self.wake()
        return items

    def drain(self) -> int:
        """Do all waiting background work now; how many things were learned."""
        return self._background.drain() if self._background else 0

    def close(self) -> None:
        """Stop the background and close the store; work that waits is done after the next opening."""
        if self._background:
            self._background.stop()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wake(self) -> None:
        """Let the background see that there is work."""
        if self._background:
            self._background.wake()


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: what is added here is remembered for its user."""

    memory: Memory
    scope: Scope

    def add(self, message: Message | Role, content: str | Sequence[Part] = "", **fields: Any) -> Message:
        """Keep a message, given whole or by role and content; returns it with its id and times set."""
        return self.add_many([as_message(message, content, fields)])[0]

    def add_many(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Keep a batch, whole or not at all. It is found by its words at once, by its meaning within seconds."""
        memory = self.memory
        batch = [said for message in messages_only(messages) if (said := without_memory(message))]
        tokens = [count_message(message, memory.counter) for message in batch]
        with memory.store.transaction() if any(map(stays, batch)) else nullcontext():
            entries = memory.store.log.append(self.scope, batch, tokens=tokens, jobs=memory.jobs)
            memory.store.records.put(self.scope, always(entries))
        memory.wake()
        memory.telemetry.count("recollect_messages_total", len(entries))
        memory.controller.answered(self.scope, batch)
        return tuple(entry.message for entry in entries)

    def add_turn(
        self, user: str, assistant: str, *, score: float | None = None, metadata: Mapping[str, Any] | None = None
    ) -> tuple[Message, ...]:
        """Keep a question with its answer; `score` says how good the answer was, from 0 to 10."""
        noted = {**(metadata or {}), **({} if score is None else {"score": score})}
        return self.add_many(
            [Message("user", user), Message("assistant", assistant, metadata=freeze_dict(noted, "metadata"))]
        )

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

    def replay(self, at: int, budget: int | None = None, *, system: str | None = None) -> Context:
        """The context as it was built for the user message with that number, from what was kept until then."""
        return self.memory.controller.replay(self.scope, self._wanted(None, budget, system, None, ()), at)

    def _wanted(
        self,
        question: str | Message | None,
        budget: int | None,
        system: str | None,
        at: datetime | None,
        tools: Sequence[Mapping[str, Any]],
    ) -> Wanted:
        memory = self.memory
        tokens = memory.settings.budget if budget is None else budget
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens <= 0:
            raise ConfigError(f"budget is {budget!r}; it must be a whole number of tokens above 0")
        asked = Message("user", question) if isinstance(question, str) else question
        if not (asked is None or (isinstance(asked, Message) and asked.role == "user")):
            raise ConfigError("a question is text or a user's Message")
        return Wanted(asked, with_zone(at) if at else memory.clock(), tokens, system, tools)

    def history(self, limit: int | None = None, before: int | None = None) -> tuple[Message, ...]:
        """The last `limit` messages (all without one) in order; `before` is the number of a message, from 1."""
        until = None if before is None else before - 1
        entries = self.memory.store.log.read(self.scope, until=until, limit=limit, reverse=True)
        return tuple(entry.message for entry in reversed(entries))

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
        _not_negative(budget=budget, k=k)
        return self.memory.episodic.recall(self._asked(question, at, scope, where, recency), budget, k)

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
        """The `k` best turns, one a hit, best first: `recall` without a budget."""
        _not_negative(k=k)
        return self.memory.episodic.search(self._asked(question, at, scope, where, recency), k)

    def _asked(self, question: str, at: datetime | None, scope: str, where: Filter, recency: float) -> Asked:
        if not isinstance(question, str):
            raise ConfigError(f"a question is text, not a {type(question).__name__}")
        return Asked(
            question[:MAX_QUERY], with_zone(at) if at else self.memory.clock(), self._within(scope), where, recency
        )

    def _within(self, scope: str) -> Scope:
        if scope not in ("user", "session"):
            raise ConfigError(f"scope is {scope!r}; use 'user' for all sessions or 'session' for this one")
        return self.scope if scope == "session" else self.scope.owner

    def forget(self, ids: Sequence[str] | None = None) -> Erased:
        """Erase these messages, or the whole session, for good: text, index and all that was learned from them."""
        erased = self.memory.store.log.erase(self.scope, ids)
        self.memory.controller.forget(self.scope)
        return erased


def _not_negative(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 0:
            raise ConfigError(f"{name} is {number}; it can't be negative")
