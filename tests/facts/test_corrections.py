"""What is taken back in the same breath: the right words stand in place of the wrong ones."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.flow.facts.corrections import corrected, place_in
from tests.facts.scores import SAID

SAYINGS = st.lists(
    st.sampled_from(
        [
            "I live in ", "Rome", "Naples", "New York", ". ", ", ", "No, ", "sorry, ", "I mean ", "or rather ", "34",
            "35", "I'm ", "vegan", "Scratch that, ", "I take that back", "\u2019", "\n", "é", " ", "!", "?",
            "that was wrong",
        ]
    )
).map("".join)  # fmt: skip


@given(SAYINGS)
def test_what_is_left_is_the_text_without_the_cuts_and_each_place_in_it_is_known(text: str) -> None:
    right, cuts = corrected(text)
    assert all(0 <= start < end <= len(text) for start, end in cuts)
    assert all(before[1] <= after[0] for before, after in pairwise(cuts))
    gone = {place for start, end in cuts for place in range(start, end)}
    assert right == "".join(letter for place, letter in enumerate(text) if place not in gone)
    for place in range(len(right)):
        first, last = place_in(cuts, (place, place + 1))
        assert text[first] == text[last - 1] == right[place]


@given(SAYINGS)
def test_every_fact_of_a_corrected_message_is_cited_with_its_value(text: str) -> None:
    for one in extract(text, SAID):
        assert one.value in text[slice(*one.span)].replace("\u2019", "'")


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("My sister is called Anna. I mean Hanna.", ["Hanna"], "My sister is called Anna. I mean Hanna"),
        ("My birthday is on 3 May, sorry, 4 May.", ["4 May"], "My birthday is on 3 May, sorry, 4 May"),
        ("I like tea. I live in Rome \u2013 no wait, Naples!", ["tea", "Naples"], "I like tea"),
        ("I'm vegetarian, make that pescatarian.", ["pescatarian"], "I'm vegetarian, make that pescatarian"),
    ],
)
def test_the_right_word_stands_in_place_of_the_wrong_one(text: str, values: list[str], said: str) -> None:
    facts = extract(text, SAID)
    assert [one.value for one in facts] == values
    assert text[slice(*facts[0].span)] == said


@pytest.mark.parametrize(
    "back", ["Scratch that.", "I take that back!", "Wait, that's wrong.", "Forget what I just said."]
)
def test_a_sentence_that_is_taken_back_says_nothing_and_the_one_before_it_still_does(back: str) -> None:
    assert [one.value for one in extract(f"I like tea. I work at Acme. {back} I live in Oslo.", SAID)] == [
        "tea",
        "Oslo",
    ]


def test_a_name_after_a_mere_sorry_is_whom_one_speaks_to() -> None:
    assert [one.value for one in extract("I live in Rome. Sorry, Peter.", SAID)] == ["Rome"]


@pytest.mark.parametrize(
    "text", ["I work at Acme. No Saturdays.", "I work at Acme, no Wifi.", "I work at Acme - no PC!"]
)
def test_what_there_is_none_of_is_no_correction(text: str) -> None:
    assert [one.value for one in extract(text, SAID)] == ["Acme"]


@pytest.mark.parametrize("shouted", ["NO, ", "NO WAIT RATHER SORRY, "])
def test_shouting_takes_time_in_proportion_to_its_length(shouted: str) -> None:
    started = time.thread_time()
    assert corrected(shouted * 2_500)[1] == ()
    assert time.thread_time() - started < 1
