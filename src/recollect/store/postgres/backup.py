"""A store as one file: a zip archive, with checksums, of every table in the server's COPY format."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, Final

from recollect.archives import DAMAGE
from recollect.errors import MigrationError, NotFound, StoreError
from recollect.store.backup import OTHER_KIND, making
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.migrate import version

TABLES: Final = ("settings", "sessions", "messages", "records", "items", "words", "vectors", "jobs")
FORMAT: Final = "recollect postgres backup 1"
SAME_SINCE: Final = 1
"""The first schema with the same columns as the newest; backups made with it or a later one can be restored."""

_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_POSITION: Final = "SELECT last_value FROM recollect.positions"
_SET_POSITION: Final = (
    "SELECT setval('recollect.positions', greatest(%s, (SELECT last_value FROM recollect.positions)))"
)
_OUT: Final = "COPY (SELECT * FROM recollect.<table>) TO STDOUT (FORMAT BINARY)"
_LOCK: Final = "LOCK TABLE recollect.<table> IN ACCESS EXCLUSIVE MODE"
_EMPTY: Final = "TRUNCATE recollect.<table> CASCADE"
_STAGE: Final = "CREATE TEMPORARY TABLE restored_<table> (LIKE recollect.<table>) ON COMMIT DROP"
_IN: Final = "COPY restored_<table> FROM STDIN (FORMAT BINARY)"
_MOVE: Final = "INSERT INTO recollect.<table> SELECT * FROM restored_<table>"
_CHUNK: Final = 1 << 20


def write(database: Database, path: Path) -> None:
    """Write everything, as of one moment, into a new file; others can read and write meanwhile."""
    with making(path) as part, database.maintaining() as db, db.transaction():
        db.execute(_SNAPSHOT)
        database.see_all(db)
        _write(db, part)


def _write(db: Connection, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        manifest = {"format": FORMAT, "schema": version(db), "position": db.ask(_POSITION)[0][0]}
        archive.writestr("manifest.json", json.dumps(manifest))
        for table in TABLES:
            with archive.open(table, "w", force_zip64=True) as out, db.cursor().copy(_for(_OUT, table)) as copy:
                for data in copy:
                    out.write(data)


def read(database: Database, path: Path) -> None:
    """Replace everything in the database with the contents of the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _checked(archive, path)
            with database.maintaining() as db, db.transaction():
                database.see_all(db)
                _check_version(manifest["schema"], version(db), path)
                _replace(db, archive, manifest["position"])
    except StoreError:
        raise
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}: name a backup") from error
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error


def _checked(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    try:
        broken = archive.testzip()
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    except (OSError, *DAMAGE) as error:
        raise _damaged(path, str(error)) from error
    missing = {*TABLES}.difference(archive.namelist())
    if broken or missing or manifest.get("format") != FORMAT:
        raise _damaged(path, f"{broken or missing or manifest.get('format')}")
    return manifest


def _check_version(saved: int, current: int, path: Path) -> None:
    if not SAME_SINCE <= saved <= current:
        raise MigrationError(
            f"{path} was made with schema {saved}, but the database has {current}: restore it with the version of "
            "Recollect that made it, then upgrade"
        )


def _replace(db: Connection, archive: zipfile.ZipFile, position: int) -> None:
    for table in TABLES:
        db.execute(_for(_LOCK, table))
    for table in TABLES:
        db.execute(_for(_EMPTY, table))
    for table in TABLES:
        db.execute(_for(_STAGE, table))
        with archive.open(table) as source, db.cursor().copy(_for(_IN, table)) as copy:
            while data := source.read(_CHUNK):
                copy.write(data)
        db.execute(_for(_MOVE, table))
    db.execute(_SET_POSITION, (position,))


def _for(statement: str, table: str) -> str:
    return statement.replace("<table>", table)


def _damaged(path: Path, problem: str) -> StoreError:
    return StoreError(f"{path} is not a complete backup of a PostgreSQL store ({problem}); {OTHER_KIND}")
