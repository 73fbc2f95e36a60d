"""The reference store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Self

from recollect.errors import ConfigError
from recollect.store.protocols import Clock, Progress
from recollect.store.reference.index import ReferenceIndex
from recollect.store.reference.jobs import ReferenceJobs
from recollect.store.reference.log import ReferenceLog
from recollect.store.reference.records import ReferenceRecords
from recollect.store.reference.state import State
from recollect.store.values import Finding
from recollect.store.words import words
from recollect.types import Scope, local_now


class ReferenceStore:
    """A store that lives and ends with this object."""

    def __init__(self, clock: Clock = local_now) -> None:
        self._state = State(clock)
        self.log = ReferenceLog(self._state)
        self.records = ReferenceRecords(self._state)
        self.index = ReferenceIndex(self._state)
        self.jobs = ReferenceJobs(self._state)

    @contextmanager
    def transaction(self, scope: Scope | None = None) -> Iterator[None]:
        """See `Store.transaction`; here everyone else waits, whatever the scope."""
        with self._state.changing():
            yield

    def reading(self) -> AbstractContextManager[None]:
        """See `Store.reading`; here each read is separate."""
        return nullcontext()

    def tenants(self) -> list[str]:
        with self._state.reading() as tables:
            found = [*tables.sessions, *(key[0] for key in tables.records), *(key[0] for key in tables.items)]
            found += [queued.job.scope for queued in tables.jobs.values() if queued.job.scope]
        return sorted({scope.tenant for scope in found})

    def check_writable(self) -> None:
        """See `Store.check_writable`; here everything can be written until the store is closed."""
        with self._state.reading():
            pass

    def check(self) -> list[Finding]:
        return [finding for tenant in self.tenants() for finding in self.log.verify(Scope(tenant))]

    def reindex(self, progress: Progress | None = None) -> int:
        """See `Store.reindex`; here searches read the items themselves, so there is nothing to rebuild."""
        with self._state.reading() as tables:
            total = sum(1 for item in tables.items.values() if words(item.text))
        if progress is not None:
            progress(total, total)
        return total

    def mend(self, progress: Progress | None = None) -> int:
        """See `Store.mend`; what is in memory is not damaged."""
        self.reindex(progress)
        return 0

    def backup(self, path: str | Path) -> None:
        """Not possible: raises ConfigError."""
        raise ConfigError(f"a store in memory can't be backed up to {path}: open a store in a file or on a server")

    def restore(self, path: str | Path) -> None:
        """Not possible: raises ConfigError."""
        raise ConfigError(f"a store in memory can't be restored from {path}: open a store in a file or on a server")

    def close(self) -> None:
        self._state.closed = True

    def __repr__(self) -> str:
        return "ReferenceStore()"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
