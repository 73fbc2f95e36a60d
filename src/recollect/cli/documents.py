"""`recollect documents`: add, list, search, remove."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from recollect.answers import Document
from recollect.cli.shell import Json, User, Where, again, asked, model_wanted, piped, remembering, telling_errors
from recollect.cli.terminal import answer, bar, counted, day, listed, machine, note, quotes, say
from recollect.errors import ConfigError
from recollect.frozen import thaw

documents = typer.Typer(help="Documents that can be quoted: Markdown, text, HTML, PDF.", no_args_is_help=True)


def _told(document: Document) -> dict[str, object]:
    return {field.name: thaw(getattr(document, field.name)) for field in dataclasses.fields(document)}


@documents.command("add")
def add(
    files: Annotated[list[str], typer.Argument(help="Files; - reads a text from stdin.")],
    name: Annotated[str | None, typer.Option(callback=asked, help="A name, where there is one document.")] = None,
    store: Where = None,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Keep documents so that they are found and quoted; one of the same name is replaced.

    Example: recollect documents add guide.md
    """
    if name and len(files) > 1:
        raise typer.BadParameter("--name is for one document; leave it out, files are named by their paths")
    with telling_errors():
        for file in files:
            if file != "-" and not (file and Path(file).exists()):
                pipe = "or pipe a text in with - as the file and a --name"
                raise ConfigError(
                    f"there is no file {file or repr(file)}: name one that exists, {pipe}; nothing was kept"
                )
    with remembering(store, user, must_exist=False) as chat, bar("Reading") as progress:
        kept = []
        for n, file in enumerate(files, 1):
            kept.append(chat.documents.add(piped() if file == "-" else Path(file), name=name))
            progress(n, len(files))
        chat.memory.drain()
    if command := model_wanted():
        more = f"{command} && {again('reindex', 'store')}"
        note(f"They are found by their words. To find them by their meaning too, run: {more}", style="yellow")
    if as_json:
        machine([_told(document) for document in kept])
    else:
        for file, document in zip(files, kept, strict=True):
            say(_said(document, name or Path(file).as_posix()))


def _said(document: Document, name: str) -> str:
    if name not in (document.name, "-"):
        return f"{name} has the text of {document.name}, which stays the one kept."
    return f"{document.name}: {counted(document.chunks, 'chunk')}, {counted(document.tokens, 'token')}"


@documents.command("list")
def list_them(store: Where = None, user: User = None, as_json: Json = False) -> None:
    """Show the user's documents by name.

    Example: recollect documents list
    """
    with remembering(store, user) as chat:
        there = chat.documents.list()
    rows = [(d.name, d.chunks, d.tokens, day(d.at)) for d in there]
    nothing = f"There are no documents yet. Add one with: {again('documents add FILE')}"
    listed(as_json, [*map(_told, there)], ("document", "chunks", "tokens", "at"), rows, nothing)


@documents.command("search")
def search(
    question: Annotated[str, typer.Argument(callback=asked, help="What is asked.")],
    k: Annotated[int | None, typer.Option("-k", min=1, help="How many passages at most.")] = None,
    store: Where = None,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question, best first.

    Example: recollect documents search "How do I water tomatoes?"
    """
    with remembering(store, user) as chat:
        found = chat.documents.search(question, k)
    told = [(f"{passage.score:.2f}  {passage.origin}", passage.text) for passage in found]
    nothing = f"No document says anything near that. See them with: {again('documents list')}"
    quotes(as_json, [dataclasses.asdict(passage) for passage in found], told, nothing)


@documents.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="A name as `documents list` shows it.")],
    store: Where = None,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Remove a document for good.

    Example: recollect documents remove guide.md
    """
    with remembering(store, user) as chat:
        gone = chat.documents.remove(name)
    answer(as_json, _told(gone), f"{gone.name} is gone.")
