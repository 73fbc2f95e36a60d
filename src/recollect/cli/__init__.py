"""The command line: `recollect --help`."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from recollect.errors import MissingExtra


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from recollect.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(str(MissingExtra(error.name, "cli", "the command line")))
    except KeyboardInterrupt:
        sys.exit(130)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="strict")  # in the locale C, bytes that are no text would be taken for some
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what the terminal or the file has no letter for
    try:
        app()
    except OSError as error:
        sys.exit(f"{type(error).__name__}: {error}")
