"""How far a layer has read a session, and that what it read is still there: both in the transaction that learns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from recollect.store import Record, Store
from recollect.types import Scope

KIND: Final = "mark"


class Gone(Exception):
    """A message was erased while it was learned from."""


def read_to(store: Store, scope: Scope, layer: str) -> int:
    """The number of the last message the layer has learned from; 0 where it has read none."""
    marks = store.records.find(scope, kind=KIND, key=layer, exact=True)
    return max((int(mark.value) for mark in marks), default=0)


def set_read_to(store: Store, scope: Scope, layer: str, seq: int) -> None:
    """Move the mark; call it inside the transaction that keeps what was learned."""
    old = store.records.find(scope, kind=KIND, key=layer, exact=True)
    if old:
        store.records.supersede(scope, old[-1].id, Record(KIND, layer, seq))
    else:
        store.records.put(scope, [Record(KIND, layer, seq)])


def check_there(store: Store, scope: Scope, ids: Iterable[str]) -> None:
    """Raise Gone where one of these messages is no longer there; call it after what was learned was put.

    The transaction is undone by that, and no erasure can come between the two.
    """
    wanted = set(ids)
    there = {entry.message.id for entry in store.log.get(scope, sorted(wanted))}
    if not wanted <= there:
        raise Gone("a message was erased while it was learned from")
