"""Threads that write take turns, and the one whose turn it is serves all that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from recollect.store.sqlite.writers import Request, Writers

Batch = list[Request]


def served(writers: Writers, count: int, run: Callable[[Batch], None]) -> list[BaseException | None]:
    """What each of so many threads that wait at once got: nothing, or an error."""
    out: list[BaseException | None] = []

    def ask() -> None:
        try:
            writers.serve(Request(lambda _: None), run)
            out.append(None)
        except BaseException as error:
            out.append(error)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    with writers:
        for thread in threads:
            thread.start()
        while len(writers.queue) < count:
            pass
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive(), "a thread was forgotten"
    return out


def test_all_that_wait_are_served_by_one() -> None:
    batches: list[int] = []

    def run(batch: Batch) -> None:
        batches.append(len(batch))
        for request in batch:
            request.finish()

    assert served(Writers(), 8, run) == [None] * 8
    assert batches == [8]


def test_who_was_served_does_not_wait_for_the_next_commit() -> None:
    writers, free = Writers(), threading.Semaphore(0)

    def finish(batch: Batch) -> None:
        for request in batch:
            request.finish()

    def later(batch: Batch) -> None:
        held_up = [number for number in range(3) if not free.acquire(timeout=10)]
        finish(batch)
        assert held_up == []

    last = threading.Thread(target=lambda: writers.serve(Request(lambda _: None), later))

    def first(batch: Batch) -> None:
        last.start()
        while not writers.queue:
            pass
        finish(batch)

    def ask() -> None:
        writers.serve(Request(lambda _: None), first)
        free.release()

    threads = [threading.Thread(target=ask) for _ in range(3)]
    with writers:
        for thread in threads:
            thread.start()
        while len(writers.queue) < 3:
            pass
    for thread in (*threads, last):
        thread.join(60)
        assert not thread.is_alive()


def test_one_that_is_interrupted_leaves_the_others_to_the_next() -> None:
    interrupts = iter([KeyboardInterrupt()])

    def run(batch: Batch) -> None:
        for error in interrupts:
            raise error
        for request in batch:
            request.finish()

    out = served(Writers(), 5, run)
    assert sorted(map(repr, out)) == ["KeyboardInterrupt()", *["None"] * 4]


def test_the_turn_is_free_again_after_an_error() -> None:
    writers = Writers()

    def fail(batch: Batch) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        writers.serve(Request(lambda _: None), fail)
    assert not writers.queue
    with writers:
        pass


def twice(writers: Writers, run: Callable[[Batch], None]) -> None:
    """Two threads wait at once, are served, and ask again."""

    def ask() -> None:
        for _ in range(2):
            writers.serve(Request(lambda _: None), run)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    with writers:
        for thread in threads:
            thread.start()
        while len(writers.queue) < 2:
            pass
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread was forgotten"


def test_those_who_were_served_together_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.store.sqlite.writers.PATIENCE", 1e8)
    monkeypatch.setattr("recollect.store.sqlite.writers.LONGEST", 60)
    batches: list[int] = []

    def run(batch: Batch) -> None:
        batches.append(len(batch))
        for request in batch:
            request.finish()

    twice(Writers(), run)
    assert batches == [2, 2]


def test_those_who_do_not_come_again_are_not_waited_for_twice() -> None:
    writers, batches = Writers(), list[int]()

    def run(batch: Batch) -> None:
        batches.append(len(batch))
        for request in batch:
            request.finish()

    assert served(writers, 2, run) == [None] * 2
    assert not writers.enter_if_free()
    writers.serve(Request(lambda _: None), run)
    assert batches == [2, 1]
    assert writers.enter_if_free()
    writers.release()
