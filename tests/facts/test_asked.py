"""What a question asks of the one who asks it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis.strategies import from_regex

from recollect.answers import Fact
from recollect.flow.facts.asked import KINDS, TELLING, Kind, wanted
from tests.facts.test_spoken import stated

KNOWN = stated(
    "My name is Ada. I live in Oslo. I'm a nurse at Lakeside. I love jazz. I hate fog. I'm vegan. My sister Nadia "
    "lives in Rome. My son Theo is six. My wife is called Eva. We have a cat named Misty. Remind me to call Bob. "
    "I'm 34."
)


def asked(question: str) -> set[str]:
    want = wanted(question, KNOWN)
    return {fact.key for fact in KNOWN if want.fits(fact)}


@pytest.mark.parametrize(
    ("questions", "keys"),
    [
        (["What's my name?", "whats my name", "do you know my name"], {"name"}),
        (["Where do I live?", "where do i live now", "which city am I in?"], {"place"}),
        (["What do I do for a living?", "what's my job", "Where do I work?"], {"role", "company"}),
        (["What is my job title?", "What's my title at work?", "Where am I employed?"], {"role", "company"}),
        (["Who am I?"], {"name", "place", "role", "company", "age"}),
        (["How old am I?", "what's my age"], {"age"}),
        (["What do I like?", "what music do I enjoy", "what are my interests?"], {"likes:jazz"}),
        (["What don't I like?", "what do I hate?"], {"dislikes:fog"}),
        (["Can I eat meat?", "what can't I eat", "am I vegan?"], {"diet"}),
        (["What am I allergic to?"], set()),
        (["What are my plans?", "what's on my todo list", "Do I have plans for Friday?"], {"todo:call bob"}),
        (["What appointments do I have this month?", "what do I have in May"], {"todo:call bob"}),
        (["Who is Nadia?", "do I have a sister?"], {"sister:nadia", "sister:nadia:place"}),
        (["Where does my sister live?", "Where does Nadia live?"], {"sister:nadia:place"}),
        (["Where does my sister work?"], set()),
        (["How old is my son?", "how old is he?"], {"son:theo:age"}),
        (["Do I have kids?"], {"son:theo", "son:theo:age"}),
        (["how many children do I have", "What are my kids called?"], {"son:theo"}),
        (["What do you know about my sister?"], {"sister:nadia", "sister:nadia:place"}),
        (["Who is my spouse?", "what's my wife called"], {"wife"}),
        (["do I have any pets"], {"cat:misty"}),
        (["What is the capital of Peru?", "What did Nadia give me?", "Where did I live before?", ""], set()),
    ],
)  # fmt: skip
def test_a_question_asks_for_facts_of_some_kind(questions: list[str], keys: set[str]) -> None:
    assert {question: asked(question) for question in questions} == dict.fromkeys(questions, keys)


@pytest.mark.parametrize(
    "question",
    [
        "What do you know about me?", "tell me about myself", "what have you learned about me so far?",
        "What should you remember?", "do you remember me", "What facts do you have about me?",
        "Was weißt du über mich?", "¿Qué sabes de mí?", "so what do you actually know about me by now??",
    ],
)  # fmt: skip
def test_some_ask_for_everything(question: str) -> None:
    assert wanted(question, KNOWN).everything


@pytest.mark.parametrize(
    "question",
    [
        "What do you know about me and Bob?", "What do you know about Rome?", "Do you remember my flight?",
        "What did you tell me about the price?", "Find something about me in the paper of Monday",
    ],
)  # fmt: skip
def test_others_do_not(question: str) -> None:
    assert not wanted(question, KNOWN).everything


def test_what_is_asked_for_comes_before_what_only_shares_less() -> None:
    want = wanted("What do you know about me?", KNOWN)
    assert {fact.key.partition(":")[0] for fact in KNOWN if not want.prefers(fact)} == {"sister", "son", "wife", "cat"}


@pytest.mark.processor(60)
@pytest.mark.parametrize("text", ["my ", "do i ", "what do you know ", "where ", "my my sister ", "a", "who ", "'"])
def test_a_long_question_takes_no_minutes(text: str) -> None:
    many = [*KNOWN] * 50
    for _ in range(20):
        wanted(text * 20_000, many)
    assert isinstance(many[0], Fact)


@pytest.mark.parametrize(("telling", "kind"), TELLING, ids=[kind.keys for kind in KINDS])
def test_a_question_that_asks_for_something_has_one_of_its_words(telling: frozenset[str], kind: Kind) -> None:
    @given(from_regex(kind.asks.pattern, fullmatch=True))
    def check(question: str) -> None:
        assert not telling.isdisjoint(re.findall(r"\w+", question.lower()))

    check()
