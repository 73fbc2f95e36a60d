"""Backfill keeps conversations as they were, once, however often and however far it runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import ConfigError, Memory, Message, Scope
from recollect.backfill import Backfilled, backfill, keep_messages
from recollect.errors import Conflict
from recollect.frozen import EMPTY
from recollect.imports import Imported, Note, Skipped, read
from recollect.imports.values import Read
from recollect.session import Counted, Session, add_answers, add_counted
from recollect.transfer import export_lines, import_lines
from tests.imports.exports import chatgpt, claude, mem0
from tests.programs import gone_after

AT = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.fixture
def memory(store_url: str) -> Iterator[Memory]:
    with Memory.open(store_url, embedder=None, durability="normal") as memory:
        yield memory


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt(f"c{n}") for n in range(10)]), "utf-8")
    return path


def log(memory: Memory) -> list[tuple[Any, ...]]:
    entries = memory.store.log.scan(Scope("default"), limit=100_000)
    return [(e.scope.session, e.seq, e.message.replace(received=None)) for e in entries]


def test_two_imports_at_once_count_each_message_once(
    memory: Memory, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = list[Backfilled]()
    other = threading.Thread(target=lambda: done.append(backfill(memory, read(export), user="ada")))

    def slow(chat: Session, batch: Counted) -> tuple[Message, ...]:
        monkeypatch.setattr("recollect.backfill.add_counted", add_counted)
        other.start()
        other.join(0.5)
        return add_counted(chat, batch)

    monkeypatch.setattr("recollect.backfill.add_counted", slow)
    done.append(backfill(memory, read(export), user="ada"))
    other.join(60)
    assert [sum(one.messages for one in done), sum(one.known for one in done)] == [80, 80]
    assert len(log(memory)) == 80


@pytest.mark.parametrize(
    "keep",
    [
        lambda chat: add_answers(chat, "asked", [Message("assistant", "In Oslo.")]),
        lambda chat: keep_messages(chat, [Message("user", "I live in Oslo.", id="new")]),
    ],
)
def test_others_can_write_while_tokens_are_counted(tmp_path: Path, keep: Callable[[Session], object]) -> None:
    """A counter may be a server that takes ten seconds."""
    others = list[threading.Thread]()

    def count(text: str) -> int:
        while others:
            other = others.pop()
            other.start()
            other.join(10)
            assert not other.is_alive()
        return len(text)

    with Memory.open(tmp_path / "memory.db", embedder=None, counter=count) as memory:
        chat, bystander = memory.session("trip", user="ada"), memory.session("work", user="bo")
        chat.add(Message("user", "Where do I live?", id="asked"))
        others.append(threading.Thread(target=bystander.add, args=("user", "Hello.")))
        keep(chat)
        assert (len(chat.history()), len(bystander.history())) == (2, 1)


def test_conversations_keep_their_ids_and_times_and_are_recalled(memory: Memory, export: Path) -> None:
    done = backfill(memory, read(export), user="ada")
    assert done == Backfilled(sessions=10, messages=80)
    chat = memory.session("c3", user="ada")
    assert chat.history()[0].metadata == {"title": "Numbers"}
    assert tuple(message.replace(metadata=EMPTY) for message in chat.history()) == tuple(
        message.replace(received=kept.received, metadata=EMPTY)
        for message, kept in zip(
            next(f for f in read(export) if isinstance(f, Imported) and f.session == "c3").messages,
            chat.history(),
            strict=True,
        )
    )
    assert chat.search("fjord", k=1)[0].text.startswith("14 Nov")


def test_a_conversation_is_known_by_the_title_of_its_export_or_the_one_it_was_given_since(memory: Memory) -> None:
    item = Imported("s", (Message("user", "Where to?", id="m"), Message("assistant", "Oslo", id="n")), "Trip")
    backfill(memory, [item], user="ada")
    chat = memory.session("s", user="ada")
    assert chat.title() == "Trip"
    chat.tag("m", title="My trip")
    assert backfill(memory, [item], user="ada") == Backfilled(known=2)
    assert chat.title() == "My trip"
    chat.tag("m", title=None)
    assert backfill(memory, [item], user="ada") == Backfilled(known=2)
    assert chat.title() == "Where to?"


def test_a_second_run_adds_nothing(memory: Memory, export: Path) -> None:
    backfill(memory, read(export), user="ada")
    before = log(memory)
    assert backfill(memory, read(export), user="ada") == Backfilled(known=80)
    assert log(memory) == before


def test_a_conversation_that_went_on_gets_only_what_is_new(memory: Memory) -> None:
    messages = tuple(Message("user", f"word {n}", id=f"m{n}", at=AT) for n in range(1_200))
    backfill(memory, [Imported("s", messages[:700])], user="ada")
    done = backfill(memory, [Imported("s", messages)], user="ada")
    assert (done.messages, done.known) == (500, 700)
    assert [m.id for m in memory.session("s", user="ada").history()] == [m.id for m in messages]


def test_what_was_skipped_is_in_the_result_and_the_rest_is_kept(memory: Memory) -> None:
    memory.session("b", user="ada").add(Message("user", "other words", id="m"))
    items: list[Read] = [
        Skipped("line 1", "not JSON"),
        Imported("a", (Message("user", "x", id="m"),)),
        Imported("b", (Message("user", "y", id="m"), Message("assistant", "new", id="n")), "Other"),
        Imported("c", (Message("user", "z", id="m"),)),
    ]
    done = backfill(memory, items, user="ada")
    assert (done.sessions, done.messages, done.known) == (3, 3, 0)
    assert [s.where for s in done.skipped] == ["line 1", "session b, message m"]
    assert [message.text for message in memory.session("b", user="ada").history()] == ["other words", "new"]


def test_an_export_of_messages_that_were_tagged_since_is_known_where_it_came_from(
    memory: Memory, tmp_path: Path
) -> None:
    chat = memory.session("s", user="ada")
    for n in range(3):
        chat.tag(chat.add(Message("user", f"word {n}", id=f"m{n}", at=AT)).id, score=n, note="later")
    file = tmp_path / "export.jsonl"
    file.write_text("".join(export_lines(memory, Scope("default", "ada"))), "utf-8")
    chat.forget(["m1"])
    assert backfill(memory, read(file)) == Backfilled(sessions=1, messages=1, known=2)
    assert {message.id: message.metadata["score"] for message in chat.history()} == {"m0": 0, "m1": 1, "m2": 2}


def test_messages_that_were_tagged_since_get_the_tags_they_do_not_have_and_keep_their_own(
    memory: Memory, tmp_path: Path
) -> None:
    said = [Message("user", f"word {n}", id=f"m{n}", at=AT, received=AT) for n in range(3)]
    chat, ada = memory.session("s", user="ada"), Scope("default", "ada")
    chat.add_many(said)
    with Memory.open(":memory:", embedder=None) as other:
        there = other.session("s", user="ada")
        there.add_many(said)
        there.tag("m0", score=9, pinned=True)
        there.tag("m1", score=1)
        lines = list(export_lines(other, ada))
    chat.tag("m0", score=2)
    import_lines(memory, lines)
    tagged = [message.metadata for message in chat.history()]
    assert tagged == [{"score": 2, "pinned": True}, {"score": 1}, {}]
    (file := tmp_path / "export.jsonl").write_text("".join(lines), "utf-8")
    assert backfill(memory, read(file)) == Backfilled(known=3)
    assert [message.metadata for message in chat.history()] == tagged
    with pytest.raises(Conflict, match="other content"):
        import_lines(memory, [lines[2].replace("word 2", "word 5")])


def test_tags_that_were_taken_off_stay_off(memory: Memory) -> None:
    chat = memory.session("s", user="ada")
    chat.add("user", "Hello", id="m")
    tagged = Imported("s", (Message("user", "Hello", id="m", metadata={"pinned": True, "x": None}),))
    backfill(memory, [tagged], user="ada")
    assert chat.history()[0].metadata == {"pinned": True}
    chat.tag("m", pinned=None)
    backfill(memory, [tagged], user="ada")
    assert chat.history()[0].metadata == {}


def test_a_score_from_elsewhere_is_taken_by_a_message_that_is_there_as_by_a_new_one(memory: Memory) -> None:
    scored = (Message("user", "Hello", id="m", metadata={"score": 90}),)
    memory.session("there", user="ada").add("user", "Hello", id="m")
    done = backfill(memory, [Imported(name, scored) for name in ("there", "new")], user="ada")
    assert done == Backfilled(sessions=1, messages=1, known=1)
    for name in ("there", "new"):
        assert memory.session(name, user="ada").history()[0].metadata == {"score": 90}


def test_tags_are_given_to_many_messages_at_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    said, commits = [Message("user", f"word {n}", id=f"m{n}") for n in range(400)], list[Scope | None]()
    backfill(memory, [Imported("s", tuple(said))], user="ada")
    memory.drain()
    begun = memory.store.transaction

    def counted(scope: Scope | None = None) -> AbstractContextManager[None]:
        commits.append(scope)
        return begun(scope)

    monkeypatch.setattr(memory.store, "transaction", counted)
    tagged = tuple(message.replace(metadata={"score": 5}) for message in said)
    backfill(memory, [Imported("s", tagged)], user="ada")
    assert [message.metadata["score"] for message in memory.session("s", user="ada").history()] == [5] * 400
    assert len(commits) == 2  # for what is new, and for the tags


def test_very_many_broken_lines_take_no_longer_than_their_number(memory: Memory) -> None:
    told = [Skipped(f"line {n}", "not JSON") for n in range(100_000)]
    began = time.process_time()
    assert backfill(memory, told, user="ada").skipped == tuple(told)
    assert time.process_time() - began < 10


def test_progress_is_told_after_each_conversation(memory: Memory, export: Path) -> None:
    told: list[Backfilled] = []
    done = backfill(memory, read(export), user="ada", progress=told.append)
    assert [t.sessions for t in told] == list(range(1, 11))
    assert told[-1] == done


def test_each_goes_to_the_user_its_export_names_unless_one_is_given(memory: Memory) -> None:
    items = [Imported("s", (Message("user", "x", id="m"),), user="eve")]
    backfill(memory, items, tenant="acme")
    backfill(memory, items, user="ada", tenant="acme")
    assert len(memory.session("s", user="eve", tenant="acme").history()) == 1
    assert len(memory.session("s", user="ada", tenant="acme").history()) == 1
    with pytest.raises(ConfigError, match="give user="):
        backfill(memory, [Imported("s", (Message("user", "x", id="m"),))])


def test_a_message_that_an_export_holds_twice_counts_once(memory: Memory) -> None:
    twice = (Message("user", "x", id="m"), Message("user", "y", id="n")) * 2
    assert backfill(memory, [Imported("s", twice)], user="ada") == Backfilled(sessions=1, messages=2, known=2)


def test_notes_of_another_memory_become_facts_once(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "memories.json"
    path.write_text(json.dumps(mem0()), "utf-8")
    assert backfill(memory, read(path)) == Backfilled(facts=2)
    assert backfill(memory, read(path)) == Backfilled(known=2)
    facts = memory.store.records.find(Scope("default", "ada"), kind="fact", exact=True)
    assert [(f.value["value"], f.value["at"], f.origin) for f in facts] == [
        ("Likes to sail in Norway", "2025-03-04T05:06:07-08:00", "import"),
        ("Name is Ada", "2025-04-05T05:06:07+00:00", "import"),
    ]
    known = memory.session("now", user="ada").facts()
    assert [(fact.value, fact.origin) for fact in known] == [("Likes to sail in Norway", "import")]


def test_a_note_that_was_changed_since_is_the_newest_value_of_its_fact(memory: Memory) -> None:
    before = Note("n", "Lives in Oslo", AT)
    after = Note("n", "Lives in Bergen", AT.replace(year=2024))
    for notes in ((before,), (after,), (after,), (before,)):
        backfill(memory, [Imported("mem0", notes=notes)], user="ada")
    ada = memory.user("ada")
    assert [fact.value for fact in ada.facts()] == ["Lives in Bergen"]
    assert [fact.value for fact in ada.fact_history("note:n")] == ["Lives in Oslo", "Lives in Bergen"]
    assert backfill(memory, [Imported("mem0", notes=(before, after))], user="ada") == Backfilled(known=2)
    back = Note("n", "Lives in Oslo", AT.replace(year=2025))
    assert backfill(memory, [Imported("mem0", notes=(before, after, back))], user="ada") == Backfilled(facts=1, known=2)
    assert [fact.value for fact in ada.facts()] == ["Lives in Oslo"]


@pytest.mark.parametrize(
    ("note", "type"),
    [
        ("Likes to sail in Norway", "interest"), ("Name is Ada", "user_profile"), ("Lives in Oslo", "user_profile"),
        ("User is allergic to nuts", "user_profile"), ("The user's favorite color is blue", "interest"),
        ("Prefers window seats", "preference"), ("Needs to call the bank by Friday", "action_item"),
        ("I hate thrillers", "interest"), ("Met Bob at the fair", "user_profile"), ("東京", "user_profile"),
    ],
)  # fmt: skip
def test_a_note_has_the_type_that_rules_give_its_words(memory: Memory, note: str, type: str) -> None:
    backfill(memory, [Imported("s", notes=(Note("1", note),))], user="ada")
    assert [(fact.value, fact.type) for fact in memory.user("ada").facts()] == [(note, type)]


def test_what_a_file_says_is_not_what_the_user_said(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude()]), "utf-8")
    backfill(memory, read(path), user="ada")
    said = [m for m in memory.session("c-1", user="ada").history() if "Queen of Denmark" in m.text]
    assert [m.role for m in said] == ["tool"]


VICTIM = """
import sys
from recollect import Memory
from recollect.backfill import backfill
from recollect.imports import read
with Memory.open(sys.argv[1], embedder=None) as memory:
    backfill(memory, read(sys.argv[2]), user="ada", progress=lambda done: print(done.sessions, flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_killed_backfill_is_just_run_again(tmp_path: Path, export: Path, after: int) -> None:
    command = [sys.executable, "-c", VICTIM, str(tmp_path / "m.db"), str(export)]
    with gone_after(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as victim:
        assert victim.stdout is not None
        for _ in range(after):
            victim.stdout.readline()
    with Memory.open(tmp_path / "m.db", embedder=None) as memory, Memory.open(":memory:", embedder=None) as whole:
        kept = len(memory.store.log.sessions(Scope("default")))
        assert kept >= after
        done = backfill(memory, read(export), user="ada")
        assert done.known >= after * 8
        backfill(whole, read(export), user="ada")
        assert log(memory) == log(whole)


pieces = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 6)), max_size=8)


@settings(max_examples=50)
@given(pieces)
def test_any_course_of_pieces_and_repetitions_keeps_each_message_once(course: list[tuple[str, int, int]]) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        new = 0
        for session, start, size in course:
            messages = tuple(Message("user", f"{n}", id=f"m{n}", at=AT) for n in range(start, start + size))
            new += backfill(memory, [Imported(session, messages)], user="ada").messages
        kept = [(session, message.id) for session, _, message in log(memory)]
        assert len(kept) == len(set(kept)) == new
        assert set(kept) == {(s, f"m{n}") for s, start, size in course for n in range(start, start + size)}
