"""Ids as keys of rows, for ids of any length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Any, Final, NamedTuple

from recollect.errors import StoreError
from recollect.recent import remembered
from recollect.store import checks, codec
from recollect.types import Scope

LONGEST: Final = 256
"""Bytes of the longest id that is its own key, because an index row of PostgreSQL can't have more than 2,700 in all."""

_HASHED: Final = "\x01"


def key(id: str) -> str:
    """The id itself, or its hash if it is long or could be mistaken for a hash."""
    if id[:1] != _HASHED and (4 * len(id) <= LONGEST or len(id.encode()) <= LONGEST):
        return id
    return _HASHED + sha256(id.encode()).hexdigest()


def keys(ids: Sequence[str]) -> list[str]:
    """The keys of these ids, without invalid ones."""
    return [key(id) for id in checks.each_once(ids) if checks.storable(id)]


def known_key(id: str | None) -> str | None:
    """The key of an id; None for None and for an invalid id."""
    return key(id) if id is not None and checks.storable(id) else None


def names(*ids: str | None) -> bytes | None:
    """The ids behind the keys of a row, as bytes; None if each key is the id itself."""
    if all(id is None or key(id) == id for id in ids):
        return None
    return codec.to_bytes(ids)


class Place(NamedTuple):
    """A scope as the first three columns of each table."""

    tenant: str
    owner: str
    session: str


def place(scope: Scope) -> Place:
    """The keys of a scope."""
    return Place(key(scope.tenant), key(scope.user or ""), key(scope.session or ""))


@remembered(1_000)
def named(tenant: str, user: str | None, session: str | None) -> Scope:
    """The scope of a row, from its names."""
    return Scope(tenant, user or None, session or None)


def told(full: bytes | None, *row: str) -> tuple[Scope, list[str]]:
    """Whose a row is, and its other ids, from its names and keys; where its names are damaged, by the keys alone."""
    try:
        tenant, owner, session, *ids = codec.from_bytes(full) if full else row
        return named(tenant, owner, session), ids
    except (StoreError, *codec.DAMAGE):
        return named(*row[:3]), [*row[3:]]


def inside(scope: Scope, table: str, exact: bool = False) -> tuple[str, dict[str, Any]]:
    """The condition, with its parameters, that every query in a scope starts with."""
    at = place(scope)
    condition, known = f"{table}.tenant = %(tenant)s", {"tenant": at.tenant}
    if exact or scope.user is not None:
        condition, known["owner"] = f"{condition} AND {table}.owner = %(owner)s", at.owner
    if exact or scope.session is not None:
        condition, known["session"] = f"{condition} AND {table}.session = %(session)s", at.session
    return condition, dict(known)


def number(*texts: str) -> int:
    """A 64-bit hash of these texts, for locks and for sets of values."""
    joined = json.dumps(texts) if any("\x00" in text for text in texts) else "\x00".join(texts)
    data = joined.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)
