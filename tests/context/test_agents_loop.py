"""Contexts inside an agent's loop, where the last message is a tool's result."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect import (
    BudgetTooSmall,
    Calibration,
    Memory,
    Message,
    Session,
    Settings,
    ToolCall,
    ToolResult,
    count_messages,
    estimate,
    validate,
)
from recollect.testing.clock import ManualClock
from recollect.types import Part, Text, Thinking
from tests.contexts import opened, told
from tests.strategies import SHAPES


@pytest.mark.parametrize("answered", [(), ("c1",), ("c2",)])
@pytest.mark.parametrize("said", [(), (Text("Let me see."),), (Thinking("Hm.", "signed"),)])
@pytest.mark.parametrize("shape", SHAPES)
def test_calls_that_a_killed_process_left_unanswered_do_not_spoil_what_comes_after(
    memory: Memory, shape: str, said: tuple[Part, ...], answered: tuple[str, ...]
) -> None:
    chat = memory.session("april", user="ada")
    chat.add("user", "What is the weather in Oslo and Rome?")
    calls = [ToolCall("c1", "weather", '{"city": "Oslo"}'), ToolCall("c2", "weather", '{"city": "Rome"}')]
    chat.add(Message("assistant", (*said, *calls)))
    chat.add_many([Message("tool", (ToolResult(id, "Rain"),)) for id in answered])
    going_on = chat.context(None, 1_000)
    assert [call.id for message in going_on.prompt for call in message.tool_calls] == ["c1", "c2"]
    chat.add("user", "Are you there?")
    for context in (chat.context("And in Bonn?", 1_000), chat.context(None, 1_000)):
        assert validate(context.prompt, shape) == []
        assert [call.id for message in context.prompt for call in message.tool_calls] == list(answered)
        assert ("Let me see." in context.prompt[1].text) == (said == (Text("Let me see."),))
        assert context.tokens == count_messages(context.prompt, estimate)
        assert sum(line.shown for line in context.receipt.lines) + context.receipt.overhead == context.tokens


def test_a_context_as_text_and_its_receipt_have_the_calls_of_tools(memory: Memory) -> None:
    chat = memory.session("april", user="ada")
    chat.add("user", "What is the weather in Oslo?")
    chat.add(Message("assistant", (Text("Let me see."), ToolCall("c1", "weather", '{"city": "Oslo"}'))))
    context = chat.context(None, 1_000)
    said = 'Let me see.\nweather({"city": "Oslo"})'
    assert str(context).endswith(f"assistant: {said}")
    assert context.receipt.lines[-1].text == said


def test_inside_an_agents_loop_memory_stays_as_it_was(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    first = chat.context("Where does my sister live?", 2_000)
    chat.add("user", "Where does my sister live?")
    prompts = [first.prompt]
    for n in range(5):
        chat.add(Message("assistant", (ToolCall(f"c{n}", "look", "{}"),)))
        chat.add(Message("tool", (ToolResult(f"c{n}", f"nothing at {n} in Oslo"),)))
        memory.drain()
        prompts.append(chat.context(None, 2_000).prompt)
    for before, after in pairwise(prompts):
        assert [m.content for m in after[: len(before)]] == [m.content for m in before]


def test_what_another_user_does_changes_nothing_inside_an_agents_loop(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    chat.add("user", "Where does my sister live?")
    before = chat.context(None, 2_000)
    told(memory, clock)  # more of the same, which would be recalled by now
    memory.drain()
    other = memory.session("of Eve", user="eve")
    said = other.add("user", "My sister lives in Rome.")
    other.tag(said.id, score=9)
    other.forget([said.id])
    assert chat.context(None, 2_000).memory == before.memory
    chat.tag(chat.history()[0].id, score=1)
    assert chat.context(None, 2_000).memory != before.memory


def test_inside_an_agents_loop_the_summary_stays_as_it_was(memory: Memory) -> None:
    chat = memory.session("cabin", user="ada")
    for text in ("We decided to rent the cabin in Norway for two weeks.", "The key of the cabin is under stone 7."):
        chat.add_turn(text, "Noted, I keep it.")
    for n in range(30):
        chat.add_turn(f"Tell me something about mountain {n} in the far north.", f"Mountain {n} is cold. " * 20)
    memory.drain()
    chat.add("user", "Which cabin did we decide to rent in Norway?")
    first = chat.context(None, 4_000)
    assert "less what is recalled" in [line.rule for line in first.offered]
    chat.add(Message("assistant", (ToolCall("c1", "look", "{}"),)))
    chat.add(Message("tool", (ToolResult("c1", "nothing"),)))
    assert chat.context(None, 4_000).memory == first.memory


@pytest.mark.parametrize("words", (10, 82, 94))
def test_the_summary_has_what_was_recalled_once_that_has_no_room(memory: Memory, words: int) -> None:
    chat = memory.session("cabin", user="ada")
    chat.add_turn("We decided to rent the cabin in Norway.", "Noted.")
    for _ in range(40):
        chat.add_turn("Thanks!", "You are welcome! " * 10)
    memory.drain()
    chat.add("user", "Which cabin did we decide to rent in Norway?")
    first = {line.section: line.rule for line in chat.context(None, 400).offered}
    assert first == {"summary": "less what is recalled", "episodic": "fits"}
    chat.add(Message("assistant", (ToolCall("c1", "look", "{}"),)))
    chat.add(Message("tool", (ToolResult("c1", "nothing " * words),)))
    later = {line.section: line.rule for line in chat.context(None, 400).offered}
    assert (later["episodic"] == "no room") == (later["summary"] != "less what is recalled")


@pytest.mark.parametrize("question", ["Which volcano erupted near Reykjavik?", "Where does my sister live?"])
def test_a_question_that_was_added_recalls_what_it_recalls_before_it_is_added(
    memory: Memory, clock: ManualClock, question: str
) -> None:
    told(memory, clock)
    before = memory.session("before", user="ada").context(question, 1_000)
    added = memory.session("added", user="ada")
    added.add("user", question)
    memory.drain()
    recalled = [line for line in added.context(None, 1_000).offered if line.section == "episodic"]
    assert recalled == [line for line in before.offered if line.section == "episodic"]
    assert bool(recalled) == ("sister" in question)


def test_inside_an_agents_loop_a_fact_is_told_once_its_message_is_no_longer_shown(memory: Memory) -> None:
    chat = memory.session("s", user="ada")
    chat.add_turn("My name is Ada.", "Nice to meet you!")
    chat.add("user", "Look around, please.")
    memory.drain()
    for n in range(12):
        context = chat.context(None, 400)
        shown = "My name is Ada." in [message.text for message in context.conversation]
        assert shown != ("name: Ada" in context.memory)
        chat.add(Message("assistant", (ToolCall(f"c{n}", "look", "{}"),)))
        chat.add(Message("tool", (ToolResult(f"c{n}", f"nothing at {n}, nothing at all, " * 6),)))
    assert not shown


def test_inside_an_agents_loop_what_was_erased_elsewhere_is_gone(tmp_path: Path, clock: ManualClock) -> None:
    plan = Settings(documents_threshold=0.0)
    with opened(tmp_path, clock, settings=plan) as here, opened(tmp_path, clock) as there:
        chat = told(here, clock)
        chat.documents.add("The sister of Ada has the door code 4417.", name="codes")
        chat.add("user", "Where does my sister live, and what is her door code?")
        before = chat.context(budget=1_000).memory
        assert "Nadia moved to Oslo" in before
        assert "4417" in before
        there.session("march", user="ada").forget()
        assert "Nadia" not in chat.context(budget=1_000).memory
        there.session("march", user="ada").documents.remove("codes")
        assert "4417" not in chat.context(budget=1_000).memory


def test_a_receipt_does_not_quote_what_was_erased_elsewhere(tmp_path: Path) -> None:
    """Nor where it had been left out of the context."""
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as here, Memory.open(path, embedder=None) as there:
        old, chat = (here.session(name, user="ada") for name in ("old", "trip"))
        old.add_many([Message("user", f"My sister Nadia{n} moved to Oslo{n} in May.", f"m{n}") for n in range(8)])
        old.documents.add("In Zanzibar people live by the sea.", name="guide.md")
        chat.add("user", "Where does my sister Nadia live, since when, and with whom of her friends?")
        here.drain()

        def left_out() -> str:
            context = there.session("trip", user="ada").context(budget=250)
            return "\n".join(line.text for line in context.offered if not line.kept)

        assert "Nadia7" in left_out() and "Zanzibar" in left_out()
        old.forget(["m7"])
        assert "Nadia7" not in left_out() and "Zanzibar" in left_out()
        old.documents.remove("guide.md")
        assert "Zanzibar" not in left_out() and "Nadia6" in left_out()


def test_what_gave_way_to_memory_stays_out_in_an_agents_loop(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    chat.documents.add("\n\n".join(f"Platform {n} is by the river. " * 9 for n in range(5)), name="guide")
    for n in range(8):
        chat.add_turn(f"Is platform {n} far from the river?", "It is not far at all, " * 5)
    chat.add("user", "Which platform is by the river, and where do I live?")
    for budget in range(300, 1_200, 20):
        made = chat.context(budget=budget)
        assert chat.context(budget=budget).prompt == made.prompt, budget
    before = chat.context(budget=700).prompt
    chat.add("assistant", [ToolCall("1", "look", "{}")])
    chat.add("tool", [ToolResult("1", "It is.")])
    assert chat.context(budget=700).prompt[: len(before)] == before


@pytest.mark.parametrize(
    "first", [{"tools": [{"name": "look", "description": "Looks. " * 60}]}, {"system": "Be brief. " * 60}]
)
def test_turns_that_gave_way_to_tools_or_a_system_text_are_back_without_them(
    memory: Memory, clock: ManualClock, first: dict[str, Any]
) -> None:
    chat = told(memory, clock)
    for n in range(8):
        chat.add_turn(f"Is platform {n} far from the river?", "It is not far at all, " * 5)
    chat.add("user", "Which platform is by the river, and where do I live?")
    memory.drain()
    for budget in range(500, 1_000, 50):
        alone = chat.context(budget=budget).prompt
        memory.controller.settled.forget(chat.scope)
        chat.context(budget=budget, **first)
        assert chat.context(budget=budget).prompt == alone, budget


def test_a_counter_that_learns_on_the_way_changes_no_prompt_of_an_agents_loop(
    tmp_path: Path, clock: ManualClock
) -> None:
    count = Calibration().counter("gpt", estimate)
    with opened(tmp_path, clock, counter=count) as memory:
        before = memory.session("february", user="ada")
        for n in range(20):
            before.add_turn(f"Platform {n} is by the river, I live at number {n}.", "Noted. " * 5)
        chat = told(memory, clock)
        for n in range(8):
            chat.add_turn(f"Is platform {n} far from the river?", "It is not far at all, " * 5)
        chat.add("user", "Which platform is by the river, and where do I live?")
        memory.drain()
        tools = [{"name": "look", "description": "Looks. " * 60}]
        first = chat.context(budget=1_000, tools=tools)
        count.observe(first.tokens, first.tokens * 4 // 5)
        assert chat.context(budget=1_000, tools=tools).prompt == first.prompt


def test_what_gave_way_stays_out_though_a_tool_answered_beside_a_pin(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    chat.documents.add("\n\n".join(f"Platform {n} is by the river. " * 9 for n in range(5)), name="guide")
    chat.add("user", "Is the platform far from the river?")
    chat.add("assistant", [ToolCall("late", "look", "{}")])
    for n in range(8):
        chat.add_turn(f"Is platform {n} far from the river?", "It is not far at all, " * 5)
    chat.add("tool", [ToolResult("late", "It is far.")])
    chat.tag(chat.history()[-4].id, pinned=True)
    chat.add("user", "Which platform is by the river, and where do I live?")
    for budget in range(300, 1_200, 20):
        made = chat.context(budget=budget)
        assert chat.context(budget=budget).prompt == made.prompt, budget


def test_more_tokens_are_never_too_few_where_fewer_are_enough(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    for n in range(6):
        chat.add_turn(f"Is platform {n} far from here?", "It is not far at all, " * 5)
    chat.add("user", "And where do I live?")
    enough = False
    for budget in range(100, 500, 2):
        try:
            assert chat.context(budget=budget).tokens <= budget
            enough = True
        except BudgetTooSmall:
            assert not enough, budget
    assert enough


@pytest.mark.parametrize("question", [None, "And where does my sister live?"])
@pytest.mark.parametrize("own", [{}, {"tools": lambda chat, question: []}])
def test_as_many_tokens_as_an_error_asks_for_are_enough(
    tmp_path: Path, clock: ManualClock, question: str | None, own: Mapping[str, Any]
) -> None:
    with opened(tmp_path, clock, sections=own) as memory:
        asks_for_enough(told(memory, clock), question)


def asks_for_enough(chat: Session, question: str | None) -> None:
    for n in range(3):
        chat.add_turn(f"Is platform {n} far from here?", "It is not far at all, " * 20)
    chat.add("user", "And where do I live?")
    short = 0
    for budget in range(1, 300, 7):
        try:
            chat.context(question, budget, system="Be brief.")
        except BudgetTooSmall as error:
            short += 1
            assert error.allowed == budget
            assert sum(line.shown for line in error.ledger) + error.overhead == error.needed
            assert chat.context(question, error.needed, system="Be brief.").tokens <= error.needed
    assert short > 3


def test_the_receipt_and_the_difference_name_the_calls_of_each_step(memory: Memory) -> None:
    chat = memory.session("april", user="ada")
    chat.add("user", "What is the weather in Oslo and Rome?")
    steps = []
    for n, city in enumerate(("Oslo", "Rome")):
        chat.add(Message("assistant", (ToolCall(f"c{n}", "weather", f'{{"city": "{city}"}}'),)))
        chat.add(Message("tool", (ToolResult(f"c{n}", f"{city}: rain"),)))
        steps.append(chat.context(None, 1_000))
    assert 'weather({"city": "Oslo"})' in str(steps[0].receipt)
    assert [line.text for line in steps[1].diff(steps[0]).added] == ['weather({"city": "Rome"})', "Rome: rain"]
