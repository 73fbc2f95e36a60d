"""`recollect add`."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.shell import DEFAULT, At, Json, Talk, User, Where, again, read_in, remembering, telling_errors, words
from recollect.cli.terminal import answer
from recollect.types import Message, Role


def add(
    text: Annotated[
        str, typer.Argument(help="What was said; - reads it from stdin. Put -- before a text that begins with a dash.")
    ],
    *,
    role: Annotated[Role, typer.Option(help="Who said it.")] = "user",
    at: At = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Keep a message.

    Example: recollect add "My sister Nadia moved to Oslo in May."

    Example: recollect add "Noted!" --role assistant --session trip
    """
    with telling_errors():
        said = words(read_in(text))
    with remembering(store, user, session, must_exist=False) as chat:
        kept = chat.add(Message(role, said, at=at))
        chat.memory.drain()
    told = f"Kept in the session {session} of {chat.scope.user}. Ask for it with: {again('search WORDS')}"
    answer(as_json, kept.to_dict(), told)
