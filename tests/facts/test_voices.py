"""Several people in one session: nobody knows which of them is the user, so what they say is no fact about the user."""

from __future__ import annotations

import pytest

from recollect.errors import NotFound
from recollect.layers.semantic import Semantic, portable
from recollect.store import Store
from tests.facts.told import ADA, TRIP, WORK, day, say, values, work


def test_what_several_people_say_under_their_names_is_not_taken_for_one_persons(store: Store) -> None:
    say(store, "I live in Bonn and I'm allergic to cats.", 0, name="Mara")
    say(store, "I'm vegan.", 1, WORK, name="Mara")
    facts = Semantic(store)
    assert facts.catch_up(ADA) == 3
    assert set(values(facts.facts(ADA))) == {"place", "allergy:cats", "diet"}
    say(store, "I live in Köln.", 2, name="Tom")
    work(facts, store)
    facts.catch_up(TRIP)
    for layer in (facts, Semantic(store)):
        assert values(layer.facts(ADA)) == {"diet": "vegan"}
        assert layer.history(ADA, "place") == []
        assert [one.text for one in layer.offer(ADA, "Where does Tom live?", day(3))] == [
            "diet: vegan (said 13 May 2025)"
        ]
    assert values(facts.facts(ADA, as_of=day(1)))["place"] == "Bonn"
    with pytest.raises(NotFound):
        facts.erase(ADA, "place")


def test_a_fact_that_was_erased_does_not_come_back_with_the_others_gone(store: Store) -> None:
    say(store, "I live in Bonn.", 0, name="Mara")
    say(store, "I live in Essen.", 1, name="Tom")
    say(store, "I live in Ulm.", 2, WORK, name="Mara")
    facts = Semantic(store)
    facts.catch_up(ADA)
    assert [one.value for one in facts.erase(ADA, "place")] == ["Ulm"]
    assert store.records.find(ADA, kind="fact") == []


def test_one_person_under_one_name_however_written_is_the_user(store: Store) -> None:
    for n, name in enumerate(("Ada", "ada", None)):
        say(store, f"My sister Mia is {20 + n}.", n, name=name)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"sister:mia": "Mia", "sister:mia:age": "22"}


def test_what_is_stated_outright_in_a_session_of_several_stands(store: Store) -> None:
    facts = Semantic(store)
    for n, name in enumerate(("Mara", "Tom")):
        say(store, f"I live in {('Bonn', 'Essen')[n]}.", n, name=name)
    facts.catch_up(TRIP)
    facts.remember(ADA, "user_profile", "place", "Kiel", day(2), "trip")
    assert values(facts.facts(ADA)) == {"place": "Kiel"}


def test_an_archive_still_tells_who_said_it(store: Store) -> None:
    say(store, "I live in Bonn.", name="Mara")
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert [portable(one)["speaker"] for one in store.records.find(ADA, kind="fact")] == ["mara"]
