"""A disk that is full while the service runs: said to who writes, no matter to who reads, over once there is room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.memory import Memory
from recollect.store.sqlite import SqliteStore
from tests.server.rest import ADA, HELLO, NOTED, add
from tests.server.running import running
from tests.store.disk import FullDisk

OTHER = {"role": "user", "content": "I live in Oslo. " * 2_000}
QUESTION = {"question": "Where does my sister live?"}
WRITES: dict[str, dict[str, Any]] = {
    "/messages": {"messages": [OTHER]},
    "/chat": {"message": OTHER["content"]},
    "/facts": {"key": "city", "value": "Oslo"},
    "/documents": {"name": "a.md", "text": OTHER["content"]},
    "/tools": {"text": OTHER["content"], "source": "https://example.org"},
    "/forget": {},
}
READS: dict[str, dict[str, Any] | None] = {
    "/messages": None,
    "/session": None,
    "/facts": None,
    "/patterns": None,
    "/summary": None,
    "/documents": None,
    "/tools": None,
    "/export": None,
    "/recall": QUESTION,
    "/search": QUESTION,
    "/context": QUESTION,
    "/documents/search": QUESTION,
    "/tools/search": QUESTION,
}
TOLD = ("/messages", "/export", "/recall", "/search", "/context")


@pytest.mark.parametrize("learned", [True, False])
def test_reading_goes_on_and_writing_once_there_is_room(tmp_path: Path, learned: bool) -> None:
    disk = FullDisk(f"full-under-a-service-{learned}")
    store = SqliteStore(tmp_path / "memory.db", vfs=disk.name)
    with Memory(store, embedder=None) as memory, running(memory) as service:
        assert add(service, HELLO, NOTED).status_code == 201
        if learned:
            memory.drain()
        disk.full = True
        for path, body in WRITES.items():
            refused = service.http.post(path, params=ADA, json=body)
            assert (path, refused.status_code, refused.json()["class"]) == (path, 507, "DiskFull")
            assert "make room on the server (erasing takes some, too)" in refused.json()["next"]
        for kind in ("summary", "facts", "tools"):
            assert service.http.post("/search", params=ADA, json={**QUESTION, "kind": kind}).status_code == 200
        for path, asked in READS.items():
            read = service.http.request("POST" if asked else "GET", path, params=ADA, json=asked)
            assert (path, read.status_code) == (path, 200)
            assert "Oslo" in read.text or path not in TOLD
        full = service.http.get("/readyz")
        assert (full.status_code, full.json()["class"]) == (503, "DiskFull")
        disk.full = False
        assert service.http.get("/readyz").status_code == 200
        assert add(service, OTHER).status_code == 201
        memory.drain()
        assert "Oslo" in service.http.get("/facts", params=ADA).text
