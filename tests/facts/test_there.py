"""Where "there" is: "She doesn't live there any more"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import carried_on, extract
from recollect.flow.facts.there import with_place
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID
from tests.facts.test_dialogues import talk
from tests.facts.told import ADA, TRIP, values

WHO = {
    "I": ("I live in {}.", "I work at {}.", ""),
    "She": ("My sister Ida lives in {}.", "My sister Ida works at {}.", "sister:ida:"),
}
OVER = st.sampled_from(
    ["{} {not_} {} there any more.", "No wait, {} {not_} {} there anymore", "{} no longer {s} there."]
)


def _said(form: str, who: str, verb: str) -> str:
    third = who == "She"
    return form.format(who, verb, not_="doesn't" if third else "don't", s=f"{verb}s" if third else verb)


@given(st.sampled_from(sorted(WHO)), OVER)
def test_what_was_there_is_over(who: str, form: str) -> None:
    lives, works, whose = WHO[who]
    for before, verb, key, value in ((lives, "live", "place", "Oslo"), (works, "work", "company", "Siemens")):
        told = before.format(value)
        (found,) = carried_on(told, "I see.", _said(form, who, verb), SAID)
        assert (found.key, found.value, found.ended) == (f"{whose}{key}", value, True)
        other = {"live": "work", "work": "live"}[verb]
        assert carried_on(told, "I see.", _said(form, who, other), SAID) == []
        assert carried_on(told, "Do you go to Bergen, or to Rome at Bosch?", _said(form, who, "live"), SAID) == []
        assert carried_on("We had pizza.", "I see.", _said(form, who, verb), SAID) == []


@pytest.mark.parametrize(
    "text",
    [
        "She doesn't live there alone any more.",
        "She doesn't live there any more than you do.",
        "Does she not live there any more?",
        "If she doesn't live there any more I'll cry.",
        "She doesn't live there.",
        "Her ex doesn't live there any more.",
        "I hope she no longer lives there.",
        "She said he no longer lives there.",
    ],
)
def test_only_the_end_of_living_there_is_one(text: str) -> None:
    assert carried_on("My sister Ida lives in Oslo.", "I see.", text, SAID) == []


def test_whom_the_reply_brings_in_may_live_there() -> None:
    told, over = "My son lives in Kiel.", "He doesn't live there any more."
    assert carried_on(told, "I hear the mayor of Kiel resigned.", over, SAID) == []
    assert len(carried_on(told, "I hear it rains a lot in Kiel.", over, SAID)) == 1


def test_where_someone_quit_in_the_same_message_is_over() -> None:
    told, over = "My daughter works at Bosch.", "She quit, she no longer works there."
    (found,) = carried_on(told, "Great!", over, SAID)
    assert (found.key, found.value, found.ended) == ("daughter:company", "Bosch", True)


@given(st.text(max_size=100), st.text(max_size=100))
def test_any_text_can_be_read_for_there(text: str, heard: str) -> None:
    assert with_place(text, extract(heard, SAID), heard) == text


def test_either_message_erased_brings_back_what_was_there(store: Store, layer: Semantic) -> None:
    told, _, over = talk(store, "My sister Ida lives in Oslo.", "Nice!", "She doesn't live there any more.")
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"sister:ida": "Ida"}
    (past,) = layer.history(ADA, "sister:ida:place")
    assert past.value == "Oslo"
    store.log.erase(TRIP, [over])
    layer.forget(TRIP)
    assert values(layer.facts(ADA)) == {"sister:ida": "Ida", "sister:ida:place": "Oslo"}
    store.log.erase(TRIP, [told])
    layer.forget(TRIP)
    assert values(layer.facts(ADA)) == {}
