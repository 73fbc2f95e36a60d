"""Turns at a lock: who is to wait for one does it here, and takes no connection meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.store.postgres import alive
from recollect.types import Scope


class Turns:
    """One writer of a user has a turn at a time, and so many of a tenant have one at the same time.

    A user's writers wait for each other anyhow; here they do it without a connection. So a lock that is held elsewhere
    leaves connections to others.
    """

    def __init__(self, of_a_tenant: int) -> None:
        self._of_a_tenant = of_a_tenant
        self._gates: dict[tuple[str | None, ...], _Gate] = {}
        self._mine = threading.Lock()

    @contextmanager
    def of(self, scope: Scope) -> Iterator[bool]:
        """Whether the scope's turn came, which lasts for the block, within the time that a statement may take."""
        with self._through((scope.tenant, scope.user), 1) as first:
            if not first:
                yield False
                return
            with self._through((scope.tenant,), self._of_a_tenant) as second:
                yield second

    @contextmanager
    def _through(self, name: tuple[str | None, ...], most: int) -> Iterator[bool]:
        with self._mine:
            gate = self._gates.setdefault(name, _Gate(most))
            gate.callers += 1
        came = False
        try:
            came = gate.places.acquire(timeout=alive.LONGEST)
            yield came
        finally:
            if came:
                gate.places.release()
            with self._mine:
                gate.callers -= 1
                if not gate.callers:
                    del self._gates[name]


class _Gate:
    def __init__(self, most: int) -> None:
        self.places = threading.Semaphore(most)
        self.callers = 0
