"""Options that narrow what is shown or found: by role, time and tags."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

import typer

from recollect.cli.shell import moment
from recollect.store import Filter

Roles: TypeAlias = Annotated[
    list[str] | None, typer.Option("--role", help="Only what one of these said: user, assistant, tool, system.")
]
Since: TypeAlias = Annotated[
    datetime | None,
    typer.Option("--since", parser=moment, help="Only from then on; your local time if no zone is given."),
]
Until: TypeAlias = Annotated[datetime | None, typer.Option("--until", parser=moment, help="Only before then.")]
Tags: TypeAlias = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag, like important=true.")]


def narrowed(
    roles: Sequence[str] | None, since: datetime | None, until: datetime | None, tags: Sequence[str] | None
) -> Filter:
    """The filter that the options ask for."""
    return Filter(since=since, before=until, roles=tuple(roles or ()), metadata=dict(map(tag_of, tags or ())))


def tag_of(text: str) -> tuple[str, Any]:
    """The name and the value of a tag like score=9; the value is read as JSON, or else as text."""
    name, parted, value = text.partition("=")
    if not (name and parted):
        raise typer.BadParameter(f"{text!r} is not a tag: write it like score=9 or topic=travel")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
