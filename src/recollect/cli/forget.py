"""`recollect forget`: shows what would go, asks, and erases it for good."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, Yes, begun, given, remembering, unknown
from recollect.cli.terminal import answer, confirm, counted, drawn, err, note, printable
from recollect.errors import ConfigError, NotFound
from recollect.store import Entry, each_session
from recollect.types import Scope, spelt_out

if TYPE_CHECKING:
    from recollect.session import Session

SAMPLE: Final = 5
LINE: Final = 500
"""How many characters of a message are looked at for the line that shows it."""


def forget(
    called: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of messages, as `history` shows them.", show_default="the session")
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--everything", help="All of the user: sessions, facts, documents.")
    ] = False,
    fact: Annotated[
        str | None, typer.Option("--fact", help="The key of a fact, as `facts` shows it: every value it has had.")
    ] = None,
    yes: Yes = False,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Erase messages, a session, or all of a user, with everything learned from them; or one fact. It asks first.

    Example: recollect forget --session trip --yes

    Example: recollect forget --everything --user ada --yes

    Example: recollect forget --fact allergy:peanuts --yes
    """
    with remembering(store, user, session, finds=False) as chat:
        if fact is not None:
            if ids or everything or given(called, "session"):
                raise ConfigError("--fact KEY is one fact of the user: give nothing else to forget; nothing was erased")
            _forget_fact(chat, fact, yes, as_json)
            return
        if ids and everything:
            raise ConfigError("give ids of messages, or --everything, not both")
        if everything and given(called, "session"):
            raise ConfigError("--everything means all sessions: leave out either it or --session; nothing was erased")
        if yes and not ids and not everything and not given(called, "session"):
            raise ConfigError("say what is to go: ids of messages, --session NAME, or --everything; nothing was erased")
        messages, scope = _going(chat, ids, everything), chat.scope.owner if everything else chat.scope
        along = _along(chat, scope, ids)
        if not yes:
            _show(chat, messages, ids, along, everything)
            confirm("Erase this for good?")
        erased = chat.memory.forget(scope, ids or None)
        if not any(dataclasses.astuple(erased)):
            raise NotFound(f"nothing is kept of {chat.scope.user}: did you mean another --user or another --store?")
    told = ", ".join([f"Gone for good: {counted(erased.messages, 'message')}", *along])
    answer(as_json, dataclasses.asdict(erased), f"{told}.")


def _forget_fact(chat: Session, key: str, yes: bool, as_json: bool) -> None:
    chat.facts()  # what was said last is learned first
    going = chat.memory.layers.semantic.under(chat.scope, key)
    if going and not yes:
        note(f"{counted(len(going), 'value')} known about {chat.scope.user}, not the messages that say it:")
        for fact in going[:SAMPLE]:
            words = printable(" ".join(fact.value[:LINE].split()))
            err.print(f"  {printable(fact.key)}: {words} ({fact.at:%Y-%m-%d})", no_wrap=True, overflow="ellipsis")
        _more(len(going))
        confirm("Erase this for good?")
    gone = chat.forget_fact(key)
    answer(as_json, [dataclasses.asdict(fact) for fact in gone], f"Gone for good: {counted(len(gone), 'value')}.")


def _going(chat: Session, ids: list[str] | None, everything: bool) -> list[Entry]:
    """The messages that would be erased; of many, the first few."""
    log = chat.memory.store.log
    if everything:
        return log.scan(chat.scope.owner, limit=SAMPLE)
    if not ids:
        if not any(dataclasses.astuple(chat.would_forget().counted())):
            begun(chat)
        return log.read(chat.scope, limit=SAMPLE)
    found = log.get(chat.scope, ids)
    if missing := set(ids).difference(entry.message.id for entry in found):
        raise unknown(chat, min(missing))
    return found


def _show(chat: Session, messages: list[Entry], ids: list[str] | None, along: list[str], everything: bool) -> None:
    scope = chat.scope.owner if everything else chat.scope
    total = len(messages) if ids else sum(session.messages for session in each_session(chat.memory.store.log, scope))
    what = "all that is kept of" if everything else f"session {scope.session} of"
    note(f"{counted(total, 'message')} of {what} {scope.user}:")
    for entry in messages[:SAMPLE]:
        words = printable(" ".join(spelt_out(entry.message)[:LINE].split()))
        err.print(f"  {entry.message.role}: {words}", no_wrap=True, overflow="ellipsis")
    _more(total)
    if along:
        note(f"  and {', '.join(along)}")


def _more(total: int) -> None:
    if total > SAMPLE:
        note(drawn(f"  \u2026 and {total - SAMPLE:,} more"))


def _along(chat: Session, scope: Scope, ids: list[str] | None) -> list[str]:
    """How much else goes, in words."""
    from recollect.retention import KINDS

    going = chat.memory.would_forget(scope, ids or None).records
    gone = Counter(record.kind for record in going if record.stands)
    one = {"facts": "fact", "summaries": "summary", "documents": "document"}
    found = {layer: gone[KINDS[layer]] for layer in one}
    return [f"{number:,} {one[layer] if number == 1 else layer}" for layer, number in found.items() if number]
