"""Reports to the telemetry what contexts cost and how useful they are; raises an alert where a limit is exceeded."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from recollect.flow.context import Context
from recollect.recent import Recent
from recollect.settings import Settings
from recollect.telemetry import EVERY, Telemetry, process_bytes
from recollect.types import Message, Scope

KEPT_CONTEXTS: Final = 256
RECALLED: Final = ("episodic", "documents", "tools")
LOOK_SECONDS: Final = 1.0
"""How many seconds the size of the process is remembered: asking the system takes as long as a small query."""
_WORD: Final = re.compile(r"\w{4,}")


@dataclass(slots=True, eq=False)
class Watch:
    """Watches the contexts that are built, and remembers the last one of each session to compare the next with.

    `cache` returns how often facts were found in memory, and how often they had to be read.
    """

    telemetry: Telemetry
    settings: Settings
    cache: Callable[[], tuple[int, int]]
    _last: Recent[Scope, Context] = field(default_factory=lambda: Recent(KEPT_CONTEXTS))
    _large: bool = False
    _looked: float = float("-inf")
    _read: tuple[int, int] = (0, 0)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def built(self, scope: Scope, context: Context, seconds: float) -> None:
        """Record a context that was built."""
        with self._lock:
            before = self._last.get(scope)
            self._last[scope] = context
        share = context.tokens / context.budget
        tell = self.telemetry.observe
        tell("recollect_context_tokens", context.tokens)
        tell("recollect_context_share", share)
        tell("recollect_context_seconds", seconds)
        if before is not None:
            tell("recollect_cached_prefix_ratio", context.same_start(before.prompt))
        if share > self.settings.alert_budget:
            self.telemetry.alert("context_share", share, self.settings.alert_budget)
        self.telemetry.count("recollect_contexts_total")
        self._look_around()

    def retrieved(self, seconds: float) -> None:
        """Record how long the layers took to offer what they have."""
        self.telemetry.observe("recollect_retrieval_seconds", seconds)
        if seconds * 1_000 > self.settings.alert_retrieval_ms:
            self.telemetry.alert("retrieval_ms", seconds * 1_000, self.settings.alert_retrieval_ms)

    def forget(self, scope: Scope) -> None:
        """Drop the contexts of all a user's sessions: each may quote what was erased."""
        with self._lock:
            for session in list(filter(scope.owner.covers, self._last)):
                del self._last[session]

    def answered(self, scope: Scope, messages: Sequence[Message]) -> None:
        """Count what the last context recalled, and how much of that shares no word with the answer."""
        with self._lock:
            context = self._last.get(scope)
        answers = [message.text for message in messages if message.role == "assistant" and message.text]
        if context is None or not answers:
            return
        recalled = [line for line in context.offered if line.kept and line.section in RECALLED]
        asked = _telling(context.conversation[context.asked].text) if context.asked is not None else ()
        told = set[str]().union(*map(_telling, answers)).difference(asked)
        junk = sum(told.isdisjoint(_telling(line.text)) for line in recalled)
        self.telemetry.count("recollect_recalled_total", len(recalled))
        self.telemetry.count("recollect_junk_total", junk)

    def _look_around(self) -> None:
        """Raise an alert if the process is too large, or too few of the facts read lately came from the cache."""
        with self._lock:
            rate, now = self._hit_rate(), monotonic()
            due = now >= self._looked + LOOK_SECONDS
            self._looked = now if due else self._looked
        if rate is not None and rate < self.settings.alert_cache_hits:
            self.telemetry.alert("cache_hit_rate", rate, self.settings.alert_cache_hits)
        if due:
            self._look_at_memory()

    def _look_at_memory(self) -> None:
        taken, most = process_bytes(), self.settings.alert_memory_bytes
        with self._lock:
            grown, self._large = taken > most and not self._large, taken > most
        if grown:
            self.telemetry.alert("process_bytes", taken, most)

    def _hit_rate(self) -> float | None:
        """The share of facts read since last time that came from the cache; None if too few were read."""
        (hits, misses), before = self.cache(), self._read
        if sum(before) > hits + misses:  # the layer was replaced
            before = self._read = (0, 0)
        read = hits + misses - sum(before)
        if read < EVERY:
            return None
        self._read = (hits, misses)
        return (hits - before[0]) / read


def _telling(text: str) -> Iterator[str]:
    return (found[0] for found in _WORD.finditer(text.lower()))
