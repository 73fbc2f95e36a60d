"""The design documents' own test ideas, each by its name there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import BudgetTooSmall, ConversationMemory, Memory, Message, Settings, estimate
from recollect.embed.hashing import HashingEmbedder

TURNS = [
    ("My name is Ada and I work at Acme.", "Nice to meet you!"),
    ("What's your Python experience?", "Ten years and more."),
    ("I like jazz, by the way.", "Noted."),
    ("I live in Lisbon.", "A fine city."),
    ("Please keep your answers short.", "I will."),
    ("Which teams did you lead?", "Teams of five to fifteen."),
    ("Remind me to call Kim on Friday.", "I will."),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64), durability="normal") as memory:
        yield memory


# 000: conversation memory


def test_basic_operations() -> None:
    memory = ConversationMemory()
    memory.add("user", "Hello")
    memory.add("assistant", "Hi!")
    assert (memory.count, memory.messages[0].text, memory.recent(1)[0].text) == (2, "Hello", "Hi!")
    memory.clear()
    assert memory.count == 0


@pytest.mark.parametrize("limit", [100, 300, 700])
def test_pruning_behavior_with_various_token_limits(limit: int) -> None:
    memory = ConversationMemory()
    memory.add_many([Message("user" if n % 2 else "assistant", f"Message {n}") for n in range(100)])
    memory.prune(limit)
    assert memory.tokens <= limit
    assert memory.messages[-1].text == "Message 99"


def test_system_message_preservation_during_pruning() -> None:
    memory = ConversationMemory()
    memory.add("system", "You are careful.")
    memory.add_many([Message("user", f"Message {n}") for n in range(100)])
    memory.prune(150)
    assert memory.messages[0].text == "You are careful."


def test_thread_safety_under_concurrent_access() -> None:
    memory = ConversationMemory()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [memory.add("user", "x") for _ in range(200)], range(8)))
    assert memory.count == 1_600


@pytest.mark.parametrize("limit", [0, -1])
def test_edge_cases(limit: int) -> None:
    memory = ConversationMemory()
    memory.add("user", "Hello")
    with pytest.raises((BudgetTooSmall, ValueError)):
        memory.prune(limit)
    assert memory.count == 1


# 001: the guide's test


def test_conversation_memory() -> None:
    memory = ConversationMemory()
    memory.add("user", "Hello")
    assert len(memory.messages) == 1
    for n in range(100):
        memory.add("user", f"Message {n}")
    memory.prune(1_000)
    assert len(memory.messages) == 101, "the guide's own limit has room for all of them"
    memory.prune(500)
    assert len(memory.messages) < 100


# 003: layers


def test_working_memory_trim(tmp_path: Path) -> None:
    plan = Settings(layout="memory-first", working_turns=5)
    with Memory.open(tmp_path / "m.db", embedder=None, settings=plan) as memory:
        chat = memory.session("s", user="ada")
        for n in range(20):
            chat.add_turn(f"Message {n}", f"Answer {n}")
        shown = chat.context("And now?").conversation[:-1]
    assert [message.text for message in shown] == [
        f"{what} {n}" for n in range(15, 20) for what in ("Message", "Answer")
    ]


@pytest.mark.parametrize("layout", ["tail-first", "memory-first"])
@pytest.mark.parametrize("budget", [1_500, 2_000, 3_000, 8_000])
def test_other_sections_never_push_out_the_last_5_turns(tmp_path: Path, layout: Any, budget: int) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None, settings=Settings(layout=layout)) as memory:
        chat = memory.session("s", user="ada")
        chat.documents.add(" ".join(f"Kettle {n} boils at {n} degrees." for n in range(99)), name="manual")
        for n in range(14):
            context = chat.context("At how many degrees does a kettle boil?", budget)
            assert sum(message.role == "user" for message in context.conversation) - 1 >= min(n, 5)
            chat.add_turn(f"How hot is kettle {n}?", f"Kettle {n} has {n} degrees. " * 27)
        assert context.memory


def test_episodic_retrieval(memory: Memory) -> None:
    memory.session("before", user="ada").add_turn("What's your Python experience?", "10+ years...")
    memory.drain()
    results = memory.session("now", user="ada").search("Tell me about Python", k=3)
    assert len(results) > 0
    assert "Python" in results[0].text


def test_memory_controller_integration(memory: Memory) -> None:
    chat = memory.session("s", user="ada")
    for question, answer in TURNS:
        assert chat.context(question).tokens < 8_000
        chat.add_turn(question, answer)
    memory.drain()
    assert len(chat.history()) == 2 * len(TURNS)
    assert {"name", "employer", "company", "place"}.intersection(fact.key for fact in chat.facts())
    assert chat.patterns().turns == len(TURNS)


# 004: conversation memory and context management


def test_after_n_messages_a_summary_artifact_is_created_and_older_turns_compress(memory: Memory) -> None:
    chat = memory.session("s", user="ada")
    for n in range(30):
        chat.add_turn(f"On day {n} we met Kim in Lisbon and paid {n} euros for lunch.", "Noted, thank you very much.")
    memory.drain()
    records = memory.store.records.find(chat.scope, kind="summary")
    assert len(records) == 60 // 12
    context = chat.context("What did we pay?", 900)
    assert context.receipt.sections["summary"] > 0
    assert context.left_out > 0


def test_retrieved_facts_are_injected_under_the_per_turn_memory_budget(memory: Memory) -> None:
    chat = memory.session("s", user="ada")
    for question, answer in TURNS:
        chat.add_turn(question, answer)
    memory.drain()
    context = memory.session("later", user="ada").context("Where do I live?")
    assert "Lisbon" in context.memory
    assert estimate(context.memory) <= 800


def test_total_tokens_for_memory_and_tools_stay_within_the_budget(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None, settings=Settings(memory_tokens=150)) as memory:
        chat = memory.session("s", user="ada")
        chat.tools.add("Lisbon: sunny, 24 degrees, light wind from the north all day long.", "weather")
        for question, answer in TURNS * 5:
            chat.add_turn(question, answer)
        memory.drain()
        context = memory.session("s", user="ada").context("Is it sunny in Lisbon?", 400)
        assert estimate(context.memory) <= 150


@pytest.mark.parametrize(
    ("knob", "loose", "tight"),
    [
        ("context_budget", 3_000, 400),
        ("conversation_window", 20, 4),
        ("working_tokens", 800, 100),
        ("working_turns", 12, 2),
        ("reply_tokens", 0, 2_600),
        ("profile_tokens", 2_000, 0),
        ("facts_tokens", 2_000, 0),
        ("documents_tokens", 800, 100),
        ("documents_search_k", 5, 1),
        ("documents_top_k", 3, 1),
        ("documents_threshold", 0.0, 0.9),
        ("chunk_tokens", 200, 40),
        ("episodic_tokens", 400, 20),
        ("episodic_top_k", 4, 0),
        ("memory_tokens", 800, 60),
        ("tools_tokens", 200, 0),
        ("tools_top_k", 2, 1),
        ("tools_days", 7.0, 0.5),
        ("summary_tokens", 400, 40),
    ],
)
def test_tightening_each_knob_shrinks_the_prompt(tmp_path: Path, knob: str, loose: float, tight: float) -> None:
    assert _prompt(tmp_path / "tight.db", {knob: tight}) < _prompt(tmp_path / "loose.db", {knob: loose})


def _prompt(path: Path, numbers: dict[str, Any]) -> int:
    """The tokens of a context whose only memory is of the knob's layer; that has more to add than there is room for."""
    (knob,) = numbers
    layers = ("profile", "facts", "hints", "summary", "documents", "episodic", "tools")
    others = {f"{name}_tokens": 0 for name in layers if knob != "memory_tokens" and not knob.startswith(name)}
    if knob.startswith("chunk"):
        others["documents_tokens"] = 800
    room = {"context_budget": None if knob == "conversation_window" else 3_000, "working_tokens": 800}
    plan = Settings(
        **{"chunk_tokens": 60, "chunk_overlap": 10, "documents_threshold": 0.0, **others, **room, **numbers}
    )
    with Memory.open(path, embedder=None, settings=plan, durability="normal") as memory:
        before, chat = memory.session("before", user="ada"), memory.session("s", user="ada")
        before.add_turn("My name is Ada. I like kettles.", "Fine.")
        before.add_turn("How hot is the old kettle in Lisbon?", "A kettle boils at 100 degrees in Lisbon.", score=8)
        for n in range(40):
            chat.add_turn(f"On day {n} we met Kim in Lisbon and paid {n} euros for lunch.", "Noted, thank you.")
        told = " ".join(f"Kettle {n} boils at {n} degrees, as every kettle of its kind does." for n in range(30))
        chat.documents.add(told, name="manual")
        asked = datetime.now(UTC)
        chat.tools.add("The kettle on the stove has 80 degrees.", "thermometer", asked - timedelta(days=1))
        chat.tools.add("The kettle in the hall has 20 degrees.", "thermometer", asked)
        memory.drain()
        return chat.context("At how many degrees does a kettle boil on a stove?", at=asked).tokens


def test_tightening_rag_final_top_k_reduces_prompt_tokens_predictably(tmp_path: Path) -> None:
    sizes = []
    for number in (3, 2, 1, 0):
        plan = Settings(documents_top_k=number, chunk_tokens=60, chunk_overlap=10, documents_threshold=0.0)
        with Memory.open(tmp_path / f"{number}.db", embedder=None, settings=plan) as memory:
            chat = memory.session("s", user="ada")
            chat.documents.add(
                "\n\n".join(f"The kettle number {n} boils at {n} degrees. " * 4 for n in range(9)), name="k"
            )
            sizes.append(chat.context("At how many degrees does the kettle boil?").tokens)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)
