"""Plans of more than one day, and on another day than was said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.flow.facts import extract
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.told import ADA, TRIP, day, say


@pytest.mark.parametrize(
    ("text", "what", "over"),
    [
        ("I'm going to Rome from 4 to 11 June with Bo.", "go to Rome from 4 to 11 June with Bo", datetime(2025, 6, 12)),
        ("I'm going to Rome 4-11 June.", "go to Rome 4-11 June", datetime(2025, 6, 12)),
        ("I'm flying to Rome June 28 to July 3.", "fly to Rome June 28 to July 3", datetime(2025, 7, 4)),
        ("We're visiting Bo between 4 and 6 June.", "visit Bo between 4 and 6 June", datetime(2025, 6, 7)),
        ("I'm seeing Bo on 4 or 5 June.", "see Bo on 4 or 5 June", datetime(2025, 6, 6)),
        ("By 4 or 5 June I have to call Bo.", "call Bo", datetime(2025, 6, 6)),
        ("I have to call Bo by Monday or Tuesday.", "call Bo by Monday or Tuesday", datetime(2025, 5, 14)),
        ("I have to call Bo by 2025-06-10.", "call Bo", datetime(2025, 6, 11)),
        ("I have a meeting from 4 to 5 on 6 June.", "meeting from 4 to 5", datetime(2025, 6, 7)),
    ],
)
def test_a_plan_of_several_days_keeps_them_and_is_over_after_the_last(text: str, what: str, over: datetime) -> None:
    (plan,) = extract(text, datetime(2025, 5, 10, tzinfo=UTC))
    assert (plan.value, plan.valid_to) == (what, over.replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "old", ["I have a dentist appointment on Tuesday at 3pm.", "My dentist appointment is on Tuesday."]
)
@pytest.mark.parametrize(
    "new",
    ["My dentist appointment is on Wednesday, not Tuesday.", "I have a dentist appointment Wednesday not on Tuesday"],
)
def test_a_plan_that_was_said_for_a_wrong_day_is_put_right(store: Store, layer: Semantic, old: str, new: str) -> None:
    say(store, "I have an appointment with the dentist next Friday.", 0)
    say(store, old, 0)
    say(store, new, 0.5)
    layer.catch_up(TRIP)
    assert sorted((fact.valid_to - day(0)).days for fact in layer.facts(ADA) if fact.valid_to) == [2, 4]


def test_a_plan_is_done_on_whichever_day(store: Store, layer: Semantic) -> None:
    say(store, "I have to pay the rent to Lars by Friday.", 0)
    say(store, "I've already paid the rent today.", 1)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []
