"""Finds what is wrong with a file, and makes the keyword index anew."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

import apsw

from recollect.store import codec, words
from recollect.store.protocols import Progress
from recollect.store.sqlite import scopes
from recollect.store.sqlite.chain import verified
from recollect.store.sqlite.database import Change
from recollect.store.sqlite.keywords import add_words, expect_words, message_words
from recollect.store.sqlite.migrate import migrations, version
from recollect.store.values import MESSAGE, Finding
from recollect.types import Scope

_TEXTS: Final = (
    "SELECT position, 'message', message.id, body, scope.id, user_id, tenant_id FROM message"
    " JOIN scope ON scope.id = message.session"
    " UNION ALL SELECT position, kind, NULL, body, scope.id, user_id, tenant_id FROM item"
    " JOIN scope ON scope.id = item.scope"
)
_SUMS: Final = {
    "records": "SELECT position, check_sum, body FROM record",
    "index": "SELECT position, check_sum, body FROM item UNION ALL SELECT position, check_sum, data FROM vector",
}
_STRAY: Final = (
    "SELECT position FROM vector WHERE position NOT IN (SELECT position FROM message)"
    " AND position NOT IN (SELECT position FROM item) LIMIT 1"
)
_SEEN: Final = "CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'words', 'instance')"
_SHOULD: Final = (
    "CREATE VIRTUAL TABLE temp.should USING fts5 (scope, text, content = '', tokenize = 'ascii');"
    "CREATE VIRTUAL TABLE temp.wanted USING fts5vocab('temp', 'should', 'instance')"
)
_LACKING: Final = "SELECT count(*) FROM (SELECT * FROM temp.wanted EXCEPT SELECT * FROM temp.seen)"
_EXTRA: Final = "SELECT count(*) FROM (SELECT * FROM temp.seen EXCEPT SELECT * FROM temp.wanted)"
_FIX: Final = "run reindex"


def findings(db: apsw.Connection) -> Iterator[Finding]:
    """What is wrong, in the order in which it should be put right."""
    for (problem,) in db.execute("PRAGMA integrity_check"):
        if problem != "ok":
            yield Finding("file", problem, fix="restore a backup")
    if version(db) != migrations()[-1].number:
        yield Finding(
            "schema", f"schema {version(db)} is not {migrations()[-1].number}", fix="open it with this version"
        )
    yield from broken_sessions(db)
    yield from _check_sums(db)
    yield from _keywords(db)


def broken_sessions(db: apsw.Connection) -> Iterator[Finding]:
    """What is wrong with the log."""
    for (tenant,) in list(scopes.rows(db, "SELECT tenant FROM scope WHERE user = '' AND session = ''")):
        place = scopes.find(db, Scope(tenant))
        if place is not None:
            yield from verified(db, Scope(tenant), place)


def rebuild_words(change: Change, progress: Progress | None) -> int:
    """How many positions have words after the keyword index was made anew."""
    total = change.db.execute("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM item)").get
    change.db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    indexed = 0
    for done, (position, place, kind, text) in enumerate(_texts(change.db), 1):
        if text:
            add_words(change, position, place, kind, text)
            indexed += 1
        if len(change.words) >= 500:
            change.flush()
        if progress is not None and (done % 500 == 0 or done == total):
            progress(done, total)
    change.db.execute("UPDATE counter SET words = ?", (words.VERSION,))
    return indexed


def words_outdated(db: apsw.Connection) -> bool:
    """Whether the keyword index was made by other word rules than today's."""
    return bool(db.execute("SELECT words FROM counter").get != words.VERSION)


def _texts(db: apsw.Connection) -> Iterator[tuple[int, scopes.Place, str, str]]:
    for position, kind, id, body, *place in scopes.rows(db, _TEXTS):
        text = codec.decode(id, body).text if kind == MESSAGE else codec.from_bytes(body)["text"]
        yield position, scopes.Place(*place), kind, message_words(text)


def _check_sums(db: apsw.Connection) -> Iterator[Finding]:
    for part, query in _SUMS.items():
        for position, check_sum, body in scopes.rows(db, query):
            if zlib.crc32(body) != check_sum:
                fix = "erase the record" if part == "records" else "put the item, or embed it, again"
                yield Finding("records" if part == "records" else "index", f"position {position} is damaged", fix=fix)
    if db.execute(_STRAY).fetchone() is not None:
        yield Finding("index", "there are vectors of nothing", fix="drop and embed again")


def _keywords(db: apsw.Connection) -> Iterator[Finding]:
    if words_outdated(db):
        yield Finding("index", "the keyword index was made by other word rules", fix=_FIX)
        return
    try:
        lacking, extra = _compared(db)
    except apsw.Error as error:
        yield Finding("index", f"the keyword index can't be read: {error}", fix=_FIX)
        return
    if lacking or extra:
        yield Finding("index", f"{lacking} words are missing from the keyword index, {extra} are too many", fix=_FIX)


def _compared(db: apsw.Connection) -> tuple[int, int]:
    try:
        db.execute(_SEEN)
        db.execute(_SHOULD)
        for position, place, kind, text in _texts(db):
            if text:
                expect_words(db, position, place, kind, text)
        return db.execute(_LACKING).get, db.execute(_EXTRA).get
    finally:
        db.execute("DROP TABLE IF EXISTS temp.seen; DROP TABLE IF EXISTS temp.wanted; DROP TABLE IF EXISTS temp.should")
