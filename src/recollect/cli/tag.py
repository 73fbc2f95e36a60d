"""`recollect tag`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from recollect.cli.narrow import tag_of
from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, remembering, unknown
from recollect.cli.terminal import answer
from recollect.errors import NotFound


def tag(
    id: Annotated[str, typer.Argument(help="The id of a message, as `history` shows it.")],
    tags: Annotated[
        list[str], typer.Argument(help="Names with values, like score=9; null as the value takes a tag off.")
    ],
    *,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Set tags on a message: a turn that scores below 7 of 10 is not recalled, pinned=true stays in every prompt.

    Example: recollect tag 4f1c2a score=9 topic=travel --session trip

    Example: recollect tag 4f1c2a pinned=true --session trip
    """
    given = dict(map(tag_of, tags))
    with remembering(store, user, session, finds=False) as chat:
        try:
            tagged = chat.tag(id, **given)
        except NotFound:
            raise unknown(chat, id) from None
    told = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items())
    answer(as_json, tagged.to_dict(), f"Tagged: {told}")
