"""A store on a PostgreSQL server with pgvector, for many processes at once."""

from recollect.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
