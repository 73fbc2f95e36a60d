"""Chats on the command line, with memory alone and with a model."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.cli.chat import _lines, _turn
from recollect.llm.model import Delta
from recollect.llm.recall import RecallModel
from recollect.testing import Provider
from tests.programs import gone_after

from .conftest import Run, parsed


def test_chat_answers_from_memory_and_keeps_both(trip: Run) -> None:
    answer = parsed(trip, "chat", "Where does my sister live?")
    assert set(answer) == {"answer", "model", "tokens", "budget", "usage"}
    assert "Oslo" in answer["answer"]
    assert [line["role"] for line in parsed(trip, "history")] == ["user", "assistant"]


def test_chat_takes_a_line_at_a_time(trip: Run) -> None:
    said = trip("chat", "--session", "now", said="Where does my sister live?\n\nAnd my brother?\n").stdout
    assert "Oslo" in said
    assert [line["role"] for line in parsed(trip, "history", "--session", "now")] == ["user", "assistant"] * 2


class Typed(io.StringIO):
    """A terminal at which these lines are typed, then Ctrl-D."""

    def isatty(self) -> bool:
        return True


def test_a_line_is_asked_for_and_the_last_one_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("Hello?\n"))
    assert list(_lines()) == ["Hello?"]
    assert capsys.readouterr().err == "you you \n"


def test_a_model_by_name_is_asked_with_what_memory_recalls(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        said = trip("chat", "Where does my sister live?", "--model", "openai:gpt-4o-mini").stdout
        assert "Nadia" in json.dumps(provider.requests[0].body)
    assert said == "In Oslo.\n"


def test_what_was_said_is_kept_though_the_model_fails(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."], faults=["unauthorized"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        failed = trip("chat", "Where does my sister live?", "--model", "openai:gpt-4o-mini", code=1)
    assert len(failed.stderr.splitlines()) == 1
    assert [line["content"] for line in parsed(trip, "history")] == ["Where does my sister live?"]


def test_an_answer_whose_question_is_erased_meanwhile_is_not_kept() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")

        class Slow(RecallModel):
            def stream(self, *given: Any, **options: Any) -> Iterator[Delta]:
                chat.forget()
                yield from super().stream(*given, **options)

        _turn(chat, Slow(), "Where do I live?", None, None, False)
        assert chat.history() == ()


def test_a_conversation_goes_on_after_a_failure(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."], faults=["unauthorized"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        said = trip("chat", "--model", "openai:gpt-4o-mini", said="Hello?\nWhere does my sister live?\n")
    assert said.stdout == "In Oslo.\n"
    assert [line["role"] for line in parsed(trip, "history")] == ["user", "user", "assistant"]


def test_a_second_try_at_a_model_is_no_news(home: Path) -> None:
    with Provider("openai", ["In Oslo."], faults=["unavailable"]) as provider:
        reached = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "x"}
        command = [sys.executable, "-m", "recollect", "chat", "Hello", "--model", "openai:gpt-4o"]
        told = subprocess.run(command, env={**os.environ, **reached}, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, "In Oslo.\n", "")


def test_a_model_nobody_knows_is_refused_before_anything_is_kept(run: Run) -> None:
    assert "openai:gpt-4o-mini" in run("chat", "Hello", "--model", "nobody", code=1).stderr
    assert "there is no store" in run("history", code=1).stderr


def test_a_prompt_that_can_not_be_made_does_not_end_the_conversation(trip: Run) -> None:
    said = trip("chat", "--budget", "300", said=f"{'word ' * 500}\nWhere does my sister live?\n")
    assert "Oslo" in said.stdout
    assert said.stderr.startswith("BudgetTooSmall: ") and len(said.stderr.splitlines()) == 1


@pytest.mark.skipif(find_spec("readline") is None, reason="this Python has no readline")
def test_arrow_keys_edit_what_is_typed(home: Path) -> None:
    import pty

    program, terminal = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "RECOLLECT_EMBEDDER": "none"}
    command = [sys.executable, "-m", "recollect", "chat"]
    with (
        os.fdopen(program, "rb", buffering=0),
        gone_after(subprocess.Popen(command, env=env, stdin=terminal, stdout=terminal, stderr=terminal)) as chat,
    ):
        os.close(terminal)
        for typed in (b"Helo!\x1b[D\x1b[Dl\n", b"\x1b[A\n", b"\x04"):
            seen = b""
            while not seen.endswith(b"you "):
                seen += os.read(program, 10_000)
            os.write(program, typed)
        assert chat.wait(60) == 0
    with Memory.open(home / "memory.db", embedder=None) as memory:
        said = memory.session("default", user="ada").history()
    assert [message.text for message in said if message.role == "user"] == ["Hello!", "Hello!"]
