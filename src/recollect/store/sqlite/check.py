"""Finds what is wrong with a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import apsw

from recollect.errors import StoreError
from recollect.store import codec, words
from recollect.store.sqlite import damage, scopes
from recollect.store.sqlite.chain import verified
from recollect.store.sqlite.keywords import LAST, rows
from recollect.store.sqlite.migrate import migrations, version
from recollect.store.values import Finding

_LOST: Final = (
    "SELECT DISTINCT session FROM message"
    " WHERE session NOT IN (SELECT scope.id FROM scope JOIN session ON session.scope = scope.id)"
)
_ASTRAY: Final = (
    "SELECT id FROM scope WHERE"
    " (tenant, user, '') NOT IN (SELECT tenant, user, session FROM scope AS owner WHERE owner.id = scope.user_id)"
    " OR (tenant, '', '') NOT IN (SELECT tenant, user, session FROM scope AS owner WHERE owner.id = scope.tenant_id)"
)
"""Scopes that do not lie in the user and tenant that they are named by: who asks for these would not find them."""
_SEEN: Final = "CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'words', 'instance')"
_SHOULD: Final = (
    "CREATE VIRTUAL TABLE temp.should USING fts5 (scope, text, content = '', tokenize = 'ascii');"
    "INSERT INTO temp.should (should, rank) VALUES ('secure-delete', 1), ('rank', 'bm25(0.0, 1.0)');"
    "CREATE VIRTUAL TABLE temp.wanted USING fts5vocab('temp', 'should', 'instance')"
)
_EXPECT: Final = "INSERT INTO temp.should (rowid, scope, text) VALUES (?, ?, ?)"
_WORDS_WANTED: Final = "SELECT CAST(term AS BLOB), doc, col, offset FROM temp.wanted"
_WORDS_SEEN: Final = _WORDS_WANTED.replace("wanted", "seen")
"""Both come in order, and are compared as they come: millions of words are not held in memory."""
_WEIGHTS: Final = (
    "SELECT * FROM (SELECT id, sz FROM <words>_docsize UNION ALL SELECT id, block FROM <words>_data"
    " WHERE id = 1 AND hex(block) GLOB '*[1-9A-F]*'"  # of an index that was emptied they are zeros
    " UNION ALL SELECT k, v FROM <words>_config WHERE k <> 'version')"
)
_UNLIKE: Final = f"{_WEIGHTS.replace('<words>', 'temp.should')} EXCEPT {_WEIGHTS.replace('<words>', 'main.words')}"
_BEHIND: Final = "SELECT position < max(indexed, (<last>)) FROM counter".replace("<last>", LAST)
_FIX: Final = "run reindex"


def findings(db: apsw.Connection) -> Iterator[Finding]:
    """What is wrong, in the order in which it should be put right."""
    for (problem,) in db.execute("PRAGMA integrity_check"):
        if problem != "ok":
            yield Finding("file", problem, fix="restore a backup")
    if (now := version(db)) != (known := migrations()[-1].number):
        problem = f"another process has brought it to schema {now}, this version of Recollect knows {known}"
        yield Finding("schema", problem, fix="restart this process with the version that the other one has")
    yield from broken_sessions(db)
    for look in damage.LOOKS:
        yield from _told(look.part, (row.finding for row in look.damaged(db)))
    yield from _told("index", _keywords(db))


def _told(part: Literal["records", "jobs", "index"], found: Iterator[Finding]) -> Iterator[Finding]:
    """What is found; that the part can't be read, where that is so."""
    try:
        yield from found
    except (apsw.Error, StoreError, *codec.DAMAGE) as error:
        yield Finding(part, f"it can't be read: {error}", fix="restore a backup")


def broken_sessions(db: apsw.Connection) -> Iterator[Finding]:
    """What is wrong with the log."""
    for row in list(db.execute("SELECT tenant, user, session FROM scope WHERE user = '' AND session = ''")):
        try:
            yield from verified(db, scopes.find(db, scopes.named(*row)))
        except StoreError as error:
            yield Finding("log", str(error), fix="restore a backup")
    for (session,) in list(db.execute(_LOST)):
        yield Finding("log", f"messages belong to session number {session}, which is gone", fix="restore a backup")
    for (id,) in list(db.execute(_ASTRAY)):
        yield Finding("log", f"scope number {id} does not lie in the one that it is named by", fix="restore a backup")


def words_outdated(db: apsw.Connection) -> bool:
    """Whether the keyword index was made by other word rules than today's."""
    return bool(db.execute("SELECT words FROM counter").get != words.VERSION)


def _keywords(db: apsw.Connection) -> Iterator[Finding]:
    if words_outdated(db):
        yield Finding("index", "the keyword index was made by other word rules", fix=_FIX)
        return
    if db.execute(_BEHIND).get:
        yield Finding("index", "positions were given that the counter has not come to", fix=_FIX)
    try:
        lacking, extra, weights = _compared(db)
    except apsw.Error as error:
        yield Finding("index", f"the keyword index can't be read: {error}", fix=_FIX)
        return
    if lacking or extra:
        yield Finding("index", f"words missing from the keyword index: {lacking}, too many: {extra}", fix=_FIX)
    elif weights:
        yield Finding("index", "the keyword index ranks by wrong weights", fix=_FIX)


def _compared(db: apsw.Connection) -> tuple[int, int, int]:
    try:
        db.execute(_SEEN)
        db.execute(_SHOULD)
        indexed = db.execute("SELECT indexed FROM counter").get
        db.executemany(_EXPECT, (row for row in rows(db) if row[2] and row[0] <= indexed))
        db.execute("SAVEPOINT written; RELEASE written")
        lacking, extra = _differences(db.execute(_WORDS_WANTED), db.execute(_WORDS_SEEN))
        return lacking, extra, len(db.execute(_UNLIKE).fetchall())
    finally:
        db.execute("DROP TABLE IF EXISTS temp.seen; DROP TABLE IF EXISTS temp.wanted; DROP TABLE IF EXISTS temp.should")


def _differences(wanted: Iterator[Any], seen: Iterator[Any]) -> tuple[int, int]:
    """How many rows there should be that are not seen, and how many are seen that should not be."""
    lacking, extra = 0, 0
    one, other = next(wanted, None), next(seen, None)
    while one is not None or other is not None:
        if one == other:
            one, other = next(wanted, None), next(seen, None)
        elif other is None or (one is not None and one < other):
            lacking, one = lacking + 1, next(wanted, None)
        else:
            extra, other = extra + 1, next(seen, None)
    return lacking, extra
