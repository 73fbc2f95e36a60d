"""What is counted of contexts, and the alerts that come of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import Memory, Settings
from recollect.embed.embedder import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.layers.semantic import Semantic
from recollect.telemetry import SERIES, Alert, Telemetry
from recollect.testing.clock import ManualClock
from tests.contexts import opened, told

LARGE = 10**15
"""Bytes that no process has, that of the tests may be large by now; milliseconds that nothing takes."""


def test_alerts_come_by_callback_and_log(tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    alerts: list[Alert] = []
    plan = Settings(alert_budget=0.1, alert_retrieval_ms=1e-6, alert_memory_bytes=LARGE)
    with opened(tmp_path, clock, settings=plan, on_alert=alerts.append) as memory, caplog.at_level(logging.WARNING):
        memory.session("s", user="ada").context("word " * 40, 100)
        stats = memory.stats()
    assert {alert.name for alert in alerts} == {"context_share", "retrieval_ms"}
    assert stats["recollect_alerts_total"] == len(alerts) == 2
    assert stats["recollect_alerts_total_retrieval_ms"] == stats["recollect_alerts_total_context_share"] == 1
    assert stats["recollect_alerts_total_process_bytes"] == 0
    assert "alert: context_share is" in caplog.text and "(the setting alert_budget)" in caplog.text


def test_the_alert_of_retrieval_is_about_retrieval_alone(tmp_path: Path, clock: ManualClock) -> None:
    alerts: list[Alert] = []
    plan = Settings(alert_retrieval_ms=1e-6, alert_memory_bytes=LARGE)
    with opened(tmp_path, clock, settings=plan, on_alert=alerts.append) as memory:
        memory.session("s", user="ada").context("Who?", 500)
        taken = memory.stats()["recollect_retrieval_seconds_max"]
    assert [alert.value for alert in alerts] == [taken * 1_000]


class _SlowAtMany(HashingEmbedder):
    """Takes its time where it is measured, on several texts at once; knows how much that was."""

    seconds = 0.0

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        self.seconds += 0.3 * (len(texts) > 1)
        return super().embed(texts, kind)


def test_measuring_the_embedder_once_is_no_part_of_a_retrieval(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts: list[Alert] = []
    embedder, plan = _SlowAtMany(128), Settings(alert_retrieval_ms=500, alert_memory_bytes=LARGE)
    for module in ("controller", "embed.nearness"):
        monkeypatch.setattr(f"recollect.{module}.perf_counter", lambda: embedder.seconds)
    with opened(tmp_path, clock, embedder=embedder, settings=plan, on_alert=alerts.append) as memory:
        memory.session("s", user="ada").add("user", "My sister Nadia moved to Oslo.")
        memory.drain()
        memory.session("t", user="ada").context("Which zymurgy does Nadia study?", 500)
        stats = memory.stats()
    assert stats["recollect_context_seconds_max"] > 0.5 and stats["recollect_retrieval_seconds_max"] < 0.1
    assert not alerts


def test_a_process_that_grows_too_large_raises_an_alert_each_time_it_does(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts: list[Alert] = []
    monkeypatch.setattr("recollect.layers.watch.LOOK_SECONDS", 0.0)
    plan = Settings(alert_retrieval_ms=LARGE, alert_memory_bytes=1_000)
    with opened(tmp_path, clock, settings=plan, on_alert=alerts.append) as memory:
        for taken in (900, 2_000, 3_000, 900, 2_000):
            monkeypatch.setattr("recollect.layers.watch.process_bytes", lambda taken=taken: taken)
            memory.session("s", user="ada").context("Who?", 500)
    assert [(alert.name, alert.value) for alert in alerts] == [("process_bytes", 2_000)] * 2


def test_a_low_hit_rate_of_the_last_hundred_reads_raises_an_alert(tmp_path: Path, clock: ManualClock) -> None:
    alerts: list[Alert] = []
    plan = Settings(alert_cache_hits=0.5, alert_retrieval_ms=LARGE, alert_memory_bytes=LARGE)
    with opened(tmp_path, clock, settings=plan, on_alert=alerts.append) as memory:
        for _ in range(200):
            memory.session("s", user="ada").context("Who?", 500)
        assert alerts == []
        for n in range(100):
            memory.session("s", user=f"user {n}").context("Who?", 500)
        assert [(alert.name, alert.value) for alert in alerts] == [("cache_hit_rate", 0.0)]
        memory.layers.semantic = Semantic(memory.store)
        for _ in range(100):
            memory.session("s", user="ada").context("Who?", 500)
    assert len(alerts) == 1


def test_stats_count_contexts_tokens_and_what_a_prompt_cache_knows(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    for n in range(5):
        chat.context(f"Where does my sister live? {n}", 2_000)
        chat.add_turn(f"Where does my sister live? {n}", "In Oslo, since March.")
    stats = memory.stats()
    assert stats["recollect_contexts_total"] == 5
    assert stats["recollect_messages_total"] == 14
    assert 0 < stats["recollect_cached_prefix_ratio_p50"] < 1
    assert stats["recollect_context_tokens_max"] <= 2_000
    assert stats["recollect_recalled_total"] >= 1
    assert set(Telemetry().snapshot()) <= set(stats)


def test_the_hit_rate_is_that_of_the_layer_that_is_there(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    mine = memory.layers.semantic = Semantic(memory.store, hits=70, misses=30)
    chat.context("Where?", 500)
    assert memory.controller.watch.cache() == (mine.hits, mine.misses) == (70, 31)


def test_every_series_of_the_metrics_is_told_something(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    for n in range(6):
        chat.add_turn(f"I like number {n}.", "Noted.")
    memory.drain()
    for _ in range(2):
        chat.context("Where does my sister live?", 2_000)
    assert [name for name in SERIES if not memory.stats()[f"{name}_count"]] == []


def test_extraction_has_a_time_of_its_own(memory: Memory, clock: ManualClock) -> None:
    chat = memory.session("s", user="ada")
    for n in range(6):
        chat.add_turn(f"I like number {n}.", "Noted.")
    memory.drain()
    stats = memory.stats()
    assert 0 < stats["recollect_extraction_seconds_count"] < stats["recollect_learning_seconds_count"]


def test_a_callback_that_fails_is_not_in_the_way(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Alert) -> None:
        raise RuntimeError("no connection")

    with opened(tmp_path, clock, settings=Settings(alert_budget=0.1), on_alert=broken) as memory:
        assert memory.session("s", user="ada").context("word " * 40, 100).tokens <= 100
    assert "no connection" in caplog.text


def test_an_alert_writes_its_numbers_out() -> None:
    assert str(Alert("retrieval_ms", 1_734.2, 500.0)) == "retrieval_ms is 1,734, the limit is 500"
    assert str(Alert("context_share", 0.9134, 0.9)) == "context_share is 0.913, the limit is 0.9"
