"""`recollect search` and `recollect recall`: what was said, best first, all of it or within a budget."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from recollect.answers import Kind, Recalled
from recollect.cli.narrow import Roles, Since, Tags, narrowed
from recollect.cli.shell import DEFAULT, At, Json, Talk, User, Where, again, asked, begun, remembering
from recollect.cli.terminal import quotes, say

if TYPE_CHECKING:
    from recollect.session import Session

Asked: TypeAlias = Annotated[str, typer.Argument(callback=asked, help="Words or a question.")]
Here: TypeAlias = Annotated[bool, typer.Option("--here", help="Only in this session, not in all of the user's.")]


def search(
    words: Asked,
    *,
    k: Annotated[int, typer.Option("-k", min=1, help="How many at most.")] = 10,
    kind: Annotated[
        Kind, typer.Option(help="What to search: what was said (turns), or by words alone what else is kept.")
    ] = "turns",
    here: Here = False,
    at: At = None,
    roles: Roles = None,
    since: Since = None,
    tags: Tags = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Find what was said, by its words and its meaning, best first.

    Example: recollect search "sister Oslo"

    Example: recollect search "what did I say last May?" -k 3 --session trip --here

    Example: recollect search "train" --role user --since 2026-05-01 --tag topic=travel

    Example: recollect search "Which allergies?" --kind facts
    """
    with remembering(store, user, session) as chat:
        where = narrowed(roles, since, None, tags)
        found = chat.search(words, k, at, "session" if here else "user", kind=kind, where=where)
        _check_found(chat, found, here)
    show(found, as_json)


def recall(
    question: Asked,
    *,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens of all of it together.")] = 800,
    here: Here = False,
    at: At = None,
    roles: Roles = None,
    since: Since = None,
    tags: Tags = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show the moments that answer a question, within a budget of tokens. A context recalls them by itself.

    Example: recollect recall "Where does my sister live?" --budget 200

    Example: recollect recall "What did I say last May?" --session trip --here --json
    """
    with remembering(store, user, session) as chat:
        where = narrowed(roles, since, None, tags)
        found = chat.recall(question, budget, at=at, scope="session" if here else "user", where=where)
        _check_found(chat, found, here)
    show(found, as_json)


def _check_found(chat: Session, found: Recalled, here: bool) -> None:
    """Raise where nothing was found in a session because nothing was ever said there."""
    if here and not found:
        begun(chat)


def show(found: Recalled, as_json: bool) -> None:
    """Print what was found, best first."""
    value = {
        "relevance": found.relevance,
        "by_chance": found.by_chance,
        "hits": [dataclasses.asdict(hit) for hit in found],
    }
    if found and found.by_chance and not as_json:
        say("Nothing was said about that, as far as can be told. What comes nearest:")
    told = [(f"{rank}. {hit.session}", hit.text) for rank, hit in enumerate(found, 1)]
    quotes(as_json, value, told, f"There is nothing like that. See what is there with: {again('stats')}")
