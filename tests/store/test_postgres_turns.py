"""Writers that wait for a lock on PostgreSQL leave connections to others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import pytest

from recollect.errors import StoreUnavailable
from recollect.store import Entry, Job
from recollect.store.postgres import PostgresStore, alive, database
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.turns import Turns
from recollect.testing.stores.base import ADA, BOB, RIVAL, say, texts
from recollect.types import Scope, local_now

MANY = 2 * database.MOST
_SLOW_COMMITS = """
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON recollect.messages DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION slow();
"""


class Callers:
    """A clock that knows how many asked it for the time, as each who appends does before it waits for anything."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)

    def __call__(self) -> datetime:
        self.came.release()
        return local_now()

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.came.acquire(timeout=60)


def piled_up(url: str, held: Scope, writer: Callable[[int], Scope], other: Scope) -> list[list[Entry]]:
    """What many write for whom another process has the lock; before it lets go of that, someone else writes."""
    callers = Callers()
    with PostgresStore(url) as elsewhere, PostgresStore(url, clock=callers) as store, ThreadPoolExecutor(MANY) as pool:
        with elsewhere.transaction(held):
            waiting: list[Future[list[Entry]]] = [
                pool.submit(say, store, writer(number), f"{number}") for number in range(MANY)
            ]
            callers.wait_for(MANY)
            say(store, other, "not in anyone's way")
            assert texts(store.log.read(other)) == ["not in anyone's way"]
            assert not any(each.done() for each in waiting)
        return [each.result() for each in waiting]


def test_a_user_who_is_waited_for_takes_no_connection_from_other_users(url: str) -> None:
    kept = piled_up(url, Scope("acme", "ada"), lambda _: ADA, BOB)
    assert sorted(entry.seq for (entry,) in kept) == [*range(1, MANY + 1)]


def test_a_tenant_that_is_waited_for_takes_no_connection_from_other_tenants(url: str) -> None:
    kept = piled_up(url, Scope("acme"), lambda number: Scope("acme", f"user{number}", "trip"), RIVAL)
    assert [entry.seq for (entry,) in kept] == [1] * MANY


def test_who_waits_too_long_for_a_turn_is_told_so_and_took_no_connection(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as pool:
        with store.transaction(ADA):
            lent = store._database._pool.get_stats()["requests_num"]
            monkeypatch.setattr(alive, "LONGEST", 0.5)
            with pytest.raises(StoreUnavailable, match=r"busy.*nothing was written"):
                pool.submit(say, store, ADA, "too long").result()
            monkeypatch.undo()
            assert store._database._pool.get_stats()["requests_num"] == lent
        assert [entry.seq for entry in say(store, ADA, "kept")] == [1]


def test_who_has_a_connection_does_not_wait_for_a_turn(url: str) -> None:
    """In a transaction of one user another's is written to, whose turn a third has, who waits for the transaction."""
    callers = Callers()
    with PostgresStore(url, clock=callers) as store, ThreadPoolExecutor(1) as pool:
        with store.transaction(BOB):
            say(store, ADA, "first")
            third = pool.submit(say, store, ADA, "third")
            callers.wait_for(2)
            say(store, ADA, "second")
        third.result()
        assert texts(store.log.read(ADA)) == ["first", "second", "third"]


def test_the_lease_of_a_job_is_renewed_while_its_own_effects_hold_the_lock(url: str) -> None:
    with PostgresStore(url) as store, ThreadPoolExecutor(1) as pool:
        store.jobs.enqueue(ADA, [Job("work")])
        (job,) = store.jobs.claim(worker="w", lease=10)
        with store.transaction(ADA):
            renewed = pool.submit(store.jobs.renew, job, 60).result(60)
            store.jobs.finish(job)
        assert renewed.due and job.due and renewed.due > job.due
        assert store.jobs.find(ADA) == []


def test_who_came_first_has_the_next_turn() -> None:
    turns, order = Turns(8, 12), list[str]()

    def write() -> None:
        with turns.of(ADA):
            order.append("waited")

    with ThreadPoolExecutor(1) as pool:
        with turns.of(ADA):
            waiting = pool.submit(write)
            while not any(gate.line for gate in turns._gates.values()):
                time.sleep(0.01)
        with turns.of(ADA):
            order.append("came later")
        waiting.result()
    assert order == ["waited", "came later"]
    assert not turns._gates


def test_tenants_that_are_waited_for_leave_connections_to_those_who_read(url: str) -> None:
    callers, held = Callers(), (Scope("one"), Scope("two"))
    with PostgresStore(url) as elsewhere, PostgresStore(url, clock=callers) as store, ThreadPoolExecutor(MANY) as pool:
        say(store, RIVAL, "kept")
        callers.wait_for(1)
        with elsewhere.transaction(held[0]), elsewhere.transaction(held[1]):
            waiting = [
                pool.submit(say, store, Scope(held[number % 2].tenant, f"user{number}", "trip"), f"{number}")
                for number in range(MANY)
            ]
            callers.wait_for(MANY)
            while store._database._pool.get_stats()["requests_num"] < database.MOST * 3 // 4:
                time.sleep(0.01)
            assert texts(store.log.read(RIVAL)) == ["kept"]
            assert not any(each.done() for each in waiting)
        assert [entry.seq for each in waiting for entry in each.result()] == [1] * MANY


def test_turn_and_lock_are_waited_for_no_longer_than_a_statement_may_take(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers, given = Callers(), list[float]()
    with PostgresStore(url, clock=callers) as store, ThreadPoolExecutor(1) as pool:
        wait = Connection.wait

        def told(self: Connection, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            if timeout is not None:
                given.append(timeout)
            return wait(self, gen, interval, timeout)

        with store.transaction(ADA):
            monkeypatch.setattr(Connection, "wait", told)
            began = time.monotonic()
            waiting = pool.submit(say, store, ADA, "waited")
            callers.wait_for(1)
            while not any(gate.line for gate in store._database._turns._gates.values()):
                time.sleep(0.01)
            came = time.monotonic()
            time.sleep(0.1)
            waited = time.monotonic() - came
        waiting.result()
        assert 0 < given[0] <= alive.LONGEST - waited
        assert given[0] >= alive.LONGEST - (time.monotonic() - began)


@pytest.mark.parametrize("inside", [False, True])
def test_a_commit_that_is_given_up_is_not_said_to_have_failed(
    url: str, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    with PostgresStore(url) as store:
        say(store, BOB, "has a connection made")
        with store._database.maintaining() as db:
            db.execute(_SLOW_COMMITS)
        monkeypatch.setattr(alive, "LONGEST", 4.0)
        with (
            pytest.raises(StoreUnavailable, match="not known whether this was written"),
            store.transaction(ADA) if inside else nullcontext(),
        ):
            say(store, ADA, "perhaps")


def test_maintenance_takes_as_long_as_it_needs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with PostgresStore(url) as store, store._database.maintaining() as db:
        monkeypatch.setattr(alive, "LONGEST", 0.2)
        assert db.ask("SELECT 1 FROM pg_sleep(1)") == [(1,)]
