"""What is denied of others: it ends what it denies, and what holds instead is taken from the same breath."""

from __future__ import annotations

import pytest

from recollect.flow.facts import extract
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID
from tests.facts.told import ADA, TRIP, say, values


def known(store: Store, *told: str, on: int = 0) -> dict[str, str]:
    for n, text in enumerate(told, on):
        say(store, text, n)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    return values(facts.facts(ADA))


@pytest.mark.parametrize(
    ("first", "then", "key", "holds"),
    [
        (
            "My husband Ravi is vegan.",
            "Actually, Ravi is not vegan, he's vegetarian now.",
            "husband:diet",
            "vegetarian",
        ),
        ("My husband Ravi is vegetarian.", "Ravi isn't vegetarian any more.", "husband:diet", None),
        ("My husband Ravi is vegetarian.", "My husband is now vegan.", "husband:diet", "vegan"),
        ("My wife Sara is a nurse.", "Sara isn't a nurse, she's a doctor.", "wife:role", "doctor"),
        ("My wife Sara is a nurse.", "My wife isn't a nurse anymore.", "wife:role", None),
        ("My wife Sara is a nurse.", "Sara is actually a doctor.", "wife:role", "doctor"),
        ("My sister Nadia lives in Oslo.", "Nadia doesn't live in Oslo.", "sister:nadia:place", None),
        ("My sister Nadia lives in Oslo.", "Nadia isn't living in Oslo any more.", "sister:nadia:place", None),
        ("My sister Nadia is 30.", "Nadia isn't 30, she's 31.", "sister:nadia:age", "31"),
        ("My mum is allergic to nuts.", "My mum is not allergic to nuts after all.", "mother:allergy", None),
        ("My boss is Tom.", "My boss is now Sarah.", "boss", "Sarah"),
        ("My boss is Tom.", "My boss isn't Tom anymore, it's Sarah.", "boss", "Sarah"),
        ("My boss is Tom.", "Tom is no longer my boss.", "boss", None),
        ("My dog is called Max.", "My dog isn't called Max, he's called Rex.", "dog:max", None),
        ("My dog is called Max.", "My dog isn't called Max, he's called Rex.", "dog:rex", "Rex"),
    ],
)
def test_what_is_denied_ends_and_what_holds_instead_is_known(
    store: Store, first: str, then: str, key: str, holds: str | None
) -> None:
    assert known(store, first, then).get(key) == holds


@pytest.mark.parametrize(
    ("first", "then", "key"),
    [
        ("My husband Ravi is vegan.", "Ravi isn't vegetarian.", "husband:diet"),
        ("My wife Sara is a nurse.", "Sara isn't a nurse yet.", "wife:role"),
        ("My boss is Tom.", "Tom is not my boss's son.", "boss"),
        ("My boss is Tom.", "Tom isn't my only boss.", "boss"),
        ("My boss is Tom.", "My boss isn't German.", "boss"),
    ],
)
def test_anything_else_stands(store: Store, first: str, then: str, key: str) -> None:
    before = known(store, first)
    assert known(store, then, on=1)[key] == before[key]


def test_a_denial_without_a_name_means_the_one_of_whom_it_holds(store: Store) -> None:
    said = known(store, "My sister Nadia lives in Oslo.", "My sister Ida lives in Bergen.")
    assert {"sister:nadia:place", "sister:ida:place"} <= said.keys()
    said = known(store, "My sister doesn't live in Oslo any more.", on=2)
    assert "sister:nadia:place" not in said
    assert said["sister:ida:place"] == "Bergen"


def test_a_denial_without_a_name_that_may_mean_two_ends_nothing(store: Store) -> None:
    said = known(store, "My sister Nadia lives in Oslo.", "My sister Ida lives in Oslo.")
    assert known(store, "My sister doesn't live in Oslo any more.", on=2) == said


def test_whom_a_name_is_denied_of_has_the_other() -> None:
    said = extract("My boss isn't Frank but Petra.", SAID)
    assert [(one.value, one.ended) for one in said] == [("Frank", True), ("Petra", False)]
