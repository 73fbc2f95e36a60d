"""Background work: takes jobs from the store's queue and gives each to the layer that does it."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import Final, TypeAlias

from recollect.errors import Conflict, DiskFull, ModelError, RecollectError, StoreUnavailable
from recollect.layers.marks import Gone
from recollect.layers.semantic import LAYER as FACTS
from recollect.store import Job, Store
from recollect.telemetry import Telemetry
from recollect.traces import span

log = logging.getLogger("recollect")

LEASE: Final = 60.0
"""Seconds that a job belongs to its worker; renewed while the job runs, so that a killed process's runs out."""
LONGEST: Final = 1_800.0
"""Seconds for which a job's lease is renewed. Whatever runs for longer hangs: a model is asked for minutes at most."""
POLL_SECONDS: Final = 2.0
"""How often the thread looks for work that another process left."""
PAUSE_SECONDS: Final = 0.05
"""How long new work waits: the request that brought it finishes first, and may bring more."""
HANGS: Final = (
    "the job %r has not ended in %g minutes and is left to other processes: restart this one, which learns nothing more"
    " until the job ends"
)

Learn: TypeAlias = Callable[[Job], int]
"""Does a job and marks it finished, both in one transaction; returns how many things were learned."""


@dataclass(slots=True, eq=False)
class Background:
    """A thread that works through the queue; `learners` has the function for each kind of job.

    `refill` is called when the queue is empty: it may enqueue further work, and returns whether it did.
    """

    store: Store
    learners: Mapping[str, Learn]
    telemetry: Telemetry
    refill: Callable[[], bool] = bool
    worker: str = field(default_factory=lambda: uuid.uuid4().hex)
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _work: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)
    _is_away: bool = False
    _failed: tuple[Job, str] | None = None
    _at_hand: tuple[Job, float] | None = None  # and since when
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _renewing: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="recollect", daemon=True)
        self._renewing = threading.Thread(target=self._renew, name="recollect leases", daemon=True)
        self._thread.start()
        self._renewing.start()

    def wake(self) -> None:
        """Tell the thread that there is work."""
        self._work.set()

    def stop(self, wait: float | None = None) -> None:
        """End the thread after the running job; after `wait` seconds abandon that job, which will be done again."""
        self._stop.set()
        self._work.set()
        self._thread.join(wait)
        self._ended.set()
        self._renewing.join(wait)

    def drain(self) -> int:
        """Do all work that is due, and wait for work in progress; returns how many things were learned."""
        learned = 0
        with self._busy:
            self._tell_failed()
            while not self._stop.is_set() and (job := self._claim() or (self.refill() and self._claim())):
                self._at_hand = job, monotonic()
                try:
                    learned += self._do(job)
                finally:
                    self._at_hand = None
            if self._is_away:
                self._is_away = False
                log.info("the store is back, and background work goes on")
        return learned

    def _claim(self) -> Job | None:
        return next(iter(self.store.jobs.claim(tuple(self.learners), worker=self.worker, lease=LEASE)), None)

    def _renew(self) -> None:
        """Renew the lease of the job at hand until it seems to hang; one that was lost is noticed when the job ends."""
        hanging = None
        while not self._ended.wait(LEASE / 3):
            if (at_hand := self._at_hand) is None or at_hand is hanging:
                continue
            job, since = at_hand
            if monotonic() - since < LONGEST:
                with suppress(RecollectError):
                    self.store.jobs.renew(job, LEASE)
            else:
                hanging = at_hand
                log.warning(HANGS, job.kind, LONGEST / 60)

    def _do(self, job: Job) -> int:
        started = perf_counter()
        try:
            with span("learn", job.scope, job=job.kind) as note:
                learned = self.learners[job.kind](job)
                note(learned=learned)
            self.telemetry.observe("recollect_learning_seconds", seconds := perf_counter() - started)
            if job.kind.startswith(FACTS):
                self.telemetry.observe("recollect_extraction_seconds", seconds)
            self.telemetry.count("recollect_learned_total", learned)
            return learned
        except Conflict:
            return 0
        except (StoreUnavailable, DiskFull) as error:
            if self._stop.is_set():
                raise  # the store was closed meanwhile
            self._fail(job, error)  # raises as well while the store takes nothing, which is told once
            log.warning("the job %r failed and will be tried again: %s", job.kind, error)
            return 0
        except Exception as error:  # a layer or a user's own model may raise anything; the job is attempted again later
            known = isinstance(error, (ModelError, Gone))
            log.warning("the job %r failed and will be tried again: %s", job.kind, error, exc_info=not known)
            self._fail(job, error)
            return 0

    def _fail(self, job: Job, error: Exception) -> None:
        self.telemetry.count("recollect_job_failures_total")
        self._failed = job, type(error).__name__  # not its text: that may quote a message erased later
        self._tell_failed()

    def _tell_failed(self) -> None:
        """Have the store note which job failed; later where it takes nothing now, as a lease may take long to end."""
        failed, self._failed = self._failed, None
        try:
            if failed:
                self.store.jobs.fail(*failed)
        except (StoreUnavailable, DiskFull):
            self._failed = failed
            raise
        except Conflict:
            pass  # the lease ended: the job is another worker's

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.drain()
            except (StoreUnavailable, DiskFull) as error:
                if self._stop.is_set():
                    return
                if not self._is_away:
                    self._is_away = True
                    log.warning("background work waits until the store is back: %s", error)
            except Exception as error:  # the thread goes on, and tries again what it could not do
                if self._stop.is_set():
                    return
                known = isinstance(error, RecollectError)
                log.warning("background work stopped and will be tried again: %s", error, exc_info=not known)
            if self._work.wait(POLL_SECONDS):
                self._stop.wait(PAUSE_SECONDS)
            self._work.clear()
