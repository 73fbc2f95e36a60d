"""Threads that write take turns, and the one whose turn it is serves all that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from recollect.store.sqlite.writers import Request, Writers
from tests.store.turns import together

Batch = list[Request]


def finish(batch: Batch) -> None:
    for request in batch:
        request.finish()


class Batches(list[int]):
    """How many requests there were in each batch that was served."""

    def run(self, batch: Batch) -> None:
        self.append(len(batch))
        finish(batch)


def served(writers: Writers, count: int, run: Callable[[Batch], None]) -> list[BaseException | None]:
    """What each of so many threads that wait at once got: nothing, or an error."""
    return together(writers, lambda _: writers.serve(Request(lambda _: None), run), count)


def test_all_that_wait_are_served_by_one() -> None:
    batches = Batches()
    assert served(Writers(), 8, batches.run) == [None] * 8
    assert batches == [8]


def test_who_was_served_does_not_wait_for_the_next_commit() -> None:
    writers, free = Writers(), threading.Semaphore(0)

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

    def ask(_: int) -> None:
        writers.serve(Request(lambda _: None), first)
        free.release()

    assert together(writers, ask, 3) == [None] * 3
    last.join(60)
    assert not last.is_alive()


def test_one_that_is_interrupted_leaves_the_others_to_the_next() -> None:
    interrupts = iter([KeyboardInterrupt()])

    def run(batch: Batch) -> None:
        for error in interrupts:
            raise error
        finish(batch)

    out = served(Writers(), 5, run)
    assert sorted(map(repr, out)) == ["KeyboardInterrupt()", *["None"] * 4]


def test_the_turn_is_free_again_after_an_error() -> None:
    writers = Writers()

    def fail(batch: Batch) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        writers.serve(Request(lambda _: None), fail)
    assert not writers.queue
    with writers.turn(finish):
        pass


def test_those_who_were_served_together_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.store.sqlite.writers.PATIENCE", 1e8)
    monkeypatch.setattr("recollect.store.sqlite.writers.LONGEST", 60)
    writers, batches = Writers(), Batches()

    def ask_twice(_: int) -> None:
        for _ in range(2):
            writers.serve(Request(lambda _: None), batches.run)

    assert together(writers, ask_twice, 2) == [None] * 2
    assert batches == [2, 2]


def test_those_who_do_not_come_again_are_not_waited_for_twice() -> None:
    writers, batches = Writers(), Batches()
    assert served(writers, 2, batches.run) == [None] * 2
    assert not writers.enter_if_free()
    writers.serve(Request(lambda _: None), batches.run)
    assert batches == [2, 1]
    assert writers.enter_if_free()
    writers.release()


def test_those_who_wait_come_before_one_that_writes_alone() -> None:
    """Turn after turn of such writers could else pass them by."""
    writers, batches = Writers(), Batches()
    waiting = Request(lambda _: None)
    writers.queue.append(waiting)
    with writers.turn(batches.run):
        assert waiting.done
    assert batches == [1]
