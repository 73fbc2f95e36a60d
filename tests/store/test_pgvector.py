"""What only pgvector can show: the index over a large tenant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg.conninfo import make_conninfo

from recollect.store import Item
from recollect.store.postgres import PostgresStore, reindex, vectors
from recollect.store.postgres.connection import Connection
from recollect.types import Scope
from tests.postgres import Databases

ACME = Scope("acme")
ROWS: NDArray[np.float32] = np.abs(np.random.default_rng(3).standard_normal((1_000, 16))).astype(np.float32)


@pytest.fixture(scope="module")
def filled(postgres: Databases) -> Iterator[str]:
    """Two tenants with as many vectors; what is near to one is far from the other."""
    with postgres.fresh(pgvector=True) as url:
        with PostgresStore(url) as store:
            for tenant, rows in (("rival", -ROWS), ("acme", ROWS)):
                for user in range(10):
                    scope, some = Scope(tenant, str(user)), range(user, 1_000, 10)
                    store.index.put(scope, [Item("chunk", str(number), "x") for number in some])
                    store.index.embed(scope, "chunk", "m", {str(number): rows[number] for number in some})
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE recollect.vectors")
        yield url


@pytest.fixture
def url(filled: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Those tenants, without an index, where a few hundred vectors are many."""
    monkeypatch.setattr(vectors, "EXACT", 300)
    monkeypatch.setattr(reindex, "EXACT", 300)
    with psycopg.connect(filled, autocommit=True) as connection:
        connection.execute("DROP INDEX IF EXISTS recollect.vectors_nearest_16")
    return filled


def exact(asked: NDArray[np.float32]) -> list[str]:
    return [str(number) for number in np.argsort(-(ROWS @ asked) / np.linalg.norm(ROWS, axis=1))[:10]]


def analysed(url: str) -> int:
    query = "SELECT analyze_count FROM pg_stat_all_tables WHERE schemaname = 'recollect' AND relname = 'vectors'"
    with psycopg.connect(url) as connection:
        ((times,),) = connection.execute(query).fetchall()
    return int(times)


def test_a_large_tenant_is_searched_by_an_index(url: str) -> None:
    with PostgresStore(url) as store:
        assert [finding.fix for finding in store.check()] == ["run reindex"]
        before = analysed(url)
        store.reindex()
        assert analysed(url) > before, "the planner may pass over an index it knows nothing of"
        assert store.check() == []
        by_index = [match.id for match in store.index.nearest(ACME, ROWS[5], "m", 10)]
    assert len({*by_index} & {*exact(ROWS[5])}) >= 9
    assert by_index[0] == "5"


def test_an_index_that_was_left_half_made_is_made_anew(url: str) -> None:
    with psycopg.connect(url) as writer, psycopg.connect(url, autocommit=True) as maker:
        writer.execute("LOCK TABLE recollect.vectors IN ROW EXCLUSIVE MODE")
        maker.execute("SET lock_timeout = 50")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            maker.execute(reindex._HNSW.replace("<length>", "16"))
        left = maker.execute("SELECT to_regclass('recollect.vectors_nearest_16') IS NOT NULL").fetchone()
    assert left == (True,)
    with PostgresStore(url) as store:
        assert [finding.fix for finding in store.check()] == ["run reindex"]
        store.reindex()
        assert store.check() == []


def test_where_the_index_gives_up_all_are_compared(url: str) -> None:
    with PostgresStore(make_conninfo(url, options="-c enable_sort=off -c hnsw.max_scan_tuples=150")) as store:
        store.reindex()
        far = -ROWS[5]
        assert [match.id for match in store.index.nearest(ACME, far, "m", 10)] == exact(far)


def test_no_other_tenant_is_read_to_know_how_long_vectors_are(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recollect.tenant', 'acme', true)")
        plan = str(connection.execute(f"EXPLAIN {vectors._LENGTH}", ("acme", "m")).fetchall())
    assert "Index" in plan
    assert "Seq Scan" not in plan


def test_a_large_tenant_is_counted_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    ask = Connection.ask

    def heard(db: Connection, query: str, *values: Any) -> list[Any]:
        asked.append(query)
        return ask(db, query, *values)

    monkeypatch.setattr(Connection, "ask", heard)
    with PostgresStore(url) as store:
        for _ in range(3):
            assert store.index.nearest(ACME, ROWS[5], "m", 10)[0].id == "5"
    assert asked.count(vectors._COUNT) == 1
