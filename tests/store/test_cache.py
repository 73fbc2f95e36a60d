"""The vectors of many owners in memory: no more of them than fit, and as fast to ask for as those of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recollect.store import Item
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.cache import AN_OWNER, VectorCache, _Held
from recollect.types import Scope

SIZE, OWNERS = 8, 40
AXES = np.eye(SIZE, dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "memory.db", durability="normal") as store:
        for number in range(OWNERS):
            store.index.put(_owner(number), [Item("x", f"{n}") for n in range(SIZE)])
        yield store


def _owner(number: int) -> Scope:
    return Scope("acme", f"user {number}")


def _embed(store: SqliteStore, number: int, *names: int) -> None:
    store.index.embed(_owner(number), "x", "m", {f"{n}": AXES[n] for n in names})


def _nearest(store: SqliteStore, number: int, axis: int) -> list[str]:
    return [match.id for match in store.index.nearest(_owner(number), AXES[axis], "m", 1)]


def _check(cache: VectorCache) -> None:
    assert cache._bytes == sum(held.bytes for held in cache._held.values())
    assert cache._bytes <= cache._limit


def test_what_is_kept_stays_within_its_limit_as_owners_come_and_grow(store: SqliteStore) -> None:
    cache = store.index.cache = VectorCache(10 * (AN_OWNER + SIZE * 100))
    for number in [*range(OWNERS), *range(OWNERS)]:
        for name in (0, 3, 5):
            _embed(store, number, name)
            assert _nearest(store, number, name) == [f"{name}"]
            _check(cache)
    assert 10 <= len(cache._held) < OWNERS


def test_owners_without_vectors_count_too(store: SqliteStore) -> None:
    _embed(store, 0, 0)
    cache = store.index.cache = VectorCache(10 * AN_OWNER)
    for number in range(1, OWNERS):
        assert not _nearest(store, number, 0)
        _check(cache)
    assert len(cache._held) == 10


def test_a_new_vector_takes_as_long_however_many_owners_are_kept(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[_Held] = []

    def counted(held: _Held) -> int:
        looks.append(held)
        return AN_OWNER

    monkeypatch.setattr(_Held, "bytes", property(counted, lambda held, size: None), raising=False)
    asked: list[int] = []
    for number in range(OWNERS):
        looks.clear()
        _embed(store, number, 0)
        _nearest(store, number, 0)
        asked.append(len(looks))
    assert asked == asked[:1] * OWNERS


def test_what_others_replace_is_found_by_those_who_search_all_users(store: SqliteStore, tmp_path: Path) -> None:
    _embed(store, 0, 0)
    _embed(store, 1, 1)
    with SqliteStore(tmp_path / "memory.db", durability="normal") as other:
        assert _best(other, 0) == (_owner(0), "0")
        store.index.embed(_owner(0), "x", "m", {"0": AXES[2]})
        assert _best(other, 2) == (_owner(0), "0")
        assert _best(other, 1) == (_owner(1), "1")
        store.index.delete(_owner(1), "x", ["1"])
        assert [match.id for match in other.index.nearest(Scope("acme"), AXES[1], "m", 5)] == ["0"]


def _best(store: SqliteStore, axis: int) -> tuple[Scope, str]:
    (found,) = store.index.nearest(Scope("acme"), AXES[axis], "m", 1)
    assert found.score > 0.99
    return found.scope, found.id
