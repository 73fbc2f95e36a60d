"""The PostgreSQL store."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Self

from recollect.store.postgres import backup
from recollect.store.postgres.check import check
from recollect.store.postgres.damage import mend
from recollect.store.postgres.database import Database
from recollect.store.postgres.index import PostgresIndex
from recollect.store.postgres.jobs import PostgresJobs
from recollect.store.postgres.log import PostgresLog
from recollect.store.postgres.records import PostgresRecords
from recollect.store.postgres.reindex import reindex, tenants, words_outdated
from recollect.store.protocols import Clock, Durability, Progress
from recollect.store.values import Finding
from recollect.types import Scope, local_now


class PostgresStore:
    """A store in the schema `recollect` of a database, shared by any number of processes."""

    def __init__(self, url: str, durability: Durability = "full", clock: Clock = local_now) -> None:
        self._database = Database(url, durability, clock)
        self.log = PostgresLog(self._database)
        self.records = PostgresRecords(self._database)
        self.index = PostgresIndex(self._database)
        self.jobs = PostgresJobs(self._database)
        self._renew_words()

    def _renew_words(self) -> None:
        """Make the keyword index anew where other word rules made it."""
        if words_outdated(self._database):
            self.reindex()

    def transaction(self, scope: Scope | None = None) -> AbstractContextManager[None]:
        return self._database.transaction(scope)

    def reading(self) -> AbstractContextManager[None]:
        """See `Store.reading`; here each read is separate, so that it can be repeated after a lost connection."""
        return nullcontext()

    def tenants(self) -> list[str]:
        return tenants(self._database)

    def check_writable(self) -> None:
        self._database.check_writable()

    def check(self) -> list[Finding]:
        return check(self._database)

    def reindex(self, progress: Progress | None = None) -> int:
        """See `Store.reindex`; also makes the HNSW index for tenants with very many vectors."""
        return reindex(self._database, progress)

    def mend(self, progress: Progress | None = None) -> int:
        gone = mend(self._database)
        self.reindex(progress)
        return gone

    def backup(self, path: str | Path) -> None:
        backup.write(self._database, Path(path))

    def restore(self, path: str | Path) -> None:
        backup.read(self._database, Path(path))
        self._renew_words()

    def close(self) -> None:
        self._database.close()

    def __repr__(self) -> str:
        return f"PostgresStore({self._database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
