"""What a message says only together with those before it: "She lives in Bergen now", "Rex"."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import carried_on, extract, leans, told_in
from recollect.flow.facts.answers import MOST_ANSWERED, as_statement
from recollect.flow.facts.pronouns import spelled_out
from recollect.layers.semantic import Semantic
from recollect.store import Store
from recollect.types import Message, Role
from tests.facts.scores import SAID, dialogues, score_dialogues
from tests.facts.told import ADA, TRIP, answered, day, values

anything = st.text(st.characters(exclude_categories=()), max_size=200)
SHE, HE = st.sampled_from(["sister", "daughter", "wife", "mom"]), st.sampled_from(["brother", "son", "husband", "dad"])
SAYS = st.sampled_from(["lives in Bergen now", "works at Siemens", "is a nurse", "is 34", "is allergic to nuts"])
ASKED = {
    "What's your name?": ("name", "Marta"),
    "Where do you live?": ("place", "Trondheim"),
    "What do you do for work?": ("role", "nurse"),
    "Where do you work?": ("company", "Siemens"),
    "How old are you?": ("age", "34"),
    "When is your birthday?": ("birthday", "3 May"),
    "What's your dog called?": ("dog:rex", "Rex"),
    "Do you have any allergies?": ("allergy:peanuts", "peanuts"),
    "What's your favorite band?": ("favorite:band", "Muse"),
}
EVASIVE = st.sampled_from(
    [
        "no", "Nope", "Why?", "why do you ask", "I'd rather not say", "Pass.", "none of your business", "Secret",
        "not telling", "You first", "it depends", "What's yours?", "Never mind", "doesn't matter", "no idea", "N/A",
        "Skip", "guess", "I don't know", "Not sure", "Rather not", "Cancel my order", "Stop", "whatever", "idk", "?",
    ]
)  # fmt: skip


def talk(store: Store, *said: str) -> list[str]:
    """The ids of the messages that the user and the assistant say in turn."""
    roles: tuple[Role, Role] = ("user", "assistant")
    messages = [Message(roles[n % 2], text, at=day(n / 1000)) for n, text in enumerate(said)]
    return [entry.message.id for entry in store.log.append(TRIP, messages)]


def test_of_what_is_known_after_a_dialogue_at_least_95_in_100_facts_are_right() -> None:
    total = score_dialogues()
    assert total.precision() >= 0.95, total.mistakes
    assert total.recall() >= 0.9, total.mistakes
    said = dialogues()
    assert sum(not one.facts for one in said) >= 0.35 * len(said)
    assert len({one.said for one in said}) == len(said)


@given(st.one_of(st.tuples(SHE, st.just("She")), st.tuples(HE, st.just("He"))), SAYS, st.sampled_from(["", " Nadia"]))
def test_who_was_told_of_in_the_message_before_is_she_in_the_next(who: tuple[str, str], says: str, name: str) -> None:
    kin, pronoun = who
    before, text = f"My {kin}{name} came by today.", f"{pronoun} {says}."
    meant = {one.key: one.value for one in extract(f"My {kin}{name} {says}.", SAID)}
    known = {one.key: one.value for one in extract(before, SAID)}
    more = carried_on(before, "How nice!", text, SAID)
    assert known | {one.key: one.value for one in more} == meant
    assert more
    assert {one.span for one in more} == {(0, len(text))}
    other = {"She": "He", "He": "She"}[pronoun]
    assert carried_on(before, "", f"{other} {says}.", SAID) == []
    assert carried_on(before, "And how is your aunt?", text, SAID) == []
    assert carried_on(f"{before} My aunt too.", "", text, SAID) == []


@given(
    st.sampled_from(["", "No, ", "No wait, ", "Hmm, ", "My mistake, ", "Correction: ", "I meant "]),
    st.sampled_from(["She lives in Bergen.", "She's moved to Bergen.", "she's just relocated to Bergen"]),
)
def test_what_she_does_is_put_right_in_the_next_message(first: str, text: str) -> None:
    (found,) = carried_on("My sister Nadia lives in Oslo.", "How nice!", first + text, SAID)
    assert (found.key, found.value) == ("sister:nadia:place", "Bergen")


@given(st.sampled_from(sorted(ASKED)), st.sampled_from(["", "Nice. ", "Before we begin, "]))
def test_a_short_answer_says_what_it_was_asked_for(question: str, first: str) -> None:
    key, value = ASKED[question]
    (found,) = answered("hi", first + question, value, SAID)
    assert (found.key, found.value, found.span) == (key, value, (0, len(value)))
    for last in (" then", " now", ", right now", " these days"):
        assert answered("hi", f"{first}{question[:-1]}{last}?", value, SAID) == [found]
    assert answered("hi", f"{first}{question} And what else?", value, SAID) == []
    assert answered("hi", f"Let's role-play. {question}", value, SAID) == []
    assert answered("You are a barista.", question, value, SAID) == []


@given(st.sampled_from(sorted(ASKED)), EVASIVE)
def test_who_evades_a_question_tells_nothing(question: str, answer: str) -> None:
    assert answered("hi", question, answer, SAID) == []


@given(anything, anything, anything)
def test_any_messages_can_be_read_and_only_what_leans_on_others_says_more(before: str, reply: str, text: str) -> None:
    for more in (carried_on(before, reply, text, SAID), answered(before, reply, text, SAID)):
        assert leans(text) or not more


@pytest.mark.parametrize("asked", ["What's your name, and ", "What's your favorite " + "a" * 50, "do you have any "])
def test_long_messages_take_time_in_proportion_to_their_length(asked: str) -> None:
    started = time.thread_time()
    assert as_statement(asked * 2_000 + "?", "Rex", "hi") == ""
    assert as_statement("What's your name?", "Rex " * 10_000, "hi") == ""
    assert as_statement("So" + "\n" * 10_000 + asked * 2_000 + "?", "Yes", "hi") == ""
    assert carried_on("hi", "Oslo " * 10_000, "She lives there" + asked * 2_000, SAID) == []
    assert told_in([("hi " * 10_000, asked * 2_000), ("My aunt came.", "")], "She is 34") in (0, 1)
    assert spelled_out("She " + asked * 2_000, "my sister and " * 2_000, asked * 2_000, []) == ""
    assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("What's your name?", "Hi Claude"),
        ("What's your name?", "Claude, help me with my essay"),
        ("Where are you from?", "Brazilian"),
        ("What do you do?", "Engineer. Well, was."),
        ("What do you do?", "Nurse, but I quit"),
        ("What do you do?", "Teacher. Retired now"),
        ("What do you do?", "Designer, laid off"),
        ("What's your dog's name?", "Rex. We lost him last year"),
        ("What's your dog's name?", "Bella, RIP"),
        ("Do you have any allergies?", "Peanuts, my son"),
        ("Do you have any allergies?", "Peanuts, as a child"),
        ("Any dietary restrictions?", "vegan for my wife"),
        ("Do you have any allergies?", "Eggs are fine"),
        ("Do you have any allergies?", "Gluten-free options would be great"),
        ("Where do you live?", "Rome, on holiday"),
        ("Where do you work?", "Mostly nights"),
        ("Where do you work?", "At Shell, I think"),
        ("Where do you live?", "Rent-free"),
        ("What's your cat's name?", "vomiting"),
        ("How old are you?", "12 weeks pregnant"),
        ("What do you do for fun?", "teacher"),
    ],
)
def test_what_only_looks_like_an_answer_is_none(asked: str, answer: str) -> None:
    assert answered("hi", asked, answer, SAID) == []


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("My girlfriend dumped me.", "She lives in Rome."),
        ("My ex-wife called.", "She lives in Rome."),
        ("My son Leo has a fever.", "He's 39.2"),
        ("My brother bought a Tesla.", "He's on his way."),
        ("Draft an email to my boss.", "She is called Ingrid."),
        ("I saw my brother yesterday. He was with Jen.", "She's a lawyer."),
        ("My sister in law is here.", "She's a lawyer."),
    ],
)
def test_who_is_not_told_of_as_one_of_the_users_people_is_not_meant(before: str, text: str) -> None:
    assert carried_on(before, "", text, SAID) == []


def test_a_short_answer_is_known_from_both_messages(store: Store, layer: Semantic) -> None:
    _, asked, answer = talk(store, "I need a vet.", "What's your dog called?", "Rex")
    layer.catch_up(TRIP)
    (dog,) = layer.facts(ADA)
    assert (dog.key, dog.value, dog.origin) == ("dog:rex", "Rex", "user")
    assert dog.sources == (answer, asked)
    store.log.erase(TRIP, [asked])
    layer.forget(TRIP)
    assert layer.facts(ADA) == []


def test_a_later_message_about_the_same_person_cites_the_one_before(store: Store, layer: Semantic) -> None:
    first, _, later = talk(store, "My sister Nadia lives in Oslo.", "Nice!", "Actually, she lives in Bergen now.")
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"sister:nadia": "Nadia", "sister:nadia:place": "Bergen"}
    assert layer.facts(ADA)[-1].sources == (later, first)


@pytest.mark.parametrize("between", [[], [("Ada", "Thanks!")], [("Ben", "Thanks!")]])
def test_what_someone_else_said_before_is_not_meant(
    store: Store, layer: Semantic, between: list[tuple[str, str]]
) -> None:
    for name, text in (("Ada", "My sister came by."), *between, ("Ben", "She lives in Bergen.")):
        store.log.append(TRIP, [Message("user", text, name=name, at=day(0))])
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []


def test_what_was_said_before_someone_else_spoke_is_not_meant(store: Store, layer: Semantic) -> None:
    for name, text in (("Ada", "My sister came by."), ("Ben", "Thanks!"), ("Ada", "She lives in Bergen.")):
        store.log.append(TRIP, [Message("user", text, name=name, at=day(0))])
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []


@pytest.mark.parametrize("gone", [slice(2, 3), slice(2, 4), slice(3, 4)])
def test_whoever_an_erased_message_told_of_may_be_she(store: Store, layer: Semantic, gone: slice) -> None:
    said = talk(store, "My sister Nadia came by.", "Nice!", "My boss Eva called.", "I see.", "She lives in Bergen now.")
    store.log.erase(TRIP, said[gone])
    layer.catch_up(TRIP)
    assert "sister:nadia:place" not in values(layer.facts(ADA))


def test_an_answer_to_an_erased_question_answers_no_other(store: Store, layer: Semantic) -> None:
    said = talk(store, "Hi.", "Where do you live?", "Bergen", "Where is your dream house?", "Oslo")
    store.log.erase(TRIP, said[2:4])
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {}


def test_an_answer_longer_than_short_is_read_as_any_message() -> None:
    assert as_statement("What's your name?", "Marta" + ", hi" * MOST_ANSWERED, "") == ""


QUIET = st.sampled_from(["Thanks!", "It was fun.", "yeah, a bit", "We had pizza and talked for hours.", "Not really."])
MORE = st.sampled_from(
    [
        "My aunt came too.",
        "Kim says hi.",
        "There was a nurse as well.",
        "Write a story about a knight.",
        "Who is Adele?",
        "The senator gave a speech.",
        "I went on a date.",
        "We talked to a candidate.",
        "Her bestie is fun.",
    ]
)


@given(st.one_of(st.tuples(SHE, st.just("She")), st.tuples(HE, st.just("He"))), SAYS, QUIET, MORE)
def test_who_was_told_of_two_messages_before_is_she_if_nobody_was_brought_in_since(
    who: tuple[str, str], says: str, quiet: str, more: str
) -> None:
    (kin, pronoun), text = who, f"{who[1]} {says}."
    told = f"My {kin} Nadia came by today."
    assert told_in([(quiet, "I see."), (told, "How nice!")], text) == 1
    assert told_in([(more, "I see."), (told, "How nice!")], text) == 0
    assert told_in([(quiet, more), (told, "How nice!")], text) == 0
    assert told_in([(quiet, "I see."), (told, more)], text) == 0
    other = {"She": "He", "He": "She"}[pronoun]
    assert told_in([(f"{other} laughed a lot.", "I see."), (told, "How nice!")], text) == 0
    assert told_in([(told, "How nice!")], text) == told_in([(quiet, ""), (told, "")], "Nadia is 34.") == 0


OF_SOMEONE = {
    "How old is {she}?": ("age", "32"),
    "Where does {she} live?": ("place", "Bergen"),
    "What does {she} do for a living?": ("role", "nurse"),
    "Where does {she} work?": ("company", "Siemens"),
    "When is {her} birthday?": ("birthday", "3 May"),
    "Is {she} allergic to anything?": ("allergy", "nuts"),
}


@given(st.one_of(st.tuples(SHE, st.just("she")), st.tuples(HE, st.just("he"))), st.sampled_from(sorted(OF_SOMEONE)))
def test_a_short_answer_about_she_is_of_whom_the_user_told(who: tuple[str, str], question: str) -> None:
    kin, she = who
    her = {"she": "her", "he": "his"}
    asked = f"How nice! {question.format(she=she, her=her[she])}"
    about, value = OF_SOMEONE[question]
    told = f"My {kin} Nadia came by today."
    says = as_statement(asked, value, told)
    (found,) = carried_on(told, asked, value, SAID, says)
    assert (found.key.split(":")[-1], found.value, found.span) == (about, value, (0, len(value)))
    assert carried_on("We had pizza.", asked, value, SAID, says) == []
    assert carried_on(f"{told} My aunt too.", asked, value, SAID, says) == []
    other = {"she": "he", "he": "she"}[she]
    asked = question.format(she=other, her=her[other])
    assert carried_on(told, asked, value, SAID, as_statement(asked, value, told)) == []


@given(st.sampled_from(["daughter", "sister"]), st.sampled_from(["Mia", "mia"]))
def test_the_name_of_whom_the_user_told_is_asked_for(kin: str, answer: str) -> None:
    told, asked = f"My {kin} just started school.", "Big step! What's her name?"
    (found,) = carried_on(told, asked, answer, SAID, as_statement(asked, answer, told))
    assert (found.key, found.value) == (f"{kin}:mia", "Mia")


def test_what_a_reply_calls_the_child_is_nobody_else() -> None:
    told, asked = "My son broke his arm.", "Poor kid. How old is he?"
    (found,) = carried_on(told, asked, "8", SAID, as_statement(asked, "8", told))
    assert (found.key, found.value) == ("son:age", "8")
    asked = "And how is your other kid? How old is he?"
    assert carried_on(told, asked, "8", SAID, as_statement(asked, "8", told)) == []


def test_only_a_pet_is_it() -> None:
    asked = "Great! What's its name?"
    (found,) = carried_on("We got a puppy!", asked, "Bo", SAID, as_statement(asked, "Bo", ""))
    assert (found.key, found.value) == ("dog:bo", "Bo")
    assert carried_on("My brother opened a bar.", asked, "Bo", SAID, as_statement(asked, "Bo", "")) == []


@given(
    st.sampled_from(["What's your name?", "Where do you live?", "Where do you work?", "What's your dog called?"]),
    st.sampled_from(["Rude", "Creepy", "Seriously", "Boring", "Tomorrow", "Bonjour", "ChatGPT", "Continue", "Hungry"]),
)
def test_a_remark_is_no_name(question: str, answer: str) -> None:
    assert answered("hi", question, answer, SAID) == []


@given(st.sampled_from(["Taxes", "Python", "Recipes please", "Information", "Gemini", "Happiness"]))
def test_what_people_ask_assistants_about_is_no_name(answer: str) -> None:
    assert answered("hi", "What's your name?", answer, SAID) == []


def test_each_message_that_tells_whose_age_an_answer_is_erases_it(store: Store, layer: Semantic) -> None:
    said = ["My sister Anna got promoted!", "Congratulations! How old is she?", "32", "Nice!", "She's a nurse."]
    told, asked, answer, _, later = talk(store, *said)
    layer.catch_up(TRIP)
    known = {fact.key: fact.sources for fact in layer.facts(ADA)}
    age, role = "sister:anna:age", "sister:anna:role"
    assert known == {"sister:anna": (told,), age: (answer, told, asked), role: (later, told)}
    for gone, left in ((asked, {"sister:anna", role}), (later, {"sister:anna"}), (told, set[str]())):
        store.log.erase(TRIP, [gone])
        layer.forget(TRIP)
        assert {fact.key for fact in layer.facts(ADA)} == left
