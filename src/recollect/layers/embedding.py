"""Vectors for messages and documents, made in the background from a durable queue: nobody waits, nothing is lost.

A job names its model, so processes with different models can share a store. Each process makes the vectors of messages
that it added itself at once, and those of other processes' messages when it is first asked about that user.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from recollect.arguments import MAX_WHOLE
from recollect.embed import Embedder
from recollect.flow.pack import CUT
from recollect.flow.passages import LONG, passages
from recollect.frozen import FrozenDict
from recollect.layers.columns import PASSAGE, passage_id, speaker_of
from recollect.recent import Recent
from recollect.store import MESSAGE, Item, Job, Store
from recollect.store.codec import id_of
from recollect.types import MAX_ID, Scope

KIND: Final = "embed"
"""The kind of a job is this word and the name of a model; a job without a name may be done by any model."""
CHUNK: Final = "chunk"
"""The kind of the index items that documents are cut into."""
KINDS: Final = (MESSAGE, PASSAGE, CHUNK)
MOST: Final = 64
"""How many passages of a message get a vector, from its start. All of a book's would take minutes."""
BATCH: Final = 64
KEPT_SCOPES: Final = 10_000
UNUSED: Final = timedelta(days=1)
PAGE: Final = 100


def job_for(model: str, kind: str | None = None) -> Job:
    """The job that makes a model's vectors, for messages, their passages and chunks, or for items of one kind only."""
    name = f"{KIND} {model}"[:MAX_ID]
    return Job(name, FrozenDict({"kinds": [kind]}), id_of(KIND, kind)) if kind else Job(name, key=KIND)


def clear(store: Store, ours: Collection[str], now: datetime) -> None:
    """Drop the jobs of models that no process runs any more: those with a job overdue for more than a day.

    Nothing is lost: a process that runs such a model later makes the missing vectors when it is asked about a user.
    """
    waiting = [job for tenant in store.tenants() for job in store.jobs.find(Scope(tenant), limit=MAX_WHOLE)]
    late = {job.kind for job in waiting if job.due and job.due < now - UNUSED}
    at_work = {job.kind for job in waiting if job.state == "running"}
    unused = [kind for kind in late.difference(ours, at_work) if kind.startswith(f"{KIND} ")]
    while unused and (jobs := store.jobs.claim(unused, worker=KIND, limit=PAGE)):
        for job in jobs:
            store.jobs.finish(job)


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Gives every message, every passage of a long one and every chunk of a document its vector."""

    store: Store
    embedder: Embedder
    _done: Recent[tuple[Scope, tuple[str, ...]], int] = field(default_factory=lambda: Recent(KEPT_SCOPES))

    def fill(self, scopes: set[Scope]) -> bool:
        """Enqueue work for the scopes that lack vectors of this model, and empty the set; returns whether any did.

        Vectors are missing if a process with another model added the messages.
        """
        name, made = self.embedder.name, list[Job]()
        for scope in list(scopes):
            if self.store.index.missing(scope, name, kinds=KINDS, limit=1):
                made += self.store.jobs.enqueue(scope, [job_for(name)])
            scopes.discard(scope)
        return bool(made)

    def learn(self, job: Job) -> int:
        """Make one batch of the vectors that the job's scope lacks, and finish the job; returns how many were made.

        If there is more to do, a new job is enqueued.
        """
        scope = job.scope or Scope()
        kinds = tuple(job.payload.get("kinds", KINDS))
        items = self._missing(scope, kinds)
        vectors = self.embedder.embed(self._texts(items), kind="passage")
        with self.store.transaction(scope):
            made, cut = 0, False
            for (at, kind), places in _together(items).items():
                there = {item.position for item in self.store.index.get(at, kind, [items[n].id for n in places])}
                known = [n for n in places if items[n].position in there]
                made += self.store.index.embed(at, kind, self.embedder.name, {items[n].id: vectors[n] for n in known})
                if kind == MESSAGE:
                    cut = self.cut(at, [items[n] for n in known]) or cut
            if cut or len(items) == BATCH:
                self.store.jobs.enqueue(scope, [Job(job.kind, job.payload, job.key)])
            self.store.jobs.finish(job)
        if items:
            self._done[scope, kinds] = items[-1].position
        return made

    def cut(self, session: Scope, messages: Iterable[Item]) -> bool:
        """Put the passages of a session's long messages in the index, to get vectors; returns whether some are new."""
        found = {item.id: item for message in messages for item in _passages(message)}
        known = {item.id for item in self.store.index.get(session, PASSAGE, list(found))} if found else set()
        new = [item for id, item in found.items() if id not in known]
        if new:
            self.store.index.put(session, new)
        return bool(new)

    def cut_all(self, session: Scope) -> None:
        """`cut` all messages of a session: an earlier version that cut none may have added them."""
        after = 0
        while page := self.store.log.spoken(session, after=after, limit=PAGE):
            long = [one.id for one in page if len(one.text) > LONG]
            if long:
                with self.store.transaction(session):
                    self.cut(session, self.store.index.get(session, MESSAGE, long))
            after = page[-1].position

    def forget(self, scope: Scope | None = None) -> None:
        """Have the next search for missing vectors begin at the start again, in a scope or everywhere."""
        for done in list(self._done):  # a copy: the background may add to it
            if scope is None or scope.covers(done[0]):
                self._done.pop(done, None)

    def _missing(self, scope: Scope, kinds: tuple[str, ...]) -> list[Item]:
        """The next items without a vector after the last batch; if there are none, those from the start.

        So a user's messages are gone through once, and items that lost their vectors get them again.
        """
        find = partial(self.store.index.missing, scope, self.embedder.name, kinds=kinds, limit=BATCH)
        done = self._done.get((scope, kinds), 0)
        return find(after=done) or (find() if done else [])

    def _texts(self, items: Sequence[Item]) -> list[str]:
        texts = [item.text for item in items]
        for (at, kind), places in _together(items).items():
            if kind in (MESSAGE, PASSAGE):
                entries = self.store.log.get(at, [id for n in places for id in items[n].sources])
                said = {entry.message.id: entry.message for entry in entries}
                for n in places:
                    if message := said.get(items[n].sources[0]):
                        part = slice(*items[n].metadata["span"]) if kind == PASSAGE else slice(None)
                        texts[n] = f"{speaker_of(message)}: {message.text[part]}"
        return texts


def _passages(message: Item) -> Iterator[Item]:
    """The passages of a long message that get a vector, as index items that belong to it."""
    spans = passages(message.text)[:MOST] if len(message.text) > LONG and message.role != "system" else []
    for span in spans:
        about = FrozenDict({"span": span})
        yield Item(PASSAGE, passage_id(message.id, span[0]), CUT, message.at, message.role, about, (message.id,))


def _together(items: Sequence[Item]) -> dict[tuple[Scope, str], list[int]]:
    """The places (indexes) of the items, by scope and kind."""
    found: dict[tuple[Scope, str], list[int]] = {}
    for n, item in enumerate(items):
        found.setdefault((item.scope or Scope(), item.kind), []).append(n)
    return found
