"""A store on a PostgreSQL server with pgvector, for many processes at once."""

from recollect.errors import MissingExtra

try:
    from recollect.store.postgres.store import PostgresStore
except ImportError as error:
    raise MissingExtra("psycopg", "postgres", "a PostgreSQL store") from error

__all__ = ["PostgresStore"]
