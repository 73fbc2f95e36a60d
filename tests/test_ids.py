"""Ids are those of a session: what one conversation calls "1" has nothing to do with the "1" of another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect import Memory, Message, Scope, Session, Settings
from recollect.embed.hashing import HashingEmbedder
from recollect.flow.receipt import Line
from recollect.layers.procedural import KIND, Procedural
from recollect.patterns import Patterns
from recollect.retention import Policy, apply, preview
from recollect.settings import DEFAULTS
from recollect.store import Record, Store
from recollect.store import open as open_store

NOW = datetime(2025, 3, 3, 12, tzinfo=UTC)
ADA = Scope("default", "ada")
EAGER = Settings(
    summary_every_messages=2, facts_every_turns=1, patterns_every_sessions=1, episodic_top_k=3, conversation_window=2
)


@contextmanager
def opened(url: str | Path = ":memory:", plan: Settings = DEFAULTS) -> Iterator[Memory]:
    store = open_store(str(url), durability="normal", clock=lambda: NOW)
    with Memory(store, embedder=HashingEmbedder(64), settings=plan, clock=lambda: NOW) as memory:
        yield memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened() as memory:
        yield memory


def tell(memory: Memory, session: str, *said: str, days: float = 0) -> Session:
    """A session of which the messages are called 1, 2 and so on."""
    chat = memory.session(session, user="ada")
    at = NOW - timedelta(days=days)
    chat.add_many(Message("assistant" if n % 2 else "user", text, id=str(n + 1), at=at) for n, text in enumerate(said))
    memory.drain()
    return chat


def kept(chat: Session, section: str, question: str | None) -> list[Line]:
    return [line for line in chat.context(question, 2_000).offered if line.kept and line.section == section]


def test_a_moment_of_another_session_is_recalled_beside_a_message_of_its_id(memory: Memory) -> None:
    tell(memory, "spring", "The ferry to Oslo leaves from pier nine.", "Noted.", days=90)
    chat = tell(memory, "autumn", "Good morning, how was the weekend?", "Fine, thank you.")
    (line,) = kept(chat, "episodic", "From which pier does the ferry to Oslo leave?")
    assert "pier nine" in line.text
    assert (line.sources, line.sessions) == (("1", "2"), ("spring", "spring"))
    assert line.to_dict()["sessions"] == ["spring", "spring"]


def test_near_misses_of_two_sessions_are_told_by_both(memory: Memory) -> None:
    for name in ("one", "two", "three", "four"):
        tell(memory, name, f"The ferry {name} to Oslo leaves from a pier of its own.", days=90)
    chat = memory.session("autumn", user="ada")
    offered = chat.context("From which pier leaves the ferry to Oslo?", 4_000).offered
    told = " ".join(line.text for line in offered if line.section == "episodic")
    assert all(f"ferry {name} to" in told for name in ("one", "two", "three", "four"))
    assert {line.sessions for line in offered} == {("one",), ("two",), ("three",), ("four",)}


def test_a_fact_of_another_session_is_told_beside_a_message_of_its_id(memory: Memory) -> None:
    tell(memory, "spring", "My sister Nadia lives in Oslo.", days=90)
    chat = tell(memory, "autumn", "Good morning, how was the weekend?")
    lines = kept(chat, "profile", "Where does my sister live?")
    assert [line.sessions for line in lines] == [("spring",), ("spring",)]
    assert "Oslo" in lines[0].text


def test_a_fact_that_the_conversation_shows_is_not_told_wherever_else_it_was_said(memory: Memory) -> None:
    tell(memory, "spring", "Good morning!", "Good morning.", "I live in Oslo.", days=90)
    chat = tell(memory, "autumn", "I live in Oslo.")
    assert kept(chat, "profile", "Where do I live?") == []
    (fact,) = chat.facts()
    assert (fact.session, fact.sources, fact.sessions) == ("spring", ("3", "1"), ("spring", "autumn"))


def test_a_fact_names_each_session_that_says_it(memory: Memory) -> None:
    for name in ("spring", "summer", "autumn"):
        tell(memory, name, "I live in Oslo.")
    (fact,) = memory.session("new", user="ada").facts()
    assert (fact.sources, fact.sessions) == (("1", "1", "1"), ("spring", "summer", "autumn"))


def test_what_is_erased_elsewhere_is_not_quoted_again_though_another_session_has_its_id(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as memory, opened(path) as elsewhere:
        tell(memory, "spring", "The ferry to Oslo leaves from pier nine.", days=90)
        tell(memory, "summer", "We paint the fence on Friday.", days=60)
        chat = memory.session("autumn", user="ada")
        chat.add("user", "From which pier does the ferry to Oslo leave?")
        assert "pier nine" in chat.context(None, 2_000).memory
        elsewhere.session("spring", user="ada").forget(["1"])
        assert "pier nine" not in chat.context(None, 2_000).memory


def test_what_is_erased_elsewhere_is_not_summarised_again_though_another_session_has_its_id(tmp_path: Path) -> None:
    path, plan = tmp_path / "memory.db", Settings(working_turns=1, working_min_turns=1)
    with opened(path, plan) as memory, opened(path, plan) as elsewhere:
        tell(memory, "spring", *(f"We paint fence {n} on Friday." for n in range(4)), days=60)
        chat = tell(
            memory, "autumn", "The ferry leaves from pier nine.", "Noted.", "We need 3 maps.", "Yes.", "And now?"
        )
        assert "pier nine" in chat.context(None, 2_000).memory
        elsewhere.session("autumn", user="ada").forget(["1"])
        assert "pier nine" not in chat.context(None, 2_000).memory


def test_in_an_agents_loop_the_same_is_quoted_again(memory: Memory) -> None:
    tell(memory, "spring", "The ferry to Oslo leaves from pier nine.", "I live in Rome.", days=90)
    chat = tell(memory, "autumn", "I live in Rome. From which pier does the ferry to Oslo leave?")
    first = chat.context(None, 2_000)
    assert "pier nine" in first.memory
    assert chat.context(None, 2_000) == first


def test_only_the_session_that_is_meant_is_forgotten(memory: Memory) -> None:
    tell(memory, "spring", "I live in Oslo.", days=90)
    chat = tell(memory, "autumn", "I love jazz.")
    erased = chat.forget(["1"])
    assert (erased.messages, erased.records) == (1, 1)
    assert [(fact.value, fact.sources, fact.sessions) for fact in chat.facts()] == [("Oslo", ("1",), ("spring",))]
    assert [message.text for message in memory.session("spring", user="ada").history()] == ["I live in Oslo."]
    assert "Oslo" in memory.session("new", user="ada").context("Where do I live?", 2_000).memory


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url, durability="normal", clock=lambda: NOW) as store:
        yield store


def test_a_fact_keeps_its_source_where_the_same_id_of_another_session_grew_old(store: Store) -> None:
    with Memory(store, embedder=None, clock=lambda: NOW) as memory:
        tell(memory, "spring", "I live in Oslo.", days=90)
        chat = tell(memory, "autumn", "I love jazz.")
        apply(store, preview(store, ADA, [Policy("messages", days=30)], NOW))
        assert {fact.value: fact.sources for fact in chat.facts()} == {"Oslo": (), "jazz": ("1",)}


def test_patterns_name_the_session_that_said_it_first(store: Store) -> None:
    for n in range(4):
        at = NOW + timedelta(minutes=n)
        store.log.append(Scope("default", "ada", f"s{n}"), [Message("user", "Good morning!", id="1", at=at)])
        store.log.append(
            Scope("default", "ada", f"s{n}"), [Message("user", "How do I export the invoice?", id="2", at=at)]
        )
    layer = Procedural(store, len, max_tokens=None)
    (question,) = layer.patterns(ADA).questions
    assert (question.source, question.session) == ("2", "s0")
    (hint,) = [one for one in layer.offer(ADA) if "Asked in" in one.text]
    assert (hint.sources, hint.sessions) == (("2",), ("s0",))


def test_patterns_of_an_older_store_are_read_and_counted_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.layers.procedural.PART", 3)
    for n in range(4):
        store.log.append(
            Scope("default", "ada", f"s{n}"), [Message("user", "How do I export the invoice?", id="1", at=NOW)]
        )
    layer = Procedural(store, len, max_tokens=None)
    layer.patterns(ADA)
    for record in store.records.find(ADA, kind=KIND, exact=True):
        older = _older(record)
        store.records.delete(ADA, [record.id])
        store.records.put(ADA, [older])
    (hint,) = [one for one in layer.offer(ADA) if "Asked in" in one.text]
    assert (hint.sources, hint.sessions) == (("1",), ("",))
    store.log.append(Scope("default", "ada", "s9"), [Message("user", "How do I export the invoice?", id="1", at=NOW)])
    (question,) = layer.patterns(ADA).questions
    assert (question.conversations, question.source) == (5, "1")


def _older(record: Record) -> Record:
    """A record of patterns as it was kept before it named sessions."""
    value = dict(record.value)
    if "tally" in value:
        tally = json.loads(value["tally"])
        tally |= {kind: [line[:4] for line in tally[kind]] for kind in ("questions", "topics")}
        value["tally"] = json.dumps(tally)
    else:
        patterns = json.loads(value["patterns"])
        for kind in ("questions", "topics"):
            for mention in patterns[kind]:
                del mention["session"]
        value["patterns"] = json.dumps(patterns)
    return Record(KIND, record.key, value, origin="user", sources=record.sources, id=record.id)


def test_a_question_erased_while_patterns_are_counted_leaves_none_though_its_id_is_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(4):
        store.log.append(Scope("default", "ada", f"s{n}"), [Message("user", "Is quxwort nice?", id="1", at=NOW)])
    store.log.append(Scope("default", "ada", "s9"), [Message("user", "hm", id="1", at=NOW)])
    begin = store.transaction

    def interrupted(*scope: Any) -> Any:
        monkeypatch.setattr(store, "transaction", begin)
        for n in range(4):
            store.log.erase(Scope("default", "ada", f"s{n}"), ["1"])
        return begin(*scope)

    monkeypatch.setattr(store, "transaction", interrupted)
    assert "quxwort" not in repr(Procedural(store, len).patterns(ADA))
    assert "quxwort" not in repr(store.records.find(ADA))


WORDS = (
    "I live in Oslo.",
    "I live in Rome.",
    "My sister Nadia moved to Oslo in May.",
    "I love jazz.",
    "The ferry to Oslo leaves from pier nine.",
    "What time does the ferry to Oslo leave?",
    "When does the ferry to Oslo leave?",
    "Please keep your answers short.",
    "Make it shorter, please.",
    "The harbour of Lisbon has 14 piers.",
    "Noted.",
)
QUESTIONS = ("Where do I live, and my sister?", "When does the ferry to Oslo leave, from which pier?", "Which music?")
SESSIONS = ("spring", "summer", "autumn")
logs = st.lists(
    st.tuples(st.sampled_from(SESSIONS), st.sampled_from(["user", "user", "assistant"]), st.sampled_from(WORDS)),
    max_size=14,
)


def told(memory: Memory, log: list[tuple[str, Any, str]], gone: list[int], unique: bool) -> list[object]:
    """All that contexts say of a log after some of it was forgotten, with ids of its own or of each session."""
    counts, ids = dict.fromkeys(SESSIONS, 0), list[tuple[str, str]]()
    for n, (session, role, text) in enumerate(log):
        counts[session] += 1
        ids.append((session, f"m{n}" if unique else str(counts[session])))
        message = Message(role, text, id=ids[-1][1], at=NOW - timedelta(hours=99 - n))
        memory.session(session, user="ada").add(message)
    memory.drain()
    seen: list[object] = [_seen(memory)]
    for session, id in (ids[n] for n in gone if n < len(ids)):
        memory.session(session, user="ada").forget([id])
    memory.drain()
    return [*seen, _seen(memory)]


def _seen(memory: Memory) -> list[object]:
    seen: list[object] = [_without_ids(memory.session("new", user="ada").patterns())]
    for name in (*SESSIONS, "new"):
        chat = memory.session(name, user="ada")
        contexts = [chat.context(question, budget) for question in QUESTIONS for budget in (300, 1_500)]
        contexts += [chat.context(None, 400) for _ in range(2)]
        entries = memory.store.log.read(chat.scope)
        contexts += [chat.replay(entry.seq, 400) for entry in entries if entry.message.role == "user"]
        lines = [(line.section, line.text, line.rule) for context in contexts for line in context.receipt.lines]
        hits = [(hit.text, hit.session, hit.score) for question in QUESTIONS for hit in chat.search(question)]
        facts = [(fact.key, fact.value, fact.sessions, len(fact.sources)) for fact in chat.facts()]
        seen += [[[m.text for m in context.prompt] for context in contexts], lines, hits, facts, chat.summary()]
    return seen


def _without_ids(patterns: Patterns) -> object:
    return [(said.text, said.conversations, said.session) for said in (*patterns.questions, *patterns.topics)]


@settings(max_examples=40)
@given(logs, st.lists(st.integers(0, 13), max_size=2))
@example([(name, "user", text) for name in SESSIONS for text in WORDS[:3]], [4])
def test_a_log_whose_ids_repeat_says_what_it_says_with_ids_of_its_own(
    log: list[tuple[str, Any, str]], gone: list[int]
) -> None:
    with opened(plan=EAGER) as unique, opened(plan=EAGER) as repeated:
        assert told(repeated, log, gone, False) == told(unique, log, gone, True)
