"""Threads that write take turns, and the one whose turn it is serves all that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from recollect.store.sqlite.turns import Request, Turns

Batch = list[Request[None]]


def served(turns: Turns[None], count: int, run: Callable[[Batch], None]) -> list[BaseException | None]:
    """What each of so many threads that wait at once got: nothing, or an error."""
    out: list[BaseException | None] = []

    def ask() -> None:
        try:
            turns.serve(Request(lambda _: None), run)
            out.append(None)
        except BaseException as error:
            out.append(error)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    with turns:
        for thread in threads:
            thread.start()
        while len(turns.queue) < count:
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

    assert served(Turns(), 8, run) == [None] * 8
    assert batches == [8]


def test_who_was_served_does_not_wait_for_the_next_commit() -> None:
    turns, free = Turns[None](), threading.Semaphore(0)

    def finish(batch: Batch) -> None:
        for request in batch:
            request.finish()

    def later(batch: Batch) -> None:
        held_up = [number for number in range(3) if not free.acquire(timeout=10)]
        finish(batch)
        assert held_up == []

    last = threading.Thread(target=lambda: turns.serve(Request(lambda _: None), later))

    def first(batch: Batch) -> None:
        last.start()
        while not turns.queue:
            pass
        finish(batch)

    def ask() -> None:
        turns.serve(Request(lambda _: None), first)
        free.release()

    threads = [threading.Thread(target=ask) for _ in range(3)]
    with turns:
        for thread in threads:
            thread.start()
        while len(turns.queue) < 3:
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

    out = served(Turns(), 5, run)
    assert sorted(map(repr, out)) == ["KeyboardInterrupt()", *["None"] * 4]


def test_the_turn_is_free_again_after_an_error() -> None:
    turns = Turns[None]()

    def fail(batch: Batch) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        turns.serve(Request(lambda _: None), fail)
    assert not turns.queue
    with turns:
        pass


def twice(turns: Turns[None], run: Callable[[Batch], None]) -> None:
    """Two threads wait at once, are served, and ask again."""

    def ask() -> None:
        for _ in range(2):
            turns.serve(Request(lambda _: None), run)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    with turns:
        for thread in threads:
            thread.start()
        while len(turns.queue) < 2:
            pass
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread was forgotten"


def test_those_who_were_served_together_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.store.sqlite.turns.PATIENCE", 1e8)
    monkeypatch.setattr("recollect.store.sqlite.turns.LONGEST", 60)
    batches: list[int] = []

    def run(batch: Batch) -> None:
        batches.append(len(batch))
        for request in batch:
            request.finish()

    twice(Turns(), run)
    assert batches == [2, 2]


def test_those_who_do_not_come_again_are_not_waited_for_twice() -> None:
    turns, batches = Turns[None](), list[int]()

    def run(batch: Batch) -> None:
        batches.append(len(batch))
        for request in batch:
            request.finish()

    assert served(turns, 2, run) == [None] * 2
    assert not turns.enter_if_free()
    turns.serve(Request(lambda _: None), run)
    assert batches == [2, 1]
    assert turns.enter_if_free()
    turns.release()
