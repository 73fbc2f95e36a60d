"""Which lines of a memory `recall:` quotes, and which part of a long one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Message
from recollect.flow.fence import CLOSE, OPEN, SAYS, heading
from recollect.flow.pack import CUT
from recollect.llm.quoting import LONGEST, Line, lines_of, part_about, reply_to, said_of
from recollect.llm.recall import NOTHING, answer

TEXTS = st.lists(st.sampled_from(["ab ", " xyz", " a\t", "b", " ", "-" * 300]), max_size=300).map("".join)


def ask(question: str, *lines: str, facts: str = "") -> str:
    told = [heading("facts"), facts] if facts else []
    recalled = [heading("episodic"), "9 October 2026 (1 month ago)", *lines]
    memory = "\n".join([OPEN, SAYS, *told, *recalled, CLOSE])
    return answer([Message("user", f"{memory}\n\n{question}")])


def test_what_is_said_of_someone_right_after_their_name_is_said_of_them() -> None:
    said = ("user: My daughter is Mila.", "assistant: Nice!", "user: She started school in September.")
    told = ask("When did Mila start school?", *said, facts="daughter: Mila (said 9 October 2026)")
    assert "She started school in September." in told and "is your daughter" not in told


def test_what_is_said_of_someone_after_others_were_named_is_not_said_of_them() -> None:
    lines = [
        Line("", "", f"user: {text}") for text in ("My sister is Mila.", "I met Tom.", "He started school.", "Mila!")
    ]
    assert said_of(lines, {"mila"}, lambda text: set(text.lower().strip(".!").split())) == [True, False, False, True]


def test_a_fact_about_someone_is_told_where_it_is_asked_for_or_nothing_else_is_known() -> None:
    fact = "daughter: Mila (said 9 October 2026)"
    assert "Mila is your daughter" in ask("Who is Mila?", "user: Mila likes jam.", facts=fact)
    assert "Mila is your daughter" in ask("When did Mila start school?", "user: It rains.", facts=fact)


def test_who_speaks_is_no_word_of_what_is_said() -> None:
    told = ask("What tools does my team use?", "tool: 80 pods run", "assistant: Fine.", "user: We use Slack.")
    assert "We use Slack." in told and "pods" not in told


def test_words_that_say_no_more_than_the_question_are_quoted_with_their_answer() -> None:
    said = ("user: the deploy failed again", "tool: 12 pods", "assistant: A secret is missing.", "user: Thanks!")
    assert "assistant: A secret is missing." in ask("Why did the deploy fail?", *said)
    assert "A secret is missing." not in ask("Did the deploy fail?", *said)
    assert "A secret is missing." not in ask("Why did the deploy fail?", "user: the deploy failed: no disk", *said[1:])


WINE = ("user: Suggest a wine for our salmon on Sunday.", "assistant: Riesling,", "a dry one.", "user: Thanks!")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which wine did you suggest for the salmon?", WINE),
        ("Remind me what wine you recommended with salmon.", WINE),
        ("Which wine goes with salmon?", ("user: What wine goes with grilled salmon?", *WINE[1:])),
        ("Which wine goes with salmon?", ("user: What wine goes with salmon again?", *WINE[1:])),
    ],
)
def test_what_the_assistant_said_is_quoted_where_that_is_the_answer(question: str, said: tuple[str, ...]) -> None:
    assert "assistant: Riesling, a dry one." in ask(question, *said)


def test_an_answered_question_that_shares_more_is_quoted_beside_what_was_told() -> None:
    asked = ("user: Which database version are we on?", "assistant: It is 15.4.", "user: We use cents for money.")
    assert "assistant: It is 15.4." in ask("What database version do we use?", *asked)
    assert "15.4" not in ask("What do we use for money, on the database?", *asked)


def test_a_question_that_was_asked_before_and_not_answered_is_no_answer() -> None:
    assert ask("Which wine goes with salmon?", "user: What wine goes with salmon again?", "user: Hello?") == NOTHING


def test_a_line_that_nothing_answers_has_no_reply() -> None:
    lines = [Line("", day, text) for day, text in (("1", "user: a"), ("1", "user: b"), ("2", "assistant: c"))]
    assert [reply_to(lines, n) for n in range(3)] == [None] * 3


def of_documents(question: str, *lines: str) -> list[str]:
    memory = "\n".join([OPEN, SAYS, heading("documents"), *lines, CLOSE])
    return answer([Message("user", f"{memory}\n\n{question}")]).splitlines()[3:]


KETTLE = """[document kettle.md › Kettle] # Kettle

## Descaling
Fill it with vinegar, boil it twice.
Rinse it.

## Warranty ##
It ends after 24 months."""


def test_a_heading_brings_the_text_under_it() -> None:
    assert of_documents("How do I descale the kettle?", KETTLE) == [
        "> [document kettle.md › Kettle › Descaling] Fill it with vinegar, boil it twice.",
        "> [document kettle.md › Kettle › Descaling] Rinse it.",
    ]
    ends = "> [document kettle.md › Kettle › Warranty] It ends after 24 months."
    assert of_documents("What about the warranty?", KETTLE) == [ends]
    assert ends in of_documents("Tell me about the kettle", KETTLE)


def test_a_heading_with_nothing_under_it_is_quoted_itself() -> None:
    lists = ("[document todo.md] # Buy milk", "# Call the plumber", "[document b.md] # Oslo", "Trams.")
    assert of_documents("Who is the plumber?", *lists) == ["> [document todo.md] # Call the plumber"]
    assert of_documents("What should I buy?", *lists) == ["> [document todo.md] # Buy milk"]
    assert of_documents("What is in Oslo?", *lists) == ["> [document b.md › Oslo] Trams."]


@given(st.lists(st.sampled_from(["[document a.md › x] # x", "# y", "## y", "### z", "p", "", "[document b.md] q"])))
def test_every_line_of_a_document_but_headings_is_there_to_quote_once_in_order(lines: list[str]) -> None:
    found = [line.text.rpartition("] ")[2] for line in lines_of("\n".join([heading("documents"), *lines]))]
    assert [text for text in found if text in "pq"] == [line[-1] for line in lines if line and line[-1] in "pq"]


def test_of_a_long_line_the_part_that_matters_is_quoted_with_its_speaker() -> None:
    log = "ok pkg 0.1s " * 200 + "FAIL billing TestRounding " + "ok pkg 0.1s " * 200
    told = ask("Why did TestRounding fail?", f"tool: {log}")
    assert "tool: […] " in told and "FAIL billing TestRounding" in told and len(told) < LONGEST + 200


@given(TEXTS, st.sets(st.sampled_from(["a", "ab", "xyz", "b"])))
def test_a_part_is_words_of_the_line_in_their_order_and_has_one_that_is_asked_for(text: str, asked: set[str]) -> None:
    part = part_about(text, asked, lambda word: {word})
    assert part.removeprefix(f"{CUT} ").removesuffix(f" {CUT}") in text
    assert part == text if len(text) <= LONGEST else len(part) <= LONGEST + 2 * len(f"{CUT} ")
    if asked & set(text.split()):
        assert asked & set(part.split())


def test_a_long_line_full_of_what_is_asked_for_takes_time_in_proportion_to_its_length() -> None:
    started = time.thread_time()
    assert len(part_about("the door code is " * 8_000, {"door", "code"}, lambda word: {word})) <= LONGEST + 10
    assert time.thread_time() - started < 3


def test_replies_are_found_as_fast_however_much_is_quoted() -> None:
    lines = [Line("", "1", text) for _ in range(4_000) for text in ("user: Tea?", "assistant: Yes.")]
    started = time.process_time()
    assert sum(reply_to(lines, n) is not None for n in range(len(lines))) == 4_000
    assert time.process_time() - started < 2
