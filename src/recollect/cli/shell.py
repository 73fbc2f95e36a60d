"""What every command shares: where the store is, how errors, tables and progress look."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from recollect import store as stores
from recollect.embed.models import data_dir
from recollect.errors import RecollectError

out = Console()
err = Console(stderr=True)

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="RECOLLECT_STORE",
        help="File or address of the store.",
        show_default="memory.db in the data folder",
    ),
]


def address(where: str | None) -> str:
    """The store that was named, else the file in the data folder."""
    return where or str(data_dir() / "memory.db")


@contextmanager
def telling_errors() -> Iterator[None]:
    """Print an error of ours as one line with its next step, and end with 1."""
    try:
        yield
    except (RecollectError, OSError) as error:
        err.print(f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None


@contextmanager
def opened(where: str | None, must_exist: bool = True) -> Iterator[stores.Store]:
    """The store, open for the length of the block; errors are told as by `telling_errors`."""
    with telling_errors():
        url = address(where)
        if must_exist and "://" not in url and not Path(url).exists():
            raise FileNotFoundError(f"there is no store at {url}: name one by --store or RECOLLECT_STORE")
        with stores.open(url) as store:
            yield store


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, as the function that moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows for people."""
    shown = Table(*columns)
    for row in rows:
        shown.add_row(*("" if cell is None else str(cell) for cell in row))
    out.print(shown)


def machine(value: Any) -> None:
    """Print a value as JSON."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")
