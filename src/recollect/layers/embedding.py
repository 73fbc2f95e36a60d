"""Vectors for messages and documents: made in the background from a durable queue; nobody waits, nothing is lost.

A job names its model, so that processes with different ones can share a store. Each makes the vectors of what was said
to itself at once, and those of what was said to others once it is first asked about that user.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from recollect.arguments import MAX_WHOLE
from recollect.embed import Embedder
from recollect.frozen import FrozenDict
from recollect.layers.columns import speaker_of
from recollect.recent import Recent
from recollect.store import MESSAGE, Item, Job, Store
from recollect.store.codec import id_of
from recollect.types import MAX_ID, Scope

KIND: Final = "embed"
"""What the kind of a job begins with, before the name of the model; without a name, any model may do it."""
CHUNK: Final = "chunk"
"""The kind of the index items that documents are cut into."""
KINDS: Final = (MESSAGE, CHUNK)
BATCH: Final = 64
KEPT_SCOPES: Final = 10_000
UNUSED: Final = timedelta(days=1)
PAGE: Final = 100


def job_for(model: str, kind: str | None = None) -> Job:
    """The job that makes a model's vectors for messages and chunks, or for the items of one kind alone."""
    name = f"{KIND} {model}"[:MAX_ID]
    return Job(name, FrozenDict({"kinds": [kind]}), id_of(KIND, kind)) if kind else Job(name, key=KIND)


def clear(store: Store, ours: Collection[str], now: datetime) -> None:
    """Drop the jobs of models that nobody runs any more: those with a job that waits for over a day.

    Nothing is lost: a process that has such a model again makes what is missing once it is asked about a user.
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
    """Gives every message and every chunk of a document its vector."""

    store: Store
    embedder: Embedder
    _done: Recent[tuple[Scope, tuple[str, ...]], int] = field(default_factory=lambda: Recent(KEPT_SCOPES))

    def fill(self, scopes: set[Scope]) -> bool:
        """Enqueue work for the scopes that lack vectors of this model, and empty the set; whether there was any.

        Vectors are missing where a process with another model added the messages.
        """
        name, made = self.embedder.name, list[Job]()
        for scope in list(scopes):
            if self.store.index.missing(scope, name, kinds=KINDS, limit=1):
                made += self.store.jobs.enqueue(scope, [job_for(name)])
            scopes.discard(scope)
        return bool(made)

    def learn(self, job: Job) -> int:
        """Make a batch of the vectors that the job's scope lacks, and finish the job; returns how many.

        More work is left as a new job.
        """
        scope = job.scope or Scope()
        kinds = tuple(job.payload.get("kinds", KINDS))
        items = self._missing(scope, kinds)
        vectors = self.embedder.embed(self._texts(items), kind="passage")
        with self.store.transaction(scope):
            made = 0
            for (at, kind), places in _together(items).items():
                there = {item.position for item in self.store.index.get(at, kind, [items[n].id for n in places])}
                rows = {items[n].id: vectors[n] for n in places if items[n].position in there}
                made += self.store.index.embed(at, kind, self.embedder.name, rows)
            if len(items) == BATCH:
                self.store.jobs.enqueue(scope, [Job(job.kind, job.payload, job.key)])
            self.store.jobs.finish(job)
        if items:
            self._done[scope, kinds] = items[-1].position
        return made

    def forget(self, scope: Scope | None = None) -> None:
        """Look for missing vectors from the start again, next time: in a scope or, without one, everywhere."""
        for done in list(self._done):  # a copy: the background may add to it
            if scope is None or scope.covers(done[0]):
                self._done.pop(done, None)

    def _missing(self, scope: Scope, kinds: tuple[str, ...]) -> list[Item]:
        """The next items without a vector, from where the last batch ended; from the start where there are none.

        So a user's messages are gone through once, and those that lost their vectors get them again.
        """
        find = partial(self.store.index.missing, scope, self.embedder.name, kinds=kinds, limit=BATCH)
        done = self._done.get((scope, kinds), 0)
        return find(after=done) or (find() if done else [])

    def _texts(self, items: Sequence[Item]) -> list[str]:
        texts = [item.text for item in items]
        for (at, kind), places in _together(items).items():
            if kind == MESSAGE:
                entries = self.store.log.get(at, [items[n].id for n in places])
                speakers = {entry.message.id: speaker_of(entry.message) for entry in entries}
                for n in places:
                    texts[n] = f"{speakers.get(items[n].id, items[n].role)}: {items[n].text}"
        return texts


def _together(items: Sequence[Item]) -> dict[tuple[Scope, str], list[int]]:
    """The places of the items by scope and kind."""
    found: dict[tuple[Scope, str], list[int]] = {}
    for n, item in enumerate(items):
        found.setdefault((item.scope or Scope(), item.kind), []).append(n)
    return found
