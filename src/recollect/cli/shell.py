"""What every command shares: where the store is, whose memory is meant, how errors, tables and progress look.

Here and in the commands, what only a command that runs needs is imported by it: `--help` and completion are quick.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from unicodedata import category

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from recollect import settings
from recollect import store as stores
from recollect.errors import ConfigError, RecollectError

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.memory import Memory
    from recollect.session import Session

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def moment(text: str) -> datetime:
    """The moment that a word on the command line names."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no day or time: write it like 2026-05-20 or 2026-05-20T12:00") from None


def named(option: typer.CallbackParam, name: str | None) -> str | None:
    """What an option names, else `.env` under its variable; an empty one, of a variable never set, is not none."""
    if name is None:
        return in_dotenv(str(option.envvar))
    if not name.strip():
        raise typer.BadParameter("it is empty: name one, or leave the option out")
    return name


def asked(question: str | None) -> str | None:
    """What is asked or looked for; refused where it has no words."""
    if question is not None and not question.strip():
        raise typer.BadParameter("it is empty: give some words")
    return question


def in_dotenv(variable: str) -> str | None:
    """What `.env` says a variable is; None where that is nothing."""
    from dotenv import dotenv_values

    try:
        return dotenv_values(".env").get(variable) or None
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f".env can't be read: {error}") from None


def variable(name: str) -> tuple[str | None, str]:
    """What a variable is, and where: in the environment, else in `.env`."""
    if set_here := os.environ.get(name):
        return set_here, "the environment"
    written = in_dotenv(name)
    return written, ".env" if written else "default"


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Don't ask.")]
At: TypeAlias = Annotated[
    datetime | None,
    typer.Option(
        "--at", parser=moment, help="When it is said or asked; UTC where no zone is named.", show_default="now"
    ),
]
Tokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--budget", min=1, help="Tokens of the prompt.", show_default="context_budget of the settings"),
]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="RECOLLECT_STORE",
        callback=named,
        help="File or address of the store.",
        show_default="memory.db in the data folder",
    ),
]
User: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--user", envvar="RECOLLECT_USER", callback=named, help="Whose memory.", show_default="your login name"
    ),
]
Talk: TypeAlias = Annotated[
    str, typer.Option("--session", envvar="RECOLLECT_SESSION", help="Which conversation of the user.")
]
EMBEDDER: Final = "RECOLLECT_EMBEDDER"
INDEX: Final = "RECOLLECT_INDEX"
DEFAULT: Final = "default"
"""The conversation that is meant where none is named."""
ROOM: Final = 11
"""Cells of a line that each of a table's other columns keeps beside one that stays whole."""
SHORT: Final = 10
"""Cells of a word, as a date is one, that a column has room for where there is any."""
LEAST: Final = 60
"""Cells of a line below which what has no room in a table is told row by row."""
MOST_CHARACTERS: Final = 1_000
MOST_LINES: Final = 12
"""How much of one text is shown at a terminal."""
SEEN: Final = "\n\t\u00ad\u200b\u200c\u200d\u200e\u200f"
"""What steers no terminal though it is not printable: breaks, and what joins and parts letters in many scripts."""
_IN_ASCII: Final = str.maketrans({"\u2588": "#", "\u2593": "=", "\u2592": "+", "\u00b7": "-", "\u2026": "..."})
_SQLITE: Final = b"SQLite format 3\x00"
_PASSWORD: Final = re.compile(r"(//[^:/@]*:).*(?=@)|(password=)('[^']*'|[^&\s]+)")


def address(where: str | None) -> str:
    """The store that was named, else the file in the data folder."""
    from recollect.embed.models import data_dir

    return where or str(data_dir() / "memory.db")


def told(where: str | None) -> str:
    """The store's address as it may be printed: without the password in it."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", address(where))


def login() -> str:
    """The name of whoever is logged in."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user on this machine, as in some containers
        return "me"


def embedder(plan: settings.Settings) -> Embedder | None:
    """The embedder that RECOLLECT_EMBEDDER names, in the environment or `.env`, else the local one where it is here."""
    from recollect import embed

    return embed.open(variable(EMBEDDER)[0] or "auto", device=plan.embeddings_device)


def words(text: str, what: str = "the message") -> str:
    """The text of a message or the like; refused where it says nothing, or is none."""
    if not text.strip():
        raise ConfigError(f"{what} is empty: give some text; nothing was kept")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{what} is not utf-8 text: convert it first; nothing was kept") from None
    return text


@contextmanager
def telling_errors() -> Iterator[None]:
    """Print an error of ours as one line with its next step, and end with 1."""
    try:
        yield
    except BrokenPipeError:
        raise
    except UnicodeDecodeError as error:
        tell(ConfigError(f"the input is not {error.encoding} text ({error.reason}): convert it first"))
        raise typer.Exit(1) from None
    except (RecollectError, OSError) as error:
        tell(error)
        raise typer.Exit(1) from None


def tell(error: Exception) -> None:
    """Print an error as one line on stderr."""
    line = " ".join(f"{type(error).__name__}: {printable(str(error))}".split())
    err.print(line, style="red", soft_wrap=True)


@contextmanager
def opened(where: str | None, must_exist: bool = True) -> Iterator[stores.Store]:
    """The store, open for the length of the block; errors are told as by `telling_errors`."""
    from recollect.embed.models import made_data_dir

    with telling_errors():
        url = address(where)
        if (file := _file(url)) is not None:
            _check(file, must_exist)
            if where is None:
                made_data_dir()
        with stores.open(url, index=variable(INDEX)[0]) as store:
            yield store


def begins(where: str | None) -> bool:
    """Whether the store is a file that is not there yet, so that opening it begins one."""
    file = _file(address(where))
    return file is not None and not file.exists()


def _file(url: str) -> Path | None:
    if url == ":memory:" or ("://" in url and not url.startswith("sqlite://")):
        return None
    return Path(url.removeprefix("sqlite://").removeprefix("/") if "://" in url else url)


def _check(file: Path, must_exist: bool) -> None:
    if not file.exists():
        if must_exist:
            raise ConfigError(f"there is no store at {file}: begin one with `recollect add`, or name one by --store")
    elif file.is_dir():
        raise ConfigError(f"{file} is a folder, not a Recollect store: name a file by --store or RECOLLECT_STORE")
    elif not _SQLITE.startswith(_start(file)):
        raise ConfigError(
            f"{file} is not a Recollect store: name another file by --store; if it was one, it is damaged: "
            "bring a backup back with `recollect restore`"
        )


def _start(file: Path) -> bytes:
    with file.open("rb") as opened_file:
        return opened_file.read(len(_SQLITE))


@contextmanager
def remembering(
    where: str | None,
    user: str | None = None,
    session: str = DEFAULT,
    *,
    must_exist: bool = True,
    finds: bool = True,
    known: bool = True,
) -> Iterator[Session]:
    """A conversation of the user in the store, with the settings in force here; no embedder where nothing is found.

    Where the store and the user are to be `known`, others are named if nothing was ever said by this one.
    """
    from recollect.cli.absent import others

    with opened(where, must_exist) as store, _quiet(), remembered(store, finds=finds) as memory:
        chat = memory.session(session, user=user or login())
        if must_exist and known and (told := others(chat)):
            err.print(printable(told), style="yellow", soft_wrap=True)
        yield chat


def remembered(store: stores.Store, *, finds: bool = True) -> Memory:
    """The memory in a store, with the settings in force here."""
    from recollect.memory import Memory

    plan = settings.load()
    return Memory(store, embedder=embedder(plan) if finds else None, settings=plan)


def check_new(file: Path) -> None:
    """Raises where the file is there already, or its folder is not."""
    if file.exists():
        raise ConfigError(f"{file} is there already: name another file, or remove it first")
    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent} for {file}: make it first, or name another file")


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings while a command runs: a cold start and a second try are no news; `config` tells of models."""
    before = {log: log.level for log in map(logging.getLogger, ("recollect", "stamina"))}
    for log in before:
        log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)


def confirm(question: str) -> None:
    """Go on when the answer is yes; where nobody can answer, the error says how to go on without."""
    err.print(f"{question} [y/N]: ", end="", soft_wrap=True)
    said = sys.stdin.readline()
    if not said:
        err.print()
        if not sys.stdin.isatty():
            raise ConfigError("there is no terminal to ask at: use --yes to go on without; nothing was changed")
    if said.strip().lower() not in ("y", "yes"):
        raise typer.Abort


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr where that is a terminal, as the function that moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, whole: str | None = None) -> None:
    """Print rows for people; what is too long is folded, in the column `whole` only where the others need the room.

    A column of numbers has them below each other; short words are broken last. Where the terminal is too narrow even
    for those, each row is a few lines.
    """
    shown, told = Table(), []
    for name, *values in zip(columns, *rows, strict=True):
        numbers = all(type(value) is int for value in values)
        cells = [f"{value:,}" if numbers else "" if value is None else printable(str(value)) for value in values]
        words = [word for text in (name, *cells) for word in text.split()]
        least = min(SHORT, max(map(cell_len, words)))
        shown.add_column(name, overflow="fold", min_width=least, justify="right" if numbers else "left")
        widest = max(map(cell_len, (name, *cells)))
        if name == whole and widest <= out.width - ROOM * (len(columns) - 1):
            shown.columns[-1].width = widest
        told.append(cells)
    if sum(3 + (column.width or column.min_width or 0) for column in shown.columns) >= out.width:
        if out.width < LEAST:
            for row in zip(*told, strict=True):
                out.print(
                    "\n".join(f"{name}: {cell}" for name, cell in zip(columns, row, strict=True) if cell), end="\n\n"
                )
            return
        for column in shown.columns:
            column.min_width = None
    for row in zip(*told, strict=True):
        shown.add_row(*row)
    out.print(shown)


def say(text: str, **style: Any) -> None:
    """Print words for people as they are."""
    out.print(printable(text), soft_wrap=True, **style)


def quote(text: str) -> None:
    """Print what was said; at a terminal only the start of what would fill it, and how to see the rest."""
    start = "\n".join(text[:MOST_CHARACTERS].split("\n")[:MOST_LINES])
    if out.is_terminal and len(start) < len(text):
        say(drawn(f"{start}\u2026"))
        say(f"{counted(len(text) - len(start), 'more character')}; all of it with --json, or by | less\n", style="dim")
    else:
        say(f"{text}\n")


def answer(as_json: bool, value: Any, words: str) -> None:
    """Print a value for machines, or words for people."""
    if as_json:
        machine(value)
    else:
        say(words)


def printable(text: str) -> str:
    """The text without what would steer a terminal."""
    shown = "".join(char if char.isprintable() or char in SEEN or category(char) == "Zs" else "\ufffd" for char in text)
    return shown.encode("utf-8", "replace").decode("utf-8")


def drawn(text: str) -> str:
    """The text with other marks for bars and what is cut, where the terminal or the file has ASCII alone."""
    return text.translate(_IN_ASCII) if out.options.ascii_only else text


def counted(number: int, thing: str) -> str:
    """A number of things in words: 1 message, 2,000 messages."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def day(when: datetime | None) -> str:
    """A moment as people read it in a table."""
    return f"{when:%Y-%m-%d %H:%M}" if when else ""


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
