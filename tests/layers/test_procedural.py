"""Procedural memory learns patterns from the log, once, in parts, and forgets what is erased."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.embed.hashing import HashingEmbedder
from recollect.errors import ConfigError, Conflict
from recollect.layers import procedural
from recollect.layers.all import Layers
from recollect.layers.procedural import JOB, KIND, Procedural, topic_words
from recollect.settings import Settings
from recollect.store import MESSAGE, Job, Store
from recollect.store import open as open_store
from recollect.tokens import count_message, estimate
from recollect.types import Message, Scope, ToolCall, ToolResult

ADA = Scope("acme", "ada")
START = datetime(2024, 3, 4, 19, tzinfo=UTC)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    minutes = count()
    with open_store(
        store_url, durability="normal", clock=lambda: START + timedelta(minutes=2 * next(minutes))
    ) as store:
        yield store


def talk(store: Store, n: int, scope: Scope = ADA, question: str = "How do I export the invoice?") -> None:
    """A conversation of two turns; its answer is too long for the user."""
    at = START + timedelta(days=n)
    messages = [
        Message("user", question, id=f"q{n}", at=at),
        Message("assistant", "word " * 500, id=f"a{n}", at=at, metadata={"score": 5}),
        Message("user", "shorter please", id=f"f{n}", at=at),
        Message("assistant", "Use the menu.", id=f"b{n}", at=at, metadata={"score": 9}),
    ]
    store.log.append(Scope(scope.tenant, scope.user, f"s{n}"), messages, jobs=[JOB])


def claim(store: Store) -> Job:
    return store.jobs.claim((JOB.kind,), worker="w")[0]


def work(store: Store, layer: Procedural) -> int:
    """How many analyses all waiting jobs led to."""
    done = 0
    while jobs := store.jobs.claim((JOB.kind,), worker="w"):
        done += layer.learn(jobs[0])
    return done


def test_patterns_are_those_of_what_happened(store: Store) -> None:
    for n in range(8):
        talk(store, n)
    patterns = Procedural(store, estimate).patterns(ADA)
    assert (patterns.conversations, patterns.turns, patterns.turns_per_conversation) == (8, 16, 2.0)
    assert [(q.text, q.conversations, q.source) for q in patterns.questions] == [
        ("How do I export the invoice?", 8, "q0")
    ]
    assert [t.text for t in patterns.topics] == ["export", "invoice"]
    assert (patterns.length, patterns.follow_ups) == ("short", {"shorter": 8})
    assert [worked.trait for worked in patterns.worked] == ["short"]
    assert patterns.hours[19] == 8
    assert patterns.rhythm == "daily"


def test_words_of_asking_are_no_topic_and_ask_nothing_alone(store: Store) -> None:
    for n in range(4):
        talk(store, n, question="I'm planning a trip lately. Do you have any suggestions?")
        talk(store, n + 4, question="Any tips on how to compare sails?")
    patterns = Procedural(store, estimate).patterns(ADA)
    assert {topic.text for topic in patterns.topics} == {"sails", "trip"}
    assert [question.text for question in patterns.questions] == ["Any tips on how to compare sails?"]


def test_an_analysis_takes_place_after_so_many_conversations(store: Store) -> None:
    layer = Procedural(store, estimate, every=10)
    for n in range(9):
        talk(store, n)
    assert work(store, layer) == 0
    assert layer.offer(ADA) == []
    talk(store, 9)
    assert work(store, layer) == 1
    assert layer.offer(ADA) != []
    for n in range(10, 19):
        talk(store, n)
    assert work(store, layer) == 0
    talk(store, 19)
    assert work(store, layer) == 1
    assert work(store, layer) == 0


def test_asking_for_the_patterns_needs_no_hundred_conversations(store: Store) -> None:
    talk(store, 0)
    layer = Procedural(store, estimate)
    assert layer.patterns(ADA).conversations == 1
    assert layer.patterns(ADA).turns == 2
    talk(store, 1)
    assert layer.patterns(ADA).turns == 4


def test_hints_stay_within_their_tokens_and_say_what_went(store: Store) -> None:
    for n in range(8):
        talk(store, n)
    layer = Procedural(store, estimate, max_tokens=60)
    layer.patterns(ADA)
    offered = layer.offer(ADA)
    kept = [c for c in offered if not c.out]
    assert 0 < sum(estimate(c.text + "\n") for c in kept) <= 60
    assert [c.out for c in offered if c not in kept] == ["over the tokens for hints"] * (len(offered) - len(kept))
    assert len(kept) < len(offered)
    assert {c.section for c in offered} == {"hints"}
    assert offered[0].text.startswith("The user prefers short answers (asked for shorter ones 8 times)")
    assert next(c for c in offered if "invoice" in c.text).sources == ("q0",)


@pytest.mark.parametrize("tokens", [0, 1, 40, 100])
def test_hints_never_exceed_their_tokens(store: Store, tokens: int) -> None:
    for n in range(8):
        talk(store, n, question="What " + "exactly " * 30 + "is it?")
    layer = Procedural(store, estimate, max_tokens=tokens)
    layer.patterns(ADA)
    assert sum(estimate(c.text + "\n") for c in layer.offer(ADA) if not c.out) <= tokens
    assert not any(c.out for c in Procedural(store, estimate, max_tokens=None).offer(ADA))


ASKED = {
    "How do I export an invoice?": 0,
    "Can I save my bill as PDF?": 0,
    "What is the way to download receipts?": 0,
    "By the way, it rained all day here and the children are ill. Where are my accounts?": 0,
} | {f"Which harbour has number{n}x?": 1 + n for n in range(20)}


def ask(store: Store, model: str = "meaning") -> None:
    """Every question in a conversation of its own; the model has one direction for all that mean the same."""
    for n, (text, meaning) in enumerate(ASKED.items()):
        scope, vector = Scope("acme", "ada", f"s{n}"), np.zeros(32, np.float32)
        store.log.append(scope, [Message("user", text, id=f"q{n}", at=START + timedelta(days=n))])
        vector[meaning], vector[31] = 1.0, 3.0
        store.index.embed(scope, MESSAGE, model, {f"q{n}": vector})


def test_questions_are_taken_together_by_the_vectors_of_their_messages(store: Store) -> None:
    ask(store)
    (often,) = Procedural(store, estimate, model="meaning").patterns(ADA).questions
    assert (often.text, often.conversations, often.source) == ("How do I export an invoice?", 3, "q0")
    assert Procedural(store, estimate).patterns(ADA).questions == ()
    assert Procedural(store, estimate, model="another").patterns(ADA).questions == ()
    store.log.erase(ADA, ["q1"])
    assert Procedural(store, estimate, model="meaning").patterns(ADA).questions == ()


def test_a_memory_with_an_embedder_asks_by_meaning(store: Store) -> None:
    embedder = HashingEmbedder(32)
    ask(store, embedder.name)
    assert Layers.of(store, estimate, Settings(), embedder).procedural.patterns(ADA).questions[0].conversations == 3


def test_users_are_kept_apart(store: Store) -> None:
    for n in range(8):
        talk(store, n)
    layer = Procedural(store, estimate)
    layer.patterns(ADA)
    for other in (Scope("acme", "eve"), Scope("other", "ada")):
        assert layer.offer(other) == []
        assert layer.patterns(other).conversations == 0


def test_only_what_the_user_said_becomes_a_hint(store: Store) -> None:
    for n in range(8):
        call = Message("assistant", (ToolCall(f"c{n}", "search"),), id=f"c{n}")
        result = Message("tool", (ToolResult(f"c{n}", "Why buy bitcoin? bitcoin"),), id=f"r{n}")
        system = Message("system", "Why bitcoin?", id=f"p{n}")
        answer = Message("assistant", "Should you buy bitcoin?", id=f"x{n}")
        messages = [system, Message("user", "Any sailing news?", id=f"u{n}"), call, result, answer]
        store.log.append(Scope("acme", "ada", f"s{n}"), messages)
    layer = Procedural(store, estimate)
    patterns = layer.patterns(ADA)
    assert "sailing" in [t.text for t in patterns.topics]
    assert "bitcoin" not in str(patterns.to_dict())
    assert all("bitcoin" not in c.text for c in layer.offer(ADA))
    assert patterns.answers == 8


def test_the_log_is_counted_in_parts_and_each_part_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedural, "PART", 7)
    layer = Procedural(store, estimate)
    for n in range(8):
        talk(store, n)
        whole = layer.patterns(ADA)
    records = store.records.find(ADA, kind=KIND, key="part")
    assert len(records) == 8 * 4 // 7
    monkeypatch.setattr(procedural, "PART", 1_000)
    for record in store.records.find(ADA, kind=KIND):
        store.records.delete(ADA, [record.id])
    assert layer.patterns(ADA) == whole


def test_each_part_is_kept_by_itself_so_a_long_analysis_holds_no_one_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procedural, "PART", 7)
    for n in range(8):
        talk(store, n)
    told = count()

    def fails_late(text: str) -> int:
        if next(told) == 10:
            raise RuntimeError("the machine stops")
        return estimate(text)

    with pytest.raises(RuntimeError):
        Procedural(store, fails_late).patterns(ADA)
    assert len(store.records.find(ADA, kind=KIND, key="part")) == 3
    assert Procedural(store, estimate).patterns(ADA).turns == 16


def test_an_answer_is_counted_as_it_was_when_it_arrived(store: Store) -> None:
    def fails(text: str) -> int:
        raise RuntimeError("its tokens are known")

    said = [Message("user", "How do I export the invoice?"), Message("assistant", "word " * 500)]
    store.log.append(Scope("acme", "ada", "s"), said, tokens=[count_message(one, estimate) for one in said])
    assert Procedural(store, fails).patterns(ADA).answer_tokens == estimate("word " * 500)


def test_erasing_a_message_takes_its_counts_and_words_along(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedural, "PART", 7)
    for n in range(9):
        talk(store, n, question="Where is Nadia?" if n < 3 else "How do I export the invoice?")
    layer = Procedural(store, estimate, every=10_000)
    assert "Nadia" in [t.text for t in layer.patterns(ADA).topics]
    store.log.erase(ADA, ["q0", "q1", "q2"])
    assert "Nadia" not in str([r.value for r in store.records.find(ADA)])
    assert layer.offer(ADA) == []
    store.jobs.enqueue(Scope("acme", "ada", "s8"), [JOB])
    assert work(store, layer) == 1
    again = layer.patterns(ADA)
    assert "Nadia" not in str(again.to_dict())
    assert again.turns == 15
    for record in store.records.find(ADA, kind=KIND):
        store.records.delete(ADA, [record.id])
    assert layer.patterns(ADA) == again


def test_a_hint_of_an_earlier_moment_can_be_had_again(store: Store) -> None:
    layer = Procedural(store, estimate)
    for n in range(8):
        talk(store, n)
    layer.patterns(ADA)
    before, position = layer.offer(ADA), store.records.find(ADA, kind=KIND)[-1].position
    for n in range(8, 16):
        talk(store, n, question="Which harbour is best for sailing?")
    layer.patterns(ADA)
    assert layer.offer(ADA) != before
    assert layer.offer(ADA, as_of=position) == before
    assert layer.offer(ADA, as_of=0) == []


def test_a_lost_job_leaves_nothing_behind(store: Store) -> None:
    layer = Procedural(store, estimate, every=1)
    talk(store, 0)
    job = claim(store)
    store.jobs.finish(job)
    with pytest.raises(Conflict):
        layer.learn(job)
    assert store.records.find(ADA, kind=KIND) == []


def test_analysing_twice_changes_nothing(store: Store) -> None:
    layer = Procedural(store, estimate)
    for n in range(8):
        talk(store, n)
    layer.patterns(ADA)
    before = store.records.find(ADA, kind=KIND)
    layer.patterns(ADA)
    assert store.records.find(ADA, kind=KIND) == before


def test_two_who_analyse_at_once_count_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedural, "PART", 7)
    for n in range(8):
        talk(store, n)
    one, other = Procedural(store, estimate), Procedural(store, estimate)
    unread = other._unread

    def and_meanwhile(*given: Any) -> object:
        found = unread(*given)
        one.patterns(ADA)
        return found

    monkeypatch.setattr(
        Procedural, "_unread", lambda self, *given: (and_meanwhile if self is other else unread)(*given)
    )
    assert other.patterns(ADA) == one.patterns(ADA)
    assert other.patterns(ADA).turns == 16
    assert len(store.records.find(ADA, kind=KIND, key="patterns")) == 1


def test_a_scope_without_a_user_is_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="names one"):
        Procedural(store, estimate).patterns(Scope("acme"))


def test_topic_words_leave_out_what_every_conversation_has() -> None:
    assert topic_words("Can you please explain the Moving averages to me in 2024?") == [
        ("move", "Moving"),
        ("averag", "averages"),
    ]
    assert topic_words("東京タワー")[0] == ("東京", "東京")
    assert topic_words("Die Hard is about war") == [("die", "Die"), ("hard", "Hard"), ("war", "war")]
    assert topic_words("\x00 \ud800 don't") == []


@pytest.mark.parametrize(
    ("said", "topics"),
    [
        ("Wie kann ich über die Software eine Rechnung schreiben?", ["Software", "Rechnung", "schreiben"]),
        ("¿Cómo puedo exportar una factura para el cliente?", ["exportar", "factura", "cliente"]),
        ("Как мне экспортировать счёт для клиента?", ["экспортировать", "счёт", "клиента"]),
    ],
)
def test_nor_are_the_common_words_of_another_language_topics_of_what_is_said_in_it(
    said: str, topics: list[str]
) -> None:
    assert [word for _, word in topic_words(said)] == topics


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["user", "assistant"]),
            st.sampled_from(["Where is Oslo?", "shorter please", "sailing", "thanks"]),
        ),
        max_size=40,
    ),
    st.integers(1, 9),
    st.data(),
)
def test_when_it_is_analysed_makes_no_difference(
    log: list[tuple[int, str, str]], part: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch, open_store(":memory:") as store:
        patch.setattr(procedural, "PART", part)
        layer = Procedural(store, estimate)
        for n, (session, role, text) in enumerate(log):
            message = Message(
                "user" if role == "user" else "assistant", text, id=f"m{n}", at=START + timedelta(hours=n)
            )
            store.log.append(Scope("acme", "ada", f"s{session}"), [message])
            if data.draw(st.integers(0, 4)) == 0:
                layer.patterns(ADA)
        gone = data.draw(st.sets(st.integers(0, max(len(log) - 1, 0)), max_size=3))
        store.log.erase(ADA, [f"m{n}" for n in gone])
        learned = layer.patterns(ADA)
        for record in store.records.find(ADA, kind=KIND):
            store.records.delete(ADA, [record.id])
        assert layer.patterns(ADA) == learned
