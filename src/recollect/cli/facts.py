"""`recollect facts`."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Annotated

import typer

from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, day, machine, moment, remembering, say, table


def facts(
    as_of: Annotated[
        datetime | None, typer.Option("--as-of", parser=moment, help="As it was known then.", show_default="now")
    ] = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show what the user said of themselves, each with when and how sure.

    Example: recollect facts

    Example: recollect facts --as-of 2026-01-31 --user ada
    """
    with remembering(store, user, session, finds=False) as chat:
        known = chat.facts(as_of)
    if as_json:
        machine([dataclasses.asdict(fact) for fact in known])
    elif known:
        rows = [(f.type, f.key, f.value, f"{f.confidence:.2f}", day(f.updated_at), f.session) for f in known]
        table(("type", "what", "value", "sure", "last said", "session"), rows, whole="what")
    else:
        say(f"Nothing is known of {chat.scope.user} yet. Tell something with: recollect add TEXT")
