"""What changes in a life: a new job is a plan until its day, a car is sold, an allergy comes on top of another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import amended, extract
from recollect.flow.facts.corrections import meant
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID, labels
from tests.facts.told import ADA, TRIP, day, say, values

FIRMS = st.sampled_from(["Kelpie", "Northwind Labs", "Johnson & Johnson", "the BBC"])
HIRED = st.sampled_from(
    [
        "I got the job at {}",
        "I accepted an offer from {}",
        "I've taken a position at {}",
        "I signed the offer letter from {}",
        "I signed with {} as a nurse",
        "I'm joining {} as a nurse",
    ]
)


@given(HIRED, FIRMS)
def test_who_has_a_new_job_works_there(words: str, firm: str) -> None:
    said = extract(f"{words.format(firm)}.", SAID)
    assert {one.value for one in said if one.key == "company"} == {firm.removeprefix("the ")}


@given(HIRED, FIRMS, st.sampled_from([", but I turned it down", ", but I changed my mind", ", but it fell through"]))
def test_a_job_that_fell_through_is_none(words: str, firm: str, but: str) -> None:
    assert not [one for one in extract(f"{words.format(firm)}{but}.", SAID) if one.key == "company"]


@given(HIRED, FIRMS)
def test_a_job_that_begins_on_a_day_ahead_is_a_plan_until_then(words: str, firm: str) -> None:
    said = labels(extract(f"{words.format(firm)}, and I start on 2 June.", SAID))
    assert not [one for one in said if one[1] == "company"]
    assert "2025-06-02" in {one[-1] for one in said}


@pytest.mark.parametrize("ahead", ["I start at Kelpie on 2 June.", "I'm joining Kelpie on 2 June as a nurse."])
def test_the_old_company_stands_until_a_new_one_is_told(store: Store, ahead: str) -> None:
    say(store, "I work at Acme.", 0)
    say(store, ahead, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    known = facts.facts(ADA)
    assert values(known)["company"] == "Acme"
    assert [fact.type for fact in known if "Kelpie" in fact.value] == ["action_item"]
    say(store, "I left Acme to join Kelpie.", 25)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA))["company"] == "Kelpie"


def test_an_allergy_of_someone_comes_on_top_of_what_was_known(store: Store) -> None:
    first = say(store, "My son Unai is allergic to walnuts.", 0)
    more = say(store, "Unai's allergy is to pistachios too.", 1)
    say(store, "Unai is allergic to Walnuts.", 2)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    (known,) = facts.history(ADA, "son:unai:allergy")
    assert known.value.lower() == "walnuts, pistachios"
    assert known.sources[:2] == (first, more)
    facts.remember(ADA, "user_profile", "son:unai:allergy", "eggs", day(3))
    assert values(facts.facts(ADA))["son:unai:allergy"] == "eggs"


def test_an_allergy_that_is_put_right_takes_the_place_of_the_wrong_one() -> None:
    right = meant("I meant Hazelnuts, not Walnuts")
    assert right
    said = amended("My son Unai is allergic to Walnuts.", "I meant Hazelnuts, not Walnuts", right, SAID)
    assert [(one.key, one.value, one.ended) for one in said] == [
        ("son:unai:allergy", "Walnuts", True),
        ("son:unai:allergy", "Hazelnuts", False),
    ]


def test_a_car_that_was_named_right_before_is_sold(store: Store) -> None:
    say(store, "We bought a used Kia Niro. I also drive a Skoda.", 0)
    say(store, "My Skoda kept breaking down, so I sold it.", 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"drives:kia niro": "Kia Niro"}


def test_another_dentist_takes_the_place_of_the_one_before(store: Store) -> None:
    say(store, "My dentist is Dr. Ahn. My dentist works at Lakeside.", 0)
    say(store, "My dentist is Dr. Lee.", 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"dentist": "Dr. Lee"}
