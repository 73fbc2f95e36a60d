"""Whether a service is ready: it is not where its store can't be read, or nothing can be written to it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory
from recollect.server import metrics
from recollect.store import Store
from recollect.store.sqlite import SqliteStore, files
from tests.postgres import databases
from tests.server.rest import ADA, HELLO, add
from tests.server.running import Running, running


def test_a_store_that_is_gone_makes_it_unready(service: Running) -> None:
    assert service.http.get("/readyz").status_code == 200
    service.memory.store.close()
    gone = service.http.get("/readyz")
    assert (gone.status_code, gone.json()["class"]) == (503, "StoreUnavailable")
    assert gone.headers["content-type"] == "application/problem+json"
    assert service.http.get("/healthz").status_code == 200
    refused = service.http.get("/messages", params=ADA)
    assert (refused.status_code, refused.json()["class"]) == (503, "StoreUnavailable")
    assert refused.headers["retry-after"] == "1"


def test_a_store_that_does_not_answer_makes_it_unready_soon(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "READY_SECONDS", 0.1)
    asked, back = threading.Event(), threading.Event()

    def sessions(*_: Any, **__: Any) -> list[Any]:
        asked.set()
        back.wait(60)
        return []

    monkeypatch.setattr(type(service.memory.store.log), "sessions", sessions)
    late = service.http.get("/readyz")
    assert (late.status_code, late.json()["detail"]) == (503, "the store does not answer within 0.1 seconds")
    assert asked.wait(30)
    back.set()
    monkeypatch.setattr(metrics, "READY_SECONDS", 30.0)
    assert service.http.get("/readyz").status_code == 200


@contextmanager
def serving(store: Store) -> Iterator[Running]:
    with Memory(store, embedder=None) as memory, running(memory) as service:
        yield service


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_file_that_was_deleted_makes_it_unready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr(files, "LOOK_SECONDS", 0.0)
    with serving(SqliteStore(tmp_path / "memory.db")) as service:
        assert add(service, HELLO).status_code == 201
        assert service.http.get("/readyz").status_code == 200
        (tmp_path / f"memory.db{suffix}").unlink()
        gone = service.http.get("/readyz")
        assert (gone.status_code, gone.json()["class"]) == (503, "StoreUnavailable")
        assert "moved, replaced or deleted" in gone.json()["detail"]
        refused = add(service, HELLO)
        assert (refused.status_code, refused.json()["detail"]) == (503, gone.json()["detail"])
        assert refused.json()["next"].startswith(
            "do what the detail asks for on the server (a restart reopens the store"
        )
        assert service.http.get("/messages", params=ADA).status_code == 200


@contextmanager
def not_to_be_written(path: Path) -> Iterator[None]:
    """A file that can only be read; root may write to any, unless it is mounted so."""
    if os.geteuid():
        path.chmod(0o400)
        yield
        return
    bind = [["mount", "--bind", str(path), str(path)], ["mount", "-o", "remount,bind,ro", str(path)]]
    if any(subprocess.run(mount, capture_output=True, check=False).returncode for mount in bind):
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_a_file_that_can_only_be_read_makes_it_unready(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as memory:
        memory.session("trip", user="ada").add("user", "Hello")
    with not_to_be_written(path), serving(SqliteStore(path)) as service:
        assert service.http.get("/messages", params=ADA).json()["items"][0]["message"]["content"] == "Hello"
        assert add(service, HELLO).status_code == 503
        told = service.http.get("/readyz")
        assert (told.status_code, told.json()["class"]) == (503, "StoreUnavailable")
        assert "let this user read and write it" in told.json()["detail"]


def test_being_asked_writes_nothing(tmp_path: Path) -> None:
    with serving(SqliteStore(tmp_path / "memory.db")) as service:
        assert add(service, HELLO).status_code == 201
        service.memory.drain()
        before = {file: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
        for _ in range(5):
            assert service.http.get("/readyz").status_code == 200
        assert {file: file.read_bytes() for file in before} == before


def test_a_writer_that_takes_long_does_not_make_it_unready(tmp_path: Path) -> None:
    with serving(store := SqliteStore(tmp_path / "memory.db")) as service, store.transaction():
        assert service.http.get("/readyz").status_code == 200


def test_a_server_that_can_only_be_read_makes_it_unready() -> None:
    import psycopg

    from recollect.store.postgres import PostgresStore

    with databases() as server, server.bare() as url:
        PostgresStore(url).close()
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        with serving(PostgresStore(url)) as service:
            told = service.http.get("/readyz")
            assert (told.status_code, told.json()["class"]) == (503, "StoreUnavailable")
            assert "read-only" in told.json()["detail"]
            with psycopg.connect(url, autocommit=True) as owner:
                owner.execute("SET default_transaction_read_only = off")
                owner.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            answers = (service.http.get("/readyz").status_code for _ in range(20))
            assert 200 in answers
