"""`recollect stats`: what is kept, and how the last contexts came out, as small plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from recollect.cli.context import COLOURS
from recollect.cli.shell import DEFAULT, Json, Talk, Tokens, User, Where, again, remembering
from recollect.cli.terminal import counted, day, drawn, err, machine, out, printable, say, table
from recollect.errors import BudgetTooSmall
from recollect.store import SessionStats, each_session
from recollect.types import in_local_zone

if TYPE_CHECKING:
    from recollect.flow.context import Context
    from recollect.session import Session

DAYS: Final = 14
QUESTIONS: Final = 10
SESSIONS: Final = 20
WIDTH: Final = 40
UUID: Final = 36
OTHERS: Final = 44
"""The width of the columns beside that of the sessions."""
PAGE: Final = 1_000
LOOKED_AT: Final = 20
"""How many messages are looked at for each question, at most."""


def stats(
    budget: Tokens = None, store: Where = None, user: User = None, session: Talk = DEFAULT, as_json: Json = False
) -> None:
    """Show the user's sessions, messages a day, where a session's tokens go, and how much a prompt cache can reuse.

    Tokens are those of the contexts of the session's last questions, built again as they were.

    Example: recollect stats --session trip --budget 2000
    """
    with remembering(store, user, session) as chat, err.status("Counting"):
        found = _counted(chat, budget)
    if as_json:
        machine(found)
        return
    if not found["sessions"]:
        say(f"Nothing was said by {found['user']} yet. Tell something with: {again('add TEXT')}")
        return
    messages, tokens = counted(found["messages"], "message"), counted(found["tokens"], "token")
    say(f"{messages} of {found['user']}, {tokens}, {counted(len(found['sessions']), 'session')}")
    newest = found["sessions"][:SESSIONS]
    rows = [(f"{s['session']}\n{_fitted(s['title'])}", s["messages"], s["tokens"], day(s["last"])) for s in newest]
    table(("session", "messages", "tokens", "last"), rows, whole="session")
    _plot(f"Messages a day, the last {DAYS} days with any", dict(list(found["days"].items())[-DAYS:]))
    if not found["cached_prefix"]:
        none = f"No context of the session {session}: nothing was asked in it, or the budget is too small."
        say(f"\n{none} Name another with --session or --budget.")
    made = counted(len(found["cached_prefix"]), "context")
    _plot(f"Tokens by section, the mean of the last {made} of {session}", found["sections"])
    cached = {f"message {number}": round(100 * share) for number, share in found["cached_prefix"].items()}
    _plot("Per cent of each context that a prompt cache has from the one before", cached, 100)


def _counted(chat: Session, budget: int | None) -> dict[str, Any]:
    from recollect.session import titles

    log, contexts = chat.memory.store.log, _contexts(chat, budget)
    found = list(each_session(log, chat.scope.owner))
    called = titles(log, [session.scope for session in found])
    return {
        "user": chat.scope.user,
        "messages": sum(session.messages for session in found),
        "tokens": sum(session.tokens for session in found),
        "sessions": [_session(session, called[session.scope]) for session in found],
        "days": dict(sorted(Counter(_days(chat)).items())),
        "sections": _sections(list(contexts.values())),
        "cached_prefix": _cached(contexts),
    }


def _session(found: SessionStats, title: str) -> dict[str, Any]:
    return {
        "session": found.scope.session,
        "title": title,
        "messages": found.messages,
        "tokens": found.tokens,
        "first": found.first,
        "last": found.last,
    }


def _fitted(title: str) -> str:
    """The title as far as there is room for it beside the other columns; never narrower than a UUID."""
    shown = Text(printable(title))
    shown.truncate(max(UUID, out.width - OTHERS), overflow="ellipsis")
    return drawn(shown.plain)


def _days(chat: Session) -> Iterator[str]:
    after = 0
    while page := chat.memory.store.log.scan(chat.scope.owner, after=after, limit=PAGE):
        yield from (f"{in_local_zone(entry.message.at):%Y-%m-%d}" for entry in page if entry.message.at)
        after = page[-1].position


def _contexts(chat: Session, budget: int | None) -> dict[int, Context]:
    """The contexts of the session's last questions, by the number of the question, built again as they were."""
    entries = chat.memory.store.log.read(chat.scope, limit=QUESTIONS * LOOKED_AT, reverse=True)
    asked = [entry.seq for entry in entries if entry.message.role == "user"][:QUESTIONS]
    made = {}
    for number in reversed(asked):
        with suppress(BudgetTooSmall):
            made[number] = chat.replay(number, budget)
    return made


def _sections(contexts: Sequence[Context]) -> dict[str, int]:
    """The mean of each section's tokens."""
    spent = [context.receipt.sections for context in contexts]
    there = {name for sections in spent for name in sections}.difference(["free"])
    means = {name: round(fmean(s.get(name, 0) for s in spent)) for name in COLOURS if name in there}
    return {name: mean for name, mean in means.items() if mean}


def _cached(contexts: Mapping[int, Context]) -> dict[str, float]:
    """The share of each context that the one before it began with; 0 for the first."""
    before: Context | None = None
    shares = {}
    for number, context in contexts.items():
        shares[str(number)] = round(context.same_start(before.prompt), 3) if before else 0.0
        before = context
    return shares


def _plot(title: str, values: Mapping[str, int], most: int | None = None) -> None:
    """Print a bar for each value, in proportion to the largest or to `most`."""
    if not any(values.values()):
        return
    say(f"\n{title}", style="bold")
    top, wide = most or max(values.values()), max(map(len, values))
    room = max(min(WIDTH, out.width - wide - len(f"{max(values.values()):,}") - 2), 1)
    for name, value in values.items():
        bar = Text(drawn("\u2588") * round(room * value / top), COLOURS.get(name, "cyan"))
        out.print(Text(f"{name:<{wide}} ").append(bar).append(f" {value:,}"))
