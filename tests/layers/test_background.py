"""The thread that works off the queue."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreUnavailable
from recollect.layers import background
from recollect.layers.background import Background
from recollect.store import Job
from recollect.store import open as open_store
from recollect.telemetry import Telemetry
from recollect.types import Scope


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


def test_a_store_that_is_away_is_told_once_and_that_it_is_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "POLL_SECONDS", 0.01)
    store, away, back = open_store(str(tmp_path / "memory.db")), threading.Event(), threading.Event()
    claim, asked = store.jobs.claim, 0

    def unavailable(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the store can't be reached")

    def claimed(*args: Any, **kwargs: Any) -> list[Job]:
        nonlocal asked
        asked += away.is_set()
        return unavailable() if away.is_set() and not back.is_set() else claim(*args, **kwargs)

    def learn(_: Job) -> int:
        away.set()
        return int(unavailable())

    monkeypatch.setattr(store.jobs, "claim", claimed)
    monkeypatch.setattr(store.jobs, "fail", unavailable)
    store.jobs.enqueue(Scope("acme", "ada", "trip"), [Job("work")])
    with caplog.at_level(logging.INFO, "recollect"):
        working = Background(store, {"work": learn}, Telemetry())
        for until in (5, 10):
            while asked < until:
                time.sleep(0.01)
            back.set()
        working.stop()
    store.close()
    assert [(record.levelname, record.exc_info, record.getMessage()) for record in caplog.records] == [
        ("WARNING", None, "background work waits until the store is back: the store can't be reached"),
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
    with open_store(str(tmp_path / "memory.db")) as again:
        assert [job.kind for job in again.jobs.claim(("work",), worker="w")] == ["work"]
        assert again.jobs.find(scope, state="dead") == []
