"""Facts that go with their messages, in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.layers import semantic
from recollect.layers.semantic import Semantic
from recollect.store import Store
from recollect.store import open as open_store
from recollect.types import Scope
from tests.facts.told import ADA, TRIP, day, lines, say, values


def test_erasing_a_message_takes_its_facts_and_brings_back_what_they_superseded(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0)
    newer = say(store, "I moved to Rome and I love jazz.", 1)
    layer.catch_up(TRIP)
    assert lines(layer.offer(ADA, "Where do I live?", day(2)))[0] == "place: Rome (said 13 May 2025)"
    store.log.erase(TRIP, [newer])
    assert lines(layer.offer(ADA, "Where do I live?", day(2))) == ["place: Paris (said 12 May 2025)"]
    assert values(layer.facts(ADA)) == {"place": "Paris"}


def test_erasing_an_end_brings_the_fact_back(store: Store, layer: Semantic) -> None:
    say(store, "I love jazz.", 0)
    end = say(store, "I don't like jazz any more.", 1)
    layer.catch_up(TRIP)
    assert layer.offer(ADA, "music", day(2)) == []
    store.log.erase(TRIP, [end])
    assert lines(layer.offer(ADA, "music", day(2))) == ["likes: jazz (said 12 May 2025)"]


def test_what_another_process_learns_and_erases_is_seen(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    program = (
        "import sys\n"
        "from recollect.layers.semantic import Semantic\n"
        "from recollect.store import open\n"
        "from recollect.types import Message, Scope\n"
        "trip = Scope('acme', 'ada', 'trip')\n"
        "with open(sys.argv[1]) as store:\n"
        "    if sys.argv[2] == 'erase':\n"
        "        store.log.erase(trip)\n"
        "    else:\n"
        "        store.log.append(trip, [Message('user', sys.argv[2])])\n"
        "        Semantic(store).catch_up(trip)\n"
    )

    def elsewhere(word: str) -> None:
        subprocess.run([sys.executable, "-W", "error", "-c", program, path, word], check=True)

    with open_store(path, durability="normal") as store:
        layer = Semantic(store)
        assert layer.offer(ADA, "", day(0)) == []
        elsewhere("I live in Oslo.")
        assert [line.partition(" (")[0] for line in lines(layer.offer(ADA, "", day(0)))] == ["place: Oslo"]
        elsewhere("erase")
        assert layer.offer(ADA, "", day(0)) == []
        assert layer.facts(ADA) == []


def test_what_is_kept_in_memory_serves_until_something_changes(store: Store, layer: Semantic) -> None:
    say(store, "I live in Oslo.")
    layer.catch_up(TRIP)
    for _ in range(4):
        layer.offer(ADA, "Where do I live?", day(1))
    assert (layer.hits, layer.misses) == (3, 1)
    say(store, "I live in Bonn.", 1)
    layer.catch_up(TRIP)
    assert lines(layer.offer(ADA, "Where do I live?", day(1))) == ["place: Bonn (said 13 May 2025)"]
    assert (layer.hits, layer.misses) == (3, 2)
    layer.forget(TRIP)
    layer.offer(ADA, "", day(1))
    assert (layer.hits, layer.misses) == (3, 3)


def test_only_so_many_users_are_kept_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "KEPT_USERS", 2)
    layer = Semantic(store)
    for n in range(5):
        layer.offer(Scope("acme", f"user{n}"), "", day(0))
    assert len(layer._users) == 2
