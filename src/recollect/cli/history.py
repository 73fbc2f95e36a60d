"""`recollect history`."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, day, machine, quote, remembering, say


def history(
    limit: Annotated[int, typer.Option(min=1, help="How many messages, counted from the last.")] = 20,
    before: Annotated[int | None, typer.Option(min=1, help="Only messages before the one with that number.")] = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show the last messages of a session in order, each with its number.

    Example: recollect history --session trip

    Example: recollect history --session trip --limit 5 --before 3 --json
    """
    until = None if before is None else before - 1
    with remembering(store, user, session, finds=False) as chat:
        newest = chat.memory.store.log.read(chat.scope, until=until, limit=limit, reverse=True)
    entries = newest[::-1]
    if as_json:
        machine([{"number": entry.seq, "tokens": entry.tokens, **entry.message.to_dict()} for entry in entries])
        return
    for entry in entries:
        message = entry.message
        say(f"{entry.seq}  {message.role}  {day(message.at)}  {message.id}", style="bold")
        calls = "".join(f"\n{call.name}({call.arguments})" for call in message.tool_calls)
        quote(f"{message.text}{calls}".lstrip("\n"))
    if not entries:
        say(f"Nothing was said by {chat.scope.user} in the session {session}. See what is there with: recollect stats")
