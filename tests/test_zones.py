"""What "tomorrow" and "yesterday" mean goes by the clock of who says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from recollect import Memory, Message
from recollect.types import in_local_zone, local_now
from tests.cli.conftest import Run, home, parsed, run

__all__ = ["home", "run"]

EAST, WEST = "<+14>-14", "<-12>+12"


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the zone of this machine until the test ends."""

    def to(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield to
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def another_day(set_zone: Callable[[str], None]) -> date:
    """A zone in which it is another day than in UTC, and which day that is."""
    now = datetime.now(UTC)
    set_zone(EAST if now.hour >= 11 else WEST)
    return (now + timedelta(hours=14 if now.hour >= 11 else -12)).date()


def due(memory: Memory) -> date:
    memory.drain()
    (plan,) = (fact for fact in memory.user("ada").facts() if fact.type == "action_item")
    assert plan.valid_to is not None
    return plan.valid_to.date() - timedelta(days=1)


def test_a_plan_without_a_time_is_of_the_machines_day(another_day: date) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        memory.session("one", user="ada").add("user", "Remind me to pay the rent tomorrow.")
        assert due(memory) == another_day + timedelta(days=1)


def test_what_was_said_before_midnight_is_of_yesterday_by_the_clock_of_the_question() -> None:
    evening = datetime.fromisoformat("2025-05-14T22:00:00-04:00")
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("one", user="ada")
        chat.add(Message("user", "The soup was good.", at=evening.astimezone(UTC)))
        chat.add(Message("user", "The cake was good.", at=(evening + timedelta(hours=3)).astimezone(UTC)))
        question, asked = "What was good yesterday?", evening + timedelta(hours=12)
        assert "soup" in chat.search(question, at=asked)[0].text
        assert "cake" in chat.search(question, at=asked + timedelta(days=1))[0].text


def test_a_moment_has_the_zone_of_the_machine(another_day: date) -> None:
    now = local_now()
    assert now.date() == another_day
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    assert in_local_zone(datetime(2025, 5, 1, 12)).hour == 12
    assert in_local_zone(datetime.min).year == 1
    assert in_local_zone(datetime.max).year == 9999


def test_a_zone_that_is_set_anew_or_begins_its_summer_is_told_at_once(
    set_zone: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def hours() -> list[float]:
        found = []
        for moment in ("2025-01-15T12:00Z", "2025-03-30T00:59:59Z", "2025-03-30T01:00Z", "2025-01-15T12:00Z"):
            seconds = datetime.fromisoformat(moment).timestamp()
            with monkeypatch.context() as clock:
                clock.setattr(time, "time", partial(float, seconds))
                found.append((local_now().utcoffset() or timedelta()) / timedelta(hours=1))
        return found

    set_zone("CET-1CEST,M3.5.0,M10.5.0/3")
    assert hours() == [1, 1, 2, 1]
    set_zone("<+03>-3")
    assert hours() == [3, 3, 3, 3]


@pytest.mark.usefixtures("another_day")
def test_the_command_line_takes_and_shows_the_time_of_ones_clock(run: Run, home: Path) -> None:
    run("add", "The soup was good.", "--at", "2025-05-14T22:00")
    assert "2025-05-14 22:00" in run("history").stdout
    (kept,) = parsed(run, "history")
    assert datetime.fromisoformat(kept["at"]) == datetime(2025, 5, 14, 22).astimezone()
