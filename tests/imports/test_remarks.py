"""Memories of mem0 answer questions in other words than their own, as facts that users state do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Memory
from recollect.backfill import backfill
from recollect.imports import Imported, Note
from recollect.recent import forget_all
from recollect.transfer import export_lines, import_lines
from recollect.types import Scope

MEMORIES = (
    "Is vegetarian and allergic to nuts",
    "User's sister lives in Oslo",
    "Works as a data scientist at Spotify",
    "Has a cat named Miso",
    "Manager is called Petra",
    "Lives in Amsterdam",
    "Grew up in Marseille",
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    at = datetime(2024, 7, 1, tzinfo=UTC)
    later = [f"Has finished book {n} of the series" for n in range(40)]
    notes = tuple(Note(str(n), text, at + timedelta(days=n)) for n, text in enumerate((*MEMORIES, *later)))
    with Memory.open(":memory:", embedder=None) as memory:
        backfill(memory, [Imported("mem0", notes=notes)], user="ada")
        yield memory


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What can I eat?", "Is vegetarian and allergic to nuts"),
        ("Can you recommend a restaurant?", "Is vegetarian and allergic to nuts"),
        ("Where does my sister live?", "User's sister lives in Oslo"),
        ("What is my job?", "Works as a data scientist at Spotify"),
        ("What pets do I have?", "Has a cat named Miso"),
        ("Who is my boss?", "Manager is called Petra"),
        ("Where do I live?", "Lives in Amsterdam"),
        ("Where am I from?", "Grew up in Marseille"),
    ],
)
def test_the_memory_that_answers_comes_before_newer_ones(memory: Memory, question: str, told: str) -> None:
    context = memory.session("autumn", user="ada").context(question)
    best = next(line for line in context.memory.splitlines() if line.startswith("note: "))
    assert best.startswith(f"note: {told} (noted ")


def test_what_matters_to_every_answer_is_never_left_out(memory: Memory) -> None:
    assert "allergic to nuts" in memory.session("autumn", user="ada").context("Tell me a joke.").memory


def test_what_memories_say_is_read_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading thousands again takes seconds of a question, in each process and after each erasure."""
    lines = list(export_lines(memory, Scope("default", "ada")))
    forget_all()
    monkeypatch.setattr("recollect.flow.facts.remarks.noted", None)
    with Memory.open(":memory:", embedder=None) as elsewhere:
        assert import_lines(elsewhere, lines)["fact"] == len(lines)
        chat = elsewhere.session("autumn", user="ada")
        assert "Manager is called Petra" in chat.context("Who is my boss?").memory
        assert "Is vegetarian" in chat.search("What can I eat?", kind="facts")[0].text
