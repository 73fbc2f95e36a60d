"""Upgrades a database to the schema of this version."""

from __future__ import annotations

from typing import Final

import psycopg

from recollect.errors import ConfigError, MigrationError
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.keys import number
from recollect.store.steps import Migration, steps

# Reads the catalog, because to_regclass may still answer as before the wait for the lock.
_THERE: Final = "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'recollect' AND tablename = 'migrations')"
_VERSION: Final = "SELECT coalesce(max(number), 0) FROM recollect.migrations"
_START: Final = (
    "CREATE SCHEMA IF NOT EXISTS recollect; CREATE TABLE recollect.migrations (number integer PRIMARY KEY, name text)"
)
_TYPE: Final = (
    "SELECT atttypid::regtype::text FROM pg_attribute"
    " WHERE attrelid = 'recollect.vectors'::regclass AND attname = 'vector'"
)
_DONE: Final = "INSERT INTO recollect.migrations VALUES (%s, %s)"


def migrations() -> tuple[Migration, ...]:
    """Every step this version knows, in order."""
    return steps("postgres")


def version(db: Connection) -> int:
    """The number of the last step that was applied to the database; 0 if it has no Recollect store."""
    there = db.execute(_THERE).fetchone()
    if there is None or not there[0]:
        return 0
    row = db.execute(_VERSION).fetchone()
    return int(row[0]) if row else 0


def has_pgvector(db: Connection) -> bool:
    """Whether vectors are kept in pgvector's type, which the first step chose if the server had it then."""
    row = db.execute(_TYPE).fetchone()
    return row is not None and row[0] != "bytea"


def migrate(db: Connection) -> None:
    """Apply the steps the database lacks, each in one transaction with its record, one process at a time."""
    newest = migrations()[-1].number
    while (done := version(db)) < newest:
        _step(db, next(step for step in migrations() if step.number > done))
    if done > newest:
        raise MigrationError(
            f"the database has schema {done}, but this version of Recollect only knows schemas up to {newest}: "
            "upgrade Recollect to open it"
        )


def _step(db: Connection, step: Migration) -> None:
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (number("migrations"),))
        done = version(db)
        if done >= step.number:
            return
        if done == 0:
            _set_up(db, step)
        else:
            db.execute(step.sql)
        db.execute(_DONE, (step.number, step.name))


def _set_up(db: Connection, step: Migration) -> None:
    """Apply the first step; raises ConfigError with what an administrator has to do if the role may not."""
    try:
        db.execute(_START)
        db.execute(step.sql)
    except psycopg.errors.InsufficientPrivilege as error:
        role, name = db.info.user, db.info.dbname
        raise ConfigError(
            f"the role {role!r} may not set up a store in the database {name!r} ({error.diag.message_primary}): have "
            "an administrator run in it CREATE EXTENSION IF NOT EXISTS vector; "
            f'GRANT CREATE ON DATABASE "{name}" TO "{role}"; then open it again'
        ) from error
