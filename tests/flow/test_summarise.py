"""A summary is made of the conversation's own sentences: the telling ones, within its tokens, citing their messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.answers import Candidate
from recollect.flow.days import relative
from recollect.flow.summarise import A_LINE, MAX_CHARS, MORE, Said, Sentence, fold, pick, render, score, unquoted
from recollect.layers.summary import telling
from recollect.tokens import estimate

PIECES = [
    "My sister Nadia moved to Oslo in May. ",
    "Wow, that is great! ",
    "Let's meet at 9:30 on Friday. ",
    "What should we cook? ",
    "def f(x): return {x: 1}; ",
    "The invoice of Acme was 4,417 euros.\n",
    "好的，我们星期五去奥斯陆。",
    "1. **Budget**: about $300\n",
    "a" * 700,
    "😀 ",
    "I saw Paul yesterday. ",
    "It was fine, " * 40,
]
PLAIN = {piece.strip() for piece in PIECES if piece[0].isupper() and len(piece) < MAX_CHARS}
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
roles = st.sampled_from(["user", "assistant", "tool", "system"])
talks = st.lists(st.tuples(roles, texts), max_size=12).map(
    lambda said: [Said(f"m{n}", n, role, role, text, f"{n} May 2025") for n, (role, text) in enumerate(said, 1)]
)


def summary(messages: list[Said], max_tokens: int = 400, every: int = 12) -> list[Sentence]:
    rolling: list[Sentence] = []
    for start in range(0, len(messages), every):
        rolling = fold(rolling, messages[start : start + every], max_tokens, estimate, telling)
    return rolling


def said(*lines: str, role: str = "user") -> list[Said]:
    return [Said(f"m{n}", n, role, role, line) for n, line in enumerate(lines, 1)]


@given(talks, st.integers(0, 200), st.integers(1, 12))
def test_a_summary_keeps_to_its_tokens_and_says_only_what_was_said(
    messages: list[Said], max_tokens: int, every: int
) -> None:
    found = summary(messages, max_tokens, every)
    by_id = {message.id: message for message in messages}
    assert estimate(render(found)) <= max_tokens
    assert [sentence.seq for sentence in found] == sorted(sentence.seq for sentence in found)
    for sentence in found:
        message = by_id[sentence.id]
        assert (sentence.seq, sentence.speaker) == (message.seq, message.speaker)
        assert sentence.text.removesuffix(MORE) in message.text
        assert message.role != "system"
        assert len(sentence.text) <= (A_LINE if message.role == "tool" else MAX_CHARS)
        assert sentence.day == (message.day if relative(sentence.text) else "")
    assert len(set(found)) == len(found)
    tools = [sentence.id for sentence in found if by_id[sentence.id].role == "tool"]
    assert len(set(tools)) == len(tools)
    assert summary(messages, max_tokens, every) == found


@given(talks, st.integers(0, 150), st.integers(0, 150))
def test_more_tokens_never_lose_what_fewer_held(messages: list[Said], one: int, other: int) -> None:
    found = score(messages)
    few, more = (pick(found, most, estimate, telling) for most in sorted((one, other)))
    assert set(few) <= set(more)


def test_nothing_gives_nothing() -> None:
    assert fold([], [], 400, estimate, telling) == []
    assert render([]) == ""
    assert summary(said("", "  \n", "😀")) == []


def test_names_numbers_and_decisions_come_before_small_talk() -> None:
    talk = said(
        "Wow, that is so great, I am happy for you all!",
        "My sister Nadia moved to Oslo in May 2023.",
        "It was really nice to talk to you about things.",
        "We decided to take the night train to Bergen.",
        "Have a great time and see you soon!",
    )
    assert [sentence.seq for sentence in summary(talk, 45)] == [2, 4]


def test_what_people_said_comes_before_what_the_assistant_and_tools_said() -> None:
    line = "The meeting with Acme in Berlin is at 14:30."
    for role in ("assistant", "tool"):
        talk = [*said("The flight to Madrid leaves at 07:15.", role=role), Said("own", 2, "user", "user", line)]
        assert [sentence.id for sentence in summary(talk, 25)] == ["own"]


def test_code_is_left_for_words() -> None:
    talk = said("for (i = 0; i < n; i++) { total += prices[i]; }", "The total must include shipping to Norway.")
    assert [sentence.seq for sentence in summary(talk, 20)] == [2]


def test_what_is_in_already_is_not_said_twice() -> None:
    talk = said(*["The door code is 4417 for the flat in Oslo."] * 5)
    assert len(summary(talk)) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I want to deploy to production on Friday.", "We will not deploy to production on Friday."),
        ("The build isn't green.", "Now that is it, the build is green again."),
        ("My brother Tom says I'm an alcoholic.", "I'm not an alcoholic."),
    ],
)
@pytest.mark.parametrize("every", [1, 12])
def test_what_is_taken_back_is_told(before: str, after: str, every: int) -> None:
    found = summary(said(before, "It rains in Bergen.", after), every=every)
    assert found[-1].text == after


def test_a_question_is_kept_until_somebody_answers() -> None:
    asked = said("Which hotel in Bergen should Nadia book?")
    (open_question,) = fold([], asked, 400, estimate, telling)
    reply = [Said("m2", 2, "assistant", "assistant", "Take the Grand Hotel at 120 euros a night.")]
    after = fold([open_question], reply, 400, estimate, telling)
    assert after[0].text == open_question.text
    assert open_question.open
    assert not after[0].open
    assert after[0].score < open_question.score
    unanswered = fold([open_question], said("It is for three nights in June."), 400, estimate, telling)
    assert unanswered[0] == open_question
    at_once = fold([], [*asked, *reply], 400, estimate, telling)
    assert at_once[0] == after[0]


@pytest.mark.parametrize("marks", ["- ", "1. ", "## ", "* "])
def test_list_marks_are_left_out(marks: str) -> None:
    (sentence,) = score(said(f"{marks}The budget is 300 euros."))
    assert sentence.text == "The budget is 300 euros."


def test_a_line_shows_who_said_it_and_takes_one_message() -> None:
    talk = said("Nadia lives in Oslo. She pays 900 euros of rent.", "I work at Acme.")
    assert render(summary(talk)) == "- user: Nadia lives in Oslo. She pays 900 euros of rent.\n- user: I work at Acme."


def test_what_depends_on_the_day_it_was_said_has_that_day() -> None:
    talk = [Said("m1", 1, "user", "ann", "My exam is tomorrow. I study law in Oslo.", "3 March 2025")]
    assert render(summary(talk)) == "- ann: My exam is tomorrow. I study law in Oslo. (said 3 March 2025)"
    undated = [Said("m1", 1, "user", "ann", "My exam is tomorrow.")]
    assert render(summary(undated)) == "- ann: My exam is tomorrow."


@given(talks, st.sets(st.integers(1, 12)))
def test_what_is_quoted_whole_is_left_out_and_all_else_stays(messages: list[Said], quoted: set[int]) -> None:
    found = summary(messages)
    told = Candidate("summary", render(found), sources=tuple(dict.fromkeys(sentence.id for sentence in found)))
    recalled = [
        Candidate("episodic", f"{message.speaker}: {message.text}", sources=(message.id,))
        for message in messages
        if message.seq in quoted
    ]
    rest = unquoted(told, recalled, "s")
    left = rest.text.split("\n")
    same = {" ".join(line.replace("**", "").split()) for one in recalled for line in one.text.split("\n")}
    for id in told.sources:
        sentences = [sentence for sentence in found if sentence.id == id]
        if int(id[1:]) not in quoted and render(sentences)[2:].partition(" (said ")[0] not in same:
            assert render(sentences) in left
        elif int(id[1:]) in quoted and len(sentences) == 1:
            assert render(sentences) not in left
        elif int(id[1:]) in quoted and {sentence.text for sentence in sentences} <= PLAIN:
            assert id not in rest.sources
    assert unquoted(told, [], "s") == told
    assert unquoted(rest, recalled, "s") == rest
    assert len(rest.sources) == len(left if rest.text else [])


def test_of_a_line_only_what_is_not_quoted_stays() -> None:
    line = "- ann: My exam is tomorrow. I study law in Oslo. Bob cooks. (said 3 March 2025)"
    told = Candidate("summary", line, sources=("m1",))

    def rest(quoted: str) -> str:
        return unquoted(told, [Candidate("episodic", f"ann: {quoted}", sources=("m1",))], "s").text

    assert rest("I study law in Oslo.") == "- ann: My exam is tomorrow. Bob cooks. (said 3 March 2025)"
    assert rest("My exam is tomorrow. Help! I study law in Oslo.") == "- ann: Bob cooks."
    assert rest("My exam is tomorrow. Help! I study law in Oslo. He laughed. Bob cooks.") == ""
    assert rest("Bob sings.") == line


def test_printed_files_and_the_json_of_tools_are_not_told() -> None:
    listing = '12: "docs": [\n13: author_email="ann@example.org",\n14: "Framework :: Django 3.2",\n'
    record = '7136}], "created_at": "2024-05-11", "insured": "yes", "baggages": 3'
    asks = Said("m1", 1, "user", "ann", listing + "Why does version 3.2 of Django fail?")
    talk = [
        asks,
        Said("m2", 2, "tool", "tool", record),
        Said("m3", 3, "tool", "tool", "The build of Django 3.2 failed."),
    ]
    assert "created_at" not in render(summary(talk))
    times = score(
        [Said("m1", 1, "user", "ann", '9:30 suits me in Oslo.\n"Dune", by Herbert, is in Oslo.\nIt is in Oslo.')]
    )
    assert len({sentence.score for sentence in times}) == 1
    assert [sentence.text for sentence in summary(talk, 20)] == ["Why does version 3.2 of Django fail?"]


PRINTED = {
    "log": "2026-11-18T10:{0}:45Z INFO search-{0} request 74{0} served in 7{0} ms by worker {0}",
    "syslog": "Nov 18 10:11:{0} host{0} kernel: Out of memory: Killed process 79{0} (search)",
    "levels": "[{0}] WARN connection to db-{0} refused after {0} retries",
    "requests": '10.0.0.{0} - - [18/Nov/2026:10:04:{0} +0000] "GET /cart HTTP/1.1" 200 {0}',
    "calls": "at org.example.Cart{0}.total(Cart.java:{0})",
    "columns": "cart-76{0}   1/1     Running   {0}          {0}d",
    "csv": "60{0},cart {0},Oslo,342.{0}",
    "json": '"note": "Delivered {0} to Oslo",',
    "table": "| cart {0} | Oslo | {0} |",
}
ASKED, DECIDED = "Why is the shop in Bergen slow?", "Let's raise the pool to 60 on 12 June."


def printed(kind: str, lines: int, end: str = "\n") -> str:
    return end.join(PRINTED[kind].format(n) for n in range(10, 10 + lines))


@pytest.mark.parametrize("kind", PRINTED)
@pytest.mark.parametrize(
    ("role", "lines"), [("user", 4), ("user", 100), ("assistant", 100), ("tool", 1), ("tool", 100)]
)
def test_what_a_program_printed_is_not_told(kind: str, role: str, lines: int) -> None:
    talk = [
        *said(ASKED),
        Said("m2", 2, role, role, f"The gateway is in Oslo.\n{printed(kind, lines)}"),
        Said("m3", 3, "user", "user", DECIDED),
    ]
    told = render(summary(talk))
    assert told == f"- user: {ASKED}\n- {role}: The gateway is in Oslo.\n- user: {DECIDED}"


@pytest.mark.parametrize("kind", ["log", "json", "csv"])
def test_a_long_line_that_a_program_printed_is_not_told(kind: str) -> None:
    assert render(summary(said(ASKED, printed(kind, 100, " "), DECIDED))) == f"- user: {ASKED}\n- user: {DECIDED}"


def test_commands_that_a_person_names_are_their_words() -> None:
    wishes = [f"Run `pip install {name}_x` in Oslo." for name in ("ruff", "mypy", "pytest", "coverage", "hypothesis")]
    assert [sentence.text for sentence in summary(said("\n".join(wishes)))] == wishes


def test_of_a_tool_one_short_line_is_told() -> None:
    pages = "Results for Bergen:\n" + "The Grand Hotel in Bergen has 120 rooms, a spa and a view of the fjord. " * 3
    pages += "It costs 900 kroner.\n" + "The night train from Oslo arrives at seven o'clock " * 4
    (line,) = summary(said(pages, role="tool"))
    assert line.text == "The Grand Hotel in Bergen has 120 rooms, a spa and a view of the fjord."
    (cut,) = summary(said("From Oslo to Bergen " * 20, role="tool"))
    assert cut.text == f"{'From Oslo to Bergen ' * 5}From Oslo to{MORE}"


def test_what_is_cut_ends_with_a_word_and_a_mark() -> None:
    long = " ".join(f"Nadia{n}" for n in range(200))
    for sentence in score(said(long))[:-1]:
        assert sentence.text.endswith(MORE)
        assert set(sentence.text.removesuffix(MORE).split()) <= set(long.split())
    assert score(said("word " * 5_000))[-1].text.endswith(f"word{MORE}")
    told = Candidate("summary", render(score(said(long))[:1]), sources=("m1",))
    assert unquoted(told, [Candidate("episodic", f"user: {long}", sources=("m1",))], "s").text == ""


@pytest.mark.parametrize(
    "said", ["Let me check that for you, Ann.", "Please hold on, Ann.", "Is there anything else, Ann?"]
)
def test_what_every_assistant_says_comes_after_what_this_one_said(said: str) -> None:
    found = score([Said("m1", 1, "assistant", "assistant", f"{said} The train leaves Oslo at nine.")])
    assert found[0].score < found[1].score
