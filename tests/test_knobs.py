"""What each setting does, for those that no layer's own tests turn: tightening one shrinks what it limits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from recollect import BudgetTooSmall, ConfigError, Memory, Message, Settings, estimate
from recollect.embed.hashing import HashingEmbedder
from recollect.flow.context import Context
from recollect.store import open as open_store

START = datetime(2025, 3, 3, 12, tzinfo=UTC)
NOTHING = {f"{name}_tokens": 0 for name in ("profile", "facts", "hints", "documents", "episodic", "tools")}


def opened(path: Path, numbers: dict[str, Any], **fields: Any) -> Memory:
    given = {"embedder": None, **fields}
    return Memory.open(path, settings=Settings(**{**NOTHING, "summary_tokens": 0, **numbers}), **given)


def test_every_setting_is_turned_by_a_test() -> None:
    here = Path(__file__).parent
    written = "\n".join(path.read_text("utf-8") for path in here.rglob("test_*.py") if path.name != "test_settings.py")
    turned = set(re.findall(r"\w+", written))
    assert [knob.name for knob in dataclasses.fields(Settings) if knob.name not in turned] == []


def test_conversation_window_counts_the_question_whether_it_was_added_or_not(tmp_path: Path) -> None:
    with opened(tmp_path / "window.db", {"conversation_window": 4}) as memory:
        chat = memory.session("s", user="ada")
        for n in range(9):
            chat.add_turn(f"Question {n}?", f"Answer {n}.")
        given = chat.context("And now?")
        chat.add("user", "And now?")
        assert [message["content"] for message in given.messages] == [
            message["content"] for message in chat.context().messages
        ]
        assert len(given.messages) == 3  # a whole turn and the question


def test_chunk_overlap_is_what_two_chunks_repeat(tmp_path: Path) -> None:
    told = " ".join(f"Kettle {n} boils at {n} degrees." for n in range(12))

    def tokens(overlap: int) -> int:
        numbers = {"chunk_tokens": 60, "chunk_overlap": overlap, "documents_tokens": 800, "documents_threshold": 0.0}
        with opened(tmp_path / f"{overlap}.db", {**numbers, "documents_top_k": 9, "documents_search_k": 9}) as memory:
            chat = memory.session("s", user="ada")
            chat.documents.add(told, name="manual")
            return chat.context("At how many degrees does a kettle boil?").tokens

    assert tokens(0) < tokens(15) < tokens(30)


class Longest:
    """A re-ranker that thinks highly of long passages."""

    name = "longest"

    def score(self, question: str, passages: Sequence[str]) -> list[float]:
        return [float(len(passage)) for passage in passages]


def test_documents_rerank_n_is_how_many_chunks_are_read_again(tmp_path: Path) -> None:
    long = "# Kettles\n\nA kettle has a lid, a spout and a handle, and it is put on the stove to heat what is in it."

    def tokens(number: int) -> int:
        numbers = {"documents_rerank_n": number, "documents_tokens": 800, "documents_top_k": 1}
        with opened(tmp_path / f"{number}.db", numbers | {"documents_threshold": 0.0}, reranker=Longest()) as memory:
            chat = memory.session("s", user="ada")
            chat.documents.add("# Boiling\n\nA kettle boils at 100 degrees.", name="short")
            chat.documents.add(long, name="long")
            return chat.context("At how many degrees does a kettle boil?").tokens

    assert tokens(0) == tokens(1) < tokens(2) == tokens(20)


def test_episodic_min_score_leaves_out_answers_that_were_scored_lower(tmp_path: Path) -> None:
    def tokens(score: float) -> int:
        with opened(tmp_path / f"{score}.db", {"episodic_min_score": score, "episodic_tokens": 400}) as memory:
            chat = memory.session("before", user="ada")
            chat.add_turn("How hot is a kettle?", "A kettle boils at 100 degrees.", score=8)
            chat.add_turn("How hot is an oven?", "An oven has 220 degrees when a kettle boils.", score=5)
            return memory.session("s", user="ada").context("At how many degrees does a kettle boil?").tokens

    assert tokens(9) < tokens(7) < tokens(0)


def test_episodic_floor_is_the_part_of_a_question_that_may_be_unheard_of(tmp_path: Path) -> None:
    def recalled(floor: float, question: str) -> int:
        path, numbers = tmp_path / f"{floor}.db", {"episodic_floor": floor, "episodic_tokens": 400}
        with opened(path, numbers, embedder=HashingEmbedder(384)) as memory:
            chat = memory.session("before", user="ada")
            if not chat.history():
                for n in range(30):
                    chat.add_turn(f"On day {n} we walked along the harbour of Lisbon.", f"Walk {n} sounds lovely.")
                memory.drain()
            return memory.session("s", user="ada").context(question).receipt.sections.get("episodic", 0)

    unrelated = "Which quantum numbers describe an electron?"
    assert recalled(1.0, unrelated) > recalled(0.5, unrelated) == 0
    assert recalled(0.5, "Where did we walk in Lisbon?") > 0
    assert recalled(0.5, f"{unrelated} And what of the harbour of Lisbon that we walked along on day 3?") > 0


def test_episodic_recency_weight_prefers_what_was_said_lately(tmp_path: Path) -> None:
    def first(weight: float) -> str:
        numbers = {"episodic_recency_weight": weight, "episodic_tokens": 400, "episodic_top_k": 1}
        with opened(tmp_path / f"{weight}.db", numbers) as memory:
            for days, text in (
                (300, "The kettle, the red kettle, is on the stove."),
                (1, "The kettle is in the hall."),
            ):
                at = START - timedelta(days=days)
                memory.session(f"{days}", user="ada").add(Message("user", text, at=at))
            return memory.session("s", user="ada").context("Where is the red kettle?", at=START).memory

    assert "stove" in first(0.0)
    assert "hall" in first(5.0)


def test_facts_share_is_what_facts_have_before_what_is_recalled(tmp_path: Path) -> None:
    def facts(share: float) -> int:
        numbers = {"facts_share": share, "facts_tokens": 200, "episodic_tokens": None, "memory_tokens": None}
        with opened(tmp_path / f"{share}.db", numbers) as memory:
            chat = memory.session("before", user="ada")
            for thing in ("jazz", "tea", "chess", "sailing", "opera", "cheese"):
                chat.add_turn(f"I like {thing}.", f"The kettle is on the stove beside {thing}. " * 9)
            memory.drain()
            context = memory.session("s", user="ada").context("Is the kettle on the stove?", 500)
            return context.receipt.sections["facts"]

    assert 0 < facts(0.0) < facts(0.3)


def test_patterns_every_sessions_is_how_often_habits_are_analysed(tmp_path: Path) -> None:
    def hints(every: int) -> int:
        moments = count()
        store = open_store(str(tmp_path / f"{every}.db"), clock=lambda: START + timedelta(minutes=2 * next(moments)))
        with Memory(store, settings=Settings(patterns_every_sessions=every)) as memory:
            for n in range(6):
                memory.session(f"s{n}", user="ada").add_turn("How do I export an invoice?", "By the menu.")
            memory.drain()
            return memory.session("s", user="ada").context("Hello?").receipt.sections.get("hints", 0)

    assert hints(3) > hints(7) == 0


def test_summary_every_messages_is_how_often_a_summary_is_folded(tmp_path: Path) -> None:
    def folded(every: int) -> tuple[int, Context]:
        numbers = {"summary_every_messages": every, "summary_tokens": 100, "working_turns": 2}
        with opened(tmp_path / f"{every}.db", numbers) as memory:
            chat = memory.session("s", user="ada")
            for n in range(12):
                chat.add_turn(f"On day {n} we met Kim in Lisbon and paid {n} euros.", "Noted.")
            memory.drain()
            return len(memory.store.records.find(chat.scope, kind="summary")), chat.context("And then?")

    often, seldom = folded(6), folded(12)
    assert (often[0], seldom[0]) == (4, 2)
    assert 0 < often[1].receipt.sections["summary"] <= 100
    assert 0 < seldom[1].receipt.sections["summary"] <= 100


def test_system_tokens_is_the_most_a_system_text_may_have(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", {"system_tokens": 20}) as memory:
        chat = memory.session("s", user="ada")
        assert chat.context("Hello?", system="You plan trips.").tokens > 0
        with pytest.raises(ConfigError, match="system_tokens allows 20"):
            chat.context("Hello?", system="You plan trips. " * 20)


def test_a_long_system_text_is_sent_whole_and_the_rest_shares_what_it_leaves(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", {}) as memory:
        chat = memory.session("s", user="ada")
        for n in range(100):
            chat.add_turn(f"On day {n} we met Kim in Lisbon and paid {n} euros. " + "It rained. " * 20, "Noted.")
        long = "You plan trips. " * 750
        context = chat.context("And then?", 8_000, system=long)
        assert context.prompt[0].text == long
        assert 3_000 < context.receipt.sections["system"] < context.tokens <= 8_000
        assert context.left_out > chat.context("And then?", 8_000, system="You plan trips.").left_out
        with pytest.raises(BudgetTooSmall, match=r"system \(\d+\)"):
            chat.context("And then?", 3_000, system=long)


def test_embeddings_device_is_where_sentence_transformers_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def model(name: str, device: str | None) -> HashingEmbedder:
        asked.append((name, device))
        return HashingEmbedder(32)

    monkeypatch.setattr("recollect.embed.sentence_transformers.SentenceTransformersEmbedder", model)
    with opened(tmp_path / "m.db", {"embeddings_device": "cuda"}, embedder="sentence-transformers:some/model"):
        assert asked == [("some/model", "cuda")]


def test_facts_top_k_counts_also_where_it_is_more_than_a_dozen(tmp_path: Path) -> None:
    def facts(number: int | None) -> int:
        numbers = {"facts_top_k": number, "facts_tokens": None, "memory_tokens": None}
        with opened(tmp_path / f"{number}.db", numbers) as memory:
            memory.session("before", user="ada").add("user", " ".join(f"I like number{n}." for n in range(30)))
            memory.drain()
            return memory.session("s", user="ada").context("What now?", 8_000).memory.count("likes: number")

    assert facts(20) == 20
    assert facts(None) == 12


def test_the_counter_that_the_settings_name_counts(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", {"counter": "estimate:o200k"}) as memory:
        assert memory.counter is not estimate
        with Memory(memory.store, settings=memory.settings) as another:
            assert another.counter is not estimate
    with pytest.raises(ConfigError, match="no token counter 'nope'"):
        Memory.open(tmp_path / "m.db", settings=Settings(counter="nope"))


@pytest.mark.parametrize(("session", "reply"), [("before", 7_960), ("s", 7_980), ("s", 7_999)])
def test_a_budget_that_is_too_small_for_the_reply_tells_so(tmp_path: Path, session: str, reply: int) -> None:
    with opened(tmp_path / "m.db", {"reply_tokens": reply, "profile_tokens": 200}) as memory:
        memory.session("before", user="ada").add("user", "My name is Ada. I'm allergic to nuts. " * 9)
        memory.drain()
        with pytest.raises(
            BudgetTooSmall,
            match=r"the budget is 8000: .* most: framing with any tools and room for the reply \((79|80)",
        ):
            memory.session(session, user="ada").context("What is my name?")
