"""Turns at a lock: writers wait for theirs here, without holding a connection meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.store.postgres import alive
from recollect.types import Scope


class Turns:
    """Gives turns to writers: one at a time to each user's, and `of_a_tenant` at a time to those of a tenant.

    A user's writers wait for each other anyway; here they do it without a connection, so that a lock which another
    process holds for long leaves connections to others.
    """

    def __init__(self, of_a_tenant: int) -> None:
        self._of_a_tenant = of_a_tenant
        self._gates: dict[tuple[str | None, ...], _Gate] = {}
        self._mine = threading.Lock()

    @contextmanager
    def of(self, scope: Scope) -> Iterator[bool]:
        """Wait for a turn, which lasts for the block; False where it did not come in the time a statement may take."""
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
