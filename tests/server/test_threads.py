"""Library calls on threads: all are done, none blocks the loop, and no more run at once than allowed."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from recollect.server.threads import Threads


def test_results_and_errors_come_back() -> None:
    async def main() -> None:
        threads = Threads(2)
        assert await threads.run(divmod, 7, 2) == (3, 1)
        assert await threads.run(sorted, [1, 2], reverse=True) == [2, 1]
        with pytest.raises(ZeroDivisionError):
            await threads.run(divmod, 1, 0)
        assert await threads.run(threading.current_thread) is not threading.current_thread()
        threads.stop()

    asyncio.run(main())


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_run_at_once_than_allowed_and_no_more_threads_are_started_than_needed(most: int) -> None:
    running, highest, lock = 0, 0, threading.Lock()
    together = threading.Barrier(most)

    def work(number: int) -> int:
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
        together.wait()
        with lock:
            running -= 1
        return number

    async def main() -> None:
        threads = Threads(most)
        before = set(threading.enumerate())
        assert await asyncio.gather(*(threads.run(work, n) for n in range(4 * most))) == list(range(4 * most))
        assert len(set(threading.enumerate()) - before) == most
        for _ in range(10):
            await threads.run(int)
        assert len(set(threading.enumerate()) - before) == most
        threads.stop()

    asyncio.run(main())
    assert highest == most


def test_work_that_is_waited_for_no_longer_is_done_all_the_same() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    async def main() -> None:
        threads = Threads(1)
        task = asyncio.create_task(threads.run(work))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await threads.run(done.is_set)
        threads.stop()

    asyncio.run(main())


def test_a_call_sees_the_variables_of_its_context() -> None:
    asked: ContextVar[str] = ContextVar("asked", default="")

    async def main() -> None:
        threads = Threads(1)
        asked.set("here")
        assert await threads.run(asked.get) == "here"
        threads.stop()

    asyncio.run(main())
