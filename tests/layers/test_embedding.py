"""Vectors are of the text that is there when they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from recollect import Memory, Message, Scope
from recollect.embed.embedder import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.layers.embedding import BATCH, Embedding, job_for
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


def learned(store: ReferenceStore, embedding: Embedding, *texts: str) -> int:
    """How many vectors are made once these messages were said."""
    store.log.append(TRIP, [Message("user", text) for text in texts], jobs=[JOB])
    made = 0
    while jobs := store.jobs.claim((JOB.kind,), worker="me"):
        made += embedding.learn(jobs[0])
    return made


def test_what_has_its_vector_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with ReferenceStore() as store:
        embedding, asked, missing = Embedding(store, HASHING), list[int](), store.index.missing

        def watched(*args: Any, after: int = 0, **fields: Any) -> Any:
            asked.append(after)
            return missing(*args, after=after, **fields)

        monkeypatch.setattr(store.index, "missing", watched)
        assert learned(store, embedding, *(f"number {n}" for n in range(BATCH + 6))) == BATCH + 6
        assert learned(store, embedding, "one more") == 1
        ends = [entry.position for entry in store.log.read(TRIP)]
        assert asked == [0, ends[BATCH - 1], ends[-2]]


def test_what_lost_its_vectors_gets_them_again() -> None:
    with ReferenceStore() as store:
        embedding = Embedding(store, HASHING)
        assert learned(store, embedding, "first", "second") == 2
        store.index.drop(TRIP, HASHING.name)
        store.jobs.enqueue(TRIP, [JOB])
        assert learned(store, embedding) == 2
        assert store.index.missing(TRIP, HASHING.name) == []


def test_a_reindex_gives_vectors_also_to_what_lost_them_while_something_new_was_said() -> None:
    with ReferenceStore() as store, Memory(store, embedder=HASHING) as memory:
        chat = memory.session("trip", user="ada")
        chat.add_turn("first zebra", "Noted.")
        memory.drain()
        with store.transaction():
            store.index.drop(TRIP, HASHING.name)
            store.log.append(TRIP, [Message("user", "second giraffe")])
        memory.reindex()
        memory.drain()
        assert store.index.missing(TRIP, HASHING.name) == []
