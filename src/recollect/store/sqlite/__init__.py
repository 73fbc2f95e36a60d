"""A store in one SQLite file."""

from recollect.store.sqlite.store import SqliteStore, check_backup

__all__ = ["SqliteStore", "check_backup"]
