"""The one place that loads the driver."""

from __future__ import annotations

from recollect.errors import MissingExtra

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise MissingExtra("psycopg", "postgres", "a PostgreSQL store") from error

__all__ = ["psycopg", "psycopg_pool"]
