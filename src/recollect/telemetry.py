"""Every metric and alert by its name, counted in this process: `Telemetry`."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

log = logging.getLogger("recollect")

COUNTERS: Final = {
    "recollect_contexts_total": "contexts built",
    "recollect_messages_total": "messages kept",
    "recollect_learned_total": "things learned in the background",
    "recollect_job_failures_total": "background jobs that failed and wait for another attempt",
    "recollect_alerts_total": "alerts raised, by their names",
    "recollect_cache_hits_total": "facts read from the cache",
    "recollect_cache_misses_total": "facts read from the store",
    "recollect_recalled_total": "things recalled into contexts",
    "recollect_junk_total": "recalled things that the answer did not use a word of",
}
SERIES: Final = {
    "recollect_context_tokens": "tokens of a context",
    "recollect_context_share": "share of the budget that a context takes",
    "recollect_context_seconds": "time to build a context",
    "recollect_retrieval_seconds": "time the layers take to offer what they have",
    "recollect_learning_seconds": "time of a background job",
    "recollect_extraction_seconds": "time of a background job that extracts facts",
    "recollect_cached_prefix_ratio": "share of a prompt that the prompt before it began with",
}
GAUGES: Final = {"recollect_process_bytes": "memory of this process"}
ALERTED: Final = "recollect_alerts_total"
ALERTS: Final = {
    "context_share": "alert_budget",
    "retrieval_ms": "alert_retrieval_ms",
    "process_bytes": "alert_memory_bytes",
    "cache_hit_rate": "alert_cache_hits",
}
"""Every alert by its name, and the setting that has its limit."""
KEPT: Final = 1_000
"""How many of the newest values of a series the percentiles are taken over."""
EVERY: Final = 100
"""A hit rate is taken over this many reads of facts; of alerts that repeat, every hundredth is logged."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs attention: its name, the value, and the limit that it exceeded."""

    name: str
    value: float
    limit: float

    def __str__(self) -> str:
        return f"{self.name} is {_plain(self.value)}, the limit is {_plain(self.limit)}"


def _plain(number: float) -> str:
    """A number as people write it: 1,730 or 0.913."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


OnAlert: TypeAlias = Callable[[Alert], None]


@dataclass(slots=True, eq=False)
class Telemetry:
    """What happened in this process. Safe to share between threads."""

    on_alert: OnAlert | None = None
    _counts: Counter[str] = field(default_factory=Counter)
    _series: dict[str, deque[float]] = field(default_factory=lambda: {name: deque(maxlen=KEPT) for name in SERIES})
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, number: int = 1) -> int:
        """Add to a counter; returns its new value."""
        with self._lock:
            self._counts[name] += number
            return self._counts[name]

    def observe(self, name: str, value: float) -> None:
        """Add a value to a series."""
        with self._lock:
            self._series[name].append(value)

    def alert(self, name: str, value: float, limit: float) -> None:
        """Pass an alert to `on_alert`. The first of each name and every hundredth are logged."""
        found = Alert(name, value, limit)
        self.count(ALERTED)
        if self.count(name) % EVERY == 1:
            log.warning("alert: %s (the setting %s)", found, ALERTS[name])
        try:
            if self.on_alert:
                self.on_alert(found)
        except Exception:  # whatever a user's own function raises, the context is built
            log.warning("on_alert failed", exc_info=True)

    def snapshot(self) -> dict[str, float]:
        """Every counter and gauge; for every series the count, the median, the 95th percentile and the maximum.

        Alerts are counted in total and by name.
        """
        with self._lock:
            out: dict[str, float] = {name: self._counts[name] for name in COUNTERS}
            out |= {f"{ALERTED}_{name}": self._counts[name] for name in ALERTS}
            for name, values in self._series.items():
                ordered = sorted(values)
                out[f"{name}_count"] = len(ordered)
                if ordered:
                    out[f"{name}_p50"] = ordered[len(ordered) // 2]
                    out[f"{name}_p95"] = ordered[int(len(ordered) * 0.95)]
                    out[f"{name}_max"] = ordered[-1]
        return {**out, "recollect_process_bytes": process_bytes()}


def process_bytes() -> int:
    """The bytes of memory that this process uses now; if the system does not say, the most it ever used, or 0."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
