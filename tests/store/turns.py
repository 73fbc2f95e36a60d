"""Threads that wait for their turn to write, all at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from recollect.store.sqlite.writers import Writers


def together(writers: Writers, work: Callable[[int], object], count: int) -> list[BaseException | None]:
    """Have so many calls, numbered from 0, wait for their turn at once; returns what each raised, or None."""
    pool = ThreadPoolExecutor(count)
    with writers.turn(lambda batch: None):
        calls = [pool.submit(work, number) for number in range(count)]
        while len(writers.queue) < count:
            pass
    pool.shutdown(wait=False)
    assert not wait(calls, 60).not_done, "a thread was forgotten"
    return [call.exception() for call in calls]
