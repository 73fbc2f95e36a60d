"""Many vectors of one owner are found by their signs, then compared themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.store import Filter, Item
from recollect.store.sqlite import SqliteStore, signs
from recollect.store.sqlite.cache import VectorCache
from recollect.types import Scope

ADA = Scope("acme", "ada")
SIZE, COUNT = 64, 12_000


def directions(count: int, seed: int) -> Any:
    """Vectors of sixteen hidden dimensions and some noise."""
    dice, mixing = np.random.default_rng(seed), np.random.default_rng(0).normal(size=(16, SIZE))
    rows = dice.normal(size=(count, 16)) @ mixing + dice.normal(size=(count, SIZE))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def rows() -> Any:
    return directions(COUNT, 1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> Any:
    path = tmp_path_factory.mktemp("signs") / "memory.db"
    with SqliteStore(path, durability="normal") as store:
        names = [f"n{place}" for place in range(COUNT)]
        items = [Item("odd" if place % 2 else "even", name) for place, name in enumerate(names)]
        store.index.put(ADA, items)
        for kind in ("odd", "even"):
            store.index.embed(ADA, kind, "m", dict(zip(names, rows, strict=True)))
        yield store


@pytest.fixture(params=["signs", "signs and vectors"], autouse=True)
def cache(request: pytest.FixtureRequest, store: SqliteStore) -> VectorCache:
    store.index.cache = VectorCache(COUNT * (100 if request.param == "signs" else 500), compared=0)
    return store.index.cache


def nearest(store: SqliteStore, vector: Any, **options: Any) -> list[str]:
    return [match.id for match in store.index.nearest(ADA, vector, "m", 10, **options)]


def test_they_are_kept_by_their_signs_and_as_they_are_where_that_fits(
    store: SqliteStore, rows: Any, cache: VectorCache
) -> None:
    nearest(store, rows[0])
    (held,) = cache._held.values()
    assert held.signs
    assert held.vectors == (cache._limit > COUNT * 100)
    assert held.bytes < cache._limit


@pytest.mark.parametrize(("where", "step"), [(Filter(), 1), (Filter(kinds=("even",)), 2)])
def test_nearly_all_of_the_nearest_are_found(store: SqliteStore, rows: Any, where: Filter, step: int) -> None:
    hits = 0
    for asked in directions(20, 2):
        best = np.argsort(-(rows[::step] @ asked))[:10] * step
        hits += len({f"n{place}" for place in best} & set(nearest(store, asked, where=where)))
    assert hits >= 0.98 * 200


def test_an_owner_who_gets_many_is_kept_by_signs_from_then_on(tmp_path: Path, rows: Any) -> None:
    with SqliteStore(tmp_path / "memory.db", durability="normal") as store:
        store.index.cache = VectorCache(compared=100 * SIZE * 4)
        for start in (0, 50, 100, 400):
            names = [f"n{place}" for place in range(start, 2 * start or 50)]
            store.index.put(ADA, [Item("x", name) for name in names])
            store.index.embed(ADA, "x", "m", {name: rows[int(name[1:])] for name in names})
            assert nearest(store, rows[start])[0] == f"n{start}"
        (held,) = store.index.cache._held.values()
        assert held.signs
        assert held.vectors


def test_scores_are_of_the_vectors_not_of_the_signs(store: SqliteStore, rows: Any) -> None:
    asked = directions(1, 3)[0]
    for match in store.index.nearest(ADA, asked, "m", 10):
        assert match.score == pytest.approx(float(rows[int(match.id[1:])] @ asked), abs=1e-5)


def test_a_metadata_filter_sees_all_of_them(store: SqliteStore, rows: Any) -> None:
    store.index.put(ADA, [Item("tagged", "far", metadata={"rare": True})])
    store.index.embed(ADA, "tagged", "m", {"far": -rows[7]})
    assert nearest(store, rows[7], where=Filter(metadata={"rare": True})) == ["far"]
    assert nearest(store, -rows[7])[0] == "far"
    store.index.delete(ADA, "tagged", ["far"])
    assert "far" not in nearest(store, -rows[7])


def test_a_tenant_is_searched_as_of_a_moment_before_some_of_them_came(tmp_path: Path, rows: Any) -> None:
    bob, acme = Scope("acme", "bob"), Scope("acme")
    named = {f"n{place}": rows[place] for place in range(6_000)}
    first, later, of_bob = (
        dict([*named.items()][part]) for part in (slice(2_000), slice(2_000, 2_900), slice(3_000, None))
    )
    with SqliteStore(tmp_path / "memory.db", durability="normal") as store:
        store.index.cache = VectorCache(600_000, compared=0)
        store.index.put(ADA, [Item("x", name) for name in (*first, *later)])
        store.index.put(bob, [Item("x", name) for name in of_bob])
        store.index.embed(ADA, "x", "m", first)
        store.index.embed(bob, "x", "m", of_bob)
        with store.reading():
            before = store.index.nearest(acme, rows[4_005], "m")
            with ThreadPoolExecutor(1) as others:
                others.submit(store.index.embed, ADA, "x", "m", later).result()
                others.submit(store.index.nearest, acme, rows[4_005], "m").result()
            assert store.index.nearest(acme, rows[4_005], "m") == before


def test_vectors_that_all_lean_one_way_are_found_too(tmp_path: Path) -> None:
    rows = directions(COUNT, 6) + 3 * directions(1, 7)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    with SqliteStore(tmp_path / "memory.db", durability="normal") as store:
        store.index.put(ADA, [Item("x", f"n{place}") for place in range(COUNT)])
        store.index.embed(ADA, "x", "m", {f"n{place}": row for place, row in enumerate(rows)})
        store.index.cache = VectorCache(COUNT * 100, compared=0)
        hits = 0
        for asked in rows[::1_000]:
            best = {f"n{place}" for place in np.argsort(-(rows @ asked))[:10]}
            hits += len(best & set(nearest(store, asked)))
    assert hits >= 0.95 * 10 * len(rows[::1_000])


def test_very_many_that_are_alike_do_not_all_get_a_closer_look() -> None:
    bits = np.asfortranarray(np.zeros((300_000, 2), np.uint64))
    places = signs.closest(bits, np.full(128, -1, np.float32), None, 10)
    assert signs.CANDIDATES <= len(places) <= 4 * signs.CANDIDATES


def test_only_what_is_kept_is_looked_at() -> None:
    bits = np.asfortranarray(signs.signs(directions(50_000, 4)))
    keep = np.zeros(50_000, bool)
    keep[[5, 40_000]] = True
    assert signs.closest(bits, directions(1, 5)[0], keep, 10).tolist() == [5, 40_000]


@pytest.mark.parametrize("size", [60, 200])
def test_of_those_with_as_many_signs_alike_the_larger_numbers_decide(size: int) -> None:
    asked = np.full(size, 0.1, np.float32)
    asked[size // 2] = 5
    flipped = [0] * 1_000 + [size // 2] * 3_000
    rows = np.repeat(asked[np.newaxis], len(flipped), axis=0)
    rows[np.arange(len(flipped)), flipped] *= -1
    bits = np.asfortranarray(signs.signs(rows))
    assert (signs.worth_reading(bits, asked, np.arange(len(rows)), 10) < 1_000).all()
