"""Threads that library calls are made on, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work: TypeAlias = Callable[[], Any]


@dataclass(slots=True, eq=False)
class Threads:
    """Up to `most` threads; one is started where all that there are have work.

    Work that is waited for no longer is done all the same, wholly.
    """

    most: int
    _waiting: SimpleQueue[Work | None] = field(default_factory=SimpleQueue)
    _started: int = 0
    _busy: int = 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call, made on a thread."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        call = partial(copy_context().run, work, *args, **kwargs)
        self._busy += 1
        if self._busy > self._started < self.most:
            self._started += 1
            threading.Thread(target=self._work, name=f"recollect request {self._started}", daemon=True).start()
        self._waiting.put(lambda: loop.call_soon_threadsafe(self._done, result, *_outcome(call)))
        return await result

    def stop(self) -> None:
        """End the threads once the work that waits is done."""
        for _ in range(self._started):
            self._waiting.put(None)

    def _work(self) -> None:
        while work := self._waiting.get():
            work()

    def _done(self, result: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self._busy -= 1
        if result.done():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(error)


def _outcome(call: Work) -> tuple[Any, BaseException | None]:
    try:
        return call(), None
    except BaseException as error:  # raised again where the result is waited for
        return None, error
