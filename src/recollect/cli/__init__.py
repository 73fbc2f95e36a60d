"""The command line: `recollect --help`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper

from recollect.errors import MissingExtra


def main() -> None:
    """Run the command line, or say what to install for it."""
    _stand_in()
    try:
        from recollect.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(str(MissingExtra(error.name, "cli", "the command line")))
    except KeyboardInterrupt:
        sys.exit(130)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="strict")  # in the locale C, bytes that are no text would pass as text
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # for letters that the terminal or the file does not have
    sys.exit(_ended(app))


def _stand_in() -> None:
    """Put an empty stream where stdin, stdout or stderr is missing; else the next file to be opened would become it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            empty = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(empty, True)
            setattr(sys, name, os.fdopen(empty, mode, encoding="utf-8"))


def _ended(app: Callable[[], object]) -> int | str | None:
    """Run a command and write out all that it says; returns its exit status. A reader that left is not reported."""
    status: int | str | None = None
    out, err = sys.stdout, sys.stderr
    try:
        try:
            app()
        except SystemExit as end:
            status = end.code
        except KeyboardInterrupt:
            status = 130
        out.flush()
    except OSError as error:
        status = status or (1 if isinstance(error, BrokenPipeError) else f"{type(error).__name__}: {error}")
    for number, stream in ((1, out), (2, err)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)  # Python tries to write the rest as it ends
    return status
