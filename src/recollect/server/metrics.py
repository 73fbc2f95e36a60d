"""How the service does: Prometheus metrics, `/healthz` and `/readyz`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.server import shown
from recollect.server.replies import answer
from recollect.server.service import Administers, Served
from recollect.telemetry import COUNTERS, GAUGES, SERIES
from recollect.types import Scope

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The folder in which several processes of one service count together."""

routes = APIRouter()


class Metrics:
    """What is counted about requests, in a registry of its own."""

    def __init__(self) -> None:
        self._library: Counted | None = None
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
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
        key = (method, route, status)
        if (found := self._counted.get(key)) is None:
            found = self._counted[key] = self.requests.labels(*key), self.seconds.labels(route)
        found[0].inc()
        found[1].observe(seconds)

    def watch(self, memory: Memory) -> None:
        """Show what the library counts as well."""
        self._library = Counted(memory)

    def text(self) -> bytes:
        """All of it as Prometheus reads it; requests of all processes together where they share a folder."""
        shown = CollectorRegistry()
        if os.environ.get(SHARED):
            MultiProcessCollector(shown)  # type: ignore[no-untyped-call]
        else:
            shown.register(self.registry)
        if self._library:
            shown.register(self._library)
        return generate_latest(shown)


@dataclass(frozen=True, slots=True, eq=False)
class Counted(Collector):
    """What the library counts, by its own names; of a series the median, the 95th percentile and the largest."""

    memory: Memory

    def collect(self) -> Iterator[Metric]:
        """The numbers as they are now."""
        found = self.memory.stats()
        for name, says in COUNTERS.items():
            yield CounterMetricFamily(name.removesuffix("_total"), says, found[name])
        for name, says in GAUGES.items():
            yield GaugeMetricFamily(name, says, found[name])
        for name, says in SERIES.items():
            family = GaugeMetricFamily(name, says, labels=("quantile",))
            for quantile, of in (("0.5", "p50"), ("0.95", "p95"), ("1", "max")):
                if f"{name}_{of}" in found:
                    family.add_metric((quantile,), found[f"{name}_{of}"])
            yield family


@routes.get("/healthz", operation_id="health", response_model=shown.Health)
async def health() -> Response:
    """The process runs."""
    return answer({"status": "ok"})


@routes.get("/readyz", operation_id="ready", response_model=shown.Health)
async def ready(service: Served) -> Response:
    """The store answers, and the service is not stopping."""
    try:
        await service.run(service.memory.store.log.sessions, Scope("recollect:ready"), limit=1)
    except RecollectError as error:
        return answer({"status": "unavailable", "problem": str(error)}, 503)
    return answer({"status": "ok"})


@routes.get("/metrics", operation_id="metrics", response_class=Response)
async def metrics(service: Served, _: Administers) -> Response:
    """Counts and times for Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
