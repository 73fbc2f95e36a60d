"""A stop amid work: nothing that was acknowledged is lost, nothing that is half done passes for whole, and it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect.memory import Memory
from recollect.server import auth
from recollect.server.app import create_app
from recollect.server.auth import add_key, revoke_key
from recollect.server.options import Options
from recollect.store import open as open_store
from recollect.testing.provider import Provider
from recollect.types import Message, Scope
from tests.programs import gone_after
from tests.server.running import listening
from tests.server.test_chat import Scripted
from tests.server.test_running import ADA, RECOLLECT, Process, started

TRIP = Scope("default", "ada", "trip")
LINES = {"Content-Type": "application/jsonl"}
PATIENT = (sys.executable, Path(__file__).with_name("patient.py"))


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DRAIN_SECONDS", "1")


def filled(path: Path, messages: int, size: int) -> Path:
    with open_store(str(path), durability="normal") as store:
        for start in range(0, messages, 500):
            store.log.append(TRIP, [Message("user", "x" * size, str(n)) for n in range(start, start + 500)])
    return path


def test_an_export_that_is_cut_off_does_not_pass_for_whole(tmp_path: Path) -> None:
    with (
        started(str(filled(tmp_path / "memory.db", 3_000, 10_000))) as process,
        httpx2.stream("GET", f"{process.http.base_url}/export?user=ada", timeout=60, verify=False) as lines,
    ):
        heard = lines.iter_raw()
        next(heard)
        assert process.stop() in (0, -signal.SIGTERM)
        with pytest.raises(httpx2.TransportError):
            for _ in heard:
                pass


def test_an_import_that_is_cut_off_is_brought_to_its_end_by_the_same_again(tmp_path: Path) -> None:
    line = '{{"user": "ada", "session": "trip", "message": {{"role": "user", "content": "number {0}", "id": "{0}"}}}}\n'
    lines = [line.format(number).encode() for number in range(2_000)]

    def sent(process: Process) -> Iterator[bytes]:
        yield b"".join(lines[:1_600])
        process.stop()
        yield b"".join(lines[1_600:])

    with started(str(tmp_path / "memory.db")) as process, suppress(httpx2.TransportError):
        url = f"http://127.0.0.1:{process.port}/import"
        cut = httpx2.post(url, content=sent(process), headers=LINES, verify=False, timeout=60)
        assert cut.status_code >= 500
    with open_store(str(tmp_path / "memory.db")) as store:
        assert store.check() == []
        assert len(store.log.read(TRIP)) in (0, 500, 1_000, 1_500)
    with started(str(tmp_path / "memory.db")) as again:
        taken = again.http.post("/import", content=b"".join(lines), headers=LINES)
        assert (taken.status_code, taken.json()["messages"] + taken.json()["known"]) == (200, 2_000)
        assert again.http.get("/session", params=ADA).json()["messages"] == 2_000


@pytest.mark.parametrize("processes", ["1", "2"])
def test_who_comes_during_a_stop_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str) -> None:
    monkeypatch.setenv("RECOLLECT_DRAIN_SECONDS", "60")
    with (
        started(str(tmp_path / "memory.db"), "--workers", processes) as process,
        socket.create_connection(there := ("127.0.0.1", process.port)) as slow,
    ):
        head = "POST /messages?user=ada&session=trip HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
        slow.sendall(f"{head}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n".encode())
        assert slow.recv(100).startswith(b"HTTP/1.1 100")
        slow.sendall(b"{")
        process.program.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):
            while True:
                socket.create_connection(there, timeout=30).close()
                time.sleep(0.1)
        assert process.program.poll() is None


def asked(connection: HTTPConnection) -> bool:
    """Ask by a connection, and be answered; returns whether that was the last time."""
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
    return answer.getheader("connection") == "close"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_request_by_an_open_connection_is_answered_as_a_stop_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    """A proxy keeps connections open, and can't tell that its request was not begun if one is closed under it."""
    monkeypatch.setenv("RECOLLECT_DRAIN_SECONDS", "60")
    with started(str(tmp_path / "memory.db"), "--workers", processes, by=PATIENT) as process:
        with closing(HTTPConnection("127.0.0.1", process.port, timeout=60)) as proxy:
            assert not asked(proxy)
            process.program.send_signal(signal.SIGTERM)
            while not asked(proxy):
                time.sleep(0.02)
            assert proxy.sock is None, "it is open still"
        assert process.stop() in (0, -signal.SIGTERM)
    assert not [line for line in process.log if line["level"] == "error"]


def test_an_idle_connection_holds_no_stop_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DRAIN_SECONDS", "120")
    with (
        started(str(tmp_path / "memory.db")) as process,
        closing(HTTPConnection("127.0.0.1", process.port, timeout=60)) as idle,
    ):
        assert not asked(idle)
        assert process.stop() in (0, -signal.SIGTERM)
        assert idle.sock.recv(1) == b""
    assert not [line for line in process.log if line["level"] == "error"]


def test_a_model_that_never_answers_holds_no_stop_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", faults=["timeout"] * 9) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("RECOLLECT_BACKGROUND_MODEL", "openai:test")
        monkeypatch.setenv("RECOLLECT_FACTS_EVERY_TURNS", "1")
        with started(str(tmp_path / "memory.db")) as process:
            said = [{"role": role, "content": "I live in Oslo."} for role in ("user", "assistant")]
            assert process.http.post("/messages", params=ADA, json={"messages": said}).status_code == 201
            deadline = time.monotonic() + 60
            while not provider.requests and time.monotonic() < deadline:
                time.sleep(0.05)
            assert provider.requests, "the model was not asked"
            process.stop()
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        assert len(memory.session("trip", user="ada").history()) == 2


def has_begun(part: Path) -> bool:
    with suppress(FileNotFoundError):
        return part.stat().st_size > 0
    return False


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_that_is_half_written_is_not_there(tmp_path: Path, command: str) -> None:
    store, target = filled(tmp_path / "memory.db", 4_000, 10_000), tmp_path / "out"
    whose = ["--user", "ada"] if command == "export" else []
    call = [str(RECOLLECT), command, str(target), "--store", str(store), *whose]
    part = tmp_path / "out.part"
    for _ in range(20):  # until one is met amid its work
        target.unlink(missing_ok=True)
        with gone_after(subprocess.Popen(call, stderr=subprocess.PIPE)) as writing:
            while writing.poll() is None and not has_begun(part):
                pass
            writing.terminate()
            _, told = writing.communicate(timeout=60)
        if part.exists():
            break
    assert (writing.returncode, target.exists()) == (-signal.SIGTERM, False), told
    if command == "backup":
        other = [str(RECOLLECT), "restore", str(part), "--store", str(tmp_path / "other.db"), "--yes"]
        assert subprocess.run(other, capture_output=True, check=False).returncode == 1
    assert subprocess.run(call, capture_output=True, check=False).returncode == 0
    assert target.stat().st_size > 40_000_000
    assert not part.exists()


def test_a_key_that_is_revoked_amid_an_answer_lets_it_end_and_opens_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(auth, "FRESH_SECONDS", 0.0)
    model = Scripted("In ", "Oslo.", wait=True)
    with Memory.open(":memory:", embedder=None) as memory:
        key, secret = add_key(memory.store)
        signed: dict[str, Any] = {"params": ADA, "headers": {"Authorization": f"Bearer {secret}"}}
        with (
            listening(create_app(Options(), memory, model)) as url,
            httpx2.Client(base_url=url, timeout=30, verify=False) as http,
            http.stream("POST", "/chat", json={"message": "Where?"}, **signed) as answer,
        ):
            model.go_on.release()
            heard = answer.iter_text()
            assert "In " in next(heard)
            revoke_key(memory.store, key.id)
            assert http.get("/messages", **signed).status_code == 401
            model.go_on.release()
            assert "event: done" in "".join(heard)
        assert [message.text for message in memory.session("trip", user="ada").history()] == ["Where?", "In Oslo."]


def test_a_key_that_is_revoked_amid_an_import_brings_in_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its body has no end that the service knows of: who got hold of a key could else write for ever."""
    monkeypatch.setattr(auth, "FRESH_SECONDS", 0.0)
    line = b'{"user": "ada", "session": "trip", "message": {"role": "user", "content": "Hello"}}\n'
    with Memory.open(":memory:", embedder=None) as memory:
        key, secret = add_key(memory.store, may=["write"])
        add_key(memory.store)
        chat = memory.session("trip", user="ada")

        def lines() -> Iterator[bytes]:
            yield line * 500
            while len(chat.history(limit=1_000)) < 500:
                time.sleep(0.01)
            revoke_key(memory.store, key.id)
            yield line * 500

        headers = {**LINES, "Authorization": f"Bearer {secret}"}
        with listening(create_app(Options(), memory)) as url:
            taken = httpx2.post(f"{url}/import", content=lines(), headers=headers, verify=False, timeout=60)
        assert (taken.status_code, taken.json()["detail"]) == (401, "this key is not known")
        assert len(chat.history(limit=1_000)) == 500
