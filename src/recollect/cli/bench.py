"""`recollect bench`: the benchmarks, which come with the source."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated, Final

import typer

from recollect.cli.shell import telling_errors
from recollect.errors import ConfigError

SCRIPT: Final = Path(__file__).parents[3] / "scripts" / "bench"


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="A benchmark's name and its options.", show_default="all of them")
    ] = None,
) -> None:
    """Run the benchmarks beside the libraries people use today; from a checkout of the source.

    Example: recollect bench window
    """
    with telling_errors():
        if not SCRIPT.exists():
            raise ConfigError("the benchmarks come with the source: check out Recollect and run ./scripts/bench there")
        raise typer.Exit(subprocess.run([SCRIPT, *(names or ())], check=False).returncode)
