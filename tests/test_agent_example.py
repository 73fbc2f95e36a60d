"""The example agent: a loop with tools against a provider with a limit, killed between a call and its result."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, Message, ToolCall
from recollect.testing import Provider

ROOT = Path(__file__).parent.parent
AGENT = ROOT / "examples" / "agent.py"
KILLED = f"""
import os, signal, sys
sys.path.insert(0, {str(AGENT.parent)!r})
import agent
left = int(sys.argv.pop())
def step():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
print(agent.main(*sys.argv[1:], step=step))
"""


def scripted(request: Any) -> Message:
    """A model that calculates once for every question, with two calls at a time, then answers by the results."""
    last = request.messages[-1]
    if last.role == "user":
        return Message(
            "assistant",
            tuple(ToolCall(f"c{len(request.messages)}{n}", "calculate", '{"expression": "12 * 31"}') for n in "ab"),
        )
    return Message("assistant", f"It is {last.tool_results[-1].text}.")


ADDRESS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "hash:64")
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def use(provider: Provider, monkeypatch: pytest.MonkeyPatch, style: str = "openai") -> None:
    monkeypatch.setenv("RECOLLECT_MODEL", f"{style}:test-model")
    monkeypatch.setenv(ADDRESS[style], provider.url)


def ask(folder: Path, question: str) -> str:
    """The agent's answer, from a program that has just been loaded."""
    answer: str = runpy.run_path(str(AGENT))["main"](str(folder / "m.db"), question)
    return answer


def test_it_is_a_program_that_prints_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", scripted, limit=8_000) as provider:
        use(provider, monkeypatch)
        command = [sys.executable, str(AGENT), str(tmp_path / "m.db"), "What is 12 * 31?"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "It is 372.\n"


@pytest.mark.parametrize("style", ADDRESS)
def test_it_answers_with_tools_and_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: Any) -> None:
    with Provider(style, scripted, limit=8_000) as provider:
        use(provider, monkeypatch, style)
        for question in ("What is 12 * 31?", "And again?"):
            assert ask(tmp_path, question) == "It is 372."
        assert all(request.status == 200 for request in provider.requests)
        assert "What is 12 * 31?" in str(provider.requests[-1].body)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_killed_after_any_step_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    with Provider("openai", scripted, limit=8_000) as provider:
        use(provider, monkeypatch)
        command = [sys.executable, "-c", KILLED, str(tmp_path / "m.db"), "What is 12 * 31?", str(steps)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        assert ask(tmp_path, "And again?") == "It is 372."
        assert all(request.status == 200 for request in provider.requests)
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        history = memory.session("agent", user=os.environ.get("USER", "me")).history()
        calls = [call.id for message in history for call in message.tool_calls]
        results = [result.call_id for message in history for result in message.tool_results]
        assert sorted(calls) == sorted(results)
        assert len(set(results)) == len(results)


@pytest.mark.parametrize(("limit", "words"), [(8_000, 20_000), (3_000, 4_000)])
def test_it_goes_on_after_a_message_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, words: int
) -> None:
    """Too long for the budget, or for a model that takes less than the budget."""
    with Provider("openai", scripted, limit=limit) as provider:
        use(provider, monkeypatch)
        said = [ask(tmp_path, question) for question in ("word " * words, "What is 12 * 31?")]
    assert said == ["That is too long for me to read at once: send it in parts.", "It is 372."]
