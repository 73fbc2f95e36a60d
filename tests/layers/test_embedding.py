"""Vectors are of the text that is there when they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recollect import Memory, Message, Scope
from recollect.embed.embedder import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.layers.embedding import Embedding, job_for
from recollect.store.reference import ReferenceStore

TRIP = Scope("default", "ada", "trip")
HASHING = HashingEmbedder(64)
JOB = job_for(HASHING.name)


class Edited:
    """An embedder that takes its time: the message it was given is replaced meanwhile, under the same id."""

    name, dimension = HASHING.name, HASHING.dimension

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
        self._memory.forget(TRIP, ["m"])
        self._memory.store.log.append(TRIP, [Message("user", "second giraffe", "m")])
        return HASHING.embed(texts, kind)


def test_a_message_said_anew_while_the_old_one_is_embedded_gets_a_vector_of_its_own() -> None:
    with ReferenceStore() as store, Memory(store) as memory:
        store.log.append(TRIP, [Message("user", "first zebra", "m")], jobs=[JOB])
        (job,) = store.jobs.claim((JOB.kind,), worker="me")
        assert Embedding(store, Edited(memory)).learn(job) == 0
        assert [item.text for item in store.index.missing(TRIP, HASHING.name)] == ["second giraffe"]
        store.jobs.enqueue(TRIP, [JOB])
        (job,) = store.jobs.claim((JOB.kind,), worker="me")
        assert Embedding(store, HASHING).learn(job) == 1
        ((_, vector),) = store.index.vectors(TRIP, "message", HASHING.name, ["m"])
        assert np.allclose(vector, HASHING.embed(["user: second giraffe"])[0])
