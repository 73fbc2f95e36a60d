"""`recollect tools`: add, list, search."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated

import typer

from recollect.answers import Excerpt
from recollect.cli.shell import (
    DEFAULT,
    At,
    Json,
    Talk,
    User,
    Where,
    again,
    asked,
    read_in,
    remembering,
    telling_errors,
    words,
)
from recollect.cli.terminal import answer, day, quotes

tools = typer.Typer(help="Excerpts of what tools and the web said in a session.", no_args_is_help=True)


@tools.command("add")
def add(
    text: Annotated[str, typer.Argument(help="What the tool said; - reads it from stdin.")],
    source: Annotated[str, typer.Option(help="Where it is from: the tool's name, or an address.")],
    *,
    at: At = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Keep an excerpt, which is quoted with its source until it expires (tools_days of the settings).

    Example: recollect tools add "Rain in Bergen, 6 degrees." --source weather
    """
    with telling_errors():
        words(source, "the source")
        said = words(read_in(text), "the excerpt")
    with remembering(store, user, session, must_exist=False, finds=False) as chat:
        kept = chat.tools.add(said, source, at)
    told = f"Kept in the session {session} of {chat.scope.user}."
    answer(as_json, dataclasses.asdict(kept), f"{told} See what is there with: {again('tools list', 'session')}")


@tools.command("list")
def list_them(store: Where = None, user: User = None, session: Talk = DEFAULT, as_json: Json = False) -> None:
    """Show the session's excerpts that are not expired, in the order in which they came.

    Example: recollect tools list --session trip
    """
    with remembering(store, user, session, finds=False) as chat:
        there = chat.tools.list()
    add_one = again("tools add TEXT --source NAME", "session")
    _show(there, as_json, f"The session {session} has no excerpts. Add one with: {add_one}")


@tools.command("search")
def search(
    question: Annotated[str, typer.Argument(callback=asked, help="What is asked.")],
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="How many excerpts at most.")] = 5,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Find the excerpts that are relevant to a question, best first.

    Example: recollect tools search "Will it rain in Bergen?"
    """
    with remembering(store, user, session, finds=False) as chat:
        found = chat.tools.search(question, k)
    all_of_them = again("tools list", "session")
    _show(found, as_json, f"No excerpt of the session {session} is relevant to that. See them with: {all_of_them}")


def _show(excerpts: Sequence[Excerpt], as_json: bool, nothing: str) -> None:
    told = [(f"{day(excerpt.at)}  {excerpt.source}", excerpt.text) for excerpt in excerpts]
    quotes(as_json, [dataclasses.asdict(excerpt) for excerpt in excerpts], told, nothing)
