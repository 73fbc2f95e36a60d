"""What the tests of several stores share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import Databases, databases, emptied


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a store."""
    return tmp_path / "memory.db"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    with databases() as server:
        yield server


@pytest.fixture
def url(postgres: Databases) -> Iterator[str]:
    """A new database of a test's own."""
    with postgres.fresh(pgvector=False) as found:
        yield found


@pytest.fixture(scope="session", params=[True, False], ids=["pgvector", "bytes"])
def _shared_url(postgres: Databases, request: pytest.FixtureRequest) -> Iterator[str]:
    from recollect.store.postgres import PostgresStore

    with postgres.fresh(pgvector=request.param) as url:
        PostgresStore(url).close()
        yield url


@pytest.fixture
def postgres_url(_shared_url: str) -> str:
    """A database with an empty store: once with pgvector, once without."""
    return emptied(_shared_url)


@pytest.fixture(params=["sqlite", "postgres", "chroma"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """How a new store of each kind is opened: its address, and that of its index."""
    if request.param == "postgres":
        with request.getfixturevalue("postgres").fresh(pgvector=False) as address:
            yield {"url": f"postgresql://?{'&'.join(address.split())}"}
        return
    if request.param == "chroma":
        pytest.importorskip("chromadb")
    index = {"index": f"chroma:///{tmp_path}/chroma"} if request.param == "chroma" else {}
    yield {"url": str(tmp_path / "memory.db"), **index}
