"""Plans of more than one day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.flow.facts import extract


@pytest.mark.parametrize(
    ("text", "what", "over"),
    [
        ("I'm going to Rome from 4 to 11 June with Bo.", "go to Rome from 4 to 11 June with Bo", datetime(2025, 6, 12)),
        ("I'm going to Rome 4-11 June.", "go to Rome 4-11 June", datetime(2025, 6, 12)),
        ("I'm flying to Rome June 28 to July 3.", "fly to Rome June 28 to July 3", datetime(2025, 7, 4)),
        ("We're visiting Bo between 4 and 6 June.", "visit Bo between 4 and 6 June", datetime(2025, 6, 7)),
        ("I have a meeting from 4 to 5 on 6 June.", "meeting from 4 to 5", datetime(2025, 6, 7)),
    ],
)
def test_a_plan_of_several_days_keeps_them_and_is_over_after_the_last(text: str, what: str, over: datetime) -> None:
    (plan,) = extract(text, datetime(2025, 5, 10, tzinfo=UTC))
    assert (plan.value, plan.valid_to) == (what, over.replace(tzinfo=UTC))
