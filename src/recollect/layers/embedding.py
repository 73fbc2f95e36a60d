"""Vectors for what was said: made in the background from a durable queue, so that nobody waits and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recollect.embed import Embedder
from recollect.layers.columns import speaker_of
from recollect.store import MESSAGE, Item, Job, Store
from recollect.types import Scope

JOB: Final = Job("embed", key="embed")
BATCH: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Gives every message its vector."""

    store: Store
    embedder: Embedder

    def learn(self, job: Job) -> int:
        """How many vectors were made for the job's session, and the job done; more work is left as a new job."""
        scope = job.scope or Scope()
        items = self.store.index.missing(scope, self.embedder.name, kinds=(MESSAGE,), limit=BATCH)
        vectors = self.embedder.embed(self._texts(scope, items), kind="passage")
        rows = {item.id: row for item, row in zip(items, vectors, strict=True)}
        with self.store.transaction():
            made = self.store.index.embed(scope, MESSAGE, self.embedder.name, rows)
            if len(items) == BATCH:
                self.store.jobs.enqueue(scope, [JOB])
            self.store.jobs.finish(job)
        return made

    def _texts(self, scope: Scope, items: Sequence[Item]) -> list[str]:
        speakers = {e.message.id: speaker_of(e.message) for e in self.store.log.get(scope, [item.id for item in items])}
        return [f"{speakers.get(item.id, item.role)}: {item.text}" for item in items]
