"""Brings a database file to the schema of this version."""

from __future__ import annotations

from typing import Final

import apsw

from recollect.errors import MigrationError
from recollect.store.steps import Migration, steps

APPLICATION: Final = 0x52434C54
"""Marks a file as ours."""

_RECORDS: Final = "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
_TELL: Final = "UPDATE counter SET epoch = epoch + 1"
"""Has those that have the file open look at its schema before they write."""


def migrations() -> tuple[Migration, ...]:
    """Every step this version knows, in order."""
    return steps("sqlite")


def version(db: apsw.Connection) -> int:
    """The number of the last step the file has been through; 0 for an empty file."""
    if not _has_records(db):
        return 0
    return int(db.execute("SELECT coalesce(max(number), 0) FROM migration").get)


def migrate(db: apsw.Connection, path: str) -> None:
    """Apply the steps the file lacks, each in one transaction with its record; a file that is not ours is refused."""
    _check_ours(db, path)
    while (done := version(db)) < migrations()[-1].number:
        _step(db, next(step for step in migrations() if step.number > done))
    check_version(db, path)


def check_version(db: apsw.Connection, path: str) -> None:
    """Raises unless this version can use the file, if need be after migrating it."""
    _check_ours(db, path)
    newest = migrations()[-1].number
    if not 1 <= (done := version(db)) <= newest:
        raise MigrationError(
            f"{path} has schema {done}, this version of Recollect knows 1 to {newest}: "
            "open it with the version that made it"
        )


def check_unchanged(db: apsw.Connection, path: str) -> None:
    """Raises where another process has brought the file to another schema since this one opened it."""
    if (now := version(db)) != (known := migrations()[-1].number):
        raise MigrationError(
            f"another process has brought {path} to schema {now}, this version of Recollect knows {known}: "
            "restart this process with the version that the other one has"
        )


def _check_ours(db: apsw.Connection, path: str) -> None:
    if db.pragma("application_id") == APPLICATION:
        return
    if db.execute("SELECT count(*) FROM sqlite_schema").get and not _has_records(db):
        raise MigrationError(
            f"{path} is not a Recollect store but a SQLite database of something else; choose another file"
        )


def _has_records(db: apsw.Connection) -> bool:
    """Asked of the file: what the connection remembers of the schema may be older than another process's change."""
    return bool(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'migration'").get)


def _step(db: apsw.Connection, step: Migration) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        if version(db) < step.number:
            if step.number == migrations()[0].number:
                db.pragma("application_id", APPLICATION)
                db.execute(_RECORDS)
            db.execute(step.sql)
            db.execute(_TELL)
            db.execute("INSERT INTO migration VALUES (?, ?)", (step.number, step.name))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
