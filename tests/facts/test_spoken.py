"""Facts told to the one they are about, and read back from the lines of a prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.answers import Fact
from recollect.flow.facts import Statement, extract, known
from recollect.flow.facts.spoken import place_in_telling, read_line, sentence
from recollect.flow.facts.tell import line
from tests.facts.scores import SAID, SETS, utterances


def stated(text: str) -> tuple[Fact, ...]:
    return known(
        Statement(str(n), (SAID, 0, n), one.type, one.key, one.value, 0.9, SAID, valid_to=one.valid_to, ended=one.ended)
        for n, one in enumerate(extract(text, SAID))
    ).standing


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("My name is Ada.", "Your name is Ada"),
        ("I live in Oslo.", "You live in Oslo"),
        ("I live alone.", "You live alone"),
        ("I live with my parents.", "You live with your parents"),
        ("I live with my wife and our two kids.", "You live with your wife and your two kids"),
        ("I live with two roommates.", "You live with two roommates"),
        ("I live with a friend and my dog.", "You live with a friend and your dog"),
        ("I'm a bridge engineer.", "You are a bridge engineer"),
        ("I'm an architect.", "You are an architect"),
        ("I'm head of marketing.", "You are head of marketing"),
        ("I'm retired.", "You are retired"),
        ("I work at Acme.", "You work at Acme"),
        ("I'm 34 years old.", "You are 34 years old"),
        ("I'm allergic to nuts.", "You are allergic to nuts"),
        ("I'm vegan.", "Your diet is vegan"),
        ("I drive an Audi.", "You drive an Audi"),
        ("I love jazz.", "You like jazz"),
        ("I can't stand fog.", "You don't like fog"),
        ("My favorite color is green.", "Your favorite color is green"),
        ("Please keep your answers short from now on.", "You want answers that are short"),
        ("I go for a run every morning.", "You usually go for a run every morning"),
        ("Remind me to call Bob.", "To do: call Bob"),
        ("My wife is called Eva.", "Eva is your wife"),
    ],
)
def test_a_fact_is_told_in_a_sentence(said: str, told: str) -> None:
    assert [sentence(fact) for fact in stated(said)] == [told]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("My sister Nadia lives in Oslo.", "Your sister Nadia lives in Oslo"),
        ("My parents live in Kent.", "Your parents live in Kent"),
        ("My dad is a mechanic.", "Your father is a mechanic"),
        ("My son Theo is 1.", "Your son Theo is 1 year old"),
        ("My sister Ida is allergic to cats.", "Your sister Ida is allergic to cats"),
        ("My mum's birthday is 9 June.", "Your mother's birthday is 9 June"),
    ],
)
def test_so_is_what_is_known_of_others(said: str, told: str) -> None:
    assert sentence(stated(said)[-1]) == told


@pytest.mark.parametrize("whom", ["the dog", "one roommate", "several friends", "his brother", "someone", "two cats"])
def test_whom_one_lives_with_is_ones_own_only_where_nothing_else_is_said(whom: str) -> None:
    (fact,) = stated("I live with my parents.")
    assert sentence(replace(fact, value=whom)) == f"You live with {whom}"


def test_a_fact_under_a_key_of_ones_own_is_told_as_well() -> None:
    seat = replace(stated("I love jazz.")[0], key="window_seat", value="always")
    assert sentence(seat) == "Your window seat: always"
    assert sentence(replace(seat, key="likes:{braces}", value="{braces}")) == "You like {braces}"


def test_the_line_of_a_fact_says_all_that_its_sentence_needs() -> None:
    facts = [fact for path in SETS.values() for one in utterances(path) for fact in stated(one.text)]
    assert len(facts) > 1_000
    for fact in facts:
        read = read_line(line(fact))
        assert read is not None and (read.key, read.value) == (fact.key, fact.value)
        assert sentence(read) == sentence(fact)
        assert read.updated_at.date() == fact.updated_at.date()
        assert fact.type != "action_item" or read.valid_to == fact.valid_to


@pytest.mark.parametrize("text", ["", "no colon", "come up: a (3)\nand", ": x", "x" * 20_000, "(said " * 5_000])
def test_what_is_no_line_of_a_fact_is_none(text: str) -> None:
    assert read_line(text) is None


def test_all_is_told_in_an_order_one_would_tell_it_in() -> None:
    said = (
        "Remind me to call Bob. I love jazz. My sister Nadia lives in Oslo. I have to pay the rent by Friday. I'm Ada."
    )
    told = sorted(stated(f"{said} My name is Ada."), key=place_in_telling)
    assert [fact.value for fact in told] == ["Ada", "Nadia", "Oslo", "jazz", "pay the rent", "call Bob"]
