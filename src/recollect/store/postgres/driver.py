"""The one place that loads the driver."""

from __future__ import annotations

from typing import Any, TypeAlias

from recollect.errors import MissingExtra

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise MissingExtra("psycopg", "postgres", "a PostgreSQL store") from error

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
Pool: TypeAlias = psycopg_pool.ConnectionPool[Connection]

__all__ = ["Connection", "Pool", "psycopg", "psycopg_pool"]
