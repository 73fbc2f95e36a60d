"""How the service does: Prometheus metrics, `/healthz` and `/readyz`."""

from __future__ import annotations

import os
from typing import Final

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from recollect.errors import RecollectError
from recollect.server import shapes
from recollect.server.replies import answer
from recollect.server.service import Administers, Served
from recollect.types import Scope

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SHARED: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The folder in which several processes of one service count together."""

routes = APIRouter()


class Metrics:
    """What is counted about requests, in a registry of its own."""

    def __init__(self) -> None:
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

    def text(self) -> bytes:
        """All of it as Prometheus reads it; of all processes together where they share a folder."""
        if not os.environ.get(SHARED):
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


@routes.get("/healthz", operation_id="health", response_model=shapes.Health)
async def health() -> Response:
    """The process runs."""
    return answer({"status": "ok"})


@routes.get("/readyz", operation_id="ready", response_model=shapes.Health)
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
