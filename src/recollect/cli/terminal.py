"""How things look at a terminal: words, tables, questions and progress, and JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from unicodedata import category

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from recollect.errors import ConfigError
from recollect.types import in_local_zone

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)

ROOM: Final = 11
"""The width that each other column of a table keeps beside one that is shown whole."""
SHORT: Final = 10
"""A column is as wide as its longest word, such as a date, up to this width, where there is room."""
LEAST: Final = 60
"""On a narrower terminal, a table that does not fit is printed as a few lines for each row."""
MOST_CHARACTERS: Final = 1_000
MOST_LINES: Final = 12
"""How many characters and lines of one text are shown at a terminal."""
SEEN: Final = "\n\t\u00ad\u200b\u200c\u200d\u200e\u200f"
"""Harmless at a terminal, though not printable: breaks, and what joins or separates letters in many scripts."""
_IN_ASCII: Final = str.maketrans({"\u2588": "#", "\u2593": "=", "\u2592": "+", "\u00b7": "-", "\u2026": "..."})


def say(text: str, **style: Any) -> None:
    """Print text for people, without markup."""
    out.print(printable(text), soft_wrap=True, **style)


def note(text: str, **style: Any) -> None:
    """Print text for people beside what was asked for: on stderr."""
    err.print(printable(text), soft_wrap=True, **style)


def quote(text: str) -> None:
    """Print a text; at a terminal only the beginning of a long one, and how to see the rest."""
    start = "\n".join(text[:MOST_CHARACTERS].split("\n")[:MOST_LINES])
    if out.is_terminal and len(start) < len(text):
        say(drawn(f"{start}\u2026"))
        say(f"{counted(len(text) - len(start), 'more character')}; all of it with --json, or by | less\n", style="dim")
    else:
        say(f"{text}\n")


def quotes(as_json: bool, value: Any, found: Sequence[tuple[str, str]], nothing: str) -> None:
    """Print `value` for machines; for people each text found under its heading, or `nothing` where there is none."""
    if as_json:
        machine(value)
        return
    for heading, text in found:
        say(heading, style="bold")
        quote(text)
    if not found:
        say(nothing)


def listed(as_json: bool, value: Any, columns: Sequence[str], rows: Sequence[Sequence[Any]], nothing: str) -> None:
    """Print `value` for machines; for people a table, or `nothing` where it has no rows."""
    if as_json:
        machine(value)
    elif rows:
        table(columns, rows)
    else:
        say(nothing)


def answer(as_json: bool, value: Any, words: str) -> None:
    """Print `value` for machines, or `words` for people."""
    if as_json:
        machine(value)
    else:
        say(words)


def machine(value: Any) -> None:
    """Print a value as JSON."""
    told = json.dumps(value, indent=2, ensure_ascii=False, default=_plain)
    try:
        told.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        told = json.dumps(value, indent=2, default=_plain)
    sys.stdout.write(f"{told}\n")


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def tell(error: Exception) -> None:
    """Print an error as one line on stderr."""
    line = " ".join(f"{type(error).__name__}: {printable(str(error))}".split())
    err.print(line, style="red", soft_wrap=True)


def confirm(question: str) -> None:
    """Ask, and return if the answer is yes; without a terminal to ask at, the error names --yes."""
    err.print(f"{question} [y/N]: ", end="", soft_wrap=True)
    said = sys.stdin.readline()
    if not said:
        err.print()
        if not sys.stdin.isatty():
            raise ConfigError(
                "there is no terminal to ask at: use --yes to go ahead without asking; nothing was changed"
            )
    if said.strip().lower() not in ("y", "yes"):
        raise typer.Abort


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where that is a terminal, as the function that moves it."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, whole: str | None = None) -> None:
    """Print rows for people; long cells are folded, those of the column `whole` only where the others need the room.

    Numbers are aligned to the right; short words are broken last. Where the terminal is too narrow even for those,
    each row is printed as a few lines.
    """
    told = [_cells(values) for values in zip(*rows, strict=True)]
    texts = ["\n".join((name, *cells)) for name, cells in zip(columns, told, strict=True)]
    widest, words = ([max(map(cell_len, parts(text))) for text in texts] for parts in (str.splitlines, str.split))
    room, most = out.width - 3 * len(columns) - 1, out.width - ROOM * (len(columns) - 1)
    short = [min(SHORT, word) for word in words]
    least = [w if name == whole and w <= most else s for name, w, s in zip(columns, widest, short, strict=True)]
    if sum(least) > room and out.width < LEAST:
        _row_by_row(columns, told)
        return
    least = next(kept for kept in (least, short, [1] * len(columns)) if sum(kept) <= room)
    shown = Table()
    for name, values, width in zip(columns, zip(*rows, strict=True), _fitted(widest, least, room), strict=True):
        shown.add_column(name, overflow="fold", width=width, justify="right" if _numbers(values) else "left")
    for row in zip(*told, strict=True):
        shown.add_row(*row)
    out.print(shown)


def _fitted(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths, the widest of them made less until all have room; none is made less than its least."""
    fitted = [min(width, room) for width in widths]
    while sum(fitted) > room:
        fitted[max((n for n, width in enumerate(fitted) if width > least[n]), key=fitted.__getitem__)] -= 1
    return fitted


def _numbers(values: Sequence[Any]) -> bool:
    return all(type(value) is int for value in values)


def _cells(values: Sequence[Any]) -> list[str]:
    if _numbers(values):
        return [f"{value:,}" for value in values]
    return ["" if value is None else printable(str(value)) for value in values]


def _row_by_row(columns: Sequence[str], told: Sequence[Sequence[str]]) -> None:
    for row in zip(*told, strict=True):
        out.print("\n".join(f"{name}: {cell}" for name, cell in zip(columns, row, strict=True) if cell), end="\n\n")


def printable(text: str) -> str:
    """The text without characters that control a terminal; lines end as they do there."""
    text = text.replace("\r\n", "\n")
    shown = "".join(char if char.isprintable() or char in SEEN or category(char) == "Zs" else "\ufffd" for char in text)
    return shown.encode("utf-8", "replace").decode("utf-8")


def drawn(text: str) -> str:
    """The text with its bars and ellipses in ASCII, where the terminal or the file has nothing else."""
    return text.translate(_IN_ASCII) if out.options.ascii_only else text


def counted(number: int, thing: str) -> str:
    """A number of things in words: 1 message, 2,000 messages."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def day(when: datetime | None) -> str:
    """A moment by the reader's clock, as people read it in a table."""
    return f"{in_local_zone(when):%Y-%m-%d %H:%M}" if when else ""
