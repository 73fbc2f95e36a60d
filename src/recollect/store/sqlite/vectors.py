"""Vectors in their table: keeping, reading and removing them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store import checks, codec
from recollect.store.sqlite import scopes
from recollect.store.sqlite.rows import floats
from recollect.store.sqlite.scopes import Place
from recollect.store.values import MESSAGE
from recollect.store.vectors import Vector, check_length, unit
from recollect.types import Scope

_MODEL: Final = "SELECT id, size FROM model WHERE tenant = ? AND name = ?"
_USED_MODEL: Final = " ".join((_MODEL, "AND EXISTS (SELECT 1 FROM vector WHERE vector.model = model.id)"))
_OWNED: Final = (
    "SELECT owner.id, model.id, owner.changes, epoch,"
    " (SELECT max(id) FROM vector WHERE vector.owner = owner.id AND vector.model = model.id),"
    " asked.id, asked.tenant_id, size FROM counter CROSS JOIN scope AS asked"
    " JOIN model ON model.tenant = asked.tenant_id JOIN scope AS owner ON <owner>"
    " WHERE asked.tenant = ? AND asked.user = ? AND asked.session = ? AND model.name = ?"
)
_BY_OWNER: Final = _OWNED.replace("<owner>", "owner.id = asked.user_id")
_BY_TENANT: Final = _OWNED.replace("<owner>", "owner.tenant_id = asked.id AND owner.user_id = owner.id")
_FIND: Final = {
    True: "SELECT position, at, role FROM message WHERE id = ?2 AND session = ?1 AND ?3 = 'message'",
    False: "SELECT position, at, role FROM item WHERE scope = ?1 AND kind = ?3 AND id = ?2",
}
_PUT: Final = (
    "INSERT INTO vector (owner, model, position, scope, kind, at, role, check_sum, data)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_EMBEDDED: Final = scopes.by_scope(
    "SELECT position, data FROM vector WHERE scope <scope> AND model = ?2 AND position > ?3 ORDER BY position LIMIT ?4"
)
_REMOVE: Final = "DELETE FROM vector WHERE position IN (SELECT value FROM json_each(?)) RETURNING owner"
_AT_POSITIONS: Final = (
    "SELECT position, data FROM vector WHERE model = ? AND position IN (SELECT value FROM json_each(?))"
)


class Model(NamedTuple):
    """The row of a model, and the length of its vectors."""

    id: int
    size: int


class Owned(NamedTuple):
    """One owner's vectors of a model, as a connection sees them; `last` is the id of the last one.

    While `changes` and `epoch` stay the same, no vector has been removed or replaced.
    """

    owner: int
    model: int
    changes: int
    epoch: int
    last: int | None


def find_model(db: apsw.Connection, tenant: int, name: str) -> Model | None:
    """The model, if it has vectors."""
    row = db.execute(_USED_MODEL, (tenant, checks.askable(name))).fetchone()
    return None if row is None else Model(*row)


def find_vectors(db: apsw.Connection, scope: Scope, model: str, size: int, *, exact: bool) -> tuple[int, list[Owned]]:
    """The scope's row, and the vectors of each owner in the scope; ConfigError if their length is not `size`."""
    query = _BY_TENANT if scope.user is None and not exact else _BY_OWNER
    names = (scope.tenant, scope.user or "", scope.session or "", checks.askable(model))
    rows: list[Any] = db.execute(query, names).fetchall()
    if not rows:
        return 0, []
    *_, place, tenant, length = rows[0]
    if length != size:
        if find_model(db, tenant, model) is None:
            return place, []
        check_length(model, length, size)
    return place, [Owned(*row[:5]) for row in rows]


def make_model(db: apsw.Connection, tenant: int, name: str, size: int) -> int:
    """The row of the model, made if it is missing; ConfigError if the model has vectors of another length."""
    row = db.execute(_MODEL, (tenant, name)).fetchone()
    if row is None:
        db.execute("INSERT INTO model (tenant, name, size) VALUES (?, ?, ?)", (tenant, name, size))
        return db.last_insert_rowid()
    model = Model(*row)
    if model.size != size:
        if find_model(db, tenant, name) is not None:
            check_length(name, model.size, size)
        db.execute("UPDATE model SET size = ? WHERE id = ?", (size, model.id))
    return model.id


def put_vector(
    db: apsw.Connection, place: Place, model: int, thing: tuple[int, int | None, str | None, str], row: Vector
) -> None:
    """Keep the vector of a `thing`, which is (position, at, role, kind); it replaces the model's earlier one."""
    position, at, role, kind = thing
    db.execute("DELETE FROM vector WHERE position = ? AND model = ?", (position, model))
    if db.changes():
        changed(db, place.user)
    data = row.tobytes()
    db.execute(_PUT, (place.user, model, position, place.id, kind, at, role, codec.check_sum(data), data))


def find_thing(db: apsw.Connection, place: Place, kind: str, id: str) -> tuple[int, int | None, str | None] | None:
    """The position, time and role of a message or item at exactly that scope."""
    asked = (place.id, id, checks.askable(kind))
    found: tuple[int, int | None, str | None] | None = db.execute(_FIND[kind == MESSAGE], asked).fetchone()
    return found


def remove_vectors(db: apsw.Connection, positions: Sequence[int]) -> None:
    """Remove the vectors at these positions."""
    for owner in {row[0] for row in db.execute(_REMOVE, (json.dumps(positions),))}:
        changed(db, owner)


def changed(db: apsw.Connection, owner: int) -> None:
    """Make every process reload an owner's vectors, because some were replaced or removed."""
    db.execute("UPDATE scope SET changes = changes + 1 WHERE id = ?", (owner,))


def embedded(db: apsw.Connection, place: Place, model: Model, after: int, limit: int) -> dict[int, NDArray[np.float32]]:
    """At most `limit` unit vectors of a model in the scope, from after position `after`, by position."""
    return _directions(db.execute(_EMBEDDED[place.level()], (place.id, model.id, after, limit)), model.size)


def vectors_at(db: apsw.Connection, model: Model, positions: Sequence[int]) -> dict[int, NDArray[np.float32]]:
    """The unit vectors of a model at these positions, by position."""
    return _directions(db.execute(_AT_POSITIONS, (model.id, json.dumps(positions))), model.size)


def _directions(rows: Iterable[Any], size: int) -> dict[int, NDArray[np.float32]]:
    return {position: unit(floats(data, size)) for position, data in rows}
