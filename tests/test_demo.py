"""The demo as it is started: `scripts/demo` sets up, then runs this."""

from __future__ import annotations

import logging
import os
import re
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from recollect.demo import QUESTIONS
from recollect.memory import Memory

ROOT = Path(__file__).parent.parent
COMMAND = [sys.executable, "-m", "recollect.demo"]
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
OFFLINE = {**ALONE, "RECOLLECT_EMBEDDER": "none"}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, "--serve", str(tmp_path / "memory.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=OFFLINE, cwd=tmp_path) as process:
        yield process
        process.kill()


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise AssertionError("no address was printed")


def test_a_page_is_at_the_printed_address_and_answers_until_it_is_stopped(demo: subprocess.Popen[str]) -> None:
    page, _, place = address(demo).partition("#/")
    view, user, session, _ = place.split("/")
    with httpx2.Client(base_url=page, timeout=60) as http:
        home = http.get("/")
        assert "<title>Recollect" in home.text and "Who is my manager?" in home.text
        kept = {found["session"] for found in http.get("/sessions", params={"user": user}).json()["items"]}
        assert kept == {"balcony", "new job", "dinner", "trip"}
        for question, quoted in zip(QUESTIONS, ("Farida", "Oslo", "47 22 33 44 55", "bridge engineer"), strict=True):
            answer = http.post("/chat", params={"user": user, "session": session}, json={"message": question}).text
            assert view == "chat" and quoted in answer
            assert re.search(r"(?:> |said )\d+ \w+ 20\d\d", answer), "quotations and facts have their dates"
    demo.send_signal(signal.SIGINT)
    assert demo.wait(timeout=60) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(page.rstrip("/").rpartition(":")[2])))


def test_it_ends_by_itself_where_no_one_watches(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND, env={**OFFLINE, "TMPDIR": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "Farida" in done.stdout and "episodic" in done.stdout and "scripts/demo --serve" in done.stdout
    assert len(done.stdout.splitlines()) < 50
    assert done.stderr == ""


def test_a_model_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    env = {**OFFLINE, "RECOLLECT_MODEL": "nobody:nothing"}
    done = subprocess.run([*COMMAND, "--serve"], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("ConfigError: ") and "nobody" in done.stderr and "Traceback" not in done.stderr


def test_stopped_before_it_serves_it_ends_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(_: Memory) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("recollect.demo.keep", stopped)
    monkeypatch.setattr(logging.getLogger("recollect"), "setLevel", lambda level: None)
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path / "memory.db")])
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.delitem(sys.modules, "recollect.demo.__main__", raising=False)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("recollect.demo", run_name="__main__")
    assert ended.value.code == 130


def test_the_script_says_how_it_is_used() -> None:
    script = (ROOT / "scripts" / "demo").read_text("utf-8")
    assert script.splitlines()[-1] == 'exec .venv/bin/python -m recollect.demo "$@"'
    said = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--no-serve" in said and "Ctrl-C" in said
