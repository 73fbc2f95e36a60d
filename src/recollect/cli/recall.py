"""`recollect recall`."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.narrow import Roles, Since, Tags, narrowed
from recollect.cli.search import Asked, Here, check_found, show
from recollect.cli.shell import DEFAULT, At, Json, Talk, User, Where, remembering


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
    """Show the moments that answer a question, within a budget of tokens: what a context would quote, alone.

    Example: recollect recall "Where does my sister live?" --budget 200

    Example: recollect recall "What did I say last May?" --session trip --here --json
    """
    with remembering(store, user, session) as chat:
        where = narrowed(roles, since, None, tags)
        found = chat.recall(question, budget, at=at, scope="session" if here else "user", where=where)
        check_found(chat, found, here)
    show(found, as_json)
