"""`recollect remember`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.answers import FactType
from recollect.arguments import meant
from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, again, remembering, telling_errors, words
from recollect.cli.terminal import answer
from recollect.errors import NotFound

if TYPE_CHECKING:
    from recollect.session import Session


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
