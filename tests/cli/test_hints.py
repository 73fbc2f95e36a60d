"""Each hint names a command that can be run as it is printed: with the store, the user and the session of this one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from recollect.cli.shell import GIVEN, again

from .conftest import Run

OTHER = ("--store", "my store.db", "--user", "ada l", "--session", "a trip")
HINT = re.compile(r"(?:with: |`|&& )(recollect [^`\n]+)")


@pytest.fixture
def other(run: Run) -> Run:
    """The command line over a memory that holds one message, in a store and a session whose names have a space."""
    run("add", "ok", *OTHER)
    return run


@pytest.mark.parametrize(
    ("command", "next", "code"),
    [
        (("add", "Hi"), "search WORDS", 0),
        (("search", "zebra"), "stats", 0),
        (("recall", "ok", "--role", "tool"), "stats", 0),
        (("search", "ok", "--role", "tool", "--here"), "stats", 0),
        (("history", "--role", "tool"), "history", 0),
        (("history", "--before", "nope"), "history", 1),
        (("context", "--replay", "nope"), "history", 1),
        (("tag", "nope", "score=1"), "history", 1),
        (("forget", "nope"), "history", 1),
        (("tools", "add", "Rain.", "--source", "weather"), "tools list", 0),
        (("tools", "list"), "tools add TEXT --source NAME", 0),
        (("tools", "search", "rain"), "tools list", 0),
        (("remember", "seat", "window"), "facts", 0),
        (("remember", "seat", "--end"), "facts", 1),
    ],
)
def test_a_hint_of_a_session_can_be_run(other: Run, command: tuple[str, ...], next: str, code: int) -> None:
    words = hinted(other, *command, *OTHER, code=code)
    assert words == ["recollect", *next.split(), *(OTHER if next.startswith(("history", "tools")) else OTHER[:4])]


@pytest.mark.parametrize(
    ("command", "next"),
    [
        (("documents", "list"), "documents add FILE"),
        (("documents", "search", "zebra"), "documents list"),
        (("facts",), "add TEXT"),
        (("facts", "--as-of", "2001-01-01"), "facts"),
    ],
)
def test_a_hint_of_a_user_can_be_run(other: Run, command: tuple[str, ...], next: str) -> None:
    assert hinted(other, *command, *OTHER[:4]) == ["recollect", *next.split(), *OTHER[:4]]


@pytest.mark.parametrize("command", ["stats", "patterns"])
def test_who_said_nothing_is_told_how_to_begin_there(other: Run, command: str) -> None:
    there = ("--store", "my store.db", "--user", "bo")
    assert hinted(other, command, *there) == ["recollect", "add", "TEXT", *there]


def test_a_session_that_is_not_there_is_told_with_the_way_to_the_others(other: Run) -> None:
    assert hinted(other, "history", *OTHER[:4], "--session", "zzz", code=1) == ["recollect", "stats", *OTHER[:4]]


def test_a_hint_about_files_can_be_run_where_their_names_have_spaces(other: Run, home: Path) -> None:
    store = OTHER[:2]
    assert hinted(other, "backup", "my backup", *store) == ["recollect", "restore", "my backup", *store]
    assert hinted(other, "export", "my export", *OTHER[:4]) == ["recollect", "import", "my export"]
    other("restore", "my backup", *store, "--yes")
    other("import", "my export")


def test_a_hint_about_a_store_has_no_user(other: Run, home: Path) -> None:
    (home / "guide.md").write_text("Water them.")
    words = hinted(other, "documents", "add", "guide.md", *OTHER[:4])
    assert words == ["recollect", "reindex", *OTHER[:2]]
    other(*words[1:])


def test_a_store_that_is_not_there_is_told_with_the_way_to_begin_it(other: Run) -> None:
    there = ("--store", "new store.db", "--user", "bo")
    assert hinted(other, "stats", *there, code=1) == ["recollect", "add", "TEXT", *there]


def test_the_default_session_is_in_a_hint_where_it_was_given(other: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    there = (*OTHER[:4], "--session", "default")
    other("add", "ok", *there)
    monkeypatch.setenv("RECOLLECT_SESSION", "a trip")
    assert hinted(other, "history", "--role", "tool", *there) == ["recollect", "history", *there]


def test_what_was_not_given_is_not_in_a_hint(other: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", "my store.db")
    monkeypatch.setenv("RECOLLECT_USER", "ada l")
    assert hinted(other, "search", "zebra") == ["recollect", "stats"]


def test_a_hint_has_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"store": "postgresql://ada:secret@db/memory", "user": "//ada:b@c"}.items():
        monkeypatch.setitem(GIVEN, name, value)
    assert again("stats") == "recollect stats --store 'postgresql://ada:***@db/memory' --user //ada:b@c"


def hinted(run: Run, *command: str, code: int = 0) -> list[str]:
    """The words of the command that a hint names."""
    return shlex.split(HINT.findall(run(*command, code=code).output)[-1])


@pytest.mark.parametrize(("operation", "command"), [("open", ("search", "ok")), ("exists", ("restore", "a.backup"))])
def test_a_store_that_can_not_be_read_is_told_with_what_to_do(
    run: Run, monkeypatch: pytest.MonkeyPatch, operation: str, command: tuple[str, ...]
) -> None:
    def refused(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    run("add", "ok", "--store", "mine.db")
    run("backup", "a.backup", "--store", "mine.db")
    monkeypatch.setattr(Path, operation, refused)
    told = run(*command, "--store", "mine.db", code=1).stderr
    assert " ".join(told.split()) == (
        "StoreUnavailable: mine.db can't be read (Permission denied): let this user read and write it and its folder, "
        "or name another with --store"
    )
