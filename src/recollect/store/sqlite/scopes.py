"""Scopes as numbers, and the only place where a scope becomes part of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import apsw

from recollect.errors import ConfigError
from recollect.recent import remembered
from recollect.store import codec
from recollect.types import Scope


class Place(NamedTuple):
    """The row of a scope, and the rows of its user and tenant."""

    id: int
    user: int
    tenant: int

    def level(self, exact: bool = False) -> str:
        """The key of the query from `by_scope` that covers this scope."""
        if exact or self.id != self.user:
            return "exact"
        return "tenant" if self.id == self.tenant else "user"


NOWHERE: Final = Place(0, 0, 0)
"""The place of a scope in which nothing was ever put. No row has that number, so every query finds nothing."""

_INSIDE: Final = {
    "exact": "= ?1",
    "user": "IN (SELECT id FROM scope WHERE user_id = ?1)",
    "tenant": "IN (SELECT id FROM scope WHERE tenant_id = ?1)",
}

_AT: Final = {"exact": "scope.id = ?1", "user": "scope.user_id = ?1", "tenant": "scope.tenant_id = ?1"}

_FIND: Final = "SELECT id, user_id, tenant_id FROM scope WHERE tenant = ? AND user = ? AND session = ?"


def by_scope(query: str) -> Mapping[str, str]:
    """A query for each level of scope: `<scope>` is replaced by the condition, with the scope's row as parameter ?1.

    `<in scope>` is replaced by the same condition on the columns of the table scope, for queries that join it.
    """
    return {
        level: query.replace("<scope>", condition).replace("<in scope>", _AT[level])
        for level, condition in _INSIDE.items()
    }


def find(db: apsw.Connection, scope: Scope) -> Place:
    """The scope's rows; NOWHERE if nothing was ever put there or inside."""
    known: dict[Scope, Place] | None = getattr(db, "places", None)
    if known is not None and scope in known:
        return known[scope]
    row = db.execute(_FIND, (scope.tenant, scope.user or "", scope.session or "")).fetchone()
    place = Place(*row) if row else NOWHERE
    if known is not None:
        known[scope] = place
        if row and scope.session is not None:
            known[scope.owner] = Place(place.user, place.user, place.tenant)
    return place


def make(db: apsw.Connection, scope: Scope) -> Place:
    """The scope's rows; missing ones are made."""
    if (known := find(db, scope)) != NOWHERE:
        return known
    names = (scope.tenant, scope.user or "", scope.session or "")
    parent = None
    if scope.user is not None:
        parent = make(db, Scope(scope.tenant) if scope.session is None else scope.owner)
    db.execute("INSERT INTO scope (tenant, user, session) VALUES (?, ?, ?)", names)
    id = db.last_insert_rowid()
    tenant = parent.tenant if parent else id
    user = parent.user if parent and scope.session is not None else id
    db.execute("UPDATE scope SET user_id = ?, tenant_id = ? WHERE id = ?", (user, tenant, id))
    return Place(id, user, tenant)


@remembered(10_000)
def named(tenant: str, user: str, session: str) -> Scope:
    """The scope of a row; StoreError if the row is damaged."""
    try:
        return Scope(tenant, user or None, session or None)
    except ConfigError as error:
        raise codec.damaged(f"the name of a scope, {(tenant, user, session)},", error) from error
