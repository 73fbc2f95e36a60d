"""What every command shares: where the store is, whose memory is meant, and how errors are told.

Here and in the commands, what only a running command needs is imported inside it, to keep `--help` and completion fast.
"""

from __future__ import annotations

import getpass
import logging
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

import typer

from recollect import settings
from recollect import store as stores
from recollect.cli.terminal import note, tell
from recollect.data_folder import data_dir, made_data_dir
from recollect.errors import ConfigError, NotFound, RecollectError, StoreUnavailable
from recollect.types import in_local_zone

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.memory import Memory
    from recollect.session import Session


DEFAULT: Final = "default"
"""The session that is meant where none is named."""
MARK: Final = "\ufeff"
"""How texts written on Windows may begin: it tells their encoding."""
GIVEN: Final[dict[str, str]] = {}
"""What the running command was given on the command line, by the names of options."""
About: TypeAlias = Literal["store", "user", "session"]


def moment(text: str) -> datetime:
    """The moment that an argument names."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a day or time: write it like 2026-05-20 or 2026-05-20T12:00"
        ) from None
    return when if when.tzinfo else in_local_zone(when)


def named(called: typer.Context, option: typer.CallbackParam, name: str | None) -> str | None:
    """The value of an option, else of its variable in `.env`; empty text, as of an unset variable, is an error."""
    if name is not None and given(called, str(option.name)):
        GIVEN[str(option.name)] = name
    if name is None:
        return in_dotenv(str(option.envvar))
    if not name.strip():
        raise typer.BadParameter("it is empty: name one, or leave the option out")
    return name


def given(called: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line, and not by the environment or as a default."""
    source = called.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def again(command: str, about: About = "user") -> str:
    """A command to run next, with the --store, --user and --session (down to `about`) of the running one."""
    names = get_args(About)
    shown = {**GIVEN, "store": masked(GIVEN.get("store", ""))}
    told = [f"--{name} {shlex.quote(shown[name])}" for name in names[: names.index(about) + 1] if name in GIVEN]
    return " ".join(["recollect", command, *told])


def begun(chat: Session) -> None:
    """Raise where nothing was said in a session: NotFound, which names similar ones, or how to see the others."""
    from recollect import absent

    absent.begun(chat, f"see the others with `{again('stats')}`")


def unknown(chat: Session, id: str) -> NotFound:
    """The error for a message that is not in the session; it names another of the user's sessions that has it."""
    found = chat.memory.store.log.get(chat.scope.owner, [id])
    ids = f"see the ids with `{again('history', 'session')}`"
    told = f"it is in {found[0].scope.session}, name that with --session" if found else ids
    return NotFound(f"no message {id!r} in the session {chat.scope.session}: {told}")


def numbered(chat: Session, message: str) -> int:
    """The number of a message that an option names by its number or its id."""
    from recollect.session import as_written, number_of

    written = as_written(message)
    try:
        return number_of(chat, "number", written)
    except NotFound:
        raise unknown(chat, str(written)) from None


def asked(question: str | None) -> str | None:
    """The question; refused where it is blank."""
    if question is not None and not question.strip():
        raise typer.BadParameter("it is empty: give some words")
    return question


def in_dotenv(variable: str) -> str | None:
    """The value of a variable in `.env`; None where it is not there, or empty."""
    from dotenv import dotenv_values

    try:
        return dotenv_values(".env").get(variable) or None
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f".env can't be read: {error}") from None


def variable(name: str) -> tuple[str | None, str]:
    """The value of a variable and where it is from: the environment, else `.env`."""
    if set_here := os.environ.get(name):
        return set_here, "the environment"
    written = in_dotenv(name)
    return written, ".env" if written else "default"


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Don't ask.")]
At: TypeAlias = Annotated[
    datetime | None,
    typer.Option(
        "--at",
        parser=moment,
        help="When it was said or asked; your local time if no zone is given.",
        show_default="now",
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
    str, typer.Option("--session", envvar="RECOLLECT_SESSION", callback=named, help="Which conversation of the user.")
]
EMBEDDER: Final = "RECOLLECT_EMBEDDER"
INDEX: Final = "RECOLLECT_INDEX"
_SQLITE: Final = b"SQLite format 3\x00"
_PASSWORD: Final = re.compile(r"(//[^:/@]*:).*(?=@)|(password=)('[^']*'|[^&\s]+)")


def address(where: str | None) -> str:
    """The store that was named, else the file in the data folder."""
    return where or str(data_dir() / "memory.db")


def told(where: str | None) -> str:
    """The store's address to print."""
    return masked(address(where))


def masked(address: str) -> str:
    """An address to print: without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", address)


def login() -> str:
    """The name of the user who is logged in."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user on this machine, as in some containers
        return "me"


def embedder(plan: settings.Settings) -> Embedder | None:
    """The embedder that RECOLLECT_EMBEDDER names, in the environment or `.env`, else the local one where it is here."""
    from recollect import embed

    return embed.open(variable(EMBEDDER)[0] or "auto", device=plan.embeddings_device)


def model_wanted() -> str | None:
    """The commands that install the local model; None where it is installed, or another embedder is named."""
    from recollect.embed import models
    from recollect.embed.names import DEFAULT, runs_here

    if variable(EMBEDDER)[0]:
        return None
    runs = None if runs_here() else "pip install onnxruntime tokenizers"
    weights = None if models.folder(DEFAULT).is_dir() else f"recollect models pull {DEFAULT}"
    return " && ".join(filter(None, (runs, weights))) or None


def read_in(text: str) -> str:
    """The text, or for a dash what stdin has, with plain line ends and without that of its last line."""
    return piped().replace("\r\n", "\n").removesuffix("\n") if text == "-" else text


def piped() -> str:
    """What stdin has, without a mark of its encoding."""
    return sys.stdin.read().removeprefix(MARK)


def words(text: str, what: str = "the message") -> str:
    """The text of a message or the like; refused where it is blank, or no valid text."""
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


@contextmanager
def opened(where: str | None, must_exist: bool = True) -> Iterator[stores.Store]:
    """The store, open for the length of the block; errors are printed as by `telling_errors`."""
    with telling_errors():
        url = address(where)
        if (file := _file(url)) is not None:
            with _reading(file):
                _check(file, must_exist)
            if where is None:
                made_data_dir()
        with stores.open(url, index=variable(INDEX)[0]) as store:
            yield store


def begins(where: str | None) -> bool:
    """Whether the store is a file that is not there yet, or empty, so that opening it makes one."""
    if (file := _file(address(where))) is None:
        return False
    with _reading(file):
        return not (file.exists() and (file.is_dir() or _start(file)))


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        rights = "let this user read and write it and its folder, or name another with --store"
        raise StoreUnavailable(f"{file} can't be read ({error.strerror}): {rights}") from None


def _file(url: str) -> Path | None:
    if url == ":memory:" or ("://" in url and not url.startswith("sqlite://")):
        return None
    return Path(url.removeprefix("sqlite://").removeprefix("/") if "://" in url else url)


def _check(file: Path, must_exist: bool) -> None:
    if not file.exists():
        if must_exist:
            raise ConfigError(
                f"there is no store at {file}: begin one with `{again('add TEXT')}`, or name one with --store"
            )
    elif file.is_dir():
        raise ConfigError(f"{file} is a folder, not a Recollect store: name a file with --store or RECOLLECT_STORE")
    elif not (start := _start(file)) and must_exist:
        raise ConfigError(
            f"{file} is empty: begin a store in it with `{again('add TEXT')}`, or name another with --store; "
            f"if it was one, bring a backup back with `{again('restore FILE', 'store')}`"
        )
    elif not _SQLITE.startswith(start):
        raise ConfigError(
            f"{file} is not a Recollect store: name another file with --store; if it was one, it is damaged: "
            f"bring a backup back with `{again('restore FILE', 'store')}`"
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
    """A session of the user in the store, with the settings in force; without an embedder unless the command `finds`.

    Where the store must exist and the user is to be `known`, a hint names other users if this one said nothing yet.
    """
    from recollect.absent import others

    with opened(where, must_exist) as store, _quiet(), remembered(store, finds=finds) as memory:
        chat = memory.session(session, user=user or login())
        if must_exist and known and (told := others(chat)):
            note(f"Nothing was said by {chat.scope.user}: {told}. Name one with --user.", style="yellow")
        yield chat


def remembered(store: stores.Store, *, finds: bool = True) -> Memory:
    """The memory in a store, with the settings in force."""
    from recollect.memory import Memory

    plan = settings.load()
    return Memory(store, embedder=embedder(plan) if finds else None, settings=plan)


def check_new(file: Path) -> None:
    """Raise where the file is there already, or its folder is not."""
    if file.exists():
        raise ConfigError(f"{file} is there already: name another file, or remove it first")
    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent} for {file}: make it first, or name another file")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings while a command runs: a slow start or a second try is no news, and `config` tells about models."""
    before = {log: log.level for log in map(logging.getLogger, ("recollect", "stamina", "pypdf"))}
    for log in before:
        log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)
