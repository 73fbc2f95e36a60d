"""PostgreSQL, the store for many processes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from recollect.store import Clock, Job
from recollect.store.postgres import PostgresStore
from recollect.testing import StoreSuite
from recollect.testing.stores.base import OpenStore
from recollect.testing.stores.machine import StoreMachine
from recollect.types import Message, Scope
from tests.postgres import emptied


class TestPostgres(StoreSuite):
    @pytest.fixture
    def open_store(self, postgres_url: str) -> OpenStore:
        def opened(clock: Clock) -> PostgresStore:
            return PostgresStore(postgres_url, clock=clock)

        return opened


def test_whatever_is_done_it_answers_like_the_reference(postgres_url: str) -> None:
    folders: set[Path] = set()

    class Machine(StoreMachine):
        def open(self, folder: Path, clock: Clock) -> PostgresStore:
            url = postgres_url if folder in folders else emptied(postgres_url)
            folders.add(folder)
            return PostgresStore(url, clock=clock, durability="normal")

    examples = int(os.environ.get("RECOLLECT_EXAMPLES", "10"))
    quiet = settings(
        max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Machine, settings=quiet)


def test_a_job_that_a_turn_relies_on_is_not_claimed_before_the_turn_is_there(postgres_url: str) -> None:
    scope, job = Scope("acme", "ada", "trip"), Job("embed", key="embed")
    with PostgresStore(emptied(postgres_url)) as store, ThreadPoolExecutor(1) as other:
        store.log.append(scope, [Message("user", "one")], jobs=[job])
        with store.transaction():
            store.log.append(scope, [Message("user", "two")], jobs=[job])
            assert other.submit(store.jobs.claim, worker="hasty").result() == []
        assert len(store.jobs.claim(worker="patient")) == 1
