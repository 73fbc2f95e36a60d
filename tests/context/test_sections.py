"""Sections of a context that a program fills itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import AsyncMemory, BudgetTooSmall, ConfigError, Context, Excerpt, Memory, Session, Settings
from recollect.flow.fence import SOURCED
from recollect.flow.fill import PRIORITY
from recollect.testing.clock import ManualClock
from tests.contexts import START, opened, told

ROOMY = Settings(alert_memory_bytes=2**60, alert_retrieval_ms=1e9)
PAGE = Excerpt("The kettle has a warranty of two years.", "wiki Kettles", START)


def wiki(_: Session, question: str) -> Iterator[Excerpt]:
    if "kettle" in question:
        yield PAGE


async def awaited(_: Session, __: str) -> list[Excerpt]:
    return [PAGE]


def test_a_section_is_filled_in_place_of_what_is_there(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path, clock, sections={"documents": wiki}) as memory:
        chat = told(memory, clock)
        chat.documents.add("The kettle is blue.", name="guide")
        context = chat.context("Is the kettle under warranty?", 2_000)
        assert "## Documents\n[wiki Kettles] The kettle has a warranty of two years.\n" in context.memory
        assert "blue" not in context.memory
        (line,) = [line for line in context.receipt.lines if line.section == "documents"]
        assert (line.origin, line.at, line.rule, line.score) == ("wiki Kettles", START, "fits", 1.0)
        assert "wiki" not in chat.context("Where does my sister live?", 2_000).memory
        assert chat.context("kettle", 2_000).to_dict() == chat.context("kettle", 2_000).to_dict()


@pytest.mark.parametrize("name", PRIORITY)
def test_every_section_can_be(tmp_path: Path, clock: ManualClock, name: str) -> None:
    with opened(tmp_path, clock, sections={name: lambda *_: [Excerpt("Mine.", "me")]}) as memory:
        lines = told(memory, clock).context("Where does my sister live?", 2_000).receipt.lines
        mine = "Mine." if name in SOURCED else "[me] Mine."
        assert [line.text for line in lines if line.section == name] == [mine]


def test_a_function_may_use_the_session_it_is_for(tmp_path: Path, clock: ManualClock) -> None:
    def mine(chat: Session, question: str) -> list[Excerpt]:
        chat.add("tool", "looked it up")
        return [Excerpt(hit.text, f"search of {chat.scope.user}") for hit in chat.search(question, k=1)]

    with opened(tmp_path, clock, sections={"tools": mine}) as memory:
        told(memory, clock)
        other = memory.session("other", user="ada")
        assert "[search of ada]" in other.context("Where does my sister Nadia live?", 2_000).memory
        assert [message.text for message in other.history()] == ["looked it up"]


def test_one_that_fails_costs_its_section_and_nothing_else(
    tmp_path: Path, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def down(*_: object) -> Iterator[Excerpt]:
        yield PAGE
        raise TimeoutError("the wiki does not answer")

    def words(*_: object) -> Any:
        return ["The kettle is blue."]

    with (
        caplog.at_level(logging.WARNING, "recollect"),
        opened(tmp_path, clock, sections={"documents": down, "tools": words}, settings=ROOMY) as memory,
    ):
        context = told(memory, clock).context("Where does my sister live?", 2_000)
    assert "Nadia moved to Oslo" in context.memory and "kettle" not in context.memory
    assert [record.getMessage() for record in caplog.records] == [
        "the section documents stays empty this time, its function failed: the wiki does not answer",
        "the section tools stays empty this time, its function failed: it returned 'The kettle is blue.';"
        " let it return Excerpt(text, source)",
    ]


def test_an_agents_loop_asks_once_and_again_when_something_was_erased(tmp_path: Path, clock: ManualClock) -> None:
    asked = list[str]()

    def counted(_: Session, question: str) -> list[Excerpt]:
        asked.append(question)
        return [Excerpt(f"Page {len(asked)}.", "wiki")]

    with opened(tmp_path, clock, sections={"documents": counted}) as memory:
        told(memory, clock)
        chat = memory.session("loop", user="ada")
        said = chat.add("user", "Is the kettle under warranty?")
        first = chat.context(budget=2_000)
        chat.add("assistant", "Let me see.")
        assert chat.context(budget=2_000).memory == first.memory
        assert asked == [said.text]
        chat.forget([chat.add("assistant", "Wrong.").id])
        assert "Page 2." in chat.context(budget=2_000).memory
        assert "Page 3." in chat.replay(said.id, budget=2_000).memory
        assert chat.context("", budget=2_000).memory == ""
        assert len(asked) == 3


def test_awaited(tmp_path: Path) -> None:
    async def context() -> Context:
        async with AsyncMemory.open(tmp_path / "memory.db", embedder=None, sections={"documents": wiki}) as memory:
            return await memory.session("s", user="ada").context("the kettle")

    assert "[wiki Kettles]" in asyncio.run(context()).memory


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"wiki": wiki}, "there is no section 'wiki'; the sections are profile, facts, hints, summary, documents"),
        ({"tools": "wiki"}, "the section 'tools' is 'wiki'; give a plain function of a session and a question"),
        ({"tools": awaited}, "give a plain function of a session and a question"),
        ([wiki], "give functions by the names of sections"),
    ],
)
def test_what_is_no_section_is_told(tmp_path: Path, sections: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Memory.open(tmp_path / "memory.db", embedder=None, sections=sections)
    assert not (tmp_path / "memory.db").exists()


texts = st.text(max_size=200) | st.text("ab \n", max_size=3_000)
filled = st.fixed_dictionaries({}, optional={name: st.lists(texts, max_size=6) for name in PRIORITY})


@given(filled, st.integers(40, 4_000))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_they_give_the_budget_holds(memory: Memory, found: dict[str, list[str]], budget: int) -> None:
    def given_for(name: str) -> Iterable[Excerpt]:
        return [Excerpt(text, f"my {name}") for text in found[name]]

    memory.controller.sections = {name: lambda *_, name=name: given_for(name) for name in found}
    try:
        context = memory.session("s", user="ada").context("Where does my sister live?", budget)
    except BudgetTooSmall:
        return
    assert context.tokens <= budget
    receipt = context.receipt
    assert sum(line.shown for line in receipt.lines) + receipt.overhead == context.tokens
    shown = [line.text for line in context.offered if line.kept]
    assert len(set(shown)) == len(shown)
