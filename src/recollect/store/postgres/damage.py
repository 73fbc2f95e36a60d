"""Damaged rows of what was derived: finding them, and erasing them so that the rest can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Literal, NamedTuple

from recollect.errors import StoreError
from recollect.store import codec
from recollect.store.postgres import jobs, records
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.items import COLUMNS, SOURCE, item_from
from recollect.store.postgres.keys import key, told
from recollect.store.postgres.reindex import tenants
from recollect.store.values import MEND, MESSAGE, Damaged, Finding
from recollect.types import Scope

_OWN: Final = "items.tenant = %s AND items.kind <> %s AND items.position > %s ORDER BY items.position LIMIT 500"
_ITEMS: Final = "".join(("SELECT", COLUMNS, SOURCE, _OWN))
_REMOVE: Final = "DELETE FROM recollect.<table> WHERE tenant = %s AND <number> = ANY(%s) RETURNING 1"


class Look(NamedTuple):
    """A table and what numbers its rows: the part it belongs to, and how to find a tenant's damaged rows."""

    part: Literal["records", "index", "jobs"]
    table: str
    number: str
    damaged: Callable[[Connection, str], Iterator[Damaged]]


def mend(database: Database) -> int:
    """Erase what is damaged of all that was derived; returns how much was erased."""
    return sum(database.write(Scope(tenant), partial(_mend, tenant=tenant)) for tenant in tenants(database))


def _mend(db: Connection, tenant: str) -> int:
    gone = 0
    for look in LOOKS:
        query = _REMOVE.replace("<table>", look.table).replace("<number>", look.number)
        gone += len(db.ask(query, (key(tenant), [row.number for row in look.damaged(db, tenant)])))
    return gone


def _items(db: Connection, tenant: str) -> Iterator[Damaged]:
    after = 0
    while page := db.ask(_ITEMS, (key(tenant), MESSAGE, after)):
        after = page[-1][4]
        for row in page:
            try:
                item_from(tenant, row)
            except (StoreError, *codec.DAMAGE):
                *ids, position, full = row[:6]
                scope, (kind, id) = told(full, tenant, *ids)
                yield Damaged(position, Finding("index", f"the {kind} {id!r} is damaged", scope, fix=MEND))


LOOKS: Final = (
    Look("records", "records", "position", records.damaged),
    Look("jobs", "jobs", "id", jobs.damaged),
    Look("index", "items", "position", _items),
)
