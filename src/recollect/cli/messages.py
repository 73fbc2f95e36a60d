"""`recollect add`, `history` and `tag`: the messages of a session."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from recollect.cli.narrow import Roles, Since, Tags, Until, narrowed, tag_of
from recollect.cli.shell import (
    DEFAULT,
    At,
    Json,
    Talk,
    User,
    Where,
    again,
    begun,
    numbered,
    read_in,
    remembering,
    telling_errors,
    unknown,
    words,
)
from recollect.cli.terminal import answer, day, quotes
from recollect.errors import NotFound
from recollect.store import ANY, Entry
from recollect.types import Message, Role, spelt_out


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


def history(
    *,
    limit: Annotated[int, typer.Option(min=1, help="How many messages, counted from the last.")] = 20,
    before: Annotated[
        str | None,
        typer.Option(
            help="Only messages before this one, by number or id (id:12 where it is digits).", show_default=False
        ),
    ] = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show the last messages of a session in order, each with its number.

    Example: recollect history --session trip

    Example: recollect history --session trip --limit 5 --before 3 --json

    Example: recollect history --session trip --role user --tag important=true
    """
    from recollect.session import entries_of

    with remembering(store, user, session, finds=False) as chat:
        begun(chat)
        where = narrowed(roles, since, until, tags)
        entries = entries_of(chat, limit, None if before is None else numbered(chat, before), where)
    value = [{"number": entry.seq, "tokens": entry.tokens, **entry.message.to_dict()} for entry in entries]
    what = "No message matches that" if before is None or where != ANY else "Nothing was said before that"
    nothing = f"{what}. See them all with: {again('history', 'session')}"
    quotes(as_json, value, [_told(entry) for entry in entries], nothing)


def _told(entry: Entry) -> tuple[str, str]:
    message = entry.message
    return f"{entry.seq}  {message.role}  {day(message.at)}  {message.id}", spelt_out(message)


def tag(
    id: Annotated[str, typer.Argument(help="The id of a message, as `history` shows it.")],
    tags: Annotated[
        list[str], typer.Argument(help="Names with values, like score=9; null as the value takes a tag off.")
    ],
    *,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Set tags on a message: a turn that scores below 7 of 10 is not recalled, pinned=true stays in every prompt.

    Example: recollect tag 4f1c2a score=9 topic=travel --session trip

    Example: recollect tag 4f1c2a pinned=true --session trip
    """
    given = dict(map(tag_of, tags))
    with remembering(store, user, session, finds=False) as chat:
        try:
            tagged = chat.tag(id, **given)
        except NotFound:
            raise unknown(chat, id) from None
    told = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    answer(as_json, tagged.to_dict(), f"Tagged: {told}")
