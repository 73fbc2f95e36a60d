"""Items in their table: putting and removing them, and reading items and messages by position."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import apsw

from recollect.store import codec
from recollect.store.sqlite import scopes
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.keywords import remove_words
from recollect.store.sqlite.vectors import remove_vectors
from recollect.store.values import MESSAGE, Item, item_of, tagged
from recollect.types import Scope

_PUT: Final = "INSERT INTO item (position, scope, kind, id, at, role, check_sum, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_SOURCE: Final = "INSERT OR IGNORE INTO source (message, scope, position) VALUES (?, ?, ?)"
_ROWS: Final = (
    "SELECT position, kind, item.id, body, scope.id, user_id, tenant_id FROM json_each(?) AS gone"
    " CROSS JOIN item ON item.position = gone.value CROSS JOIN scope ON scope.id = item.scope"
)
_REMOVE: Final = "DELETE FROM item WHERE position IN (SELECT value FROM json_each(?))"
_REMOVE_SOURCES: Final = "DELETE FROM source WHERE position IN (SELECT value FROM json_each(?))"
_AT: Final = (
    "SELECT wanted.value, coalesce(kind, 'message'), coalesce(item.id, message.id),"
    " tenant, user, scope.session<fields> FROM json_each(?) AS wanted"
    " LEFT JOIN message ON message.position = wanted.value"
    " LEFT JOIN item ON message.position IS NULL AND item.position = wanted.value"
    " CROSS JOIN scope ON scope.id = coalesce(message.session, item.scope)"
)
_NAMES: Final = _AT.replace("<fields>", "")
_WHOLE: Final = _AT.replace("<fields>", ", coalesce(item.body, message.body), item.check_sum, tags")
_BARE: Final = _AT.replace("<fields>", ", coalesce(item.at, message.at), coalesce(item.role, message.role)")


def put_item(change: Change, place: scopes.Place, item: Item, body: bytes) -> None:
    """Keep an item; it replaces one with the same scope, kind and id."""
    known = change.db.execute(
        "SELECT position FROM item WHERE scope = ? AND kind = ? AND id = ?", (place.id, item.kind, item.id)
    ).fetchone()
    if known is not None:
        remove_items(change, {known[0]})
    position = change.next()
    at = None if item.at is None else codec.micros(item.at)
    row = (position, place.id, item.kind, item.id, at, item.role, codec.check_sum(body), body)
    change.db.execute(_PUT, row)
    add_sources(change.db, item.sources, place.id, position)


def add_sources(db: apsw.Connection, sources: Iterable[str], scope: int, position: int) -> None:
    """Keep which messages a record or item came from."""
    for source in sources:
        db.execute(_SOURCE, (source, scope, position))


def remove_items(change: Change, positions: set[int]) -> int:
    """Remove the items at these positions; returns how many there were."""
    gone = list[int]()
    for position, kind, id, body, *place in change.db.execute(_ROWS, (json.dumps([*positions]),)):
        remove_words(change, position, scopes.Place(*place), kind, id, body)
        gone.append(position)
    remove_vectors(change.db, gone)
    change.db.execute(_REMOVE, (json.dumps(gone),))
    remove_sources(change.db, gone)
    return len(gone)


def remove_sources(db: apsw.Connection, positions: list[int]) -> None:
    """Remove what is kept about which messages these records or items came from."""
    db.execute(_REMOVE_SOURCES, (json.dumps(positions),))


def items_at(db: apsw.Connection, positions: list[int]) -> dict[int, Item]:
    """The items at these positions, including messages."""
    return {row[0]: _item(row) for row in _rows_at(db, positions, _WHOLE)}


def names_at(db: apsw.Connection, positions: list[int]) -> dict[int, tuple[Scope, str, str]]:
    """The scope, kind and id of the item at each of these positions."""
    return {
        position: (scopes.named(tenant, user, session), kind, id)
        for position, kind, id, tenant, user, session in _rows_at(db, positions, _NAMES)
    }


def bare_items_at(db: apsw.Connection, positions: list[int]) -> dict[int, Item]:
    """The items at these positions without text and metadata, which is faster."""
    return {row[0]: _bare(row) for row in _rows_at(db, positions, _BARE)}


def _rows_at(db: apsw.Connection, positions: list[int], query: str) -> Iterator[Any]:
    return db.execute(query, (str(positions),)) if positions else iter(())


def _bare(row: Sequence[Any]) -> Item:
    position, kind, id, *names, at, role = row
    time = None if at is None else codec.from_micros(at)
    return Item(kind, id, at=time, role=role, scope=scopes.named(*names), position=position)


def _item(row: Sequence[Any]) -> Item:
    position, kind, id, *names, body, sum, tags = row
    scope = scopes.named(*names)
    if kind == MESSAGE:
        message = codec.decode(id, body)
        return item_of(tagged(message, codec.unsealed(tags)) if tags else message, scope, position)
    codec.check_whole(f"item {id!r}", sum, body)
    return codec.decode_item(body, kind=kind, id=id, scope=scope, position=position)
