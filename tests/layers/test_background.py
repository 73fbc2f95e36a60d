"""The thread that works off the queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import DiskFull, StoreError, StoreUnavailable
from recollect.layers import background
from recollect.layers.background import Background, Learn
from recollect.store import Job, Record, Store
from recollect.store import open as open_store
from recollect.telemetry import Telemetry
from recollect.types import Scope

NOON = datetime(2026, 5, 5, 12, tzinfo=UTC)


def test_it_goes_on_after_whatever_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "POLL_SECONDS", 0.05)
    store, done = open_store(str(tmp_path / "memory.db")), threading.Event()
    claim, failures = store.jobs.claim, [ValueError("a driver's own error"), MemoryError()]

    def claimed(*args: Any, **kwargs: Any) -> list[Job]:
        if failures:
            raise failures.pop()
        return claim(*args, **kwargs)

    def learn(job: Job) -> int:
        store.jobs.finish(job)
        done.set()
        return 1

    monkeypatch.setattr(store.jobs, "claim", claimed)
    with caplog.at_level(logging.WARNING, "recollect"):
        working = Background(store, {"work": learn}, Telemetry())
        store.jobs.enqueue(Scope("acme", "ada", "trip"), [Job("work")])
        assert done.wait(30)
        working.stop()
    store.close()
    assert [record.getMessage() for record in caplog.records if "tried again" in record.getMessage()]


def test_a_failure_that_can_not_be_noted_keeps_it_from_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the job is damaged in the file."""
    store, done = open_store(str(tmp_path / "memory.db")), list[str]()

    def broken(*_: Any) -> Job:
        raise StoreError("the job is damaged")

    def learn(job: Job) -> int:
        if job.key == "first":
            monkeypatch.setattr(store.jobs, "fail", broken)
            raise ValueError("a layer's own error")
        done.append(job.key or "")
        store.jobs.finish(job)
        return 1

    working = Background(store, {"work": learn}, Telemetry())
    working.stop()
    working._stop.clear()
    store.jobs.enqueue(Scope("acme", "ada", "trip"), [Job("work", key="first"), Job("work", key="second")])
    with pytest.raises(StoreError):
        working.drain()
    working.drain()
    assert done == ["second"]
    store.close()


@pytest.mark.parametrize("problem", [StoreUnavailable("the store can't be reached"), DiskFull("no room")])
def test_a_store_that_is_away_is_told_once_and_that_it_is_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, problem: Exception
) -> None:
    monkeypatch.setattr(background, "POLL_SECONDS", 0.01)
    store = open_store(str(tmp_path / "memory.db"), clock=lambda: NOON)  # at which the job is not tried again
    away, back = threading.Event(), threading.Event()
    claim, fail, asked = store.jobs.claim, store.jobs.fail, 0

    def unavailable(*_: Any, **__: Any) -> Any:
        raise problem

    def failed(*args: Any) -> Job:
        nonlocal asked
        asked += 1
        return fail(*args) if back.is_set() else unavailable()

    def claimed(*args: Any, **kwargs: Any) -> list[Job]:
        nonlocal asked
        asked += away.is_set()
        return unavailable() if away.is_set() and not back.is_set() else claim(*args, **kwargs)

    def learn(_: Job) -> int:
        away.set()
        return int(unavailable())

    monkeypatch.setattr(store.jobs, "claim", claimed)
    monkeypatch.setattr(store.jobs, "fail", failed)
    store.jobs.enqueue(scope := Scope("acme", "ada", "trip"), [Job("work")])
    with caplog.at_level(logging.INFO, "recollect"):
        working = Background(store, {"work": learn}, Telemetry())
        for until in (5, 10):
            while asked < until:
                time.sleep(0.01)
            back.set()
        working.stop()
    assert [(job.state, job.attempts) for job in store.jobs.find(scope)] == [("waiting", 1)]
    store.close()
    assert [(record.levelname, record.exc_info, record.getMessage()) for record in caplog.records] == [
        ("WARNING", None, f"background work waits until the store is back: {problem}"),
        ("INFO", None, "the store is back, and background work goes on"),
    ]


def test_a_job_that_takes_long_holds_no_stop_up_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "LEASE", 0.01)
    store, begun, over = open_store(str(tmp_path / "memory.db")), threading.Event(), threading.Event()

    def learn(job: Job) -> int:
        begun.set()
        over.wait(30)
        store.jobs.finish(job)
        return 1

    store.jobs.enqueue(scope := Scope("acme", "ada", "trip"), [Job("work")])
    with caplog.at_level(logging.WARNING, "recollect"):
        working = Background(store, {"work": learn}, Telemetry())
        assert begun.wait(30)
        working.stop(0.1)
        store.close()
        over.set()
        working._thread.join(30)
    assert not caplog.records
    later = datetime.now(UTC) + timedelta(hours=1)  # when its lease, renewed until just now, is over
    with open_store(str(tmp_path / "memory.db"), clock=lambda: later) as again:
        assert [job.kind for job in again.jobs.claim(("work",), worker="w")] == ["work"]
        assert again.jobs.find(scope, state="dead") == []


def test_a_job_that_outlives_its_lease_stays_with_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LEASE", 0.5)
    store, begun, over = open_store(str(tmp_path / "memory.db")), threading.Event(), threading.Event()

    def learn(job: Job) -> int:
        begun.set()
        over.wait(60)
        store.jobs.finish(job)
        return 1

    store.jobs.enqueue(scope := Scope("acme", "ada", "trip"), [Job("work")])
    working, dues = Background(store, {"work": learn}, Telemetry()), set[datetime | None]()
    assert begun.wait(60)
    end = time.monotonic() + 60
    while len(dues) < 3:
        assert time.monotonic() < end, "its lease is not renewed"
        dues.add(store.jobs.find(scope)[0].due)
        time.sleep(0.05)
    over.set()
    working.stop()
    assert store.jobs.find(scope) == []
    store.close()


def test_a_job_that_hangs_is_left_to_others_and_takes_effect_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "LEASE", 0.3)
    monkeypatch.setattr(background, "LONGEST", 0.5)
    monkeypatch.setattr(background, "POLL_SECONDS", 0.05)
    begun, over, scope = threading.Event(), threading.Event(), Scope("acme", "ada", "trip")

    def learning(store: Store, before: Callable[[], object]) -> Learn:
        def learn(job: Job) -> int:
            before()
            with store.transaction(scope):
                store.records.put(scope, [Record("fact", "city", "Oslo")])
                store.jobs.finish(job)
            return 1

        return learn

    def hang() -> None:
        begun.set()
        over.wait(60)

    with open_store(str(tmp_path / "memory.db")) as store, open_store(str(tmp_path / "memory.db")) as other:
        store.jobs.enqueue(scope, [Job("work")])
        with caplog.at_level(logging.WARNING, "recollect"):
            hanging = Background(store, {"work": learning(store, hang)}, Telemetry())
            assert begun.wait(30)
            working = Background(other, {"work": learning(other, bool)}, Telemetry())
            end = time.monotonic() + 60
            while store.jobs.find(scope) or not caplog.messages:
                assert time.monotonic() < end, "nobody else does it"
                time.sleep(0.05)
            over.set()
            hanging.stop()
            working.stop()
        assert [record.value for record in store.records.find(scope)] == ["Oslo"]
    (warning,) = caplog.messages
    assert warning.startswith("the job 'work' has not ended in ")


def test_the_job_of_a_process_that_was_killed_is_taken_up_within_about_a_minute() -> None:
    assert background.LEASE + background.POLL_SECONDS < 65
