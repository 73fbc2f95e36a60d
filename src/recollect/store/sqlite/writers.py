"""Group commit: one thread writes at a time, and serves the requests of the others in its transaction."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from recollect.store.sqlite.change import Change

BATCH: Final = 512

PATIENCE: Final = 0.25
LONGEST: Final = 0.005
"""The writer waits for others to join it: PATIENCE times as long as the last commit took, at most LONGEST seconds."""


class Request:
    """Work to be done in a transaction, and its result or error."""

    __slots__ = ("_signal", "done", "error", "result", "work")

    def __init__(self, work: Callable[[Change], Any]) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: Exception | None = None
        self._signal = threading.Lock()
        self._signal.acquire()

    def serve(self, change: Change) -> None:
        """Do the work, and keep its result or error."""
        self.result, self.error = self.work(change), None

    def wait(self, seconds: float = -1) -> None:
        """Wait until it is done, or it is this thread's turn to serve the others, or `seconds` have passed."""
        self._signal.acquire(timeout=seconds)

    def wake(self) -> None:
        """End the wait."""
        try:
            self._signal.release()
        except RuntimeError:
            return

    def finish(self) -> None:
        """Mark it as done, and wake the thread that waits for it."""
        self.done = True
        self.wake()


class Writers:
    """Lets one thread write at a time. It serves the requests of others too, then wakes the first that still waits."""

    def __init__(self) -> None:
        self.queue: deque[Request] = deque()
        self._lock = threading.Lock()
        self._leader: Request | None = None
        self._crowd, self._took = 1, 0.0

    def serve(self, request: Request, run: Callable[[list[Request]], None]) -> None:
        """Get the request done: by this thread, together with all that wait, or by one that is already writing."""
        self.queue.append(request)
        try:
            while not request.done:
                if self._lock.acquire(False):
                    self._lead(request, run)
                else:
                    if len(self.queue) >= self._crowd and (leader := self._leader) is not None:
                        leader.wake()
                    request.wait()
        except BaseException:
            with suppress(ValueError):
                self.queue.remove(request)
            self._wake()
            raise

    def _lead(self, request: Request, run: Callable[[list[Request]], None]) -> None:
        try:
            while not request.done:
                self._gather(request)
                self._serve_all(run)
        finally:
            self.release()

    def _serve_all(self, run: Callable[[list[Request]], None]) -> None:
        """Serve the requests that wait now."""
        batch = [self.queue.popleft() for _ in range(min(len(self.queue), BATCH))]
        self._crowd, started = len(batch), time.perf_counter()
        try:
            run(batch)
            self._took = time.perf_counter() - started
        except BaseException:
            self.queue.extendleft(reversed([each for each in batch if not each.done]))
            raise

    def _gather(self, request: Request) -> None:
        """Wait briefly for as many requests as were served together last time, as they are likely to come again."""
        self._leader = request
        if len(self.queue) < self._crowd:
            request.wait(min(self._took * PATIENCE, LONGEST))
        self._leader = None

    def release(self) -> None:
        """End this turn, and let the next one begin."""
        self._lock.release()
        if self.queue:
            self._wake()

    def _wake(self) -> None:
        with suppress(IndexError):
            self.queue[0].wake()

    def enter_if_free(self) -> bool:
        """Take the turn to write if nobody has it or waits for it; returns whether it did. `release` ends it."""
        return self._crowd == 1 and not self.queue and self._lock.acquire(False)

    def enter(self, wait: float) -> bool:
        """Wait up to `wait` seconds for a turn to write; returns whether it came. `release` ends it."""
        return self._lock.acquire(timeout=wait)

    @contextmanager
    def turn(self, run: Callable[[list[Request]], None]) -> Iterator[None]:
        """Write alone during the block; the requests that wait come first, or turn after turn could pass them by."""
        self._lock.acquire()
        try:
            if self.queue:
                self._serve_all(run)
            yield
        finally:
            self.release()
