"""What is wrong with a database."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from recollect.errors import StoreError, StoreUnavailable
from recollect.store.postgres.chain import verified
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.keys import key
from recollect.store.postgres.reindex import pages, tenants, texts_of, unindexed, unindexed_lengths
from recollect.store.values import Finding, Item
from recollect.types import Scope

_ROLE: Final = "SELECT current_user FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
_UNWALLED: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
    " AND relname IN ('sessions', 'messages', 'records', 'items', 'words', 'vectors', 'jobs')"
    " AND NOT (relrowsecurity AND relforcerowsecurity)"
)
_LENGTHS: Final = "SELECT position, length FROM recollect.items WHERE tenant = %s AND position = ANY(%s)"
_WRONG: Final = (
    "SELECT position FROM unnest(%(positions)s::bigint[], %(pieces)s::integer[], %(texts)s::text[])"
    " AS want (position, piece, words)"
    " FULL JOIN (SELECT * FROM recollect.words WHERE tenant = %(tenant)s AND position = ANY(%(all)s)) AS have"
    " USING (position, piece) WHERE want.words::tsvector IS DISTINCT FROM have.words"
)
_REINDEX: Final = "run reindex"


def check(database: Database) -> list[Finding]:
    """Everything that was found."""
    found = database.read(None, lambda db: [*_engine(db), *_schema(db), *_nearest(db)])
    for tenant in tenants(database):
        found += database.read(tenant, partial(_log, tenant=tenant), at_a_moment=True)
        found += _index(database, tenant)
    return found


def _engine(db: Connection) -> Iterator[Finding]:
    for (role,) in db.ask(_ROLE):
        yield Finding(
            "engine",
            f"the role {role!r} sees past row-level security, so nothing but the queries keeps tenants apart",
            fix="connect as a role that is neither superuser nor has BYPASSRLS",
        )


def _schema(db: Connection) -> Iterator[Finding]:
    for (table,) in db.ask(_UNWALLED):
        yield Finding("schema", f"row-level security is off for table {table!r}", fix="turn it on, and force it")


def _nearest(db: Connection) -> Iterator[Finding]:
    for length in unindexed_lengths(db):
        yield Finding("index", f"tenant-wide search over vectors of {length} numbers has no index", fix=_REINDEX)


def _log(db: Connection, tenant: str) -> list[Finding]:
    return list(verified(db, Scope(tenant)))


def _index(database: Database, tenant: str) -> Iterator[Finding]:
    try:
        for item in database.read(tenant, partial(unindexed, tenant=tenant)):
            yield Finding("index", f"message {item.id!r} is not in the index", item.scope, fix=_REINDEX)
        yield from _words(database, tenant)
    except StoreUnavailable:
        raise
    except StoreError as error:
        yield Finding("index", f"it can't be read: {error}", Scope(tenant), fix="restore a backup")


def _words(database: Database, tenant: str) -> Iterator[Finding]:
    after = 0
    while page := database.read(tenant, partial(_page, tenant=tenant, after=after), at_a_moment=True):
        after, found = page
        yield from found


def _page(db: Connection, tenant: str, after: int) -> tuple[int, list[Finding]] | None:
    items = pages(db, tenant, after)
    if not items:
        return None
    wrong = _wrong(db, tenant, items)
    found = [
        Finding("index", f"the words of {item.kind} {item.id!r} are not those of its text", item.scope, fix=_REINDEX)
        for item in items
        if item.position in wrong
    ]
    return items[-1].position, found


def _wrong(db: Connection, tenant: str, items: list[Item]) -> set[int]:
    wanted = {item.position: texts_of(item) for item in items}
    flat = [(position, piece, text) for position, (_, texts) in wanted.items() for piece, text in enumerate(texts)]
    known = {"tenant": key(tenant), "all": list(wanted), "positions": [one[0] for one in flat]}
    known |= {"pieces": [one[1] for one in flat], "texts": [one[2] for one in flat]}
    lengths = db.ask(_LENGTHS, (key(tenant), list(wanted)))
    wrong = {position for position, length in lengths if wanted[position][0] != length}
    return wrong | {position for (position,) in db.ask(_WRONG, known)}
