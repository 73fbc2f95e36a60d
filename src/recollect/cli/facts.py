"""`recollect facts`."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recollect.arguments import meant
from recollect.cli.shell import Json, User, Where, again, begun, moment, remembering
from recollect.cli.terminal import machine, say, table
from recollect.errors import NotFound

if TYPE_CHECKING:
    from recollect.answers import Fact

TYPES: Final = {
    "user_profile": "profile",
    "interest": "interest",
    "preference": "preference",
    "action_item": "to do",
    "sentiment": "tone",
}


def _by(text: str) -> datetime:
    """The moment that an argument names; for a day, its end."""
    when = moment(text)
    try:
        date.fromisoformat(text)
    except ValueError:
        return when
    return datetime.combine(when, time.max, when.tzinfo)


def facts(
    *,
    as_of: Annotated[
        datetime | None,
        typer.Option(
            "--as-of", parser=_by, help="As it was known at the end of that day, or at that time.", show_default="now"
        ),
    ] = None,
    history: Annotated[
        str | None, typer.Option("--history", help="Every value that the fact with this key has had.")
    ] = None,
    store: Where = None,
    user: User = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Only what was said in this conversation.", show_default="all of the user's"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what the user said about themselves, each fact with its key and date; or every value that one fact has had.

    Example: recollect facts

    Example: recollect facts --as-of 2026-01-31 --user ada

    Example: recollect facts --history allergy:peanuts
    """
    if history is not None and as_of is not None:
        raise typer.BadParameter("--history has the values of all times: leave --as-of out")
    with remembering(store, user, finds=False) as chat:
        there = chat.facts(as_of) if history is None else chat.fact_history(history)
        if history is not None and not there:
            told = meant(history, [fact.key for fact in chat.facts()], f"see the keys with `{again('facts')}`")
            raise NotFound(f"nothing was ever known about {chat.scope.user} under {history!r}: {told}")
        known = [fact for fact in there if session in (None, *fact.sessions)]
        if session is not None and not known:
            begun(chat.memory.session(session, user=chat.scope.user or ""))
    if as_json:
        machine([dataclasses.asdict(fact) for fact in known])
    elif known and history is not None:
        table(("value", "said", "until", "by", "session"), [_value(fact) for fact in known], whole="session")
    elif known:
        table(("type", "key", "value", "last said"), [_row(fact) for fact in known], whole="key")
    elif session is not None:
        say(f"Nothing is known about {chat.scope.user} from the session {session}. See all with: {again('facts')}")
    elif as_of:
        say(f"Nothing was known about {chat.scope.user} then. See what is known now with: {again('facts')}")
    else:
        say(f"Nothing is known about {chat.scope.user} yet. Tell something with: {again('add TEXT')}")


def _value(fact: Fact) -> tuple[str, ...]:
    until = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
    return fact.value, f"{fact.at:%Y-%m-%d}", until, fact.origin, fact.session


def _row(fact: Fact) -> tuple[str, ...]:
    from recollect.flow.facts.tell import with_due

    return TYPES[fact.type], fact.key, with_due(fact), f"{fact.updated_at:%Y-%m-%d}"
