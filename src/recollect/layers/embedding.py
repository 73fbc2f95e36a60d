"""Vectors for what was said: made in the background from a durable queue, so that nobody waits and nothing is lost."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from recollect.embed import Embedder
from recollect.errors import Conflict, ModelError
from recollect.layers.columns import speaker_of
from recollect.store import MESSAGE, Item, Job, Store
from recollect.types import Scope

JOB: Final = Job("embed", key="embed")
BATCH: Final = 64
LEASE: Final = 300.0


@dataclass(slots=True, eq=False)
class Embedding:
    """Gives every message its vector."""

    store: Store
    embedder: Embedder
    worker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def work(self, stop: threading.Event | None = None) -> int:
        """How many vectors were made; works until no job is due, or until told to stop."""
        made = 0
        while not (stop and stop.is_set()):
            jobs = self.store.jobs.claim((JOB.kind,), worker=self.worker, lease=LEASE)
            if not jobs:
                break
            made += self._do(jobs[0])
        return made

    def _do(self, job: Job) -> int:
        scope = job.scope or Scope()
        items = self.store.index.missing(scope, self.embedder.name, kinds=(MESSAGE,), limit=BATCH)
        try:
            vectors = self.embedder.embed(self._texts(scope, items), kind="passage")
        except ModelError as error:
            self.store.jobs.fail(job, str(error))
            return 0
        try:
            with self.store.transaction():
                made = self.store.index.embed(
                    scope, MESSAGE, self.embedder.name, {item.id: row for item, row in zip(items, vectors, strict=True)}
                )
                if len(items) == BATCH:
                    self.store.jobs.enqueue(scope, [JOB])
                self.store.jobs.finish(job)
        except Conflict:
            return 0
        return made

    def _texts(self, scope: Scope, items: Sequence[Item]) -> list[str]:
        speakers = {e.message.id: speaker_of(e.message) for e in self.store.log.get(scope, [item.id for item in items])}
        return [f"{speakers.get(item.id, item.role)}: {item.text}" for item in items]
