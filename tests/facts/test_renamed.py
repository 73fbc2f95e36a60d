"""Pets that get another name: "We renamed Rex to Max"."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.layers.semantic import Semantic
from recollect.store import Store
from recollect.store import open as open_store
from tests.facts.scores import SAID
from tests.facts.told import ADA, TRIP, day, say, values

NAMES = st.sampled_from(["Rex", "Max", "Luna", "Misty", "Bo", "Teddy", "Biscuit", "Mr Paws"])
KINDS = st.sampled_from(["dog", "cat", "rabbit", "horse"])
RENAMED = st.sampled_from(
    [
        "We renamed {0} to {1}.",
        "I've just renamed {0} to {1}, it suits her.",
        "we changed {0}'s name to {1}",
        "{0} is now called {1}.",
        "{0} is called {1} now",
        "We renamed our {kind} {0} to {1}!",
        "we've changed my {kind} {0}'s name to {1}",
    ]
)


@given(KINDS, NAMES, NAMES, RENAMED)
def test_a_pet_that_got_another_name_keeps_all_that_is_known_about_it(kind: str, was: str, now: str, form: str) -> None:
    assume(was != now and not ("{0} is called" in form and " " in now))
    with open_store(":memory:") as store:
        layer = Semantic(store)
        told = say(store, f"My {kind} {was} is 3.", on=0)
        change = say(store, form.format(was, now, kind=kind), on=1)
        layer.catch_up(TRIP)
        key = f"{kind}:{now.casefold()}"
        assert values(layer.facts(ADA)) == {key: now, f"{key}:age": "3"}
        assert {frozenset(fact.sources) for fact in layer.facts(ADA)} == {frozenset((told, change))}
        say(store, f"{now} is 4.", on=2)
        layer.catch_up(TRIP)
        assert values(layer.facts(ADA)) == {key: now, f"{key}:age": "4"}


@pytest.mark.parametrize(
    "text",
    [
        "Should we rename Rex to Max?",
        "We almost renamed Rex to Max.",
        "We didn't rename Rex to Max.",
        "If we renamed Rex to Max he'd be confused.",
        "In the script I renamed Rex to Max.",
        "I renamed the file Rex to Max.",
        "He renamed Rex to Max.",
        "They renamed Rex to Max.",
        "We renamed Rex.",
        "Rex is called Max by the neighbours",
        "We renamed Rex to Rex.",
        "I renamed Master to Main.",
        'She said "We renamed Rex to Max".',
        "We changed Rex's food to Max Meat.",
    ],
)
def test_a_pet_keeps_its_name_if_nobody_changed_it(store: Store, layer: Semantic, text: str) -> None:
    for on, said in enumerate(("My dog Rex is 3.", text)):
        say(store, said, on)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"dog:rex": "Rex", "dog:rex:age": "3"}


@pytest.mark.parametrize("before", ["My brother Rex is 30.", "My dogs Rex and Bo. My cat Rex.", "I like tea."])
def test_only_the_one_pet_of_that_name_is_renamed(store: Store, layer: Semantic, before: str) -> None:
    say(store, before)
    layer.catch_up(TRIP)
    known = layer.facts(ADA)
    say(store, "We renamed Rex to Max.", on=1)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == known


def test_a_pet_that_had_the_new_name_before_stays_on_record(store: Store, layer: Semantic) -> None:
    for on, text in enumerate(("My dog Max is 7.", "My dog Rex is 3.", "Rex is now called Max.")):
        say(store, text, on)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"dog:max": "Max", "dog:max:age": "3"}
    assert [(fact.value, fact.valid_to) for fact in layer.history(ADA, "dog:max:age")] == [("7", day(2)), ("3", None)]


def test_a_pet_not_known_before_is_known_by_its_new_name() -> None:
    assert [(one.key, one.value) for one in extract("We renamed our dog Rex to Max.", SAID) if not one.ended] == [
        ("dog:max", "Max")
    ]


def test_either_message_erased_undoes_the_new_name(store: Store, layer: Semantic) -> None:
    told, change = say(store, "My dog Rex is 3."), say(store, "We renamed Rex to Max.", on=1)
    layer.catch_up(TRIP)
    store.log.erase(TRIP, [change])
    layer.forget(TRIP)
    assert values(layer.facts(ADA)) == {"dog:rex": "Rex", "dog:rex:age": "3"}
    say(store, "We renamed Rex to Max.", on=1)
    layer.catch_up(TRIP)
    store.log.erase(TRIP, [told])
    layer.forget(TRIP)
    assert layer.facts(ADA) == []


def test_a_pet_is_forgotten_under_every_name_it_had(store: Store, layer: Semantic) -> None:
    for on, text in enumerate(("My dog Rex is 3.", "We renamed Rex to Max.", "We renamed Max to Bo.", "I like tea.")):
        say(store, text, on)
    layer.catch_up(TRIP)
    gone = layer.erase(ADA, "dog:bo")
    assert {fact.value for fact in gone} == {"Rex", "Max", "Bo", "3"}
    assert values(layer.facts(ADA)) == {"likes:tea": "tea"}
    for key in ("dog:bo", "dog:max", "dog:rex", "dog:rex:age", "dog:bo:age"):
        assert layer.history(ADA, key) == []


def test_what_is_known_of_a_renamed_pet_is_forgotten_alone(store: Store, layer: Semantic) -> None:
    for on, text in enumerate(("My dog Rex is 3.", "We renamed Rex to Max.")):
        say(store, text, on)
    layer.catch_up(TRIP)
    assert {(fact.key, fact.value) for fact in layer.erase(ADA, "dog:max:age")} == {
        ("dog:max:age", "3"),
        ("dog:rex:age", "3"),
    }
    assert values(layer.facts(ADA)) == {"dog:max": "Max"}
    assert layer.history(ADA, "dog:rex:age") == []


def test_what_is_offered_of_a_renamed_pet_is_not_once_its_message_is_erased_elsewhere(store: Store) -> None:
    here, there = Semantic(store), Semantic(store)
    change = [say(store, text, on) for on, text in enumerate(("My dog Rex is 3.", "We renamed Rex to Max."))][1]
    here.catch_up(TRIP)
    assert values(here.facts(ADA)) == {"dog:max": "Max", "dog:max:age": "3"}
    store.log.erase(TRIP, [change])
    there.forget(TRIP)
    assert values(here.facts(ADA)) == {"dog:rex": "Rex", "dog:rex:age": "3"}
