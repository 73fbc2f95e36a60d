"""`recollect retention`: shows what a layer has kept long enough, asks, and erases it for good."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from recollect.cli.shell import Json, User, Where, Yes, given, remembering
from recollect.cli.terminal import answer, confirm, counted, day, listed, note
from recollect.errors import ConfigError
from recollect.flow.retain import LAYERS, Layer
from recollect.types import Scope


def retention(
    called: typer.Context,
    layer: Annotated[Layer, typer.Argument(help=f"Where to erase: {', '.join(LAYERS)}.", show_default=False)],
    *,
    days: Annotated[
        float | None, typer.Option(min=0, help="Erase what is older than this many days.", show_default=False)
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=0, help="Keep this many of each user's newest, erase the rest.", show_default=False),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(min=0, help="Erase sessions in which nothing was said for this many days.", show_default=False),
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="All users of the store.")] = False,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would go, and stop.")] = False,
    yes: Yes = False,
    store: Where = None,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Erase what a layer has kept long enough. It shows what would go, with all that goes along, and asks first.

    Example: recollect retention messages --days 365 --preview

    Example: recollect retention tools --count 100 --everyone --yes
    """
    from recollect import retention as kept

    with remembering(store, user, finds=False, known=not everyone) as chat:
        if everyone and given(called, "user"):
            raise ConfigError("--everyone means all users: leave out either it or --user; nothing was erased")
        memory, scope = chat.memory, Scope(chat.scope.tenant, None if everyone else chat.scope.user)
        plan = kept.preview(memory.store, scope, [kept.Policy(layer, days, count, idle)], memory.clock())
        if preview:
            rows = [(one.layer, one.count, day(one.oldest)) for one in plan.going]
            value = [dataclasses.asdict(one) for one in plan.going]
            listed(as_json, value, ("layer", "would go", "oldest"), rows, "Nothing would go.")
            return
        if not yes and plan.going:
            for going in plan.going:
                note(f"{going.layer}: {going.count:,}, the oldest of {day(going.oldest)}")
            confirm("Erase this for good?")
        erased = kept.apply(memory.store, plan)
    others = counted(erased.records, "thing")
    gone = f"Gone for good: {counted(erased.messages, 'message')}, and {others} kept with them."
    answer(as_json, dataclasses.asdict(erased), gone if plan.going else "There was nothing to erase.")
