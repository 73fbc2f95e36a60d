"""Vectors for messages and documents: made in the background from a durable queue; nobody waits, nothing is lost."""

from __future__ import annotations

import logging
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

log = logging.getLogger("recollect")

JOB: Final = Job("embed", key="embed")
CHUNK: Final = "chunk"
"""The kind of the index items that documents are cut into."""
KINDS: Final = (MESSAGE, CHUNK)
BATCH: Final = 64
LEASE: Final = 300.0


@dataclass(slots=True, eq=False)
class Embedding:
    """Gives every message and every chunk of a document its vector."""

    store: Store
    embedder: Embedder
    worker: str = field(default_factory=lambda: uuid.uuid4().hex)
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def work(self, stop: threading.Event | None = None) -> int:
        """How many vectors were made; works until no job is due, or until told to stop. One thread at a time."""
        made = 0
        with self._busy:
            while not (stop and stop.is_set()):
                jobs = self.store.jobs.claim((JOB.kind,), worker=self.worker, lease=LEASE)
                if not jobs:
                    break
                made += self._do(jobs[0])
        return made

    def _do(self, job: Job) -> int:
        scope = job.scope or Scope()
        items = self.store.index.missing(scope, self.embedder.name, kinds=KINDS, limit=BATCH)
        try:
            vectors = self.embedder.embed(self._texts(items), kind="passage")
        except Exception as error:  # whatever a user's own embedder raises, the job waits for the next attempt
            log.warning("no vectors this time: %s", error, exc_info=not isinstance(error, ModelError))
            self.store.jobs.fail(job, repr(error))
            return 0
        try:
            with self.store.transaction():
                made = sum(
                    self.store.index.embed(at, kind, self.embedder.name, {items[n].id: vectors[n] for n in places})
                    for (at, kind), places in _together(items).items()
                )
                if len(items) == BATCH:
                    self.store.jobs.enqueue(scope, [JOB])
                self.store.jobs.finish(job)
        except Conflict:
            return 0
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
