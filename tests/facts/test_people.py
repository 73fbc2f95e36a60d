"""Several people at once, and names of more than one word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.flow.facts.forenames import FORENAMES

from .scores import SAID

names = st.sampled_from(["Lena", "Max", "Omar", "Yuki", "Zoë", "Ida May", "Bilal", "Freya"])
ages = st.integers(2, 99)


@pytest.mark.parametrize(
    "text",
    [
        "I have two kids: Lena is 8 and Max is 5.",
        "I have two kids, Lena (8) and Max (5).",
        "My kids Lena, 8, and Max, five years old, are loud.",
    ],
)
def test_several_are_told_with_their_age(text: str) -> None:
    assert [found.value for found in extract(text, SAID)] == ["Lena", "8", "Max", "5"]


@given(st.lists(names, min_size=2, max_size=4, unique=True), st.lists(ages, min_size=4, max_size=4))
def test_each_of_a_list_has_the_age_beside_the_name(who: list[str], old: list[int]) -> None:
    told = ", ".join(f"{name} ({age})" for name, age in zip(who, old, strict=False))
    found = {one.key: one.value for one in extract(f"We have {len(who)} kids: {told}.", SAID)}
    keys = [f"child:{name.lower()}" for name in who]
    ages = {f"{key}:age": str(age) for key, age in zip(keys, old, strict=False)}
    assert found == dict(zip(keys, who, strict=True)) | ages


@given(names, names)
def test_a_firm_is_named_by_two_or_like_a_person_who_owns_it(one: str, other: str) -> None:
    for firm in (f"{one} & {other}", f"{one}'s"):
        assert [found.value for found in extract(f"I work at {firm} as a cook.", SAID)] == [firm, "cook"]
    assert all(found.key != "company" for found in extract(f"I work at {one}'s diner.", SAID))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My favorite author is Ursula K. Le Guin.", "Ursula K. Le Guin"),
        ("I love J. R. R. Tolkien.", "J. R. R. Tolkien"),
        ("I like vitamin C. It helps.", "vitamin C"),
        ("I use macOS.", "macOS"),
    ],
)
def test_a_name_has_initials_and_small_letters(text: str, value: str) -> None:
    assert [found.value for found in extract(text, SAID)] == [value]


@pytest.mark.parametrize("text", ["My kids are German and French.", "My sisters are Team Edward and Team Jacob."])
def test_what_several_are_is_not_their_names(text: str) -> None:
    assert extract(text, SAID) == []


def test_what_is_said_before_one_asks_for_ideas_is_known() -> None:
    assert [found.value for found in extract("I'm vegan and I hate tofu, any recipe ideas?", SAID)] == ["vegan", "tofu"]
    assert extract("Would a vegan hate tofu, any ideas?", SAID) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Karin left, my new boss is Stefan.", "boss", "Stefan"),
        ("Stefan is my boss now.", "boss", "Stefan"),
        ("Ida May is my little sister, btw.", "sister:ida may", "Ida May"),
        ("Luna is our cat and she bites.", "cat:luna", "Luna"),
        ("My daughter's name is June.", "daughter:june", "June"),
    ],
)
def test_who_someone_is_may_stand_before_or_after_the_name(text: str, key: str, value: str) -> None:
    assert [(found.key, found.value) for found in extract(text, SAID)] == [(key, value)]


@pytest.mark.parametrize(
    "text", ["Google is my best friend.", "My wife is Peruvian.", "Karin is my boss's sister.", "God is my father."]
)
def test_what_someone_is_is_no_name(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    "what",
    [
        "Belarusian", "Bavarian", "Sicilian", "Bolivian", "Zambian", "Guatemalan", "Tibetan", "Haitian", "Dominican",
        "Afghan", "Presbyterian", "Hawaiian", "Mormon", "Zimbabwean", "Alsatian", "South African", "Sri Lankan",
    ],
)  # fmt: skip
def test_where_someone_comes_from_is_no_name(what: str) -> None:
    assert extract(f"My boss is {what}.", SAID) == []


@pytest.mark.parametrize("who", ["Susan", "Joan", "Ethan", "Brian", "Ian", "Julian", "Jordan", "Norman", "Sean"])
def test_names_that_sound_like_it_are_names(who: str) -> None:
    assert [found.value for found in extract(f"My boss is {who}.", SAID)] == [who]


BEINGS = {"puppy": "dog", "cat": "cat", "brother": "brother", "horse": "horse", "daughter": "daughter", "pug": "dog"}
NAMED = ["His name is", "Her name's", "She is called", "It's called", "We named him", "their name is"]


@given(st.sampled_from(sorted(BEINGS)), st.sampled_from([".", "!", "!!", ",", " and"]), st.sampled_from(NAMED), names)
def test_a_name_is_taken_up_in_the_next_sentence(being: str, end: str, named: str, who: str) -> None:
    (found,) = extract(f"We have a {being}{end} {named} {who}.", SAID)
    assert (found.key, found.value) == (f"{BEINGS[being]}:{who.lower()}", who)


@given(
    st.sampled_from(["We have a dog and a cat.", "She has a dog.", "If only we had a dog.", "Do we have a dog?"]),
    st.sampled_from(NAMED),
    names,
)
def test_a_name_is_taken_up_only_for_the_one_that_the_user_has(before: str, named: str, who: str) -> None:
    assert extract(f"{before} {named} {who}.", SAID) == []
    assert extract(f"We have a dog. I love him. {named} {who}.", SAID) == []
    assert extract(f"We have a dog. {named} {who}, right?", SAID) == []


@given(
    st.sampled_from(["hi im {}", "hey, i'm {}!", "hello i am {} and i need help", "im {}"]),
    st.sampled_from(sorted(FORENAMES)),
)
def test_a_common_forename_needs_no_capital(greeting: str, who: str) -> None:
    assert [(found.key, found.value) for found in extract(greeting.format(who), SAID)] == [("name", who.capitalize())]
    assert extract(greeting.format(f"{who}'s friend"), SAID) == []


@given(st.sampled_from(["starts school in May", "is visiting from Seoul on Friday", "hates maths", "plays chess"]))
def test_more_is_said_of_someone_later_in_the_sentence(does: str) -> None:
    said = extract(f"My daughter Mila {does}, she's 6.", SAID)
    assert {(one.key, one.value) for one in said} == {("daughter:mila", "Mila"), ("daughter:mila:age", "6")}


@pytest.mark.parametrize(
    "text",
    ["My daughter Mila met Eva, she's 6.", "My daughter Mila has a nurse, she's 30.", "Mila likes my dog, she's 6"],
)
def test_she_may_be_someone_else(text: str) -> None:
    assert not [one for one in extract(text, SAID) if one.key.endswith("age")]


SEVERAL = st.sampled_from(["sons", "daughters", "sisters", "friends", "kids", "nephews", "two brothers"])
FIRST = st.sampled_from(sorted(name.capitalize() for name in FORENAMES))
ALONG = st.sampled_from(["I'm off to the zoo with", "We're so proud of", "I visited", "Went hiking with", "I love"])


@given(SEVERAL, st.lists(FIRST, min_size=2, max_size=3, unique=True), ALONG, st.sampled_from(["", ","]))
def test_each_of_several_is_known_who_are_named_in_passing(kin: str, names: list[str], along: str, comma: str) -> None:
    *first, last = names
    listed = f"{', '.join(first)} and {last}"
    found = extract(f"{along} my {kin}{comma} {listed}.", SAID)
    assert {one.value for one in found if ":" in one.key and not one.key.startswith("likes")} == set(names)
    for nobody in (
        f"Shall I go with my {kin} {listed}?",
        f"I went with my {kin} and {listed}.",
        f"I went with his {kin} {listed}.",
        f"I went with my friend's {kin} {listed}.",
        f"I bought my {kin} {listed}.",
    ):
        assert not any(one.value in names for one in extract(nobody, SAID))


@pytest.mark.parametrize(
    "text",
    [
        "I showed my daughters Frozen and Tangled.",
        "I read my sons Harry Potter and The Hobbit.",
        "Got my kids Minecraft and Fortnite for Christmas.",
        "I talked to my kids about Monday and Tuesday.",
        "I sang to my kids Hello and Goodbye.",
        "I watched it with my sons Frozen and Tangled style.",
    ],
)
def test_what_several_are_shown_is_not_their_names(text: str) -> None:
    assert extract(text, SAID) == []
