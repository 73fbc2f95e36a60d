"""What is taken back in the same breath: the right words stand in place of the wrong ones."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import amended, extract
from recollect.flow.facts.corrections import corrected, meant, place_in
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID
from tests.facts.told import ADA, TRIP, say, values

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


NAMES = st.sampled_from(["Tom", "Tim", "Ann", "Mary Lou"])


@given(
    NAMES,
    NAMES,
    st.sampled_from(["My brother is {}.", "my sister {} is 8", "I like tea. My dog is called {}!"]),
    st.sampled_from(["sorry, {right}", "*{right}", "oops I meant {right}.", "Sorry, {right}, not {wrong}"]),
)
def test_what_the_next_message_puts_right_is_as_if_it_had_been_said_so(
    wrong: str, right: str, said: str, how: str
) -> None:
    text = how.format(right=right, wrong=wrong)
    word = meant(text)
    assert word
    facts = amended(said.format(wrong), text, word, SAID)
    was = {one.key: one.value for one in extract(said.format(wrong), SAID)}
    now = {key: value for key, value in was.items() if key not in [one.key for one in facts if one.ended]}
    now |= {one.key: one.value for one in facts if not one.ended}
    assert now == {one.key: one.value for one in extract(said.format(right), SAID)}


@pytest.mark.parametrize(
    ("first", "then", "left"),
    [
        ("I live in Bern", "oops I meant Basel", {"place": "Basel"}),
        ("I'm 34", "sorry, 35", {"age": "35"}),
        ("My brother is Tom and my sister is Ann", "sorry, Tim, not Tom", {"brother:tim": "Tim", "sister:ann": "Ann"}),
        ("My brother is Tom and my sister is Ann", "*Tim", {"brother:tom": "Tom", "sister:ann": "Ann"}),
        ("I live in Bern", "sorry, Peter", {"place": "Bern"}),
        ("I live in Bern", "I meant Basel is nice, too", {"place": "Bern"}),
        ("I like tea", "I meant Basel", {"likes:tea": "tea"}),
    ],
)
def test_a_message_that_puts_a_word_right_is_about_the_one_before(
    store: Store, layer: Semantic, first: str, then: str, left: dict[str, str]
) -> None:
    earlier = say(store, first, 0)
    later = say(store, then, 0.1)
    layer.catch_up(TRIP)
    facts = layer.facts(ADA)
    assert values(facts) == left
    put_right = values(facts).items() - {one.key: one.value for one in extract(first, SAID)}.items()
    assert {fact.sources for fact in facts if (fact.key, fact.value) in put_right} <= {(later, earlier)}


def test_what_was_put_right_before_the_last_message_is_over(store: Store, layer: Semantic) -> None:
    say(store, "I live in Bern", 0)
    say(store, "Hello", 0.1)
    say(store, "I meant Basel", 0.2)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Bern"}
