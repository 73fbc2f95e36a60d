"""Plans of more than one day, and on another day than was said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.flow.facts import extract
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.told import ADA, START, TRIP, day, say


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


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("The appointment was moved to Tuesday", "dentist appointment"),
        ("The appointment was moved to Tuesday at 5pm", "dentist appointment at 5pm"),
        ("The dentist moved my appointment to next Tuesday", "dentist appointment"),
        ("My dentist appointment is now on Tuesday", "dentist appointment"),
        ("My dentist appointment is on Tuesday at 9 now", "dentist appointment at 9"),
    ],
)
def test_a_plan_that_is_moved_keeps_its_words_but_not_its_hour(
    store: Store, layer: Semantic, said: str, value: str
) -> None:
    say(store, "my dentist appointment is on Thursday at 3pm", 0)
    say(store, said, 0.1)
    layer.catch_up(TRIP)
    (plan,) = layer.facts(ADA)
    assert (plan.value, plan.valid_to) == (value, datetime(2025, 5, 14, tzinfo=UTC))


def test_what_is_now_on_a_day_is_a_plan_where_none_was_known_and_moves_none_of_another_kind(
    store: Store, layer: Semantic
) -> None:
    say(store, "I have an appointment with my lawyer on Friday.", 0)
    say(store, "My flight is now on Thursday. The dentist moved my appointment to Tuesday.", 0.1)
    layer.catch_up(TRIP)
    assert [(plan.value, plan.valid_to) for plan in layer.facts(ADA)] == [
        ("appointment with my lawyer", datetime(2025, 5, 17, tzinfo=UTC)),
        ("flight", datetime(2025, 5, 16, tzinfo=UTC)),
    ]


@pytest.mark.parametrize("when", ["3 June. Correction: 5 June", "June 3. Correction: June 5", "June 3, sorry, June 5"])
def test_a_day_that_is_put_right_is_that_of_the_plan(when: str) -> None:
    (plan,) = extract(f"My flight is on {when}.", START)
    assert (plan.value, plan.valid_to) == ("flight", datetime(2025, 6, 6, tzinfo=UTC))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I called the bank", 0),
        ("The call with the bank is cancelled", 0),
        ("never mind the bank call", 0),
        ("no need to call the bank anymore", 0),
        ("I don't have to call the bank after all", 0),
        ("I called the bank but nobody answered", 1),
        ("no need to call the bank today", 1),
        ("I don't need to call the bank yet", 1),
        ("Never mind the bank call notes", 1),
    ],
)
def test_an_errand_ends_once_it_is_done_or_needless(store: Store, layer: Semantic, said: str, left: int) -> None:
    say(store, "Remind me to call the bank on Friday", 0)
    say(store, said, 0.1)
    layer.catch_up(TRIP)
    assert len(layer.facts(ADA)) == left


def test_a_new_job_is_a_plan_until_the_day_that_the_next_words_name() -> None:
    (plan,) = extract("I got the job at Kestrel!!! starting July 1", START)
    assert (plan.key, plan.value) == ("todo:start at kestrel", "start at Kestrel")


@pytest.mark.parametrize("when", ["every Sunday", "every other Friday", "each Monday morning"])
def test_a_reminder_that_recurs_is_due_on_no_day(when: str) -> None:
    (plan,) = extract(f"Can you remind me to water the plants {when}?", START)
    assert (plan.value, plan.valid_to) == (f"water the plants {when}", None)
