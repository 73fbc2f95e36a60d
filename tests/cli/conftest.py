"""A folder of one's own for the command line: its data, its files, and ada who is logged in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from recollect.cli.app import app

Run = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def _commands_built_once() -> Iterator[None]:
    """A runner builds all commands anew for each call, which takes far longer than most calls do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(get_command))
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(home: Path) -> Run:
    def run(*arguments: str, said: str | bytes = "", code: int = 0) -> Result:
        result = CliRunner().invoke(app, arguments, input=said)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def trip(run: Run) -> Run:
    """The command line over a memory that holds a session of ada's."""
    run("add", "My sister Nadia moved to Oslo in May.", "--session", "trip", "--at", "2026-05-20")
    run("add", "Noted!", "--role", "assistant", "--session", "trip", "--at", "2026-05-20")
    run("add", "I am allergic to peanuts.", "--session", "trip", "--at", "2026-05-21")
    return run


def parsed(run: Run, *arguments: str, **options: Any) -> Any:
    """What a command answers to a machine."""
    return json.loads(run(*arguments, "--json", **options).stdout)
