"""Turns at a lock: writers wait for theirs here, without holding a connection meanwhile."""

from __future__ import annotations

import threading
from collections import deque
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
        turn = threading.Lock()
        with self._mine:
            gate = self._gates.setdefault(name, _Gate(most))
            gate.callers += 1
            if gate.free:
                gate.free -= 1
            else:
                turn.acquire()
                gate.line.append(turn)
        came = False
        try:
            came = turn.acquire(timeout=alive.LONGEST)
            yield came
        finally:
            with self._mine:
                if not came and turn in gate.line:
                    gate.line.remove(turn)
                elif gate.line:
                    gate.line.popleft().release()
                else:
                    gate.free += 1
                gate.callers -= 1
                if not gate.callers:
                    del self._gates[name]


class _Gate:
    """Whose turn it is in the order in which they came: who leaves hands the place to the first in line."""

    def __init__(self, most: int) -> None:
        self.free, self.callers = most, 0
        self.line: deque[threading.Lock] = deque()
