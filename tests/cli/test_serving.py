"""The service, its keys and MCP, as they are started from the command line."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from recollect import Memory, Scope
from tests.ports import free_port
from tests.programs import gone_after

from .conftest import Run, parsed


@contextmanager
def taken(host: str) -> Iterator[int]:
    """A port that is bound, and where nobody answers."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as bound:
        try:
            bound.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
        yield bound.getsockname()[1]


def test_a_service_that_can_not_start_says_why_in_a_line(run: Run) -> None:
    free = ("serve", "--port", str(free_port()))
    assert "model 'nonsense' is not known" in run(*free, "--model", "nonsense", code=1).stderr
    assert "recollect keys add" in run(*free, "--host", "0.0.0.0", code=1).stderr
    assert "--host" in run(*free, "--host", "no:address", code=1).stderr
    assert "65535" in run("serve", "--port", "99999", code=2).stderr


def test_a_terminal_is_told_where_to_look_only_if_there_will_be_something(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setattr(os, "environ", {**os.environ})
    monkeypatch.setattr("recollect.server.app._end_with_the_terminal", lambda _: None)
    monkeypatch.setattr("uvicorn.run", lambda **_: None)
    free = ("serve", "--port", str(free_port()))
    assert "Open" not in run(*free, "--model", "nonsense", code=1).stderr
    assert "Open" in run(*free).stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_port_that_is_taken_is_told_before_anything_is_loaded(home: Path, host: str) -> None:
    code = (
        "import sys; from recollect.cli.app import app\n"
        "try: app()\n"
        "finally: print([name for name in ('uvicorn', 'recollect.server.app') if name in sys.modules])"
    )
    with taken("127.0.0.1" if host == "localhost" else host) as port:
        command = [sys.executable, "-c", code, "serve", "--host", host, "--port", str(port)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.stderr == f"ConfigError: port {port} of {host} is taken: choose another with --port\n"
    assert (told.returncode, told.stdout) == (1, "[]\n")


def test_every_command_takes_what_env_names(run: Run, home: Path) -> None:
    named = {"STORE": "served.db", "USER": "eve", "EMBEDDER": "hash:64", "MODEL": "nobody:at-all"}
    (home / ".env").write_text("".join(f"RECOLLECT_{name}={value}\n" for name, value in named.items()))
    run("keys", "add", "--name", "app")
    run("add", "Hello.")
    assert (home / "served.db").exists()
    assert [key["name"] for key in parsed(run, "keys", "list")] == ["app"]
    assert [message["content"] for message in parsed(run, "history", "--user", "eve")] == ["Hello."]
    told = {row["name"]: (row["value"], row["from"]) for row in parsed(run, "config")}
    assert [told[name] for name in ("store", "user", "embedder")] == [
        ("served.db", ".env"),
        ("eve", ".env"),
        ("hash:64", ".env"),
    ]
    with Memory.open("served.db", embedder=None) as memory:
        assert memory.store.index.embedded(Scope("default", "eve"), "hash:64")
    assert "'nobody:at-all' is not known" in run("chat", "Hello?", code=1).stderr
    assert not (home / "memory.db").exists()


def test_a_port_that_is_taken_is_told_by_mcp_as_well(run: Run, home: Path) -> None:
    with taken("127.0.0.1") as port:
        told = run("mcp", "--http", "--port", str(port), code=1).stderr
    assert told == f"ConfigError: port {port} of 127.0.0.1 is taken: choose another with --port\n"
    assert not (home / "memory.db").exists()


def test_keys_that_are_not_there_yet_say_how_to_make_one(trip: Run) -> None:
    pytest.importorskip("fastapi")
    assert "recollect keys add" in trip("keys", "list").stdout
    made = trip("keys", "add")
    assert re.fullmatch(r"rk_\S+\n", made.stdout)
    assert "Authorization: Bearer" in made.stderr
    listed = trip("keys", "list").stdout
    assert made.stdout.strip() not in listed
    assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d │", listed)


def test_a_key_nobody_has_says_where_they_are_listed(trip: Run) -> None:
    pytest.importorskip("fastapi")
    assert "recollect keys list" in trip("keys", "revoke", "zzz", code=1).stderr


def test_mcp_speaks_the_protocol_on_stdout_and_nothing_else(trip: Run) -> None:
    pytest.importorskip("mcp")
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    command = [sys.executable, "-m", "recollect", "mcp"]
    with gone_after(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as server:
        assert server.stdin and server.stdout
        server.stdin.write(f"{hello}\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.wait(60) == 0
    assert answer["id"] == 1 and "tools" in answer["result"]["capabilities"]


def test_mcp_serves_others_only_with_a_token(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    port = free_port()
    open_to_all = ("mcp", "--http", "--host", "0.0.0.0", "--port", str(port))
    assert "0.0.0.0 can be reached by others: pass a token" in trip(*open_to_all, code=1).stderr
    monkeypatch.setenv("RECOLLECT_MCP_TOKEN", "secret")
    with gone_after(subprocess.Popen([sys.executable, "-m", "recollect", *open_to_all], text=True)):
        answers = [_asked_at(f"http://127.0.0.1:{port}/mcp", token) for token in ("wrong", "secret")]
    assert answers[0] == 401 != answers[1]


def _asked_at(url: str, token: str) -> int:
    """The status of an answer, once there is one."""
    while True:
        with suppress(httpx2.ConnectError):
            return httpx2.post(url, headers={"Authorization": f"Bearer {token}"}, timeout=60).status_code
        time.sleep(0.05)


@pytest.mark.parametrize(("model", "variable"), [("openai:x", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY")])
@pytest.mark.parametrize("command", [("chat", "Hello"), ("serve", "--port", "{port}")])
def test_a_model_without_its_key_is_told_before_anything_is_kept(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], model: str, variable: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    told = run(*(word.format(port=free_port()) for word in command), "--model", model, code=1).stderr
    assert told.startswith(f"ModelUnavailable: {model}: a key is needed: set {variable} to one")
    assert len(told.splitlines()) == 1
    assert not (home / "memory.db").exists() or parsed(run, "history") == []


@pytest.mark.parametrize("wrong", [("--may", "bogus"), ("--tenant", "recollect:keys"), ("--tenant", "")])
def test_a_key_that_can_not_be_begins_no_store(run: Run, home: Path, wrong: tuple[str, str]) -> None:
    pytest.importorskip("fastapi")
    assert "ConfigError" in run("keys", "add", *wrong, code=1).stderr
    assert not (home / "memory.db").exists()
