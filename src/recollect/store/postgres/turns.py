"""Turns at a lock: writers wait for their turn here, without holding a connection meanwhile."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from recollect.store.postgres import alive
from recollect.types import Scope


class Turns:
    """Gives turns to writers: at the same time to one per user, to `of_a_tenant` per tenant, and to `of_all` in all.

    Writers to one user wait for each other anyway. Here they do so without a connection, so that some connections stay
    free for others even if another process holds locks for long.
    """

    def __init__(self, of_a_tenant: int, of_all: int) -> None:
        self._of_a_tenant, self._of_all = of_a_tenant, of_all
        self._gates: dict[tuple[str | None, ...], _Gate] = {}
        self._lock = threading.Lock()

    @contextmanager
    def of(self, scope: Scope) -> Iterator[float | None]:
        """Wait for a turn, which lasts for the block, at most as long as a statement may take.

        Gives the time when that wait would have ended, for further waiting; None if the turn did not come.
        """
        until = time.monotonic() + alive.LONGEST
        gates = ((scope.tenant, scope.user), 1), ((scope.tenant,), self._of_a_tenant), ((), self._of_all)
        with ExitStack() as through:
            came = all(through.enter_context(self._through(name, most, until)) for name, most in gates)
            yield until if came else None

    @contextmanager
    def _through(self, name: tuple[str | None, ...], most: int, until: float) -> Iterator[bool]:
        turn = threading.Lock()
        with self._lock:
            gate = self._gates.setdefault(name, _Gate(most))
            gate.callers += 1
            if gate.free:
                gate.free -= 1
            else:
                turn.acquire()
                gate.line.append(turn)
        came = False
        try:
            came = turn.acquire(timeout=max(until - time.monotonic(), 0))
            yield came
        finally:
            with self._lock:
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
    """Admits a limited number of callers at a time, in order of arrival: one that leaves admits the first in line."""

    def __init__(self, most: int) -> None:
        self.free, self.callers = most, 0
        self.line: deque[threading.Lock] = deque()
