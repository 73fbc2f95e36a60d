"""Makes the keyword index anew from the log and the items, and a vector index where there are many vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from recollect.store import codec
from recollect.store.postgres.append import ENTRIES, entry_from
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.items import COLUMNS, SOURCE, Prepared, insert, insert_words, item_from, shown
from recollect.store.postgres.keys import key, place
from recollect.store.postgres.lexemes import pieces
from recollect.store.postgres.vectors import EXACT
from recollect.store.protocols import Progress
from recollect.store.values import Item, item_of
from recollect.store.words import VERSION, words
from recollect.types import Scope

PAGE: Final = 500
MOST_INDEXED: Final = 2_000
"""The longest vector an HNSW index takes."""

_TENANTS: Final = (
    "SELECT DISTINCT ON (tenant) tenant, names FROM ("
    " SELECT tenant, names FROM recollect.sessions UNION ALL SELECT tenant, names FROM recollect.items"
    " UNION ALL SELECT tenant, names FROM recollect.records UNION ALL SELECT tenant, names FROM recollect.jobs)"
    " AS every ORDER BY tenant"
)
_TEXTS: Final = "SELECT count(*) FROM recollect.items WHERE length > 0"
_SETTING: Final = "SELECT value FROM recollect.settings WHERE name = 'words'"
_SET: Final = (
    "INSERT INTO recollect.settings VALUES ('words', %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_STRAY: Final = (
    "DELETE FROM recollect.items WHERE tenant = %s AND kind = 'message' AND NOT EXISTS (SELECT FROM recollect.messages"
    " WHERE messages.tenant = items.tenant AND messages.position = items.position AND messages.id = items.id)"
)
_UNINDEXED: Final = (
    f"{ENTRIES} tenant = %s AND body IS NOT NULL AND NOT EXISTS (SELECT FROM recollect.items"
    " WHERE items.tenant = messages.tenant AND items.position = messages.position)"
)
_PAGE: Final = "".join(
    ("SELECT", COLUMNS, SOURCE, "items.tenant = %s AND items.position > %s ORDER BY items.position LIMIT %s")
)
_FORGET: Final = "DELETE FROM recollect.words WHERE tenant = %s AND position = ANY(%s)"
_SHOW: Final = (
    "UPDATE recollect.items SET at = new.at, role = new.role, tags = new.tags::bigint[],"
    " sources = ARRAY(SELECT jsonb_array_elements_text(new.sources::jsonb)),"
    " length = new.length, wordless = new.wordless"
    " FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::integer[], %s::boolean[])"
    " AS new (position, at, role, tags, sources, length, wordless)"
    " WHERE items.tenant = %s AND items.position = new.position"
)
# A reindex that was interrupted leaves an index that is not valid.
_UNINDEXED_LENGTHS: Final = (
    "SELECT DISTINCT length FROM (SELECT length FROM recollect.vectors GROUP BY tenant, length HAVING count(*) > %s)"
    " AS large WHERE length BETWEEN 2 AND %s AND NOT EXISTS (SELECT FROM pg_index"
    " WHERE indexrelid = to_regclass('recollect.vectors_nearest_' || length) AND indisvalid)"
)
# Without parallel workers: they would share the graph in /dev/shm, which is small in a container.
_ROOM: Final = "SET maintenance_work_mem = '1GB'; SET max_parallel_maintenance_workers = 0"
_HNSW: Final = (
    "CREATE INDEX CONCURRENTLY vectors_nearest_<length> ON recollect.vectors"
    " USING hnsw ((vector::vector(<length>)) vector_ip_ops) WHERE length = <length>"
)


def tenants(database: Database) -> list[str]:
    """Every tenant that has anything in the store, by name."""
    found = database.find(None, _TENANTS)
    return sorted(codec.from_bytes(names)[0] if names else tenant for tenant, names in found)


def words_outdated(database: Database) -> bool:
    """Whether the keyword index was made by other rules for words; a new store is marked as made by these."""
    setting = database.find(None, _SETTING)
    if not setting:
        _say_words_are_new(database)
        return False
    return setting != [(str(VERSION),)]


def reindex(database: Database, progress: Progress | None) -> int:
    """Make the indexes anew; returns how many items can be found by words."""
    ((total,),) = database.find(None, _TEXTS)
    done = 0
    for tenant in tenants(database):
        database.write(Scope(tenant), partial(_repair, tenant=tenant), repeatable=True)
        for texts in _rewritten(database, tenant):
            done += texts
            if progress is not None:
                progress(done, max(done, total))
    _say_words_are_new(database)
    _index_vectors(database)
    return done


def pages(db: Connection, tenant: str, after: int) -> list[Item]:
    """The tenant's next items after position `after`, in order."""
    return [item_from(tenant, row) for row in db.ask(_PAGE, (key(tenant), after, PAGE))]


def texts_of(item: Item) -> tuple[int, list[str]]:
    """How many words an item has, and its tsvectors."""
    assert item.scope is not None
    found = words(item.text)
    return len(found), pieces(place(item.scope), found)


def _say_words_are_new(database: Database) -> None:
    database.write(None, lambda db: db.later(_SET, (str(VERSION),)), repeatable=True)


def _repair(db: Connection, tenant: str) -> None:
    db.later(_STRAY, (key(tenant),))
    for item in unindexed(db, tenant):
        assert item.scope is not None
        insert(db, item.scope, [Prepared(item, ())])


def unindexed(db: Connection, tenant: str) -> list[Item]:
    """Messages of the tenant that are not in the index."""
    entries = [entry_from(Scope(tenant), row) for row in db.ask(_UNINDEXED, (key(tenant),))]
    return [item_of(entry.message, entry.scope, entry.position) for entry in entries]


def _rewritten(database: Database, tenant: str) -> Iterator[int]:
    after = 0
    while page := database.write(Scope(tenant), partial(_rewrite, tenant=tenant, after=after), repeatable=True):
        after, texts = page
        yield texts


def _rewrite(db: Connection, tenant: str, after: int) -> tuple[int, int] | None:
    items = pages(db, tenant, after)
    if not items:
        return None
    positions = [item.position for item in items]
    db.later(_FORGET, (key(tenant), positions))
    found = [texts_of(item) for item in items]
    rows = [shown(item, length) for item, (length, _) in zip(items, found, strict=True)]
    db.later(_SHOW, (*map(list, zip(*rows, strict=True)), key(tenant)))
    insert_words(db, tenant, {position: texts for position, (_, texts) in zip(positions, found, strict=True)})
    return positions[-1], sum(1 for length, _ in found if length)


def unindexed_lengths(db: Connection) -> list[int]:
    """The lengths of vectors that need an index and have none that is valid: some tenant has more than `EXACT` such."""
    return [length for (length,) in db.ask(_UNINDEXED_LENGTHS, (EXACT, MOST_INDEXED))]


def _index_vectors(database: Database) -> None:
    for length in database.read(None, unindexed_lengths):
        with database.maintaining() as db:
            db.execute(_ROOM)
            db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS recollect.vectors_nearest_{length}")
            db.execute(_HNSW.replace("<length>", str(length)))
            db.execute("ANALYZE recollect.vectors")  # without it the planner may ignore the new index
