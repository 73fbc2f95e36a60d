"""What a job queue must do."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import ConfigError, Conflict
from recollect.frozen import freeze
from recollect.store import Job, Store
from recollect.store.queue import MAX_ATTEMPTS
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import ACME, ADA, ADA_TOO, BOB, NOON, RIVAL, USER, StoreTests, said
from recollect.types import Scope


def kinds(jobs: list[Job]) -> list[str]:
    """The kinds of jobs."""
    return [job.kind for job in jobs]


class JobTests(StoreTests):
    """Enqueuing, claiming, failing."""

    def test_a_job_is_claimed_and_finished(self, store: Store) -> None:
        (job,) = store.jobs.enqueue(ADA, [Job("embed", freeze({"ids": ["a", "\ud800\x00"]}))])
        assert (job.state, job.scope, job.due, job.attempts) == ("waiting", ADA, NOON, 0)
        (claimed,) = store.jobs.claim(worker="w")
        assert (claimed.id, claimed.state, claimed.worker, claimed.attempts) == (job.id, "running", "w", 1)
        assert claimed.payload == {"ids": ["a", "\ud800\x00"]}
        store.jobs.finish(claimed)
        assert store.jobs.find(ACME) == store.jobs.claim(worker="w") == []

    def test_a_claimed_job_is_no_one_elses(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a"), Job("b")])
        assert kinds(store.jobs.claim(worker="w1")) == ["a"]
        assert kinds(store.jobs.claim(worker="w2")) == ["b"]
        assert store.jobs.claim(worker="w3") == []

    def test_oldest_first_and_at_most_the_limit(self, store: Store, clock: ManualClock) -> None:
        for kind in "abcde":
            store.jobs.enqueue(ADA, [Job(kind)])
            clock.forward(seconds=1)
        assert kinds(store.jobs.claim(worker="w", limit=3)) == ["a", "b", "c"]
        assert kinds(store.jobs.claim(worker="w", limit=3)) == ["d", "e"]

    def test_claim_by_kind(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a"), Job("b"), Job("c"), Job("b' OR 1=1")])
        assert kinds(store.jobs.claim(["c", "b"], worker="w", limit=9)) == ["b", "c"]
        assert store.jobs.claim(["nope"], worker="w") == []

    def test_a_worker_serves_every_tenant(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        store.jobs.enqueue(RIVAL, [Job("r")])
        assert kinds(store.jobs.claim(worker="w", limit=9)) == ["a", "r"]

    def test_a_job_may_be_of_a_whole_tenant(self, store: Store) -> None:
        store.jobs.enqueue(ACME, [Job("a", key="k")])
        store.jobs.enqueue(ACME, [Job("a", key="k")])
        (job,) = store.jobs.claim(worker="w", limit=9)
        assert job.scope == ACME
        store.jobs.finish(job)
        assert store.jobs.find(ACME) == []

    def test_a_delayed_job_waits(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("later", delay=30)])
        assert store.jobs.claim(worker="w") == []
        clock.forward(seconds=30)
        assert kinds(store.jobs.claim(worker="w")) == ["later"]

    def test_a_job_for_every_few_messages_comes_when_so_many_are_reached(self, store: Store) -> None:
        sums = Job("sum", every=3)
        came = []
        for size in (1, 1, 2, 1, 6):
            store.log.append(ADA, [said("zebra") for _ in range(size)], jobs=[sums])
            came.append(len(store.jobs.claim(worker="w", limit=9)))
        assert came == [0, 0, 1, 0, 1]
        with pytest.raises(ConfigError, match="every is 0"):
            Job("sum", every=0)

    def test_equal_keys_wait_once(self, store: Store) -> None:
        (first,) = store.jobs.enqueue(ADA, [Job("sum", key="k")])
        assert store.jobs.enqueue(ADA, [Job("sum", key="k"), Job("sum", key="k")]) == [first, first]
        store.jobs.enqueue(ADA, [Job("sum", key="other"), Job("else", key="k"), Job("sum"), Job("sum")])
        store.jobs.enqueue(ADA_TOO, [Job("sum", key="k")])
        assert len(store.jobs.find(ACME)) == 6

    def test_while_one_runs_another_may_wait(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("sum", key="k")])
        (running,) = store.jobs.claim(worker="w")
        store.jobs.enqueue(ADA, [Job("sum", key="k")])
        assert [job.state for job in store.jobs.find(ADA)] == ["running", "waiting"]
        store.jobs.finish(running)
        assert len(store.jobs.claim(worker="w")) == 1

    def test_a_failed_job_gives_way_to_the_one_that_waits(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("sum", key="k")])
        (running,) = store.jobs.claim(worker="w")
        (waiting,) = store.jobs.enqueue(ADA, [Job("sum", key="k")])
        assert store.jobs.fail(running, "broken") == waiting
        assert store.jobs.find(ADA) == [waiting]

    def test_a_failed_job_comes_back_later_each_time(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        waits = []
        for _ in range(MAX_ATTEMPTS - 1):
            (job,) = store.jobs.claim(worker="w")
            failed = store.jobs.fail(job, "model down\x00\ud800")
            assert (failed.state, failed.worker) == ("waiting", None)
            assert failed.error is not None
            assert "model down" in failed.error
            assert failed.due is not None
            assert store.jobs.claim(worker="w") == []
            waits.append((failed.due - clock.now).total_seconds())
            clock.now = failed.due
        assert waits == sorted(set(waits))
        assert waits[0] >= 1

    def test_a_job_that_always_fails_is_dead(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        for _ in range(MAX_ATTEMPTS):
            (job,) = store.jobs.claim(worker="w")
            last = store.jobs.fail(job, "no")
            clock.forward(days=1)
        assert (last.state, last.attempts, last.error) == ("dead", MAX_ATTEMPTS, "no")
        assert store.jobs.claim(worker="w") == []
        assert store.jobs.find(ACME, state="dead") == [last]

    def test_a_hopeless_job_is_dead_at_once(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (job,) = store.jobs.claim(worker="w")
        assert store.jobs.fail(job, "bad payload", retry=False).state == "dead"

    def test_the_dead_can_be_revived(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (job,) = store.jobs.claim(worker="w")
        store.jobs.fail(job, "no", retry=False)
        assert store.jobs.revive(Scope("rival")) == 0
        assert store.jobs.revive(ACME) == 1
        (again,) = store.jobs.claim(worker="w")
        assert (again.id, again.attempts, again.error) == (job.id, 1, None)

    def test_a_lost_lease_lets_another_work(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (first,) = store.jobs.claim(worker="w1", lease=60)
        clock.forward(seconds=60)
        (second,) = store.jobs.claim(worker="w2", lease=60)
        assert (second.id, second.attempts) == (first.id, 2)
        for lost in (
            lambda: store.jobs.finish(first),
            lambda: store.jobs.fail(first, "x"),
            lambda: store.jobs.renew(first),
        ):
            with pytest.raises(Conflict, match="lease"):
                lost()
        store.jobs.finish(second)

    def test_the_same_worker_can_lose_its_own_lease(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (first,) = store.jobs.claim(worker="w", lease=60)
        clock.forward(seconds=61)
        (second,) = store.jobs.claim(worker="w", lease=60)
        with pytest.raises(Conflict):
            store.jobs.finish(first)
        store.jobs.finish(second)

    def test_a_renewed_lease_holds(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (job,) = store.jobs.claim(worker="w", lease=60)
        clock.forward(seconds=50)
        job = store.jobs.renew(job, lease=60)
        clock.forward(seconds=50)
        assert store.jobs.claim(worker="other") == []
        store.jobs.finish(job)

    def test_a_job_that_kills_its_workers_is_dead(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("poison")])
        for _ in range(MAX_ATTEMPTS):
            assert len(store.jobs.claim(worker="w", lease=1)) == 1
            clock.forward(seconds=2)
        store.jobs.enqueue(ADA, [Job("good")])
        assert kinds(store.jobs.claim(worker="w", limit=9)) == ["good"]
        assert kinds(store.jobs.find(ACME, state="dead")) == ["poison"]

    def test_jobs_behind_the_limit_stay_as_they_are(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("poison")])
        for _ in range(MAX_ATTEMPTS):
            store.jobs.claim(worker="w", lease=10)
            clock.forward(seconds=10)
        clock.forward(seconds=-10)
        store.jobs.enqueue(ADA, [Job("good", delay=5)])
        clock.forward(seconds=10)
        assert kinds(store.jobs.claim(worker="w")) == ["good"]
        assert [(job.kind, job.state) for job in store.jobs.find(ADA)] == [("poison", "running"), ("good", "running")]
        assert store.jobs.claim(worker="w") == []
        assert kinds(store.jobs.find(ADA, state="dead")) == ["poison"]

    def test_finishing_twice_is_a_conflict(self, store: Store) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        (job,) = store.jobs.claim(worker="w")
        store.jobs.finish(job)
        with pytest.raises(Conflict):
            store.jobs.finish(job)

    def test_what_was_not_claimed_can_not_be_finished(self, store: Store) -> None:
        (job,) = store.jobs.enqueue(ADA, [Job("a")])
        ids = ("x' OR 1=1", "9" * 30, "\u0663", "-1")
        for never in (job, Job("a"), *(Job("a", id=id, worker="w", scope=ADA) for id in ids)):
            with pytest.raises(Conflict):
                store.jobs.finish(never)

    def test_a_clock_set_back_holds_up_nothing(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("leased"), Job("waiting", delay=5)])
        assert kinds(store.jobs.claim(worker="gone", lease=60)) == ["leased"]
        clock.forward(days=-3_650)
        assert sorted(kinds(store.jobs.claim(worker="w", limit=9))) == ["leased", "waiting"]

    def test_a_clock_set_forward_loses_nothing(self, store: Store, clock: ManualClock) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        clock.forward(days=3_650)
        store.jobs.enqueue(ADA, [Job("b")])
        assert kinds(store.jobs.claim(worker="w", limit=9)) == ["a", "b"]

    def test_find_stays_in_its_scope(self, store: Store) -> None:
        for scope, kind in ((ADA, "a"), (ADA_TOO, "b"), (BOB, "c"), (RIVAL, "d")):
            store.jobs.enqueue(scope, [Job(kind)])
        assert kinds(store.jobs.find(ADA)) == ["a"]
        assert kinds(store.jobs.find(USER)) == ["a", "b"]
        assert kinds(store.jobs.find(ACME)) == ["a", "b", "c"]
        assert kinds(page := store.jobs.find(ACME, limit=2)) == ["a", "b"]
        assert kinds(rest := store.jobs.find(ACME, after=page[-1].id, limit=2)) == ["c"]
        assert store.jobs.find(ACME, after=rest[-1].id) == []

    @pytest.mark.parametrize(
        "bad",
        [
            {"worker": ""},
            {"lease": 0},
            {"lease": 1e-9},
            {"lease": float("nan")},
            {"limit": 0},
            {"limit": 2**63},
            {"kinds": "abc"},
            {"kinds": [""]},
            {"kinds": ["half\ud83d"]},
        ],
    )
    def test_senseless_claims_are_refused(self, store: Store, bad: dict[str, Any]) -> None:
        store.jobs.enqueue(ADA, [Job("a")])
        with pytest.raises(ConfigError):
            store.jobs.claim(**{"worker": "w", **bad})

    @pytest.mark.parametrize("bad", [{"state": "waitin"}, {"state": "half\ud83d"}, {"state": "a\x00"}, {"limit": 0}])
    def test_senseless_questions_are_refused(self, store: Store, bad: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            store.jobs.find(ADA, **bad)

    @pytest.mark.parametrize("bad", [{"delay": -1}, {"delay": float("nan")}, {"key": ""}])
    def test_senseless_jobs_are_refused(self, bad: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            Job("a", **bad)
