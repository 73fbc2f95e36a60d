"""Facts that are stated outright, and taken back."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock, patch

import pytest

from recollect.errors import ConfigError
from recollect.flow.facts.known import _of_whom
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.told import ADA, TRIP, day, say, values


def test_a_fact_can_be_stated_outright_and_taken_back(store: Store, layer: Semantic) -> None:
    say(store, "My name is Bob.", 0)
    layer.catch_up(TRIP)
    fact = layer.remember(ADA, "user_profile", "name", "Ada", day(1), "trip")
    assert fact and (fact.value, fact.confidence, fact.session, fact.sources) == ("Ada", 1.0, "trip", ())
    assert values(layer.facts(ADA)) == {"name": "Ada"}
    assert layer.remember(ADA, "user_profile", "name", None, day(2)) is None
    assert layer.facts(ADA) == []
    assert [one.value for one in layer.history(ADA, "name")] == ["Bob", "Ada"]


def test_what_is_stated_outright_stands_where_the_clock_went_back(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris and I hate jazz.", 3)
    layer.catch_up(TRIP)
    place = layer.remember(ADA, "user_profile", "place", "Rome", day(1))
    assert place is not None
    assert (place.value, place.updated_at) == ("Rome", day(1))
    layer.remember(ADA, "interest", "likes", "jazz", day(1))
    assert values(layer.facts(ADA)) == {"place": "Rome", "likes:jazz": "jazz"}
    assert layer.remember(ADA, "user_profile", "place", None, day(0)) is None
    assert values(layer.facts(ADA, as_of=day(2))) == {}


def test_what_is_stated_outright_goes_over_no_fact_that_was_known(store: Store, layer: Semantic) -> None:
    for n in range(20):
        layer.remember(ADA, "user_profile", f"thing {n}", "blue", day(0))
    with patch("recollect.flow.facts.known._of_whom", Mock(wraps=_of_whom)) as heard:
        layer.remember(ADA, "user_profile", "place", "Rome", day(1))
    assert heard.call_count == 1
    assert len(layer.facts(ADA)) == 21


def test_likes_that_are_stated_stand_side_by_side(store: Store, layer: Semantic) -> None:
    for what in ("tea", "The Beatles"):
        layer.remember(ADA, "interest", "likes", what, day(0))
    assert values(layer.facts(ADA)) == {"likes:tea": "tea", "likes:beatles": "The Beatles"}


@pytest.mark.parametrize(
    ("said", "key", "more"),
    [
        ("I play the piano.", "plays", "tennis"),
        ("I teach biology.", "teaches", "chemistry"),
        ("I'm learning Spanish.", "learning", "chess"),
        ("I study law at the university.", "studies", "history"),
        ("I graduated from Harvard.", "school", "MIT"),
        ("I drive a Tesla.", "drives", "Volvo"),
        ("I usually get up at six.", "habit", "run before breakfast"),
    ],
)
def test_what_a_user_may_have_several_of_stands_side_by_side(
    store: Store, layer: Semantic, said: str, key: str, more: str
) -> None:
    say(store, said, 0)
    layer.catch_up(TRIP)
    first, *_ = layer.facts(ADA)
    for what in (more, f"{more} too"):
        layer.remember(ADA, first.type, key, what, day(1))
    assert [*values(layer.facts(ADA)).values()] == [first.value, more, f"{more} too"]
    layer.remember(ADA, first.type, key, None, day(2))
    assert layer.facts(ADA) == []


def test_likes_are_taken_back_one_by_one_or_all_at_once(store: Store, layer: Semantic) -> None:
    say(store, "I love hiking.", 0)
    layer.catch_up(TRIP)
    for what in ("tea", "milk"):
        layer.remember(ADA, "interest", "likes", what, day(1))
    assert layer.remember(ADA, "interest", "likes:tea", None, day(2)) is None
    assert set(values(layer.facts(ADA)).values()) == {"hiking", "milk"}
    assert layer.remember(ADA, "interest", "likes", None, day(3)) is None
    assert layer.facts(ADA) == []


def test_a_denial_ends_what_it_denies_and_nothing_else(store: Store, layer: Semantic) -> None:
    say(store, "I'm vegan and I play the cello.", 0)
    say(store, "I'm not vegetarian.", 1)
    say(store, "I no longer play the cello.", 2)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"diet": "vegan"}


@pytest.mark.parametrize(
    ("type", "key", "value", "wrong"),
    [
        ("hobby", "likes", "tea", "'hobby' is not one of user_profile"),
        ("user_profile", "called:nadia", "Nadia", "'called:nadia' only gives a name: say who that is"),
        ("interest", "", "tea", "key must be text"),
        ("interest", "likes", " ", "value must be text that is not empty"),
        ("interest", "likes", 7, "value must be text that is not empty"),
        ("interest", "a\x00", "tea", "NUL"),
    ],
)
def test_what_is_no_fact_is_refused(layer: Semantic, type: Any, key: str, value: Any, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        layer.remember(ADA, type, key, value, day(0))
    assert layer.facts(ADA) == []


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("We sold the Volvo.", {"drives:tesla": "Tesla"}),
        ("I've just got rid of my old Volvo and bought a bike.", {"drives:tesla": "Tesla"}),
        ("We sold the Volvo keychain.", {"drives:tesla": "Tesla", "drives:volvo v60": "Volvo V60"}),
        ("I sold Volvo shares.", {"drives:tesla": "Tesla", "drives:volvo v60": "Volvo V60"}),
    ],
)
def test_a_car_that_was_sold_is_no_longer_driven(
    store: Store, layer: Semantic, said: str, left: dict[str, str]
) -> None:
    for n, text in enumerate(("I drive a blue Volvo V60.", "We now drive a Tesla.", said)):
        say(store, text, n)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == left


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("My girlfriend is Mia.", "I've just broken up with Mia."),
        ("I'm allergic to cats.", "It turns out I'm not allergic to cats after all."),
        ("My girlfriend is Anna.", "We broke up last week."),
        ("I'm vegetarian.", "I eat meat again."),
        ("I gave up dairy.", "I've started drinking dairy again."),
        ("I work at Johnson & Johnson.", "I quit Johnson & Johnson last month."),
        ("I work at Acme.", "My boss is awful. I quit."),
        ("I work at Acme.", "I can't take this job any more. I quit today."),
        ("I work at Acme.", "I've finally resigned."),
    ],
)
def test_what_is_over_is_no_longer_known(store: Store, layer: Semantic, known: str, said: str) -> None:
    say(store, known, 0)
    say(store, said, 1)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("My girlfriend is Anna.", "We broke up the sofa."),
        ("My girlfriend is Anna.", "My first band was fun, but we broke up."),
        ("My girlfriend is Anna.", "We broke up years ago, when I was at school."),
        ("I'm vegan.", "I eat lunch at home again."),
        ("I'm pescatarian.", "I eat fish again."),
        ("I work at Acme.", "I smoked for ten years. I quit."),
        ("I work at Acme.", "I quit."),
        ("I work at Acme.", "I quit smoking."),
        ("I work at Acme.", "It still doesn't work. I quit."),
        ("I work at Acme.", "The package manager broke again. I quit."),
        ("I work at Acme.", "This puzzle is a lot of work. I quit."),
        ("I work at Acme.", "> This level is impossible.\n\nI quit."),
        ("My wife is Eva.", "I had a girlfriend in college. We broke up."),
        ("My wife is Eva.", "My first boyfriend was Tom. We broke up."),
        ("My wife is Eva.", "We broke up last year but got back together."),
        ("I'm vegetarian.", "I can eat meat but I don't want to."),
        ("My daughter is Paris.", "Nadia no longer lives in Paris."),
    ],
)
def test_what_only_sounds_like_an_end_ends_nothing(store: Store, layer: Semantic, known: str, said: str) -> None:
    say(store, known, 0)
    layer.catch_up(TRIP)
    before = values(layer.facts(ADA))
    say(store, said, 1)
    layer.catch_up(TRIP)
    assert before.items() <= values(layer.facts(ADA)).items()


@pytest.mark.parametrize("key", ["friend", "dog", "sister", "colleague"])
def test_several_people_or_pets_that_are_stated_stand_side_by_side(store: Store, layer: Semantic, key: str) -> None:
    for who in ("Ida", "Bo Berg"):
        layer.remember(ADA, "user_profile", key, who, day(0))
    assert values(layer.facts(ADA)) == {f"{key}:ida": "Ida", f"{key}:bo berg": "Bo Berg"}
    layer.remember(ADA, "user_profile", f"{key}:ida:place", "Oslo", day(1))
    layer.remember(ADA, "user_profile", f"{key}:ida", None, day(2))
    assert values(layer.facts(ADA)) == {f"{key}:bo berg": "Bo Berg"}
    layer.remember(ADA, "user_profile", key, None, day(3))
    assert layer.facts(ADA) == []


def test_a_partner_that_is_stated_takes_the_place_of_the_one_before(store: Store, layer: Semantic) -> None:
    for who in ("Ida", "Bo"):
        layer.remember(ADA, "user_profile", "partner", who, day(0))
    assert values(layer.facts(ADA)) == {"partner": "Bo"}


def test_a_value_with_half_a_surrogate_pair_is_kept_as_it_is(store: Store, layer: Semantic) -> None:
    for key in ("likes", "sister"):
        fact = layer.remember(ADA, "user_profile", key, "Nad\ud83dia", day(0))
        assert fact and (fact.key, fact.value) == (f"{key}:nad?ia", "Nad\ud83dia")
