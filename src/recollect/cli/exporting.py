"""`recollect export`: all that was put in as lines of JSON that `recollect import` reads back."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Annotated, TextIO

import typer

from recollect.cli.shell import User, Where, check_new, given, remembering
from recollect.cli.terminal import bar, counted, note
from recollect.errors import ConfigError, NotFound
from recollect.store import each_session
from recollect.store.backup import making
from recollect.types import Scope


def export(
    called: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that is not there yet; - writes to stdout.")] = Path("-"),
    session: Annotated[
        str | None, typer.Option("--session", help="Only this conversation.", show_default="all of the user's")
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="All users of the store.")] = False,
    store: Where = None,
    user: User = None,
) -> None:
    """Write all that a user put in as JSON lines: messages, documents, facts stated outright, excerpts of tools.

    Import it into any store, such as from SQLite into PostgreSQL; what is learned from messages is learned again there.

    Example: recollect export ada.jsonl --user ada

    Example: recollect export - --session trip

    Example: recollect export all.jsonl --everyone
    """
    from recollect.transfer import exported

    with remembering(store, user, finds=False, known=False) as chat:
        if everyone and session:
            raise ConfigError("--everyone exports all sessions: leave --session out")
        if everyone and given(called, "user"):
            raise ConfigError("--everyone means all users: leave out either it or --user; nothing was written")
        scope = Scope(chat.scope.tenant, None if everyone else chat.scope.user, session)
        lines = exported(chat.memory, scope)
        if (first := next(lines, None)) is None:
            raise NotFound(_nothing(scope))
        to_stdout = str(file) == "-"
        if not to_stdout:
            check_new(file)
        with nullcontext(sys.stdout) if to_stdout else _new(file) as target:
            total = sum(session.messages for session in each_session(chat.memory.store.log, scope))
            number = _written(chain([first], lines), target, total)
    if not to_stdout:
        told = ", ".join(counted(number[kind], kind) for kind in number)
        note(f"{file} has {told}. Bring it in elsewhere with: recollect import {quote(str(file))}")


@contextmanager
def _new(file: Path) -> Iterator[TextIO]:
    """A file to write; it gets its name once all is written, or half an export would pass for a whole one."""
    with making(file) as part, part.open("w", encoding="utf-8") as target:
        yield target


def _nothing(scope: Scope) -> str:
    if scope.user is None:
        return "nothing was said by anyone: did you mean another --store?"
    where = f" in the session {scope.session}" if scope.session else ""
    return f"nothing was said by {scope.user}{where}: did you mean another --user or another --store?"


def _written(lines: Iterable[tuple[str, str]], target: TextIO, total: int) -> Counter[str]:
    """Write the lines; returns how many there are of each kind. The bar counts messages: nearly all lines are."""
    number = Counter[str]()
    with bar("Exporting") as progress:
        for kind, line in lines:
            target.write(line)
            number[kind] += 1
            progress(number["message"], total)
    return number
