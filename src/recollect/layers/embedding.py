"""Vectors for messages and documents: made in the background from a durable queue; nobody waits, nothing is lost.

A job names its model, so that processes with different ones can share a store. Each makes the vectors of what was said
to itself at once, and those of what was said to others once it is first asked about that user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recollect.embed import Embedder
from recollect.frozen import FrozenDict
from recollect.layers.columns import speaker_of
from recollect.store import MESSAGE, Item, Job, Store
from recollect.store.codec import id_of
from recollect.types import MAX_ID, Scope

KIND: Final = "embed"
"""What a job's kind begins with; a kind that is no more than that names no model, and any may do it."""
CHUNK: Final = "chunk"
"""The kind of the index items that documents are cut into."""
KINDS: Final = (MESSAGE, CHUNK)
BATCH: Final = 64


def job_for(model: str, kind: str | None = None) -> Job:
    """The work of giving messages and chunks their vectors of a model, or the items of one kind alone."""
    name = f"{KIND} {model}"[:MAX_ID]
    return Job(name, FrozenDict({"kinds": [kind]}), id_of(KIND, kind)) if kind else Job(name, key=KIND)


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Gives every message and every chunk of a document its vector."""

    store: Store
    embedder: Embedder

    def fill(self, scopes: set[Scope]) -> bool:
        """Whether there is work now for what was said in these scopes to those with another model; empties the set."""
        name, made = self.embedder.name, list[Job]()
        for scope in list(scopes):
            if self.store.index.missing(scope, name, kinds=KINDS, limit=1):
                made += self.store.jobs.enqueue(scope, [job_for(name)])
            scopes.discard(scope)
        return bool(made)

    def learn(self, job: Job) -> int:
        """How many vectors were made for the job's scope, and the job done; more work is left as a new job."""
        scope = job.scope or Scope()
        kinds = job.payload.get("kinds", KINDS)
        items = self.store.index.missing(scope, self.embedder.name, kinds=kinds, limit=BATCH)
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
        return made

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
