"""Memory: everything that was said, kept safely and found again. Open one, take a session, add and recall.

with Memory.open("memory.db") as memory:
    chat = memory.session("trip", user="ada")
    chat.add("user", "My sister Nadia moved to Oslo in May.")
    chat.recall("Where does my sister live?", budget=200)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeAlias

from recollect import embed, llm, store
from recollect.answers import Excerpt
from recollect.arguments import check_given
from recollect.controller import Controller
from recollect.embed import Embedder, Reranker
from recollect.embed.cached import CachedEmbedder
from recollect.errors import ConfigError
from recollect.frozen import EMPTY
from recollect.layers import embedding, semantic, summary
from recollect.layers.all import Layers
from recollect.layers.background import Background
from recollect.layers.embedding import Embedding
from recollect.layers.ledger import Ledger
from recollect.layers.own import Fill, check_sections
from recollect.layers.taught import Taught
from recollect.layers.tools import Search
from recollect.llm import ChatModel
from recollect.session import Session
from recollect.settings import DEFAULTS, Settings
from recollect.store import Erased, Store
from recollect.store.codec import each_once
from recollect.telemetry import OnAlert, Telemetry
from recollect.tokens import TokenCounter
from recollect.tokens import counter as open_counter
from recollect.traces import span
from recollect.types import Scope, check_id
from recollect.user import User

Section: TypeAlias = Callable[[Session, str], Iterable[Excerpt]]
"""What a program has for a question in a session, best first."""
OPEN: Final = "a memory is opened by {0}.open('memory.db') or {0}.open('postgresql://…'), not by {0}(…)"
MOST_FRESH: Final = 10_000
"""How many sessions with new messages `drain` remembers, to learn from them without waiting for more to be said.

Others wait for more to be said, as all do after a restart."""


def _named_or(value: object, verb: str) -> bool:
    """Whether it is a name, nothing, or does what the verb says."""
    return isinstance(value, str | None) or callable(getattr(value, verb, None))


def _place(url: str | Path | None) -> str:
    """The file or address that is named, else the file in the data folder."""
    if url is not None:
        return str(url)
    from recollect.embed.models import made_data_dir  # at the call, so that models can be run as a script

    return str(made_data_dir() / "memory.db")


class Memory:
    """A store with its background work: begin with `Memory.open`. Safe to share between threads."""

    def __init__(
        self,
        kept_in: Store | None = None,
        *,
        embedder: Embedder | None = None,
        former: Embedder | None = None,
        counter: TokenCounter | None = None,
        settings: Settings = DEFAULTS,
        model: ChatModel | None = None,
        search: Search | None = None,
        reranker: Reranker | None = None,
        sections: Mapping[str, Section] = EMPTY,
        on_alert: OnAlert | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if kept_in is None or not hasattr(kept_in, "log"):
            raise ConfigError(OPEN.format("Memory"))
        self.store = kept_in
        self.counter = counter or open_counter(settings.counter)
        self.settings = settings
        self.clock = clock
        self.telemetry = Telemetry(on_alert)
        self.embedder = CachedEmbedder(embedder) if embedder else None
        self.layers = Layers.of(
            kept_in, self.counter, settings, self.embedder, former, search=search, reranker=reranker
        )
        own = {name: self._fill(section) for name, section in sections.items()}
        self.controller = Controller(kept_in, self.counter, settings, self.layers, self.telemetry, own)
        self.jobs = self.layers.jobs(settings)
        learners = self.layers.learners
        more: Callable[[], bool] = bool
        self._vectors = Embedding(kept_in, embedder) if embedder else None
        if embedder and self._vectors:
            work, vectors = embedding.job_for(embedder.name), self._vectors
            self.jobs = [work, *self.jobs]
            once = [embedding.job_for(former.name).kind] if former else []
            learners |= dict.fromkeys((work.kind, embedding.KIND, *once), vectors.learn)
            more = partial(vectors.fill, self.layers.episodic.ranker.met)
        self.ledger = Ledger(kept_in, clock, settings.model_calls_a_day, settings.model_tokens_a_day)
        if model:
            taught = Taught(kept_in, model, self.counter, self.layers, self.ledger)
            self.jobs += taught.jobs(settings.facts_every_turns)
            learners |= taught.learners
        self._background = Background(kept_in, learners, self.telemetry, more)
        self._fresh: set[Scope] = set()

    def _fill(self, section: Section) -> Fill:
        return lambda scope, question: section(Session(self, scope), question)

    def __reduce__(self) -> NoReturn:
        raise ConfigError("a memory can't be copied or sent to another process: open it there with Memory.open")

    if not TYPE_CHECKING:  # to a type checker, no other name is there

        def __getattr__(self, name: str) -> NoReturn:
            has = f": a session has, memory.session('trip', user='ada').{name}" if hasattr(Session, name) else ""
            raise AttributeError(f"a Memory has no {name!r}{has}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"Memory({self.store!r}, embedder={self.embedder and self.embedder.name!r})"

    @classmethod
    def open(
        cls,
        url: str | Path | None = None,
        *,
        embedder: str | Embedder | None = "auto",
        former: str | Embedder | None = None,
        counter: TokenCounter | str | None = None,
        settings: Settings = DEFAULTS,
        index: str | None = None,
        durability: store.Durability = "full",
        model: str | ChatModel | None = None,
        search: Search | None = None,
        reranker: Reranker | None = None,
        sections: Mapping[str, Section] = EMPTY,
        on_alert: OnAlert | None = None,
    ) -> Memory:
        """The memory in a file (or at a `postgresql://` address); without one, `memory.db` in the data folder.

        `embedder` is one, its name as `embed.open` takes it, or None to go by keywords alone; `auto` is the local
        model where it was pulled. After a change of model, `former` is the one used before: its vectors serve until
        `reindex` has given everything one of the new model. `counter` counts tokens, in place of the one that the
        settings name. `index` names Chroma as the place for vectors.
        `model`, or its name as `llm.open` takes it, improves facts and summaries in the background, within the limits
        of a day. `search` is a web search that is asked when a question is about what is new; `reranker` reads the
        best passages of documents again (`embed.open_reranker()`). `sections` has functions of yours that fill
        sections of a context, in place of what is here: each is given the session and the question. `on_alert` gets
        alerts.
        """
        check_given(
            url=(url, isinstance(url, str | PathLike | None), "a file or an address"),
            embedder=(embedder, _named_or(embedder, "embed"), "an Embedder, its name, or None"),
            former=(former, _named_or(former, "embed"), "an Embedder, its name, or None"),
            settings=(settings, isinstance(settings, Settings), "Settings(…)"),
            index=(index, isinstance(index, str | None), "chroma:///folder or chroma://host:port"),
            model=(model, _named_or(model, "complete"), "a ChatModel, its name, or None"),
            search=(search, search is None or callable(search), "a function from a question to excerpts"),
            reranker=(reranker, reranker is None or hasattr(reranker, "score"), "a Reranker"),
            sections=(sections, isinstance(sections, Mapping), "functions by the names of sections"),
            on_alert=(on_alert, on_alert is None or callable(on_alert), "a function that takes an Alert"),
        )
        check_sections(sections)
        new, old = (
            embed.open(which, device=settings.embeddings_device) if isinstance(which, str) else which
            for which in (embedder, former)
        )
        count = open_counter(settings.counter if counter is None else counter)
        teacher = llm.open(model) if isinstance(model, str) else model
        return cls(
            store.open(_place(url), index=index, durability=durability),
            embedder=new,
            former=old,
            counter=count,
            settings=settings,
            model=teacher,
            search=search,
            reranker=reranker,
            sections=sections,
            on_alert=on_alert,
        )

    def user(self, id: str, *, tenant: str = "default") -> User:
        """A user: what is known of him, and what was said in all of his conversations."""
        return User(self, Scope(tenant, check_id(id, "user")))

    def session(self, id: str, *, user: str, tenant: str = "default") -> Session:
        """One conversation of a user; it is there as soon as something is added to it."""
        return Session(self, Scope(tenant, user, check_id(id, "session")))

    def sessions(
        self, user: str | None = None, *, tenant: str = "default", before: int | None = None, limit: int = 100
    ) -> list[store.SessionStats]:
        """The sessions of a user, or of all of them, the one written to last first, each at a glance.

        The next page is `before=page[-1].position`.
        """
        return self.store.log.sessions(Scope(tenant, user), before=before, limit=limit)

    def reindex(self, progress: store.Progress | None = None) -> int:
        """How many items the keyword index holds, built anew.

        Every tenant's messages and documents without a vector get one in the background; work that waits for a model
        which nobody runs any more is dropped.
        """
        items = self.store.reindex(progress)
        embedding.clear(self.store, self._background.learners.keys(), self.clock())
        if self._vectors:
            self._vectors.forget()
            self._embed_all(self._vectors.embedder.name)
        self.wake()
        return items

    def _embed_all(self, model: str) -> None:
        for tenant in map(Scope, self.store.tenants()):
            self.store.jobs.enqueue(tenant, [embedding.job_for(model, embedding.CHUNK)])
            for session in store.each_session(self.store.log, tenant):
                self.store.jobs.enqueue(session.scope, [embedding.job_for(model)])

    def forget(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        """Erase these messages of a session, user or tenant, or all that the scope holds, for good.

        Text, index and all that was learned from it: what was made of more than that is made anew from what is left.
        """
        check_given(scope=(scope, isinstance(scope, Scope), "Scope(tenant, user, session)"))
        for id in each_once(ids or ()):
            check_id(id, "the id of a message")
        along = 0
        with span("delete_memory", scope) as note, self.store.transaction(scope):
            for session, gone in self._in_sessions(scope, ids or ()).items():
                along += self.layers.summary.forget(session, [entry.message.id for entry in gone])
                along += self.layers.tools.forget(session, [entry.message.text for entry in gone])
                self.store.jobs.enqueue(session, [summary.JOB])
            spared = self.layers.semantic.elsewhere(scope, ids)
            erased = self.store.log.erase(scope, ids)
            note(records=erased.messages)
            self.store.records.put(scope.owner, spared)
        self.controller.forget(scope)
        self.wake()
        return replace(erased, records=erased.records + along - len(spared))

    def _in_sessions(self, scope: Scope, ids: Sequence[str]) -> dict[Scope, list[store.Entry]]:
        found: dict[Scope, list[store.Entry]] = {}
        for entry in self.store.log.get(scope, ids):
            found.setdefault(entry.scope, []).append(entry)
        return found

    def drain(self) -> int:
        """Do all background work now, also what would wait for more to be said; how many things were learned."""
        learned, owners = self._background.drain(), set[Scope]()
        self._fresh |= self._waiting()
        while self._fresh:
            scope = self._fresh.pop()
            owners.add(scope.owner)
            learned += self.layers.semantic.catch_up(scope) + self.layers.summary.catch_up(scope)
        return learned + sum(map(self.layers.procedural.catch_up, owners))

    def _waiting(self) -> set[Scope]:
        """The sessions where something was said, also to another process, that facts are still to be learned from."""
        tenants = map(Scope, self.store.tenants())
        jobs = (job for one in tenants for job in self.store.jobs.find(one, state="waiting", limit=MOST_FRESH))
        return {job.scope for job in jobs if job.kind == semantic.JOB.kind and job.scope}

    def stats(self) -> dict[str, float]:
        """Every metric of this process by its name, as `recollect.telemetry` lists them."""
        facts, found = self.layers.semantic, self.telemetry.snapshot()
        return {**found, "recollect_cache_hits_total": facts.hits, "recollect_cache_misses_total": facts.misses}

    def close(self, wait: float | None = None) -> None:
        """Stop the background and close the store; work that waits is done after the next opening.

        The job at hand is finished first, or left after `wait` seconds, to be done again once its lease is over.
        """
        self._background.stop(wait)
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wake(self) -> None:
        """Let the background see that there is work."""
        self._background.wake()

    def added(self, scope: Scope, messages: int) -> None:
        """Take note that a session has new messages."""
        if len(self._fresh) >= MOST_FRESH:
            self._fresh.pop()
        self._fresh.add(scope)
        self.wake()
        self.telemetry.count("recollect_messages_total", messages)
