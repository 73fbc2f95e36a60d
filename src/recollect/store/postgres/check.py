"""What is wrong with a database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Literal, TypeAlias

from recollect.errors import StoreError, StoreUnavailable
from recollect.store import codec
from recollect.store.postgres.chain import verified
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.damage import LOOKS, Look
from recollect.store.postgres.database import Database
from recollect.store.postgres.items import shown
from recollect.store.postgres.keys import key
from recollect.store.postgres.migrate import migrations
from recollect.store.postgres.reindex import pages, tenants, texts_of, unindexed, unindexed_lengths
from recollect.store.values import Finding, Item
from recollect.types import Scope

_ROLE: Final = "SELECT current_user FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"
_VERSION: Final = "SELECT max(number) FROM recollect.migrations"
_UNWALLED: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
    " AND relname IN ('sessions', 'messages', 'records', 'items', 'words', 'vectors', 'jobs')"
    " AND NOT (relrowsecurity AND relforcerowsecurity)"
)
_SHOWN: Final = (
    "SELECT position, at, role, tags::text, sources, length, wordless FROM recollect.items"
    " WHERE tenant = %s AND position = ANY(%s)"
)
_WRONG: Final = (
    "SELECT position FROM unnest(%(positions)s::bigint[], %(pieces)s::integer[], %(texts)s::text[])"
    " AS want (position, piece, words)"
    " FULL JOIN (SELECT * FROM recollect.words WHERE tenant = %(tenant)s AND position = ANY(%(all)s)) AS have"
    " USING (position, piece) WHERE want.words::tsvector IS DISTINCT FROM have.words"
)
_EVERY_VECTOR: Final = "SELECT bool_and(vector = vector) FROM recollect.vectors WHERE tenant = %s"
"""Has the server read all of each vector, long ones lie on pages of their own, and find pages that are damaged."""
_Part: TypeAlias = Literal["log", "records", "jobs", "index"]
_REINDEX: Final = "run reindex"
_RESTORE: Final = "restore a backup"


def check(database: Database) -> list[Finding]:
    """Everything that was found."""
    found = database.read(None, lambda db: [*_engine(db), *_schema(db)])
    found += _told("index", lambda: database.read(None, _nearest))
    try:
        every = tenants(database)
    except StoreUnavailable:
        raise
    except StoreError as error:
        return [*found, Finding("file", f"whose things there are can't be read: {error}", fix=_RESTORE)]
    for tenant in every:
        found += _of(database, tenant)
    return found


def _of(database: Database, tenant: str) -> Iterator[Finding]:
    """What is wrong with what a tenant has. The index is looked at once no item of it is damaged."""
    scope, broken = Scope(tenant), False
    yield from _told("log", partial(_log, database, tenant), scope)
    for look in LOOKS:
        found = _told(look.part, partial(_damaged, database, tenant, look), scope)
        broken |= look.part == "index" and bool(found)
        yield from found
    if not broken:
        yield from _told("index", partial(_index, database, tenant), scope)


def _told(part: _Part, look: Callable[[], Iterable[Finding]], scope: Scope | None = None) -> list[Finding]:
    """What a look at a part finds; that it can't be read, where that is so."""
    try:
        return list(look())
    except StoreUnavailable:
        raise
    except (StoreError, *codec.DAMAGE) as error:
        return [Finding(part, f"it can't be read: {error}", scope, fix=_RESTORE)]


def _engine(db: Connection) -> Iterator[Finding]:
    for (role,) in db.ask(_ROLE):
        yield Finding(
            "engine",
            f"the role {role!r} sees past row-level security, so nothing but the queries keeps tenants apart",
            fix="connect as a role that is neither superuser nor has BYPASSRLS",
        )


def _schema(db: Connection) -> Iterator[Finding]:
    ((now,),), known = db.ask(_VERSION), migrations()[-1].number
    if now != known:
        problem = f"another process has brought it to schema {now}, this version of Recollect knows {known}"
        yield Finding("schema", problem, fix="restart this process with the version that the other one has")
    for (table,) in db.ask(_UNWALLED):
        yield Finding("schema", f"row-level security is off for table {table!r}", fix="turn it on, and force it")


def _nearest(db: Connection) -> list[Finding]:
    return [
        Finding("index", f"tenant-wide search over vectors of {length} numbers has no index", fix=_REINDEX)
        for length in unindexed_lengths(db)
    ]


def _log(database: Database, tenant: str) -> list[Finding]:
    return database.read(tenant, lambda db: list(verified(db, Scope(tenant))), at_a_moment=True)


def _damaged(database: Database, tenant: str, look: Look) -> list[Finding]:
    return database.read(tenant, lambda db: [row.finding for row in look.damaged(db, tenant)], at_a_moment=True)


def _index(database: Database, tenant: str) -> Iterator[Finding]:
    for item in database.read(tenant, partial(unindexed, tenant=tenant)):
        yield Finding("index", f"message {item.id!r} is not in the index", item.scope, fix=_REINDEX)
    after = 0
    while page := database.read(tenant, partial(_page, tenant=tenant, after=after), at_a_moment=True):
        after, found = page
        yield from found
    database.find(tenant, _EVERY_VECTOR, (key(tenant),))


def _page(db: Connection, tenant: str, after: int) -> tuple[int, list[Finding]] | None:
    items = pages(db, tenant, after)
    if not items:
        return None
    wrong = _wrong(db, tenant, items)
    found = [
        Finding("index", f"{item.kind} {item.id!r} is found by what it does not say", item.scope, fix=_REINDEX)
        for item in items
        if item.position in wrong
    ]
    return items[-1].position, found


def _wrong(db: Connection, tenant: str, items: list[Item]) -> set[int]:
    wanted = {item.position: texts_of(item) for item in items}
    flat = [(position, piece, text) for position, (_, texts) in wanted.items() for piece, text in enumerate(texts)]
    known = {"tenant": key(tenant), "all": list(wanted), "positions": [one[0] for one in flat]}
    known |= {"pieces": [one[1] for one in flat], "texts": [one[2] for one in flat]}
    rows = db.ask(_SHOWN, (key(tenant), list(wanted)))
    seen = {(*row[:4], json.dumps(row[4]), *row[5:]) for row in rows}
    wrong = {item.position for item in items if shown(item, wanted[item.position][0]) not in seen}
    return wrong | {position for (position,) in db.ask(_WRONG, known)}
