"""Rows of the index as values, and which of them a search may find."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from recollect.store import codec
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.keys import inside, key, keys, named, names, number, place
from recollect.store.postgres.lexemes import pieces
from recollect.store.values import MESSAGE, Filter, Item, item_of, tagged
from recollect.types import Scope

COLUMNS: Final = (
    " items.owner, items.session, items.kind, items.id, items.position, items.names, items.body,"
    " messages.body, messages.tags"
)
SOURCE: Final = (
    " FROM recollect.items LEFT JOIN recollect.messages ON items.kind = 'message'"
    " AND messages.tenant = items.tenant AND messages.owner = items.owner AND messages.session = items.session"
    " AND messages.id = items.id WHERE "
)
# One by one, by their key: without statistics of the table, the planner might read all of the tenant's items.
BY_POSITION: Final = """CROSS JOIN LATERAL (
    SELECT * FROM recollect.items WHERE items.tenant = %(tenant)s AND items.position = found.position OFFSET 0
) AS items"""
"""The items at the positions in `found`."""
INTO_ITEMS: Final = """
INSERT INTO recollect.items
    (tenant, owner, session, kind, id, position, at, role, tags, sources, length, wordless, body, names)
"""
_PUT_WORDS: Final = """
INSERT INTO recollect.words (tenant, position, piece, words)
SELECT %s, position, piece, words::tsvector
FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS new (position, piece, words)
"""
_WITH_ITEMS: Final = """
WITH items AS (<into items>
SELECT %s, %s, %s, kind, id, position, at, role, tags::bigint[],
    ARRAY(SELECT jsonb_array_elements_text(sources::jsonb)), length, wordless, body, names
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::integer[],
    %s::boolean[], %s::bytea[], %s::bytea[])
    AS new (kind, id, position, at, role, tags, sources, length, wordless, body, names)
)
""".replace("<into items>", INTO_ITEMS)
_PUT: Final = " ".join((_WITH_ITEMS, _PUT_WORDS))


class Prepared(NamedTuple):
    """An item with its words and its body; a message has no body here, since the log keeps it."""

    item: Item
    words: Sequence[str]
    body: bytes | None = None


def insert(db: Connection, scope: Scope, prepared: Sequence[Prepared]) -> None:
    """Put items with their positions into the index."""
    columns = map(list, zip(*(_row(one) for one in prepared), strict=True))
    words = {one.item.position: pieces(place(scope), one.words) for one in prepared}
    db.later(_PUT, (*place(scope), *columns, *_words(scope.tenant, words)))


def insert_words(db: Connection, tenant: str, texts: Mapping[int, Sequence[str]], start: int = 0) -> None:
    """Make positions findable by the words in these tsvectors; those of each position are numbered from `start` on."""
    db.later(_PUT_WORDS, _words(tenant, texts, start))


def _words(tenant: str, texts: Mapping[int, Sequence[str]], start: int = 0) -> tuple[Any, ...]:
    flat = [(position, piece, text) for position, found in texts.items() for piece, text in enumerate(found, start)]
    return key(tenant), *(list(column) for column in (zip(*flat, strict=True) if flat else ((), (), ())))


def _row(prepared: Prepared) -> tuple[Any, ...]:
    item = prepared.item
    assert item.scope is not None
    full = names(item.scope.tenant, item.scope.user, item.scope.session, item.kind, item.id)
    return (key(item.kind), key(item.id), *shown(item, len(prepared.words)), prepared.body, full)


def shown(item: Item, length: int) -> tuple[Any, ...]:
    """Position, time, role, tags, sources, number of words and whether it has no text: what an item is found by."""
    sources = json.dumps(keys(item.sources))
    return item.position, _micros(item.at), item.role, tag_text(item.metadata), sources, length, not item.text


def item_from(tenant: str, row: Sequence[Any]) -> Item:
    """The item of a row of `COLUMNS`."""
    *found, position, full, body, message, tags = row
    where, kind, id = spelled(tenant, found, full)
    if kind == MESSAGE:
        decoded = codec.decode(id, message or b"")
        return item_of(tagged(decoded, codec.from_bytes(tags)) if tags else decoded, where, position)
    return codec.decode_item(body, kind=kind, id=id, scope=where, position=position)


def spelled(tenant: str, found: Sequence[str], full: bytes | None) -> tuple[Scope, str, str]:
    """The scope, kind and id of a row by its keys, or by its names where it has any."""
    tenant, owner, session, kind, id = codec.from_bytes(full) if full else (tenant, *found)
    return named(tenant, owner, session), kind, id


def passing(scope: Scope, where: Filter) -> tuple[str, dict[str, Any]]:
    """The condition, with its parameters, for items in the scope that pass the filter."""
    condition, known = inside(scope, "items", where.exact)
    more = {
        "items.kind = ANY(%(kinds)s)": ("kinds", keys(where.kinds) or None),
        "items.position <= %(as_of)s": ("as_of", where.as_of),
        "items.role = ANY(%(roles)s)": ("roles", list(where.roles) or None),
        "items.at >= %(since)s": ("since", _micros(where.since)),
        "items.at < %(before)s": ("before", _micros(where.before)),
        "items.tags @> %(tags)s::bigint[]": ("tags", tags(where.metadata) or None),
    }
    used = {clause: pair for clause, pair in more.items() if pair[1] is not None}
    return " AND ".join((condition, *used)), known | dict(used.values())


def tags(metadata: Mapping[str, Any]) -> list[int]:
    """A number for each key of metadata with its value, as far as filters can ask for it: scalars."""
    return [
        number("tag", name, _canonical(value))
        for name, value in metadata.items()
        if value is None or isinstance(value, str | bool | int | float)
    ]


def tag_text(metadata: Mapping[str, Any]) -> str:
    """The same numbers as the text of an array."""
    return "{" + ",".join(map(str, tags(metadata))) + "}"


def _canonical(value: str | bool | float | None) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if value is None or isinstance(value, bool):
        return f"{value}"
    return hex(int(value)) if isinstance(value, int) or value.is_integer() else value.hex()


def _micros(when: datetime | None) -> int | None:
    return None if when is None else codec.micros(when)
