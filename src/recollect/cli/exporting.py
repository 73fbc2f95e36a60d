"""`recollect export`: every message as a line of JSON that `recollect import` reads back."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from recollect.cli.shell import User, Where, check_new, counted, err, remembering
from recollect.errors import NotFound
from recollect.types import Scope


def export(
    file: Annotated[Path, typer.Argument(help="A file that is not there yet; - writes to stdout.")] = Path("-"),
    session: Annotated[
        str | None, typer.Option("--session", help="Only this conversation.", show_default="all of the user's")
    ] = None,
    store: Where = None,
    user: User = None,
) -> None:
    """Write the user's messages as JSON lines, with their ids and times.

    Facts and summaries are made of them again on import; documents are not among them: `recollect backup` has it all.

    Example: recollect export ada.jsonl --user ada

    Example: recollect export - --session trip
    """
    from recollect.transfer import export_lines

    with remembering(store, user, finds=False) as chat:
        scope = Scope(chat.scope.tenant, chat.scope.user, session)
        lines = export_lines(chat.memory, scope)
        if (first := next(lines, None)) is None:
            where = f" in the session {session}" if session else ""
            raise NotFound(f"nothing was said by {scope.user}{where}: is another meant by --user, or another --store?")
        if str(file) == "-":
            sys.stdout.writelines(chain([first], lines))
            return
        check_new(file)
        with file.open("w", encoding="utf-8") as target:
            number = sum(1 for line in chain([first], lines) if target.write(line))
    told = f"{file} has {counted(number, 'message')}. Bring them in elsewhere with: recollect import {file}"
    err.print(told, soft_wrap=True)
