"""Chroma as the index beside a log."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from recollect.errors import ConfigError
from recollect.store import Clock, Item, Store, open
from recollect.store.chroma import copies
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.index import SqliteIndex
from recollect.testing import StoreSuite
from recollect.testing.stores.base import ADA, NOON, USER, OpenStore, say
from recollect.types import Scope
from tests.ports import free_port
from tests.programs import gone_after

pytest.importorskip("chromadb", reason="the extra 'chroma' is not installed")
from recollect.store.chroma import ChromaStore
from recollect.store.chroma.copies import Copies, connect, disconnect


def v(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


@contextmanager
def connected(url: str) -> Iterator[Any]:
    client = connect(url)
    try:
        yield client
    finally:
        disconnect(client)


class TestChromaInAFolder(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        def opened(clock: Clock) -> ChromaStore:
            return ChromaStore(SqliteStore(tmp_path / "memory.db", clock=clock), f"chroma:///{tmp_path}/chroma")

        return opened


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port, folder = free_port(), tempfile.mkdtemp()
    program = Path(sys.executable).with_name("chroma")
    command = [str(program), "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
    try:
        with gone_after(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
            _wait(f"http://127.0.0.1:{port}/api/v2/heartbeat", process)
            yield f"chroma://127.0.0.1:{port}"
    finally:
        shutil.rmtree(folder)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except (urllib.error.URLError, OSError):
            continue
        return
    pytest.skip("the Chroma server does not run here")


class TestChromaServer(StoreSuite):
    @pytest.fixture
    def open_store(self, tmp_path: Path, server: str) -> OpenStore:
        with connected(server) as client:
            for collection in client.list_collections():
                client.delete_collection(collection.name)

        def opened(clock: Clock) -> ChromaStore:
            return ChromaStore(SqliteStore(tmp_path / "memory.db", clock=clock), server)

        return opened


def test_a_server_is_reached_by_plain_http_without_loading_certificates(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssl.create_default_context", lambda *_, **__: pytest.fail("certificates were loaded"))
    with connected(server) as client:
        assert client.heartbeat()


@dataclass(frozen=True)
class Place:
    """Where a store lies, and its vectors."""

    url: str
    index: str

    def open(self) -> Store:
        return open(self.url, index=self.index)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(str(tmp_path / "memory.db"), f"chroma:///{tmp_path}/chroma")


def fill(store: Store) -> None:
    say(store, ADA, "east", "north")
    store.index.embed(ADA, "message", "m", {"east": v(1, 0), "north": v(0, 1)})


def near(store: Store) -> list[str]:
    return [match.id for match in store.index.nearest(ADA, v(1, 0.1), "m")]


def test_a_lost_copy_is_made_again(place: Place, tmp_path: Path) -> None:
    with place.open() as store:
        fill(store)
    with connected(place.index) as client:
        for collection in client.list_collections():
            client.delete_collection(collection.name)
    with place.open() as store:
        assert near(store) == ["east", "north"]
        assert store.check() == []


def test_a_copy_that_differs_is_reported_and_made_equal(place: Place) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        assert near(store) == ["east", "north"]
        (collection,) = client.list_collections()
        collection.delete(ids=collection.get()["ids"][:1])
        assert [finding.part for finding in store.check()] == ["index"]
        store.reindex()
        assert store.check() == []
        assert near(store) == ["east", "north"]


def test_a_copy_of_vectors_of_another_length_is_made_anew(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with place.open() as store:
        fill(store)
        store.index.drop(USER, "m")  # an empty collection is left, for vectors of two numbers
        store.index.embed(ADA, "message", "m", {"east": v(1, 0, 0), "north": v(0, 1, 0)})
        caplog.clear()
        assert [match.id for match in store.index.nearest(ADA, v(1, 0.1, 0), "m")] == ["east", "north"]
        assert store.check() == []
        assert caplog.messages == []


def test_a_row_that_is_no_copy_is_reported_and_taken_out(place: Place) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        assert near(store) == ["east", "north"]
        (collection,) = client.list_collections()
        collection.add(ids=["999"], embeddings=[v(1, 0)], metadatas=[{"of": "others"}])
        assert [finding.problem for finding in store.check()] == ["vectors of model 'm' that differ in Chroma: 1"]
        assert store.mend() == 0
        assert store.check() == []


def test_a_corrupt_folder_is_made_again_and_nothing_else_in_it_is_touched(tmp_path: Path) -> None:
    segment = tmp_path / "0b5ff0e2-9a3e-4d67-8f0b-6a0c3c1f2d11"
    segment.mkdir()
    (tmp_path / "letters").mkdir()
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database at all" * 1_000)
    with open(str(tmp_path / "memory.db"), index=f"chroma:///{tmp_path}") as store:
        assert repr(store) == f"ChromaStore(SqliteStore({str(tmp_path / 'memory.db')!r}))"
        fill(store)
        assert near(store) == ["east", "north"]
    assert (tmp_path / "letters").exists()
    assert not segment.exists()
    with open(str(tmp_path / "memory.db")) as store:
        assert store.log.read(ADA)


def test_no_text_goes_in(place: Place, tmp_path: Path) -> None:
    with place.open() as store:
        store.index.put(ADA, [Item("chunk", "c", "a secret word", NOON)])
        store.index.embed(ADA, "chunk", "m", {"c": v(1, 0)})
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m")] == ["c"]
    files = [path for path in (tmp_path / "chroma").rglob("*") if path.is_file()]
    assert files
    assert not any(b"secret" in path.read_bytes() for path in files)


def test_what_is_erased_leaves_chroma(place: Place) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        (collection,) = client.list_collections()
        assert collection.count() == 2
        store.log.erase(ADA, ["east"])
        assert collection.count() == 1
        store.log.erase(Scope("acme"))
        assert collection.count() == 0


def test_what_the_graph_can_not_reach_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from chromadb import Collection

    query = Collection.query

    def all_but_the_first(collection: Collection, **asked: Any) -> Any:
        found: Any = query(collection, **asked)
        return found | {name: [found[name][0][1:]] for name in ("ids", "metadatas", "distances")}

    with place.open() as store:
        fill(store)
        monkeypatch.setattr(Collection, "query", all_but_the_first)
        assert near(store) == ["east", "north"]


def test_a_vector_that_comes_before_the_old_one_is_taken_out_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.open() as store:
        store.index.put(ADA, [Item("chunk", "c", "old", NOON)])
        store.index.embed(ADA, "chunk", "m", {"c": v(1, 0)})
        put = SqliteIndex.put

        def put_and_embed(index: SqliteIndex, scope: Scope, items: Sequence[Item]) -> None:
            put(index, scope, items)
            store.index.embed(ADA, "chunk", "m", {"c": v(0, 1)})

        monkeypatch.setattr(SqliteIndex, "put", put_and_embed)
        store.index.put(ADA, [Item("chunk", "c", "new", NOON)])
        assert store.check() == []
        assert [match.score for match in store.index.nearest(ADA, v(0, 1), "m")] == [pytest.approx(1)]


def test_a_vector_that_comes_while_a_copy_is_made_anew_is_in_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    want = copies._want

    def embed_then(*asked: Any) -> Any:
        found = want(*asked)
        monkeypatch.undo()
        with place.open() as elsewhere:
            say(elsewhere, ADA, "late")
            elsewhere.index.embed(ADA, "message", "m", {"late": v(1, 0.1)})
        return found

    with place.open() as store, connected(place.index) as client:
        fill(store)
        client.delete_collection(client.list_collections()[0].name)
        monkeypatch.setattr(copies, "_want", embed_then)
        assert near(store) == ["late", "east", "north"]
        assert store.check() == []


@pytest.mark.parametrize("copied", ["as it comes", "by a comparison"])
def test_what_is_erased_while_it_is_copied_leaves_chroma(
    place: Place, copied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chromadb import Collection

    upsert = Collection.upsert

    def erase_first(collection: Collection, **rows: Any) -> None:
        monkeypatch.undo()
        with place.open() as elsewhere:
            elsewhere.log.erase(ADA, ["east"])
        upsert(collection, **rows)

    with place.open() as store, connected(place.index) as client:
        if copied == "by a comparison":
            fill(store)
            client.delete_collection(client.list_collections()[0].name)
            monkeypatch.setattr(Collection, "upsert", erase_first)
            store.index.nearest(ADA, v(1, 0), "m")
        else:
            monkeypatch.setattr(Collection, "upsert", erase_first)
            fill(store)
        (collection,) = client.list_collections()
        assert collection.count() == 1
        assert store.check() == []


def away(*_: Any, **__: Any) -> None:
    raise OSError("connection refused")


RIVAL = Scope("rival", "ada", "trip")


@pytest.mark.parametrize("scope", [Scope("acme"), Scope("acme", "ada"), ADA])
def test_what_is_erased_while_chroma_is_away_leaves_it_with_the_next_use(
    place: Place, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        say(store, RIVAL, "west")
        monkeypatch.setattr(type(client), "list_collections", away)
        store.log.erase(scope)
        monkeypatch.undo()
        store.index.embed(RIVAL, "message", "m", {"west": v(-1, 0)})
        assert sorted(collection.count() for collection in client.list_collections()) == [0, 1]
        assert near(store) == []


def test_what_was_erased_while_chroma_was_away_leaves_it_for_every_model(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        store.index.embed(ADA, "message", "older", {"east": v(1, 0), "north": v(0, 1)})
        monkeypatch.setattr(type(client), "list_collections", away)
        store.log.erase(ADA, ["east"])
    monkeypatch.undo()
    with place.open() as store:
        assert near(store) == ["north"]
        assert store.check() == []


def test_what_is_erased_by_one_without_chroma_leaves_it_once_it_is_met_there(place: Place) -> None:
    with place.open() as store, open(place.url) as elsewhere:
        fill(store)
        assert near(store) == ["east", "north"]
        elsewhere.log.erase(ADA, ["east"])
        assert near(store) == ["north"]
        assert near(store) == ["north"]
        assert store.check() == []


def test_while_chroma_is_away_the_store_is_checked_reindexed_and_restored(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.open() as store, connected(place.index) as client:
        fill(store)
        store.backup(tmp_path / "backup")
        store.log.erase(ADA, ["east"])
        monkeypatch.setattr(type(client), "list_collections", away)
        assert [finding.problem for finding in store.check()] == ["Chroma can't be read: connection refused"]
        assert store.reindex() == 1
        store.restore(tmp_path / "backup")
        assert [entry.message.id for entry in store.log.read(ADA)] == ["east", "north"]
        monkeypatch.undo()
        assert near(store) == ["east", "north"]
        assert store.check() == []


def test_an_index_is_named_clearly(tmp_path: Path) -> None:
    for bad in ("faiss:///x", "chroma:///", "chroma://[::1"):
        with pytest.raises(ConfigError, match="chroma"):
            open(str(tmp_path / "memory.db"), index=bad)


def test_copies_are_compared_once_however_many_sessions_are_erased_together(tmp_path: Path) -> None:
    sessions = [Scope("acme", "ada", f"s{n}") for n in range(5)]
    with ChromaStore(SqliteStore(tmp_path / "memory.db"), f"chroma:///{tmp_path}/chroma") as store:
        for session in sessions:
            say(store, session, "one")
            store.index.embed(session, "message", "m", {entry.message.id: v(1, 0) for entry in store.log.read(session)})
        with patch.object(Copies, "_compare", autospec=True, side_effect=Copies._compare) as compared:
            with store.transaction():
                for session in sessions[1:]:
                    store.log.erase(session)
            assert compared.call_count == 1
        assert store.check() == []
        assert len(store.index.nearest(Scope("acme"), v(1, 0), "m")) == 1
