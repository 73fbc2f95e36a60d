"""What a newcomer asks first, of conversations before and of this one: answered from memory, or honestly not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message, Session, llm
from recollect.embed.hashing import HashingEmbedder
from recollect.llm.recall import HELP, NOTHING, READ, echoes
from recollect.testing.clock import ManualClock
from tests.contexts import opened

NOW = datetime(2026, 6, 4, 12, tzinfo=UTC)

EARLIER = {
    9: [
        "Hi, I'm Ada. I live in Lyon and I work as a bridge engineer at Pontis.",
        "My sister Nadia moved to Oslo in May. My son Theo is six.",
        "I'm allergic to peanuts. I love jazz and hiking, and I can't stand mushrooms.",
        "Please keep your answers short from now on.",
        "My favorite color is green and my birthday is on 9 June.",
        "I usually go for a run in the mornings.",
    ],
    5: [
        "At work we are building a footbridge over the Saone, 64 metres, in wood.",
        "My manager is called Farida. She wants the drawings soon.",
        "My colleague Jonas thinks steel would be cheaper.",
    ],
    3: ["Actually, I moved to Grenoble.", "The rent is 890 euros and my landlord is Mr Petit."],
    1: [
        "My flight to Oslo is in 3 weeks at 9:25, with SAS.",
        "For the hotel I looked at the Bristol and the Thief. I picked the Thief.",
        "I have a dentist appointment tomorrow at 3pm.",
        "Remind me to buy a present for Theo.",
        "The wifi password of the cabin is troll1234.",
        "We have two cats, Misty and Bo.",
        "I read three books: Dune, Emma and Ulysses.",
    ],
}
"""What was said so many days ago."""
ASKED = [
    ("What do you know about me?", ["name is Ada", "live in Grenoble", "You like jazz", "usually go"], "Lyon|steel"),
    ("tell me about myself", ["name is Ada", "bridge engineer"], "Lyon"),
    ("What should you remember?", ["answers that are short"], "Lyon"),
    ("who am i", ["name is Ada", "bridge engineer", "Pontis"], "dentist|Bo"),
    ("whats my name", ["name is Ada"], "names"),
    ("What's my full name?", ["name is Ada"], "names"),
    ("Where do I live?", ["live in Grenoble"], "Lyon|Oslo"),
    ("wher do i liv", ["live in Grenoble"], "Lyon|Oslo"),
    ("where did I live before?", ["live in Lyon"], "Oslo"),
    ("What do I do for a living?", ["bridge engineer"], "Grenoble"),
    ("whats my boss called", ["Farida is your manager"], "Ada"),
    ("Who is Nadia?", ["Nadia is your sister"], "Theo"),
    ("Where does my sister live?", ["sister Nadia lives in Oslo"], "Grenoble|Lyon"),
    ("how old is my son", ["6 years old"], "Nadia"),
    ("what music do I like?", ["like jazz"], "green|mushrooms"),
    ("what don't I like?", ["don't like mushrooms"], "jazz"),
    ("What's my favourite colour?", ["favorite color is green"], "jazz"),
    ("is there something I can't eat?", ["allergic to peanuts"], "jazz"),
    ("When is my flight?", ["at 9:25"], "dentist"),
    ("what time does my plane leave?", ["at 9:25"], "dentist"),
    ("What did I say about the footbridge?", ["64 metres"], "Pontis"),
    ("what did I tell you about my rent", ["890"], "Oslo"),
    ("What did we talk about yesterday?", ["SAS", "the Thief"], "footbridge|Lyon|Petit"),
    ("what was our last conversation about?", ["SAS", "the Thief"], "footbridge|Lyon|Petit"),
    ("Which hotel did I choose?", ["picked the Thief"], "Oslo"),
    ("how many cats do I have?", ["Misty", "Bo"], "Theo"),
    ("What pets do I have?", ["Misty", "Bo"], "Theo"),
    ("Who are the people in my family?", ["Nadia is your sister", "Theo is your son"], "Misty|Jonas"),
    ("Tell me about my family", ["Nadia is your sister", "Theo is your son"], "Misty|Jonas"),
    ("How old am I?", ["birthday is 9 June"], "Theo|6 years"),
    ("Which books did I read?", ["Dune"], "flight"),
    ("remind me what the wifi pasword is", ["troll1234"], "present"),
    ("what did I ask you to remind me of?", ["buy a present for Theo"], "wifi"),
    ("what should I be reminded of?", ["buy a present for Theo"], "wifi"),
    ("What should you remind me about?", ["buy a present for Theo"], "wifi"),
    ("Do I have plans for today?", ["dentist appointment"], "flight|present"),
    ("what are my habits", ["go for a run"], "jazz"),
    ("how should you answer me?", ["short"], "jazz"),
]
UNKNOWN = [
    "What is the capital of France?", "what's my blood type?", "who is Bartholomew?", "do I have a brother?",
    "what is my phone number", "When is my wedding?", "what's my dog's name?", "What languages do I speak?",
    "whats my shoe size", "wo ist mein auto", "what is my favourite food", "where did I go to university?",
]  # fmt: skip
HERE = [
    (["I like blues"], "what music do I like?", "You like blues"),
    (["my name is Bob", "I like pizza"], "what do you know about me", "name is Bob.*You like pizza"),
    (["i live in berlin", "i moved to hamburg"], "where do i live?", "You live in Hamburg"),
    (["im vegan"], "can i eat meat?", "diet is vegan"),
    (["I'm learning Spanish"], "which language am I learning?", "learning Spanish"),
    (["My wife is Eva."], "who is eva?", "Eva is your wife"),
    (["Our kids are 8 and 5."], "how many children do I have?", "8 and 5"),
    (["My favourite book is Emma", "My favourite book is now Dune"], "what was my favourite book before?", "Emma"),
    (["My boss is Olav", "My new boss is Ida"], "who was my boss previously?", "is Olav"),
    (["I bought a red lamp"], "what did I buy?", "red lamp"),
    (["I'll take the blue one, not the red one"], "which did I pick?", "the blue one"),
    (["The meeting with Lars is cancelled.", "The door code is 4711."], "what's the door code?", "4711"),
    (["Ich heiße Karla und wohne in Bonn."], "Was weißt du über mich?", "Karla"),
    (["Ich mag Jazz.", "Meine Schwester heißt Nadja."], "Wie heißt meine Schwester?", "Nadja"),
    (["Mi hermana Lucía vive en Sevilla."], "¿Dónde vive mi hermana?", "Sevilla"),
]


def answer(chat: Session, question: str) -> str:
    chat.add("user", question)
    reply = llm.open("recall:").complete(chat.context().prompt).message
    chat.add(reply)
    assert echoes(reply.text)
    return reply.text


@pytest.fixture(scope="module", params=[None, HashingEmbedder(256)], ids=["words", "vectors"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with opened(tmp_path_factory.mktemp("memory"), ManualClock(NOW), embedder=request.param) as memory:
        for days, said in EARLIER.items():
            at = NOW - timedelta(days=days)
            memory.session(f"{days} days ago", user="ada").add_many(
                [
                    message
                    for text in said
                    for message in (Message("user", text, at=at), Message("assistant", "Noted!", at=at))
                ]
            )
        memory.drain()
        yield memory


@pytest.mark.parametrize(("question", "told", "untold"), ASKED, ids=[question for question, _, _ in ASKED])
def test_an_everyday_question_is_answered(memory: Memory, question: str, told: list[str], untold: str) -> None:
    chat = memory.session("today", user="ada")
    said = answer(chat, question)
    memory.forget(chat.scope)
    assert [words for words in told if words not in said] == [], said
    assert not re.search(untold, said), said


@pytest.mark.parametrize("question", UNKNOWN)
def test_what_memory_does_not_know_it_says_so(memory: Memory, question: str) -> None:
    chat = memory.session("today", user="ada")
    said = answer(chat, question)
    memory.forget(chat.scope)
    assert said == NOTHING


@pytest.mark.parametrize(("before", "question", "told"), HERE, ids=[question for _, question, _ in HERE])
def test_what_was_just_said_is_known(tmp_path: Path, before: list[str], question: str, told: str) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        chat = memory.session("today", user="ada")
        assert [answer(chat, said) for said in before] == [READ] * len(before)
        assert re.search(told, answer(chat, question), re.DOTALL)


@pytest.mark.parametrize(
    ("said", "question", "gone"),
    [
        ("I moved to Rome.", "Where do I live?", "Grenoble"),
        ("I no longer like jazz.", "What do I like?", "You like jazz"),
        ("Call me Adi from now on.", "What's my name?", "Ada"),
        ("The dentist appointment is cancelled.", "What are my plans?", "dentist"),
    ],
)
def test_what_is_said_now_overrules_what_was_known(memory: Memory, said: str, question: str, gone: str) -> None:
    chat = memory.session("today", user="ada")
    assert answer(chat, said) == READ
    told = answer(chat, question)
    memory.forget(chat.scope)
    assert told.startswith("From memory:") and gone not in told


@pytest.mark.parametrize(
    ("said", "question", "answered"),
    [
        ("My mother's birthday is 4 May.", "When is my birthday?", False),
        ("My mother's birthday is 4 May.", "When is my mother's birthday?", True),
        ("My sister Nadia lives in Oslo.", "Where do I live?", False),
        ("My mother's birthday is 4 May. I live in Rome.", "When is my birthday?", False),
        ("My mother's birthday is 4 May. I live in Rome.", "Where do I live?", True),
        ("I had cake on my birthday, 3 May.", "When is my birthday?", True),
        ("My brother is allergic to nuts.", "What am I allergic to?", False),
    ],
)
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_what_is_known_of_someone_else_answers_no_question_about_oneself(
    tmp_path: Path, said: str, question: str, answered: bool, later: bool
) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        answer(memory.session("before", user="ada"), said)
        memory.drain()
        told = answer(memory.session("after" if later else "before", user="ada"), question)
    assert (told != NOTHING) == answered, told


@pytest.mark.parametrize(
    "said",
    [
        "hi", "Hello there!", "thanks", "ok", "Remind me to renew my passport before the trip", "Tell Anna I said hi",
        "Please tell my sister that I'm late.", "Can you remind me to call Theo?", "ask Jonas about the wifi",
    ],
)  # fmt: skip
def test_what_asks_for_no_answer_is_no_search(memory: Memory, said: str) -> None:
    assert llm.open("recall:").complete(memory.session("today", user="ada").context(said).prompt).text == READ


@pytest.mark.parametrize("asked", ["what can you do?", "Who are you?", "help"])
def test_it_says_what_it_can_do(memory: Memory, asked: str) -> None:
    assert llm.open("recall:").complete(memory.session("today", user="ada").context(asked).prompt).text == HELP


@pytest.mark.parametrize("question", ["What do you know about me?", "what did we talk about yesterday?", "Who am I?"])
def test_an_empty_memory_has_nothing(tmp_path: Path, question: str) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        assert answer(memory.session("today", user="ada"), question) == NOTHING


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What are my plans in December?", ["Rome"]),
        ("What are my plans for December?", ["Rome"]),
        ("What do I have planned next week?", ["call"]),
        ("What are my plans for the weekend?", ["paint"]),
        ("What do I have to do before January?", ["Rome", "call", "paint"]),
        ("What do I have to do before December?", ["call", "paint"]),
        ("What do I have to do by Sunday?", ["paint"]),
    ],
)
def test_plans_are_those_of_the_days_that_are_asked_for(question: str, told: list[str]) -> None:
    monday = datetime(2026, 11, 16, 9, tzinfo=UTC)
    plans = (
        "I must call Bo on 24 November.",
        "I must paint the door on Saturday.",
        "I'm flying to Rome on 4 December.",
    )
    said = [Message("user", text, at=monday) for text in (*plans, question)]
    found = llm.open("recall:").complete(said).text
    assert [word for word in ("Rome", "call", "paint") if word in found] == told, found
