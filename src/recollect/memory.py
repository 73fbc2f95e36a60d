"""Memory: everything that was said, kept safely and found again. Open one, take a session, add and recall.

with Memory.open("memory.db") as memory:
    chat = memory.session("trip", user="ada")
    chat.add("user", "My sister Nadia moved to Oslo in May.")
    chat.recall("Where does my sister live?", budget=200)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeAlias

from recollect import embed, llm, store
from recollect.answers import Excerpt
from recollect.arguments import MAX_WHOLE, check_given, check_number
from recollect.controller import Controller
from recollect.data_folder import made_data_dir
from recollect.embed import Embedder, Reranker
from recollect.embed.cached import CachedEmbedder
from recollect.errors import ConfigError
from recollect.frozen import EMPTY
from recollect.layers import embedding, semantic, summary, tools
from recollect.layers.all import Layers
from recollect.layers.background import Background, Learn
from recollect.layers.embedding import Embedding
from recollect.layers.ledger import Ledger
from recollect.layers.marks import drop
from recollect.layers.sections import ScopedSection, check_sections
from recollect.layers.taught import Taught
from recollect.layers.tools import Search
from recollect.llm import ChatModel
from recollect.session import Session
from recollect.settings import DEFAULTS, Settings
from recollect.store import Erased, Job, Store
from recollect.store.checks import each_once
from recollect.telemetry import OnAlert, Telemetry
from recollect.tokens import TokenCounter
from recollect.tokens import counter as open_counter
from recollect.traces import span
from recollect.types import Scope, check_id, local_now
from recollect.user import User

Section: TypeAlias = Callable[[Session, str], Iterable[Excerpt]]
"""A function of your program that returns excerpts for a question in a session, best first."""
OPEN: Final = "a memory is opened by {0}.open('memory.db') or {0}.open('postgresql://…'), not by {0}(…)"
MOST_FRESH: Final = 10_000
"""How many sessions with new messages `drain` remembers. Further ones are learned from when more is said in them."""


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
        clock: Callable[[], datetime] = local_now,
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
        own = {name: self._scoped(section) for name, section in sections.items()}
        self.controller = Controller(kept_in, self.counter, settings, self.layers, self.telemetry, own)
        self.ledger = Ledger(kept_in, clock, settings.model_calls_a_day, settings.model_tokens_a_day)
        self._vectors = Embedding(kept_in, embedder) if embedder else None
        self.jobs, learners = self._learning(former, model)
        refill = partial(self._vectors.fill, self.layers.episodic.ranker.met) if self._vectors else bool
        self._background = Background(kept_in, learners, self.telemetry, refill)
        self._fresh: set[Scope] = set()

    def _scoped(self, section: Section) -> ScopedSection:
        return lambda scope, question: section(Session(self, scope), question)

    def _learning(self, former: Embedder | None, model: ChatModel | None) -> tuple[list[Job], dict[str, Learn]]:
        """The jobs that are enqueued with every message, and the function that does each kind of job."""
        jobs, learners = self.layers.jobs(self.settings), self.layers.learners
        if self._vectors:
            work = embedding.job_for(self._vectors.embedder.name)
            jobs = [work, *jobs]
            left_over = [embedding.job_for(former.name).kind] if former else []
            learners |= dict.fromkeys((work.kind, embedding.KIND, *left_over), self._vectors.learn)
        if model:
            taught = Taught(self.store, model, self.counter, self.layers, self.ledger)
            jobs += taught.jobs(self.settings.facts_every_turns)
            learners |= taught.learners
        return jobs, learners

    def __reduce__(self) -> NoReturn:
        raise ConfigError("a memory can't be copied or sent to another process: open it there with Memory.open")

    if not TYPE_CHECKING:  # a type checker reports unknown names itself

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
        """Open the memory in a file or at a `postgresql://` address; without `url`, `memory.db` in the data folder.

        - `embedder`: an Embedder or its name (see `embed.open`). `auto` is the local model if it was pulled; with
          None, memory is searched by keywords alone.
        - `former`: the embedder used before a change of model. Its vectors serve until `reindex` has made the new ones.
        - `counter`: counts tokens, in place of the counter that the settings name.
        - `index`: the address of a Chroma that searches the vectors.
        - `durability`: `full` survives a power cut; `normal` is faster, but a power cut may lose the last moments.
        - `model`: a ChatModel or its name (see `llm.open`). It improves facts and summaries in the background, within
          daily limits.
        - `search`: a web search, called when a question asks for news.
        - `reranker`: re-orders the best passages of documents (see `embed.open_reranker`).
        - `sections`: functions of yours, by the name of the section of a context that each fills in place of the
          built-in layer. Each is called with the session and the question.
        - `on_alert`: called with every alert.
        """
        check_given(
            url=(url, isinstance(url, str | PathLike | None), "a file or an address"),
            embedder=(embedder, _is_name_or_has("embed", embedder), "an Embedder, its name, or None"),
            former=(former, _is_name_or_has("embed", former), "an Embedder, its name, or None"),
            settings=(settings, isinstance(settings, Settings), "Settings(…)"),
            index=(index, isinstance(index, str | None), "chroma:///folder or chroma://host:port"),
            model=(model, _is_name_or_has("complete", model), "a ChatModel, its name, or None"),
            search=(search, search is None or callable(search), "a function from a question to excerpts"),
            reranker=(reranker, reranker is None or hasattr(reranker, "score"), "a Reranker"),
            sections=(sections, isinstance(sections, Mapping), "functions by the names of sections"),
            on_alert=(on_alert, on_alert is None or callable(on_alert), "a function that takes an Alert"),
        )
        check_sections(sections)
        new, old = (_embedder(which, settings) for which in (embedder, former))
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
        """A user: what is known about them, and what was said in all their conversations."""
        return User(self, Scope(tenant, check_id(id, "user")))

    def session(self, id: str, *, user: str, tenant: str = "default") -> Session:
        """One conversation of a user. It need not exist yet: the first message added to it creates it."""
        return Session(self, Scope(tenant, user, check_id(id, "session")))

    def sessions(
        self, user: str | None = None, *, tenant: str = "default", before: int | None = None, limit: int | None = 100
    ) -> list[store.SessionStats]:
        """An overview of the sessions of a user, or of all users; the most recently written comes first.

        `before=page[-1].position` gives the next page. `limit=None` gives all sessions at once. One whose messages were
        all erased is not among them.
        """
        most = MAX_WHOLE if limit is None else limit
        return self.store.log.sessions(Scope(tenant, user), before=before, limit=most)

    def reindex(self, progress: store.Progress | None = None) -> int:
        """Rebuild the keyword index; returns how many items it holds.

        Messages, passages of long messages, and documents that lack a vector get one in the background, for all
        tenants. Jobs for an embedder that no process runs any more are dropped.
        """
        check_given(progress=(progress, progress is None or callable(progress), "a function of two numbers"))
        items = self.store.reindex(progress)
        embedding.clear(self.store, self._background.learners.keys(), self.clock())
        if self._vectors:
            self._vectors.forget()
            self._embed_all(self._vectors)
        self.wake()
        return items

    def _embed_all(self, vectors: Embedding) -> None:
        model = vectors.embedder.name
        for tenant in map(Scope, self.store.tenants()):
            self.store.jobs.enqueue(tenant, [embedding.job_for(model, embedding.CHUNK)])
            for session in store.each_session(self.store.log, tenant):
                vectors.cut_all(session.scope)
                self.store.jobs.enqueue(session.scope, [embedding.job_for(model)])

    def forget(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        """Erase these messages of a session, user or tenant for good; without `ids`, everything in the scope.

        Their index entries go with them, and everything learned from them. What other messages say too is learned
        again from those.
        """
        ids = _checked(scope, ids)
        before = self.layers.semantic.before(scope)
        with span("delete_memory", scope) as note, self.store.transaction(scope):
            along = self._along(scope, ids or ())
            spared, left = self.layers.semantic.spared(scope, ids, before)
            erased = self.store.log.erase(scope, ids)
            note(records=erased.messages)
            more = sum(drop(self.store, session, records) for session, records in along.items())
            for session in along:
                self.store.jobs.enqueue(session, [summary.JOB])
            more += self.store.records.delete(scope.owner, [fact.id for fact in left])
            self.store.records.put(scope.owner, spared)
        self.controller.forget(scope)
        if self._vectors:
            self._vectors.forget(scope)
        self.wake()
        return replace(erased, records=erased.records + more - len(spared))

    def would_forget(self, scope: Scope, ids: Sequence[str] | None = None) -> store.Erasable:
        """What `forget` would erase. Nothing is changed, and no writer is kept waiting."""
        ids = _checked(scope, ids)
        with self.store.reading():
            found = self.store.log.would_erase(scope, ids)
            spared, left = self.layers.semantic.spared(scope, ids)
            records = chain(*self._along(scope, ids or ()).values(), left)
            along = {store.Learned(record.position, record.kind, stands=True) for record in records}
        stay = {fact.position for fact in spared}
        going = frozenset(record for record in found.records | along if record.position not in stay)
        return replace(found, records=going)

    def _along(self, scope: Scope, ids: Sequence[str]) -> dict[Scope, list[store.Record]]:
        """By session, the records that go with these messages even if they don't cite them.

        These are later summaries, and what a web search found for the messages.
        """
        found: dict[Scope, list[store.Entry]] = {}
        for entry in self.store.log.get(scope, ids):
            found.setdefault(entry.scope, []).append(entry)
        return {
            session: [
                *self.layers.summary.after(session, min(entry.seq for entry in gone)),
                *tools.searched_for(self.store, session, gone),
            ]
            for session, gone in found.items()
        }

    def drain(self) -> int:
        """Do all background work now instead of waiting for full batches; returns how many things were learned."""
        learned, owners = self._background.drain(), set[Scope]()
        self._fresh |= self._waiting()
        while self._fresh:
            scope = self._fresh.pop()
            owners.add(scope.owner)
            learned += self.layers.semantic.catch_up(scope) + self.layers.summary.catch_up(scope)
        return learned + sum(map(self.layers.procedural.catch_up, owners))

    def _waiting(self) -> set[Scope]:
        """The sessions whose messages are still to be searched for facts, including those of other processes."""
        tenants = map(Scope, self.store.tenants())
        jobs = (job for one in tenants for job in self.store.jobs.find(one, state="waiting", limit=MOST_FRESH))
        return {job.scope for job in jobs if job.kind == semantic.JOB.kind and job.scope}

    def stats(self) -> dict[str, float]:
        """The metrics of this process, by the names that `recollect.telemetry` lists."""
        facts, found = self.layers.semantic, self.telemetry.snapshot()
        return {**found, "recollect_cache_hits_total": facts.hits, "recollect_cache_misses_total": facts.misses}

    def close(self, wait: float | None = None) -> None:
        """Stop the background work and close the store. Jobs that are waiting are done once the store is opened again.

        The running job is finished first. After `wait` seconds it is abandoned, and done again once its lease is over.
        """
        if wait is not None:
            check_number("wait", wait, 0, TIMEOUT_MAX)
        self._background.stop(wait)
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wake(self) -> None:
        """Tell the background thread that there is work."""
        self._background.wake()

    def added(self, scope: Scope, messages: int) -> None:
        """Note that a session has new messages to learn from."""
        if len(self._fresh) >= MOST_FRESH:
            self._fresh.pop()
        self._fresh.add(scope)
        self.wake()
        self.telemetry.count("recollect_messages_total", messages)


def _checked(scope: Scope, ids: Sequence[str] | None) -> list[str] | None:
    """The ids to erase, each once; raises ConfigError where the scope or an id is invalid."""
    check_given(scope=(scope, isinstance(scope, Scope), "Scope(tenant, user, session)"))
    return None if ids is None else [check_id(id, "the id of a message") for id in each_once(ids)]


def _is_name_or_has(method: str, value: object) -> bool:
    """Whether a value is a name, None, or an object with that method."""
    return isinstance(value, str | None) or callable(getattr(value, method, None))


def _place(url: str | Path | None) -> str:
    """The file or address that was given, else the file in the data folder."""
    return str(made_data_dir() / "memory.db") if url is None else str(url)


def _embedder(which: str | Embedder | None, settings: Settings) -> Embedder | None:
    """The embedder that was given, or the one of that name."""
    return embed.open(which, device=settings.embeddings_device) if isinstance(which, str) else which
