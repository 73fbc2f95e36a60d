"""The same context again: of the past, and in another process."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Memory, Message, ToolCall, ToolResult
from recollect.errors import NotFound
from recollect.session import as_written
from recollect.testing.clock import ManualClock
from tests.contexts import opened, told


def test_replay_gives_the_same_bytes_again(memory: Memory, clock: ManualClock) -> None:
    chat = told(memory, clock)
    questions = [
        "Where does my sister live?",
        "And what is my name?",
        "Who lives in Oslo?",
        "My boss is Kim. Where am I?",
    ]
    made = {}
    for n, question in enumerate(questions):
        made[2 * n + 1] = chat.context(question, 900, system="Be brief.").to_dict()
        chat.add_turn(question, f"Answer number {n}: Oslo, I think.")
        memory.drain()
        clock.now += timedelta(days=3)
    for seq, context in made.items():
        assert chat.replay(seq, 900, system="Be brief.").to_dict() == context
    asked = chat.history()[4]
    assert chat.replay(asked.id, 900, system="Be brief.").to_dict() == made[5]
    assert chat.history(before=asked.id) == chat.history(before=5) == chat.history()[:4]
    with pytest.raises(NotFound, match="no message 'of another' in session"):
        chat.replay("of another")
    with pytest.raises(NotFound, match="message 2 of this session is not a user's"):
        chat.replay(2)
    with pytest.raises(NotFound):
        chat.replay(99)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3", 3),
        ("0", 0),
        ("9" * 15, int("9" * 15)),
        ("1234567890123456", "1234567890123456"),
        ("-3", "-3"),
        ("3.0", "3.0"),
        ("\u0663", "\u0663"),
        ("4f1c", "4f1c"),
        ("id:3", "3"),
        ("id:" + "9" * 15, "9" * 15),
        ("id:1234567890123456", "id:1234567890123456"),
        ("id:4f1c", "id:4f1c"),
        ("id:id:3", "id:3"),
        ("", ""),
    ],
)
def test_a_message_named_in_words_is_a_number_or_an_id(written: str, meant: int | str) -> None:
    assert as_written(written) == meant


def test_a_large_call_that_was_answered_gives_way_to_a_question_as_if_that_was_kept_first(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    call = ToolCall("1", "write", json.dumps({"text": "x = 1 " * 2_000}))
    chat.add_many(
        [Message("user", "Write it."), Message("assistant", (call,)), Message("tool", (ToolResult("1", "ok"),))]
    )
    chat.add("assistant", "Done.")
    memory.drain()
    asked = chat.context("And now?", budget=1_000)
    assert [message["content"] for message in asked.messages[:-1]] == ["Write it.", "Done."]
    question = chat.add("user", "And now?")
    assert chat.context(budget=1_000).messages == chat.replay(question.id, 1_000).messages == asked.messages


def test_replay_knows_an_excerpt_that_came_again(memory: Memory, clock: ManualClock) -> None:
    chat, question = memory.session("a", user="ada"), "What does the kettle cost?"
    chat.tools.add("The kettle costs 20 euro.", "shop")
    context = chat.context(question, 900)
    chat.add_turn(question, "20 euro.")
    clock.now += timedelta(minutes=5)
    chat.tools.add("The kettle costs 20 euro.", "shop")
    assert "20 euro" in context.memory
    assert chat.replay(1, 900).memory == context.memory


def test_replay_says_which_documents_had_other_words_then(memory: Memory) -> None:
    chat, question = memory.session("a", user="ada"), "What does the kettle cost?"
    documents = chat.documents
    documents.add("The kettle costs 20 euro.", name="prices.md")
    documents.add("The pan costs 10 euro.", name="pans.md")
    memory.drain()
    context = chat.context(question, 900)
    chat.add_turn(question, "20 euro.")
    documents.add("The pan costs 10 euro.", name="pans.md", metadata={"language": "en"})
    assert chat.replay(1, 900).to_dict() == context.to_dict()
    documents.add("The kettle costs 30 euro.", name="prices.md")
    replayed = chat.replay(1, 900)
    assert "kettle" not in replayed.memory
    changed = [line.text for line in replayed.offered if line.rule == "changed since"]
    assert changed == ["prices.md"]
    assert "changed since" in str(replayed.receipt)


def test_the_same_log_gives_the_same_context_to_another_process(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path, clock) as one:
        chat = told(one, clock)
        for n in range(40):
            chat.add_turn(f"Question {n} about Oslo and Lisbon?", f"Answer {n}.")
        one.drain()
        context = chat.context("Where does my sister live?", 700).to_dict()
    with opened(tmp_path, clock) as other:
        assert other.session("april", user="ada").context("Where does my sister live?", 700).to_dict() == context


def test_a_message_that_is_gone_is_told_from_one_that_asks_nothing(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    question, _ = chat.add_turn("Where is the kettle?", "In the kitchen.")
    chat.forget([question.id])
    for number, why in ((1, "it was erased or never added"), (2, "is not a user's"), (3, "never added")):
        with pytest.raises(NotFound, match=why):
            chat.replay(number)
