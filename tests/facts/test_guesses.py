"""Answers to what the assistant guessed: "You live in Bergen, right?", "No, Oslo"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.flow.facts.guesses import as_confirmed
from recollect.flow.facts.unfit import is_no_firm
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID
from tests.facts.test_dialogues import talk
from tests.facts.told import ADA, TRIP, answered, values

GUESSES = {
    "you live in {}": ("place", "Bergen", "Oslo"),
    "you're based in {}": ("place", "Bergen", "Oslo"),
    "you're from {}": ("hometown", "Bergen", "Oslo"),
    "you work at {}": ("company", "Novartis", "Roche"),
    "you're a {}": ("role", "nurse", "teacher"),
    "you're {}": ("age", "34", "36"),
    "your name is {}": ("name", "Hanna", "Anna"),
    "your sister Ida lives in {}": ("sister:ida:place", "Bergen", "Oslo"),
    "your brother is {}": ("brother:age", "34", "36"),
    "your mom works at {}": ("mother:company", "Novartis", "Roche"),
    "your dad is a {}": ("father:role", "nurse", "teacher"),
}
GUESS = st.sampled_from(sorted(GUESSES))
OPENS = st.sampled_from(["", "So ", "Got it. ", "Just to confirm, ", "Ah, so ", "If I remember correctly, "])
SURE = st.sampled_from(["", ", right", ", correct", ", is that right", ", don't you"])
YES = st.sampled_from(
    ["Yes", "yes, exactly", "Yep, that's right!", "Correct.", "yeah", "Exactly!", "Yes, I do", "right", "I do, yes"]
)
NO = st.sampled_from(["No, {}", "no, it's {}.", "Nope, {}.", "No - {}", "not quite, {} actually", "No, sorry, {}!"])
OTHER = st.sampled_from(
    [
        "No", "No, thanks", "Who says?", "No, why?", "Yeah, right.", "Yes?", "Yes, but only until June", "Yes and no",
        "No, never", "true or false",
        "No, Monday", "Maybe", "Yes, in a way", "No, Mum", "yes if you must know", "No, that was last year",
        "no, my boss is", "I used to", "Yes, in the game", "no, rude", "Not any more", "Right, whatever",
    ]
)  # fmt: skip


@given(GUESS, OPENS, SURE, YES)
def test_a_yes_says_what_was_guessed(guess: str, opens: str, sure: str, yes: str) -> None:
    key, wrong, _ = GUESSES[guess]
    found = {one.key: one.value for one in answered("hi", f"{opens}{guess.format(wrong)}{sure}?", yes, SAID)}
    assert found[key] == wrong
    assert found.items() <= {one.key: one.value for one in extract(_mine(guess.format(wrong)), SAID)}.items()


def _mine(guess: str) -> str:
    words = {"you're": "I'm", "you": "I", "your": "my"}
    return " ".join(words.get(word, word) for word in guess.split())


@given(GUESS, OPENS, SURE, NO)
def test_a_no_with_the_right_word_says_that(guess: str, opens: str, sure: str, no: str) -> None:
    key, wrong, right = GUESSES[guess]
    found = answered("hi", f"{opens}{guess.format(wrong)}{sure}?", no.format(right), SAID)
    assert {one.key: one.value for one in found}[key] == right
    assert wrong not in {one.value for one in found}


@given(GUESS, SURE, OTHER)
def test_any_other_answer_to_a_guess_says_nothing(guess: str, sure: str, answer: str) -> None:
    _, wrong, _ = GUESSES[guess]
    assert answered("hi", f"So {guess.format(wrong)}{sure}?", answer, SAID) == []


@pytest.mark.parametrize(
    ("guess", "answer"),
    [
        ("You live in Bergen", "No, I work at Siemens"),
        ("You live in Bergen", "No, I'm from Oslo"),
        ("You live in Bergen", "No, she lives in Oslo"),
        ("You live in Bergen", "No, near Oslo"),
        ("You live in Bergen", "No, Temporarily Oslo"),
        ("You live in Bergen", "No, OMG"),
        ("You work at Novartis", "No, I live in Rome"),
        ("You work at Novartis", "No, Ex Google"),
        ("You work at Novartis", "No, London"),
        ("You work at Novartis", "No, Software Engineer"),
        ("You're a nurse", "No, she's a doctor"),
        ("You're 30", "No, she's 31"),
        ("Your name is Max", "No, he's Max"),
        ("Your name is Max", "No, He's Max"),
        ("Your name is Max", "No, that's Tom"),
        ("Your sister Ida lives in Bergen", "No, I live in Oslo"),
        ("Your sister is 30", "No, I'm 30"),
        ("Your sister's name is Ida", "No, my name is Ida"),
    ],
)
def test_a_no_that_tells_something_else_puts_nothing_right(guess: str, answer: str) -> None:
    own = extract(answer.removeprefix("No, "), SAID)
    found = answered("hi", f"{guess}, right?", answer, SAID)
    assert {one.key for one in found} <= {one.key for one in own}


@given(st.sampled_from(["London", "Freelancer", "Software Engineer", "Teacher", "the UK", "OMG"]))
def test_a_place_or_a_profession_is_no_firm(answer: str) -> None:
    assert is_no_firm(answer.removeprefix("the "))
    assert "company" not in {one.key for one in answered("hi", "Where do you work?", answer, SAID)}


@given(GUESS, YES)
def test_what_is_no_guess_of_what_is_true_is_not_confirmed(guess: str, yes: str) -> None:
    said = guess.format(GUESSES[guess][1])
    for question in (
        f"So {said} in this story?",
        f"Do you want me to remember that {said}?",
        f"So {said}, or not?",
        f"Imagine {said}. Are you happy?",
        f"So {said}? Shall I look for something there?",
        f"Let's say {said}, right?",
        f"In the letter {said}, right?",
        f"So {said}.",
    ):
        assert answered("hi", question, yes, SAID) == []
    assert answered("Let's play a detective game.", f"So {said}?", yes, SAID) == []


@pytest.mark.parametrize(
    "guess", ["So you don't live in Oslo?", "So you used to live in Oslo?", "So he lives in Oslo?"]
)
def test_only_what_holds_of_the_user_is_guessed(guess: str) -> None:
    assert as_confirmed(guess, "Yes") == ""


@given(st.text(st.characters(exclude_categories=()), max_size=200), st.text(max_size=100))
def test_any_texts_can_be_a_guess_and_its_answer(guess: str, answer: str) -> None:
    assert as_confirmed(guess, answer) == "" or "?" in guess


def test_a_confirmed_guess_is_known_from_both_messages(store: Store, layer: Semantic) -> None:
    _, guess, answer = talk(store, "Any good bakeries?", "You live in Bergen, right?", "No, Oslo")
    layer.catch_up(TRIP)
    (place,) = layer.facts(ADA)
    assert (place.key, place.value, place.sources) == ("place", "Oslo", (answer, guess))
    store.log.erase(TRIP, [guess])
    layer.forget(TRIP)
    assert values(layer.facts(ADA)) == {}
