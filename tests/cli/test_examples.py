"""Every command's help has examples, and they run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from recollect.cli.app import app

from .conftest import Run

NOT_RUN = {
    "models pull": "it fetches weights",
    "bench": "it takes minutes",
    "mcp": "it runs until it is stopped",
    "serve": "it runs until it is stopped",
    "keys revoke": "a key's id is not known before",
    "tag": "a message's id is not known before",
}
FIRST = {
    "restore": ("backup", "monday.backup"),
    "documents search": ("documents", "add", "guide.md"),
    "documents remove": ("documents", "add", "guide.md"),
}
SAID = {"restore": "y\n", "chat": "Where does my sister live?\n"}


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands(get_command(app)))
EXAMPLES = [
    (name, example)
    for name, command in COMMANDS.items()
    for example in re.findall(r"^ *Example: (.+)$", command.help or "", re.MULTILINE)
]


def test_there_is_a_command_for_every_verb() -> None:
    verbs = (
        "chat add context recall search facts remember patterns summary history tag forget import export serve mcp "
        "doctor reindex backup stats jobs bench config"
    )
    assert set(verbs.split()) <= set(COMMANDS)


def test_what_a_command_answers_can_be_had_as_json() -> None:
    without = {name for name, command in COMMANDS.items() if "as_json" not in {one.name for one in command.params}}
    assert without == {"export", "serve", "mcp", "bench"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    assert f"recollect {name}" in (COMMANDS[name].help or "").split("Example: ", 1)[1]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_the_example_runs(name: str, example: str, trip: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NOT_RUN:
        pytest.skip(NOT_RUN[name])
    if name.startswith("keys"):
        pytest.importorskip("fastapi")
    (home / "guide.md").write_text("# Tomatoes\n\nWater tomatoes in the morning, at the root.")
    talk = {"session_id": "spring", "messages": [{"role": "user", "content": "Hello from elsewhere."}]}
    (home / "chats.jsonl").write_text(json.dumps(talk) + "\n")
    if name in FIRST:
        trip(*FIRST[name])
    words = shlex.split(example)
    while "=" in words[0]:
        monkeypatch.setenv(*words.pop(0).split("=", 1))
    assert words.pop(0) == "recollect"
    trip(*words, said=SAID.get(name, ""))


def test_the_page_about_the_command_line_runs_from_top_to_bottom(run: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert lines
    for line in lines:
        run(*shlex.split(line.removeprefix("recollect ")))


def test_the_page_about_the_command_line_names_every_command() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"`{name.split()[0]}`" not in page] == []
