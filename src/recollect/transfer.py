"""Export and import: everything that was put into a memory as lines of JSON, from one store to another.

`{"user": …, "session": …, "message": {…}}`, and `document`, `fact`, `excerpt`, `record` or `item` in its place.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from recollect.errors import Conflict, InvalidTranscript, NotFound
from recollect.imports.recollect import parsed
from recollect.imports.values import Put
from recollect.layers import archive
from recollect.memory import Memory
from recollect.store import Entry, Record
from recollect.types import Message, Scope

PAGE: Final = 500
AGAIN: Final = "correct it and import again: what is in already stays once"
Placed = TypeVar("Placed", Entry, Record)
Parsed: TypeAlias = tuple[str, str, Message] | Put
"""What a line says: the user, the session and the message, or what else is put in."""
Place: TypeAlias = tuple[str, str, bool]


def exported(memory: Memory, scope: Scope) -> Iterator[tuple[str, str]]:
    """Everything that was put in at the scope, each as its kind and a line of JSON, in the order it came."""
    store, kinds = memory.store, dict[str, None]()
    placed: list[Iterator[Entry | Record]] = [
        _paged(lambda after: store.log.scan(scope, after=after, limit=PAGE)),
        _paged(lambda after: store.records.find(scope, after=after, limit=PAGE)),
    ]
    for one in heapq.merge(*placed, key=attrgetter("position")):
        if isinstance(one, Entry):
            yield "message", _line(one.scope, "message", one.message.to_dict())
        elif found := archive.exported(memory.layers, one):
            yield found[0], _line(one.scope or scope, *found)
            if found[0] == "record":
                kinds[one.kind] = None
    for where, item in archive.items(memory.layers, scope, kinds):
        yield "item", _line(where, "item", item)


def export_lines(memory: Memory, scope: Scope) -> Iterator[str]:
    """Everything that was put in at the scope as lines of JSON."""
    return (line for _, line in exported(memory, scope))


def import_lines(memory: Memory, lines: Iterable[str | bytes], tenant: str = "default", first: int = 1) -> Counter[str]:
    """How much was taken in, by kind, ids and times kept; taking a line in twice changes nothing.

    A line that can't be used raises an error with its number, counted from `first`; those of the pages of 500 before it
    are kept, and maybe some of its own.
    """
    taken, numbered = Counter[str](), enumerate(lines, first)
    while page := list(islice(numbered, PAGE)):
        found = [(number, _parsed(line, number)) for number, line in page if line.strip()]
        for place, group in groupby(found, key=lambda one: _place(one[1])):
            taken += _taken(memory, tenant, place, list(group))
        memory.wake()
    return taken


def _taken(memory: Memory, tenant: str, place: Place, found: Sequence[tuple[int, Parsed]]) -> Counter[str]:
    """How much was taken in, by kind, of what is kept together: either messages or other things."""
    user, session, alone = place
    if messages := [thing[2] for _, thing in found if not isinstance(thing, Put)]:
        memory.session(session, user=user, tenant=tenant).add_many(messages)
        return Counter(message=len(messages))
    things = [(number, thing) for number, thing in found if isinstance(thing, Put)]
    with nullcontext() if alone else memory.store.transaction(Scope(tenant, user)):
        for number, thing in things:
            _keep(memory, thing, tenant, number)
    return Counter(thing.kind for _, thing in things)


def _place(thing: Parsed) -> Place:
    """What is kept together: messages of one session, other things of one user; documents are kept alone."""
    return (thing.user, "", thing.kind == "document") if isinstance(thing, Put) else (*thing[:2], False)


def _paged(read: Callable[[int], list[Placed]]) -> Iterator[Placed]:
    after = 0
    while page := read(after):
        yield from page
        after = page[-1].position


def _line(scope: Scope, kind: str, body: Mapping[str, Any]) -> str:
    where = {"user": scope.user} | ({"session": scope.session} if scope.session else {})
    return json.dumps({**where, kind: body}) + "\n"


def _parsed(line: str | bytes, number: int) -> Parsed:
    try:
        return parsed(json.loads(line))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTranscript(f"{error}; {AGAIN}", f"line {number}") from error


def _keep(memory: Memory, thing: Put, tenant: str, number: int) -> None:
    try:
        archive.keep(memory.layers, Scope(tenant, thing.user, thing.session), thing.kind, thing.body)
    except InvalidTranscript as error:
        raise InvalidTranscript(f"{error}; {AGAIN}", f"line {number}") from error
    except (Conflict, NotFound) as error:
        raise type(error)(f"line {number}: {error}") from error
