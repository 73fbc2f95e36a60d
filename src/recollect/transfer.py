"""Conversations as lines of JSON, out of one store and into another: `{"user": …, "session": …, "message": {…}}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Final

from recollect.errors import InvalidTranscript
from recollect.imports.recollect import told
from recollect.memory import Memory
from recollect.types import Message, Scope

PAGE: Final = 500


def export_lines(memory: Memory, scope: Scope) -> Iterator[str]:
    """Every message in the scope as a line of JSON, in the order they came."""
    after = 0
    while page := memory.store.log.scan(scope, after=after, limit=PAGE):
        for entry in page:
            line = {"user": entry.scope.user, "session": entry.scope.session, "message": entry.message.to_dict()}
            yield json.dumps(line) + "\n"
        after = page[-1].position


def import_lines(memory: Memory, lines: Iterable[str | bytes], tenant: str = "default", first: int = 1) -> int:
    """How many messages were taken in, ids and times kept; taking a line in twice changes nothing.

    A line that can't be used raises InvalidTranscript with its number, counted from `first`; those of the pages of 500
    before it are kept.
    """
    taken, numbered = 0, enumerate(lines, first)
    while page := list(islice(numbered, PAGE)):
        heard = [_told(line, number) for number, line in page if line.strip()]
        for (user, session), group in groupby(heard, key=lambda item: item[:2]):
            batch = [message for *_, message in group]
            memory.session(session, user=user, tenant=tenant).add_many(batch)
            taken += len(batch)
    return taken


def _told(line: str | bytes, number: int) -> tuple[str, str, Message]:
    try:
        return told(json.loads(line))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTranscript(
            f"{error}; correct it and import again: what is in already stays once", f"line {number}"
        ) from error
