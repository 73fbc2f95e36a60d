"""`recollect facts`, `remember`, `patterns` and `summary`: what memory made of the conversations."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recollect.answers import Fact, FactType
from recollect.arguments import meant
from recollect.cli.shell import (
    DEFAULT,
    Json,
    Talk,
    User,
    Where,
    again,
    begun,
    moment,
    remembering,
    telling_errors,
    words,
)
from recollect.cli.terminal import answer, counted, machine, say, table
from recollect.errors import NotFound

if TYPE_CHECKING:
    from recollect.session import Session

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


def remember(
    key: Annotated[str, typer.Argument(help="What it is about, such as place or seat.")],
    value: Annotated[str | None, typer.Argument(help="What is true from now on.", show_default=False)] = None,
    *,
    type: Annotated[FactType, typer.Option(help="What kind of fact it is.")] = "user_profile",
    end: Annotated[bool, typer.Option("--end", help="It is no longer true; give no value.")] = False,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Keep a fact of the user, in place of what was known under its key; --end ends it.

    Example: recollect remember place Oslo

    Example: recollect remember seat "by the window" --type preference

    Example: recollect remember allergy --end
    """
    if (value is None) is not end:
        raise typer.BadParameter("give a value, or --end if it is no longer true")
    with telling_errors():
        words(key, "the key")
        said = None if value is None else words(value, "the value")
    with remembering(store, user, session, must_exist=end, finds=False) as chat:
        if said is None:
            ended = _ended(chat, key)
            answer(as_json, {"ended": ended}, f"No longer known about {chat.scope.user}: {', '.join(ended)}.")
            return
        kept = chat.remember(key, said, type)
    told = f"Known about {chat.scope.user} from now on. See all with: {again('facts')}"
    answer(as_json, dataclasses.asdict(kept) if kept else None, told)


def _ended(chat: Session, key: str) -> list[str]:
    """End what is known under a key; returns the keys of the facts that ended."""
    from recollect.flow.facts.tell import HOLDS_SEVERAL

    each = (f"{key}:",) if key in HOLDS_SEVERAL else ()
    keys = [fact.key for fact in chat.facts()]
    known = [one for one in keys if one == key or one.startswith(each)]
    if not known:
        told = meant(key, keys, f"see the keys with `{again('facts')}`")
        raise NotFound(f"nothing is known under {key!r}: {told}; nothing was changed")
    chat.remember(key, None)
    return known


def patterns(store: Where = None, user: User = None, as_json: Json = False) -> None:
    """Show the user's habits: what is asked often, which answers serve best, when the user is there.

    Each habit is shown with its evidence; one without enough evidence is left out.

    Example: recollect patterns --user ada
    """
    from recollect.flow.patterns import hints

    with remembering(store, user) as chat:
        found = chat.patterns()
    if as_json:
        machine(found.to_dict())
        return
    if not found.turns:
        say(f"Nothing was said by {chat.scope.user} yet. Tell something with: {again('add TEXT')}")
        return
    told = [*(hint.text for hint in hints(found)), *([f"Here {found.rhythm}."] if found.rhythm else [])]
    turns, talks = counted(found.turns, "turn"), counted(found.conversations, "conversation")
    say(f"{turns} of {chat.scope.user} in {talks}")
    for line in told:
        say(f"- {line}")
    if not told:
        say("No habit shows yet: something becomes one once it is asked in three conversations.")


def summary(store: Where = None, user: User = None, session: Talk = DEFAULT, as_json: Json = False) -> None:
    """Show what was said in a session, in a few hundred tokens of its own sentences.

    Example: recollect summary --session trip
    """
    with remembering(store, user, session, finds=False) as chat:
        begun(chat)
        text = chat.summary()
    none = f"Nothing worth a sentence was said by {chat.scope.user} in the session {session}."
    answer(as_json, {"session": session, "text": text}, text or f"{none} See it with: {again('history', 'session')}")
