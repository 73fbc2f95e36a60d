"""Export and import: everything that was put into a memory, as lines of JSON that another store can read.

A line is `{"user": …, "session": …, "message": {…}}`, or has a `document`, `fact`, `excerpt`, `record` or `item`
instead of the message.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

from recollect.backfill import keep_messages, keep_things, together
from recollect.errors import InvalidTranscript
from recollect.imports import Imported, Put, joined
from recollect.imports.recollect import parsed
from recollect.layers import archive
from recollect.memory import Memory
from recollect.store import Entry, Record
from recollect.types import Scope

PAGE: Final = 500
AGAIN: Final = "correct it and import again: what is in already stays once"
Placed = TypeVar("Placed", Entry, Record)


def exported(memory: Memory, scope: Scope) -> Iterator[tuple[str, str]]:
    """Everything that was put in at the scope, in that order: for each thing its kind and its line of JSON."""
    store, kinds, told = memory.store, dict[str, None](), set[tuple[Scope | None, str, str]]()
    placed: list[Iterator[Entry | Record]] = [
        _paged(lambda after: store.log.scan(scope, after=after, limit=PAGE)),
        _paged(lambda after: store.records.find(scope, after=after, limit=PAGE)),
    ]
    for one in heapq.merge(*placed, key=attrgetter("position")):
        if isinstance(one, Entry):
            yield "message", _line(one.scope, "message", one.message.to_dict())
        elif found := archive.exported(memory.layers, one):
            kind, body = found
            own = one.scope, one.kind, one.key if kind == "document" else one.id
            if own not in told:  # else it was replaced meanwhile, and its line stands
                told.add(own)
                yield kind, _line(one.scope or scope, kind, body)
            if kind == "record":
                kinds[one.kind] = None
    for where, item in archive.items(memory.layers, scope, kinds):
        yield "item", _line(where, "item", item)


def export_lines(memory: Memory, scope: Scope) -> Iterator[str]:
    """Everything that was put in at the scope, as lines of JSON."""
    return (line for _, line in exported(memory, scope))


def import_lines(memory: Memory, lines: Iterable[str | bytes], tenant: str = "default", first: int = 1) -> Counter[str]:
    """Keep what the lines of an export hold, with ids and times; returns how much is new, by kind, and "known".

    Importing twice changes nothing: a message that is there already stays as it is, and only gets tags it never had.

    A line that can't be used raises an error with its number, counted from `first`. Lines are kept in pages of 500:
    the pages before that line stay, and perhaps some lines of its own page.
    """
    taken, numbered = Counter[str](), enumerate(lines, first)
    while page := list(islice(numbered, PAGE)):
        found = [_parsed(line, number) for number, line in page if line.strip()]
        for item in together(joined(found)):
            if isinstance(item, list):
                taken += keep_things(memory, item, None, tenant, _refuse)
            elif isinstance(item, Imported):
                chat = memory.session(item.session, user=item.user or "", tenant=tenant)
                new = keep_messages(chat, item.messages)
                taken += Counter(message=new, known=len(item.messages) - new)
    return taken


def _paged(read: Callable[[int], list[Placed]]) -> Iterator[Placed]:
    after = 0
    while page := read(after):
        yield from page
        after = page[-1].position


def _line(scope: Scope, kind: str, body: Mapping[str, Any]) -> str:
    where = {"user": scope.user} | ({"session": scope.session} if scope.session else {})
    return json.dumps({**where, kind: body}) + "\n"


def _parsed(line: str | bytes, number: int) -> Imported | Put:
    where = f"line {number}"
    try:
        found = parsed(json.loads(line))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTranscript(f"{error}; {AGAIN}", where) from error
    return replace(found, where=where) if isinstance(found, Put) else found


def _refuse(thing: Put, error: Exception) -> None:
    if isinstance(error, InvalidTranscript):
        raise InvalidTranscript(f"{error}; {AGAIN}", thing.where) from error
    raise type(error)(f"{thing.where}: {error}") from error
