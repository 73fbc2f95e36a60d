"""Processes with different embedders share a store: each has vectors of its own model for all it is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import Memory, Message, Scope
from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import StoreUnavailable
from recollect.layers.embedding import Embedding, job_for
from recollect.store import Job
from recollect.store import open as open_store
from recollect.testing.clock import ManualClock

ADA = Scope("default", "ada")
SMALL, LARGE = HashingEmbedder(64), HashingEmbedder(128)


@pytest.fixture
def both(anywhere: Any) -> Iterator[tuple[Memory, Memory]]:
    stores = [open_store(**anywhere) for _ in range(2)]
    with Memory(stores[0], embedder=SMALL) as small, Memory(stores[1], embedder=LARGE) as large:
        yield small, large


def lacking(memory: Memory, model: str) -> list[str]:
    return [item.text for item in memory.store.index.missing(ADA, model)]


def test_what_is_said_to_one_gets_the_vectors_of_its_model(both: tuple[Memory, Memory]) -> None:
    small, large = both
    for n in range(8):
        small.session(f"s{n}", user="ada").add("user", f"My sister moved to Oslo, street {n}.")
        large.drain()
    small.drain()
    assert lacking(small, SMALL.name) == []


def test_what_was_said_to_another_gets_its_vectors_once_it_is_asked_about(both: tuple[Memory, Memory]) -> None:
    small, large = both
    for n in range(6):
        (small, large)[n % 2].session(f"s{n}", user="ada").add("user", f"My sister moved to Oslo, street {n}.")
    small.session("s0", user="ada").documents.add("The lease ends in May. " * 30, name="lease")
    for memory, model in ((small, SMALL.name), (large, LARGE.name)):
        memory.drain()
        memory.session("s9", user="ada").recall("Where does my sister live?", 200)
        memory.drain()
        assert lacking(memory, model) == []
    assert small.store.jobs.find(ADA, state="running") == large.store.jobs.find(ADA, state="dead") == []


def test_work_that_names_no_model_is_done_by_any(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "memory.db")) as store:
        with Memory(store) as memory:
            memory.session("s", user="ada").add("user", "My sister moved to Oslo.")
            store.jobs.enqueue(ADA, [Job("embed", key="embed")])
        with open_store(str(tmp_path / "memory.db")) as again, Memory(again, embedder=SMALL) as memory:
            memory.drain()
            assert lacking(memory, SMALL.name) == []


def test_a_store_that_fails_meanwhile_is_looked_into_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(str(tmp_path / "memory.db")) as store:
        vectors, waiting = Embedding(store, SMALL), {ADA}

        def missing(*_: object, **__: object) -> None:
            raise StoreUnavailable("away")

        with monkeypatch.context() as away:
            away.setattr(store.index, "missing", missing)
            with pytest.raises(StoreUnavailable):
                vectors.fill(waiting)
        assert waiting == {ADA}
        assert not vectors.fill(waiting)
        assert waiting == set()


def test_work_for_a_model_that_nobody_runs_any_more_goes_with_a_reindex(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    with open_store(str(tmp_path / "memory.db"), clock=clock) as store, Memory(store, clock=clock) as memory:
        trip, eve = Scope("default", "ada", "trip"), Scope("default", "eve", "s")
        store.log.append(trip, [Message("user", "My sister moved to Oslo.")])
        store.jobs.enqueue(trip, [job_for("gone:1"), job_for("here:1")])
        clock.now += timedelta(days=2)
        store.jobs.enqueue(eve, [job_for("gone:1"), job_for("new:1")])
        assert store.jobs.claim((job_for("here:1").kind,), worker="a process with that model")
        memory.reindex()
        assert {job.kind for job in store.jobs.find(Scope("default")) if "embed" in job.kind} == {
            "embed here:1",
            "embed new:1",
        }
    with open_store(str(tmp_path / "memory.db"), clock=clock) as store, Memory(store, embedder=SMALL) as memory:
        assert lacking(memory, SMALL.name)
        memory.session("s9", user="ada").recall("Where does my sister live?", 200)
        memory.drain()
        assert lacking(memory, SMALL.name) == []


def test_work_for_a_model_that_a_process_is_at_stays_however_late_it_is(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    with open_store(str(tmp_path / "memory.db"), clock=clock) as store, Memory(store, clock=clock) as memory:
        for n in range(3):
            store.jobs.enqueue(Scope("default", "ada", f"s{n}"), [job_for("late:1")])
        clock.now += timedelta(days=2)
        assert store.jobs.claim((job_for("late:1").kind,), worker="a process that is behind")
        memory.reindex()
        assert len([job for job in store.jobs.find(Scope("default")) if job.kind == "embed late:1"]) == 3


class Crowded(HashingEmbedder):
    """A model whose cosines all lie near to one."""

    def __init__(self) -> None:
        super().__init__(256)
        self.name = "crowded:256"

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        vectors = super().embed(texts, kind) * np.float32(0.5)
        vectors[:, 0] += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def test_while_only_the_former_model_has_vectors_something_is_recalled(tmp_path: Path) -> None:
    """Its cosines are not held against what is unrelated by the new one."""
    former, path = HashingEmbedder(256), tmp_path / "memory.db"
    with Memory.open(path, embedder=former) as memory:
        for n in range(30):
            memory.session("a", user="ada").add_turn(f"On walk {n} we saw the harbour of Lisbon.", "ok")
        memory.drain()
    with Memory.open(path, embedder=Crowded(), former=former) as memory:
        found = memory.session("b", user="ada").context("On walk 7 and walk 8: which harbour of Lisbon yesterweek?")
        assert "harbour of Lisbon" in found.memory
