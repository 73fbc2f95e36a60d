"""How well the service runs: Prometheus metrics, `/healthz` and `/readyz`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Final

from anyio import move_on_after, to_thread
from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from recollect.errors import RecollectError, StoreUnavailable
from recollect.memory import Memory
from recollect.server import shown
from recollect.server.problems import MEDIA, problem
from recollect.server.replies import answer, to_json
from recollect.server.service import Administers, served
from recollect.store import Store
from recollect.telemetry import ALERTED, ALERTS, COUNTERS, GAUGES, SERIES
from recollect.types import Scope

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder in which several processes of one service count together."""
PLAIN: Final = {name: says for name, says in COUNTERS.items() if name != ALERTED}
"""Counters without a label."""
QUANTILES: Final = {"0.5": "p50", "0.95": "p95", "1": "max"}
SHARE_SECONDS: Final = 1.0
"""How often a process writes down for the others what the library counted in it."""
READY_SECONDS: Final = 2.0
"""How long `/readyz` waits for the store; whoever asks wants to know now."""

routes = APIRouter(responses=shown.ERRORS)


class Metrics:
    """What is counted about requests, in a registry of its own."""

    def __init__(self) -> None:
        self._library: Counted | Shared | None = None
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "recollect_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "recollect_http_request_seconds",
            "Seconds to the end of an answer.",
            ("route",),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.streams = Gauge(
            "recollect_http_streams", "Answers being streamed.", registry=self.registry, multiprocess_mode="livesum"
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests.labels(method, route, status).inc()
        self.seconds.labels(route).observe(seconds)

    @asynccontextmanager
    async def watching(self, memory: Memory) -> AsyncIterator[None]:
        """Show what the library counts as well, for the length of the block."""
        if not os.environ.get(SHARED):
            self._library = Counted(memory)
            yield
            return
        self._library = shared = Shared(memory)
        telling = asyncio.create_task(shared.tell_others())
        try:
            yield
        finally:
            telling.cancel()
            shared.tell()
            mark_process_dead(os.getpid())

    def text(self) -> bytes:
        """All metrics in Prometheus' format; those of all processes where they share a folder."""
        if isinstance(self._library, Shared):
            return generate_latest(self._library.of_all())
        shown = CollectorRegistry()
        shown.register(self.registry)
        if self._library:
            shown.register(self._library)
        return generate_latest(shown)

    def stats(self, memory: Memory) -> dict[str, float]:
        """What the library counts, by name. Of several processes: sums of counters, the largest `_max`, else means."""
        if not isinstance(self._library, Shared):
            return memory.stats()
        found: dict[str, list[float]] = {}
        for sample in chain.from_iterable(family.samples for family in self._library.of_all().collect()):
            if sample.name in COUNTERS | GAUGES | SERIES:
                of = QUANTILES.get(sample.labels.get("quantile", "")) or sample.labels.get("alert")
                found.setdefault(f"{sample.name}_{of}" if of else sample.name, []).append(sample.value)
        told = {name: max(of) if name.endswith("_max") else fmean(of) for name, of in found.items()}
        return {**told, ALERTED: sum(told[f"{ALERTED}_{alert}"] for alert in ALERTS)}


def _forget_the_dead(folder: Path) -> None:
    """Remove the gauges of processes that were killed, such as their open streams: they no longer count.

    Another process may do the same at this moment. The number of a dead process may by now be that of another user's,
    so one that may not be asked counts as dead.
    """
    for file in folder.glob("gauge_live*.db"):
        try:
            os.kill(int(file.stem.rpartition("_")[2]), 0)
        except (ProcessLookupError, PermissionError):
            file.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, eq=False)
class Counted(Collector):
    """What the library counts in this process, by its own names; a series as median, 95th percentile and largest."""

    memory: Memory

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now."""
        found = self.memory.stats()
        for name, says in PLAIN.items():
            yield CounterMetricFamily(name.removesuffix("_total"), says, found[name])
        alerts = CounterMetricFamily(ALERTED.removesuffix("_total"), COUNTERS[ALERTED], labels=("alert",))
        for alert in ALERTS:
            alerts.add_metric((alert,), found[f"{ALERTED}_{alert}"])
        yield alerts
        for name, says in GAUGES.items():
            yield GaugeMetricFamily(name, says, found[name])
        for name, says in SERIES.items():
            family = GaugeMetricFamily(name, says, labels=("quantile",))
            for quantile, of in QUANTILES.items():
                if f"{name}_{of}" in found:
                    family.add_metric((quantile,), found[f"{name}_{of}"])
            yield family


class Shared:
    """The same where several processes count together: counters are added up, gauges and series are by process."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._counters = {
            name: Counter(name.removesuffix("_total"), says, registry=None) for name, says in PLAIN.items()
        }
        alerts = Counter(ALERTED.removesuffix("_total"), COUNTERS[ALERTED], ("alert",), registry=None)
        self._counters |= {f"{ALERTED}_{alert}": alerts.labels(alert) for alert in ALERTS}
        self._told = dict.fromkeys(self._counters, 0.0)
        self._gauges = {name: _each(name, says) for name, says in GAUGES.items()}
        self._series = {name: _each(name, says, "quantile") for name, says in SERIES.items()}

    def tell(self) -> None:
        """Write the numbers as they are now into the folder."""
        found = self._memory.stats()
        for name, counter in self._counters.items():
            counter.inc(found[name] - self._told[name])
            self._told[name] = found[name]
        for name, gauge in self._gauges.items():
            gauge.set(found[name])
        for name, gauge in self._series.items():
            for quantile, of in QUANTILES.items():
                if f"{name}_{of}" in found:
                    gauge.labels(quantile).set(found[f"{name}_{of}"])

    def of_all(self) -> CollectorRegistry:
        """What all processes wrote into the folder."""
        self.tell()
        _forget_the_dead(Path(os.environ[SHARED]))
        MultiProcessCollector(found := CollectorRegistry())
        return found

    async def tell_others(self) -> None:
        """`tell` every second."""
        while True:
            self.tell()
            await asyncio.sleep(SHARE_SECONDS)


def _each(name: str, says: str, *labels: str) -> Gauge:
    return Gauge(name, says, labels, registry=None, multiprocess_mode="liveall")


@routes.get("/healthz", operation_id="health", response_model=shown.Health)
async def health() -> Response:
    """The process runs."""
    return answer({"status": "ok"})


@routes.get("/readyz", operation_id="ready", response_model=shown.Health)
async def ready(request: Request) -> Response:
    """The store can be read and written to, and the service is not stopping."""
    service = served(request)
    found: RecollectError = StoreUnavailable(f"the store does not answer within {READY_SECONDS:g} seconds")
    with move_on_after(READY_SECONDS):
        try:
            await to_thread.run_sync(_look, service.memory.store, limiter=service.threads, abandon_on_cancel=True)
            return answer({"status": "ok"})
        except RecollectError as error:
            found = error
    told = problem(503, type(found).__name__, str(found), "do what the detail names; reading may go on until then")
    return Response(to_json(told), 503, media_type=MEDIA)


def _look(store: Store) -> None:
    store.log.sessions(Scope("recollect:ready"), limit=1)
    store.check_writable()


@routes.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(request: Request, _: Administers) -> Response:
    """Counts and times for Prometheus."""
    return Response(served(request).metrics.text(), media_type=CONTENT_TYPE_LATEST)
