"""How far a layer has read a session: a mark that moves in the same transaction as what was learned up to it."""

from __future__ import annotations

from typing import Final

from recollect.store import Record, Store
from recollect.types import Scope

KIND: Final = "mark"


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
