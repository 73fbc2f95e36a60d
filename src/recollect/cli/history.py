"""`recollect history`."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.narrow import Roles, Since, Tags, Until, narrowed
from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, again, begun, numbered, remembering
from recollect.cli.terminal import day, quotes
from recollect.store import ANY, Entry
from recollect.types import spelt_out


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
