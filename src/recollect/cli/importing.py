"""`recollect import`: conversations from elsewhere."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recollect.cli.shell import Json, User, Where, again, given, login, remembering, telling_errors
from recollect.cli.terminal import bar, counted, err, machine, note, say
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from recollect.backfill import Backfilled
    from recollect.imports import Read
    from recollect.memory import Memory

FORMATS: Final = "recollect, chatgpt, claude, mem0, langchain, openai"
SHOWN: Final = 10
"""How many skipped things are listed one by one."""
TAKEN: Final = ("messages", "facts", "known", "documents", "excerpts", "others")


def bring(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="An export file or archive; - reads one from stdin.")],
    format: Annotated[str | None, typer.Option(help=f"One of {FORMATS}.", show_default="told by the file")] = None,
    store: Where = None,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Keep the conversations of an export: ChatGPT, Claude, OpenAI JSONL, LangChain, mem0, or `recollect export`.

    Run it again after an interruption or with a newer export: nothing is kept twice.

    Without --user, each conversation goes to the user that the export names, else to you; with it, all go to that one.

    Example: recollect import chats.jsonl

    Example: recollect import chats.jsonl --format openai --user ada
    """
    from recollect.imports import read

    only, users = user if given(context, "user") else None, set[str]()
    with telling_errors(), _file(file) as found:
        with err.status("Reading"):
            total = sum(1 for _ in read(found, format))
        with remembering(store, user, must_exist=False) as chat:
            try:
                done = _kept(chat.memory, _owned(read(found, format), user or login(), users), total, only)
            except KeyboardInterrupt:
                note("Stopped. What came in so far is kept; the same command brings the rest.")
                raise
            _learn(chat.memory)
    if as_json:
        machine(dataclasses.asdict(done))
    else:
        _tell(done, [] if only else sorted(users - {user or login()}))
    if done.skipped and not any(getattr(done, name) for name in TAKEN):
        raise typer.Exit(1)


@contextmanager
def _file(file: Path) -> Iterator[Path]:
    """The file, or a copy of stdin as a file: it is read more than once."""
    if str(file) != "-":
        yield file
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, "stdin")
        with copy.open("wb") as target:
            copyfileobj(sys.stdin.buffer, target)
        try:
            yield copy
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(copy), "stdin")) from error


def _tell(done: Backfilled, others: list[str]) -> None:
    more = {"fact": done.facts, "document": done.documents, "excerpt": done.excerpts, "other thing": done.others}
    new = [counted(number, name) for name, number in more.items() if number]
    if done.sessions or not new:
        new.insert(0, f"{counted(done.messages, 'message')} of {counted(done.sessions, 'conversation')}")
    next = again("stats") if done.sessions else again("facts") if done.facts else ""
    after = f" See them with: {next}" if next else ""
    say(f"New: {', '.join(new)}; here already: {done.known:,}.{after}")
    if others:
        rest = ", …" if len(others) > SHOWN else ""
        say(f"Kept for {', '.join(others[:SHOWN])}{rest}: see what is theirs with --user.")
    for skipped in done.skipped[:SHOWN]:
        note(f"skipped {skipped.where}: {skipped.why}")
    if len(done.skipped) > SHOWN:
        note(f"skipped {len(done.skipped) - SHOWN:,} more; --json lists all of them")


def _kept(memory: Memory, found: Iterator[Read], total: int, user: str | None) -> Backfilled:
    from recollect.backfill import backfill

    with bar("Importing") as progress:
        return backfill(memory, _watched(found, progress, total), user=user)


def _owned(found: Iterator[Read], owner: str, users: set[str]) -> Iterator[Read]:
    """The same, with `owner` as the user where the export names none; adds all users to `users`."""
    from recollect.imports import Skipped

    for item in found:
        if isinstance(item, Skipped):
            yield item
            continue
        users.add(item.user or owner)
        yield dataclasses.replace(item, user=item.user or owner)


def _watched(found: Iterator[Read], progress: Callable[[int, int], None], total: int) -> Iterator[Read]:
    """The same, moving the progress bar."""
    for n, item in enumerate(found):
        progress(n, total)
        yield item


def _learn(memory: Memory) -> None:
    try:
        with err.status("Learning from it; Ctrl-C leaves the rest for later"):
            memory.drain()
    except KeyboardInterrupt:
        note("The rest is learned while the memory is in use.")
