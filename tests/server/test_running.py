"""A service as a process: how it starts, tells of itself, and stops."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from inspect import iscoroutinefunction
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from fastapi.routing import APIRoute

from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.server import metrics
from recollect.server.app import create_app, serve
from recollect.server.auth import add_key
from recollect.server.logs import JsonLines
from recollect.server.options import Options
from recollect.store import open as open_store
from recollect.types import Scope
from tests.ports import free_port
from tests.postgres import FAST, Databases, databases
from tests.postgres import running as server_running
from tests.programs import gone_after
from tests.server.running import Running, running

RECOLLECT = Path(sys.executable).with_name("recollect")
ADA = {"user": "ada", "session": "trip"}
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


class Process:
    """`recollect serve` on a port of its own, by as many processes as there are workers."""

    def __init__(self, program: subprocess.Popen[str], port: int, workers: int) -> None:
        self.program, self.port = program, port
        self.log: list[dict[str, Any]] = []
        once = httpx2.Limits(max_keepalive_connections=0)
        self.http = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60, limits=once, verify=False)
        assert self.program.stderr
        for line in self.program.stderr:
            self.log.append(json.loads(line))
            workers -= self.log[-1]["event"] == "Application startup complete."
            if workers == 0:
                break
        self._connect()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        """Its log, to the end: a pipe that nobody reads would stop it."""
        assert self.program.stderr
        with self.program.stderr:
            self.log.extend(json.loads(line) for line in self.program.stderr)

    @property
    def told(self) -> list[dict[str, Any]]:
        """Its log without requests and without what the server of HTTP says."""
        return [line for line in [*self.log] if not line["logger"].startswith("uvicorn") and line["event"] != "request"]

    def _connect(self) -> None:
        """It listens a moment after it says so."""
        for _ in range(1_000_000):
            with suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", self.port)).close()
        raise AssertionError(f"nothing listens: {self.log}")

    def stop(self, by: int = signal.SIGTERM) -> int:
        self.program.send_signal(by)
        ended = self.program.wait(60)
        self._reader.join()
        self.http.close()
        return ended


@contextmanager
def started(store: str, *more: str, by: Sequence[str | Path] = (RECOLLECT,)) -> Iterator[Process]:
    """A service for the length of a block, which may stop it before."""
    port, environment = free_port(), {**os.environ, "RECOLLECT_EMBEDDER": "none"}
    command = [*by, "serve", "--store", store, "--port", str(port), *more]
    workers = int(more[more.index("--workers") + 1]) if "--workers" in more else 1
    with gone_after(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)) as program:
        process = Process(program, port, workers)
        try:
            yield process
        finally:
            process.stop()


def test_it_serves_from_a_file_and_stops_when_told(tmp_path: Path) -> None:
    with started(str(tmp_path / "memory.db")) as process:
        assert process.http.get("/readyz").json() == {"status": "ok"}
        there = {"user": "quentin", "session": "holiday"}
        assert process.http.post("/messages", params=there, json=HELLO).status_code == 201
    assert process.stop() in (0, -signal.SIGTERM)
    requests = [line for line in process.log if line["event"] == "request"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("GET", "/readyz", 200),
        ("POST", "/messages", 201),
    ]
    logged = json.dumps(process.log)
    assert "quentin" not in logged and "holiday" not in logged and "Hello" not in logged
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        assert [message.text for message in memory.session("holiday", user="quentin").history()] == ["Hello"]
        assert memory.store.jobs.find(Scope("default"), state="running") == []


def test_what_a_process_of_its_own_has_loaded_is_not_looked_through_for_garbage() -> None:
    asks = "import gc; from recollect.server.app import app_alone; app_alone(); print(gc.get_freeze_count())"
    said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert int(said.stdout) > 10_000


def test_a_variable_with_a_misspelt_name_is_told_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_MAX_STREAM", "1")
    with started(str(tmp_path / "memory.db")) as process:
        pass
    told = [line["event"] for line in process.log if line["level"] == "warning"]
    assert [line for line in told if "RECOLLECT_MAX_STREAMS" in line] == [
        "nothing reads RECOLLECT_MAX_STREAM: is RECOLLECT_MAX_STREAMS meant?"
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("model", "local:nowhere.gguf"), ("embedder", "onnx:nowhere"), ("embedder", "hash:x"), ("embedder", "x")],
)
def test_what_can_not_be_served_is_told_before_anything_starts(tmp_path: Path, kind: str, name: str) -> None:
    options = Options.read(**{"store": str(tmp_path / "memory.db"), "embedder": "none", kind: name})
    with pytest.raises(ConfigError):
        serve(options, port=free_port())


def test_several_processes_do_not_serve_a_memory_that_only_one_has() -> None:
    with pytest.raises(ConfigError, match="name a file"):
        serve(Options.read(store=":memory:", embedder="none"), port=free_port(), workers=2)


def test_background_work_is_done_before_it_stops(tmp_path: Path) -> None:
    with started(str(tmp_path / "memory.db")) as process:
        said = [
            {"role": "user", "content": "My name is Ada and I live in Oslo."},
            {"role": "assistant", "content": "Hi!"},
        ]
        process.http.post("/messages", params=ADA, json={"messages": said})
    with open_store(str(tmp_path / "memory.db")) as store:
        values = [record.value for record in store.records.find(Scope("default", "ada"), kind="fact")]
    assert any("Oslo" in str(value) for value in values)


@pytest.mark.skipif(
    getattr(signal, "SIGHUP", None) is None or signal.getsignal(signal.SIGHUP) == signal.SIG_IGN,
    reason="there are no terminals that hang up here, or nohup has it ignored",
)
def test_a_terminal_that_is_closed_ends_it_as_well(tmp_path: Path) -> None:
    with started(str(tmp_path / "memory.db")) as process:
        assert process.stop(signal.SIGHUP) in (0, -signal.SIGTERM)
    assert "Application shutdown complete." in [line["event"] for line in process.log]


def test_it_refuses_an_address_that_others_can_reach_without_keys(tmp_path: Path) -> None:
    options = Options(store=str(tmp_path / "memory.db"), embedder="none")
    with pytest.raises(ConfigError, match="keys add"):
        serve(options, "0.0.0.0", free_port())


def as_url(address: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    named = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    return f"postgresql:///{named.pop('dbname')}?{urlencode(named)}"


def test_several_processes_serve_one_database() -> None:
    with databases() as server, server.bare() as address, open_store(url := as_url(address)) as store:
        _, secret = add_key(store, may=["read", "write"])
        headers = {"Authorization": f"Bearer {secret}"}
        with started(url, "--workers", "2") as one, started(url) as two:

            def add(number: int) -> int:
                body = {"messages": [{"role": "user", "content": "again and again", "id": str(number // 2)}]}
                http = (one, two)[number % 2].http
                return http.post("/messages", params=ADA, json=body, headers=headers).status_code

            with ThreadPoolExecutor(8) as pool:
                assert set(pool.map(add, range(200))) == {201}
            found = [process.http.get("/session", params=ADA, headers=headers).json() for process in (one, two)]
            assert [session["messages"] for session in found] == [100, 100]


def test_a_database_that_is_away_is_told_once_and_that_it_is_back() -> None:
    with server_running(*FAST) as server, Databases(server.address).bare() as url, started(as_url(url)) as process:
        for act, status, lines in ((partial(server.stop, "immediate"), 503, 2), (server.start, 200, 4)):
            act()
            soon = time.monotonic() + 6
            while process.http.get("/messages", params=ADA).status_code != status or len(process.told) < lines:
                time.sleep(0.2)
            time.sleep(max(0.0, soon - time.monotonic()))
    assert sorted(line["event"].partition(":")[0] for line in process.told) == [
        "background work waits until the store is back",
        "the keys can be read again",
        "the keys can't be read and stay as they are",
        "the store is back, and background work goes on",
    ]
    assert not [line for line in process.told if "trace" in line]


def test_metrics_count_requests_and_what_the_library_counts(service: Running) -> None:
    service.http.post("/messages", params=ADA, json=HELLO)
    service.http.post("/context", params=ADA, json={"question": "Hello?"})
    text = service.http.get("/metrics").text
    assert 'recollect_http_requests_total{method="POST",route="/messages",status="201"} 1.0' in text
    assert "recollect_messages_total 1.0" in text
    assert re.search(r'recollect_context_tokens\{quantile="0.95"\} \d', text)
    assert "recollect_process_bytes" in text
    assert re.search(r'recollect_alerts_total\{alert="retrieval_ms"\} \d', text)
    assert service.http.get("/stats").json()["recollect_contexts_total"] == 1


def test_a_caller_adds_no_name_to_the_metrics_of_his_own(service: Running) -> None:
    for method in ("PROPFIND", "MKCOL"):
        service.http.request(method, "/messages/x%0a%1b[31m")
    counted = [line for line in service.http.get("/metrics").text.splitlines() if "http_requests_total{" in line]
    assert counted == ['recollect_http_requests_total{method="other",route="none",status="404"} 2.0']


def test_metrics_are_of_all_processes_that_serve_together(tmp_path: Path) -> None:
    with started(str(tmp_path / "memory.db"), "--workers", "2") as process:

        def look(_: int = 0) -> tuple[float, set[int]]:
            text = process.http.get("/metrics").text
            kept = re.findall(r"^recollect_messages_total (\S+)", text, re.MULTILINE)
            return float(kept[0]), set(map(int, re.findall(r'recollect_process_bytes{pid="(\d+)"}', text)))

        def add(_: int) -> int:
            return process.http.post("/messages", params=ADA, json=HELLO).status_code

        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(add, range(40))) == {201}
        processes = next(pids for kept, pids in map(look, count()) if kept == 40)
        stats = process.http.get("/stats").json()
        assert stats["recollect_messages_total"] == 40
        assert stats["recollect_alerts_total"] == stats["recollect_alerts_total_retrieval_ms"] == 0
        assert 0 < stats["recollect_process_bytes"] < 2**40
        assert len(processes) == 2
        os.kill(gone := processes.pop(), signal.SIGKILL)
        kept, left = next(found for found in map(look, count()) if gone not in found[1])
        assert kept == 40 and processes <= left


@pytest.mark.parametrize("found", [ProcessLookupError, PermissionError])
@pytest.mark.parametrize("faster", [True, False])
def test_what_a_killed_process_counted_goes_whoever_sees_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: type[OSError], faster: bool
) -> None:
    file = tmp_path / "gauge_liveall_4711.db"
    file.touch()

    def kill(pid: int, _: int) -> None:
        assert pid == 4711
        if faster:
            file.unlink()
        raise found

    monkeypatch.setattr(os, "kill", kill)
    metrics._forget_the_dead(tmp_path)
    assert not file.exists()


def test_every_answer_has_an_id_to_look_for_in_the_log(service: Running, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "recollect.server")
    answer = service.http.get("/sessions")
    service.http.get("/healthz")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records if record.name == "recollect.server"]
    line = next(line for line in lines if line["route"] == "/sessions")
    assert (line["request"], line["tenant"]) == (answer.headers["x-request-id"], "default")


def test_a_log_line_is_json_whatever_is_in_it() -> None:
    record = logging.makeLogRecord({"msg": "a\n%s", "args": ("☃\ud800",), "name": "x", "levelname": "INFO", "odd": {1}})
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line)["event"] == "a\n☃\ud800"


@pytest.mark.parametrize(("name", "value"), [("MAX_BODY", "0"), ("RATE", "fast"), ("MAX_STREAMS", "-1")])
def test_an_option_that_can_not_be_used_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"RECOLLECT_{name}", value)
    with pytest.raises(ConfigError, match=f"RECOLLECT_{name}"):
        Options.read()


def test_options_come_from_arguments_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", "from-environment.db")
    monkeypatch.setenv("RECOLLECT_MODEL", "openai:x")
    read = Options.read(store="argument.db", model=None)
    assert (read.store, read.model) == ("argument.db", "openai:x")


def test_a_running_service_can_be_given_a_memory_of_ones_own() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        with running(memory) as service:
            service.http.post("/messages", params=ADA, json=HELLO)
        assert len(memory.session("trip", user="ada").history()) == 1


def test_only_the_library_is_called_on_threads() -> None:
    def called(part: Any) -> Iterator[Any]:
        yield part.call
        for other in part.dependencies:
            yield from called(other)

    app = create_app(Options(model="recall:"))
    calls = [call for route in app.routes if isinstance(route, APIRoute) for call in called(route.dependant)]
    assert calls
    assert [call for call in calls if not (iscoroutinefunction(call) or iscoroutinefunction(call.__call__))] == []
