"""Memory keeps and recalls: from the library's front door, on a real file."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import AsyncMemory, ConfigError, Filter, Memory, Message, Scope, Session, Settings
from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.names import _say_once
from recollect.errors import ModelUnavailable
from recollect.store import open as open_store
from tests.wrong import wrong

START = datetime(2023, 5, 8, 12, tzinfo=UTC)
TALK = [
    ("ada", "My sister Nadia moved to Oslo in May."),
    ("assistant", "Noted!"),
    ("ada", "I am allergic to peanuts, so mind that with restaurants."),
    ("assistant", "I will look for places without peanuts."),
    ("ada", "Theo turns seven on the fifteenth of October."),
    ("assistant", "A birthday dinner would be nice."),
]


@pytest.fixture(params=["words", "meaning"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    embedder = HashingEmbedder(128) if request.param == "meaning" else None
    with Memory.open(tmp_path / "memory.db", embedder=embedder, durability="normal") as memory:
        yield memory


def test_without_a_name_it_is_in_the_data_folder_also_as_the_first_thing_a_program_does(tmp_path: Path) -> None:
    code = "from recollect import Memory; Memory.open(embedder=None).session('a', user='b').add('user', 'Hello.')"
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "RECOLLECT_DATA_DIR": str(tmp_path)}, check=True)
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        assert [message.text for message in memory.session("a", user="b").history()] == ["Hello."]


def fill(chat: Session, start: datetime = START) -> None:
    for n, (who, text) in enumerate(TALK):
        chat.add(Message("assistant" if who == "assistant" else "user", text, at=start + timedelta(minutes=n)))
    chat.memory.drain()


def test_what_was_said_is_recalled_with_its_date(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    best = chat.recall("Where does my sister live?", budget=200)[0]
    assert "My sister Nadia moved to Oslo in May." in best.text
    assert best.text.startswith("8 May 2023\n")
    assert best.session == "trip"
    assert best.at == START


def test_another_session_of_the_user_recalls_it_and_another_user_does_not(memory: Memory) -> None:
    fill(memory.session("trip", user="ada"))
    assert memory.session("later", user="ada").recall("peanuts")
    assert memory.session("later", user="ada").recall("peanuts", scope="session") == []
    assert memory.session("trip", user="eve").recall("peanuts") == []
    assert memory.session("trip", user="ada", tenant="other").recall("peanuts") == []


def test_history_comes_back_in_order_and_by_page(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    assert [m.text for m in chat.history()] == [text for _, text in TALK]
    assert [m.text for m in chat.history(limit=2)] == [text for _, text in TALK[-2:]]
    assert [m.text for m in chat.history(limit=2, before=3)] == [text for _, text in TALK[:2]]


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.session("trip", user="ada").add("user", "The code of the door is 4417.")
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.drain()
        chat = memory.session("other", user="ada")
        assert "4417" in chat.recall("door code")[0].text
        assert memory.drain() == 0


def test_changing_the_model_loses_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.session("trip", user="ada").add("user", "The garden has roses.")
        memory.session("work", user="ada").add("user", "The office has plants.")
        assert memory.drain() <= 2
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(96), former=HashingEmbedder(64)) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "The balcony has herbs.")
        before = chat.recall("gardening with roses")
        assert "roses" in before[0].text
        assert before.relevance > 0
        memory.reindex()
        memory.drain()
        asked = HashingEmbedder(96).embed(["roses"], kind="query")[0]
        assert len(memory.store.index.nearest(Scope("default", "ada"), asked, HashingEmbedder(96).name)) == 3
        assert "roses" in chat.recall("gardening with roses")[0].text


def test_search_gives_one_turn_a_hit_best_first_at_most_k(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    hits = chat.search("peanuts in restaurants on a birthday", k=3)
    assert [len(hit.message_ids) for hit in hits] == [1, 1, 1]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert "allergic" in hits[0].text
    assert len(chat.search("peanuts", k=0)) == 0


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("peanuts", [2, 3]),
        ("peanuts at dinner", [2, 3, 5]),
        ("zebra", []),
        ("assistant", []),
        ("May 2023", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_search_by_words_alone_gives_only_what_matches(tmp_path: Path, question: str, found: list[int]) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, durability="normal") as memory:
        chat = memory.session("trip", user="ada")
        fill(chat)
        hits = chat.search(question)
        assert sorted(hit.text.split(": ", 1)[1] for hit in hits) == sorted(TALK[n][1] for n in found)
        assert [hit.text for hit in chat.search(question, scope="session")] == [hit.text for hit in hits]
        assert chat.search(question, k=1) == hits[:1]
        assert memory.session("later", user="ada").search(question, scope="session") == []


def test_a_search_by_words_alone_finds_names_and_common_words_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, durability="normal") as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "Which assistant is the best?")
        chat.add("assistant", "That depends.")
        assert [hit.text.split(": ")[1] for hit in chat.search("assistant")] == ["Which assistant is the best?"]
        chat.add_many(Message("user", f"Walk number {n} was long.") for n in range(1_100))
        chat.add("user", "We went to the harbour.")
        assert len(chat.search("walk harbour", k=9)) == 9


def test_a_badly_scored_answer_is_not_recalled_and_an_unscored_one_is(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("assistant", "The museum opens at nine.", metadata={"score": 3})
    chat.add("assistant", "The museum closes at five.", metadata={"score": 8})
    chat.add("assistant", "The museum has a garden.")
    chat.add("assistant", "The museum sells stamps.", metadata={"score": True})
    found = " ".join(hit.text for hit in chat.search("museum"))
    assert "stamps" in found
    assert "nine" not in found
    assert "five" in found
    assert "garden" in found


def test_what_is_forgotten_is_never_found_again(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    gone = chat.search("peanuts", k=1)[0].message_ids
    assert chat.forget(gone).messages == 1
    assert all(gone[0] not in hit.message_ids for hit in chat.search("allergic to peanuts", k=50))
    chat.forget()
    assert chat.recall("peanuts") == []
    assert chat.history() == ()


def test_what_another_process_forgot_is_not_found(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as here, Memory.open(tmp_path / "m.db", embedder=None) as there:
        fill(here.session("trip", user="ada"))
        assert here.session("trip", user="ada").recall("peanuts")
        there.session("trip", user="ada").forget()
        assert here.session("trip", user="ada").recall("peanuts") == []


def test_facts_are_those_of_all_sessions_up_to_this_moment(memory: Memory) -> None:
    memory.session("food", user="ada").add("user", "I am allergic to nuts.")
    assert [fact.value for fact in memory.session("trip", user="ada").facts()] == ["nuts"]
    assert memory.session("trip", user="eve").facts() == []


def test_a_plan_whose_day_is_over_is_listed_as_of_then_only() -> None:
    now = [datetime(2025, 5, 14, 10, tzinfo=UTC)]
    with open_store(":memory:") as kept_in, Memory(kept_in, embedder=None, clock=lambda: now[0]) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "I live in Oslo and I'm so happy. Remind me to call Bob on Friday.", at=now[0])
        assert [fact.key for fact in chat.facts()] == ["place", "tone", "todo:call bob"]
        now[0] += timedelta(days=2)
        assert [fact.key for fact in chat.facts()] == ["place", "todo:call bob"]
        now[0] += timedelta(days=1)
        assert [fact.key for fact in chat.facts()] == ["place"]
        assert len(chat.facts(as_of=now[0] - timedelta(days=1))) == 2


def test_a_birthday_in_the_question_is_the_one_the_user_told(memory: Memory) -> None:
    about = memory.session("about me", user="ada")
    about.add("user", "My birthday is on 9 June.", at=datetime(2024, 1, 5, tzinfo=UTC))
    assert [fact.value for fact in about.facts()] == ["9 June"]
    shop = memory.session("shop", user="ada")
    for month, day in ((2, 10), (5, 26), (8, 3)):
        shop.add("user", f"I bought a bike in shop {month}.", at=datetime(2024, month, day, tzinfo=UTC))
    memory.drain()
    asked = datetime(2024, 12, 1, tzinfo=UTC)
    assert shop.search("What did I buy two weeks before my birthday?", 1, asked, "session")[0].at.month == 5
    bob = memory.session("bob's", user="bob")
    bob.add("user", "I bought a bike.", at=datetime(2024, 5, 26, tzinfo=UTC))
    assert bob.recall("What did I buy two weeks before my birthday?", at=asked)


def test_a_date_in_the_question_counts_from_when_it_was_asked(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    for month in (3, 4, 5):
        chat.add(Message("user", f"We had cake number {month} today.", at=datetime(2023, month, 10, tzinfo=UTC)))
    memory.drain()
    best = chat.search("Which cake did we have last April?", k=1, at=datetime(2023, 8, 1, tzinfo=UTC))[0]
    assert "cake number 4" in best.text


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "the of and",
        "🏳️‍🌈",
        "猫",
        "' OR 1=1; DROP TABLE messages; --",
        '"NEAR(a b)" AND *',
        "\x00",
        "\ud800",
        "word " * 20_000,
    ],
)
def test_no_question_breaks_anything(memory: Memory, question: str) -> None:
    chat = memory.session("trip", user="ada")
    assert chat.recall(question) == chat.search(question) == []
    fill(chat)
    for hit in chat.recall(question, budget=100):
        assert memory.counter(hit.text) <= 100


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("昨日、大阪で猫を飼い始めました。", "猫"),
        ("我住在奥斯陆的一条小街上", "奥斯陆"),
        ("방콕에서 고양이를 봤어요", "고양이"),
    ],
)
def test_languages_without_spaces_are_found_by_their_words(memory: Memory, said: str, asked: str) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    chat.add("user", said)
    memory.drain()
    assert any(said in hit.text for hit in chat.search(asked, k=3))


def test_ten_thousand_identical_turns_are_one(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None, durability="normal") as memory:
        chat = memory.session("trip", user="ada")
        chat.add_many(Message("user", "Are we there yet?") for _ in range(10_000))
        chat.add("user", "We are there now.")
        hits = chat.search("Are we there yet?", k=5)
        assert len(hits) == 2


def test_filters_hold_and_relevance_tells_if_anything_is_to_the_point(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    fill(chat)
    found = chat.search("peanuts", k=9, where=Filter(roles=("assistant",)))
    assert [hit.text.split("\n")[1].split(":")[0] for hit in found] == ["assistant"] * len(found) != []
    late = chat.search("peanuts on a birthday", k=9, where=Filter(since=START + timedelta(minutes=4)))
    assert 0 < len(late) <= 2
    assert chat.search("peanuts", where=Filter(metadata={"topic": "none"})) == []
    assert 0 <= chat.recall("zebra quantum").relevance < chat.recall("allergic to peanuts").relevance <= 1


def test_relevance_without_a_model_is_the_share_of_the_words_that_a_turn_holds() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "Oslo, Oslo, Oslo!")
        chat.add("user", "The ferry to Bergen and the ferry back.")
        assert chat.recall("Oslo").relevance == 1
        assert chat.recall("the ferry from Oslo").relevance == 0.5
        assert chat.recall("the ferry to Bergen from Oslo").relevance == 2 / 3
        for find in (chat.recall, chat.search):
            assert [find(asked).by_chance for asked in ("zebra", "Oslo", "What did we talk about?")] == [
                True,
                False,
                False,
            ]


def test_recency_lifts_the_newer_of_two_alike(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    for days, colour in ((0, "red"), (300, "blue")):
        chat.add(Message("user", f"My favourite colour is {colour}.", at=START + timedelta(days=days)))
    memory.drain()
    asked = START + timedelta(days=301)
    assert "blue" in chat.search("favourite colour", k=1, at=asked, recency=2.0)[0].text


@pytest.mark.parametrize("wanted", [{"budget": -1}, {"k": -5}])
def test_a_negative_number_is_refused(memory: Memory, wanted: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wanted))):
        memory.session("trip", user="ada").recall("x", **wanted)


def test_a_wrong_scope_is_refused(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="everyone"):
        memory.session("trip", user="ada").recall("x", scope=wrong("everyone"))


texts = st.text(st.sampled_from("abc déß 猫🙂?.\n"), min_size=1, max_size=40)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    said=st.lists(st.tuples(st.sampled_from(["ada", "eve"]), st.sampled_from(["one", "two"]), texts), max_size=12),
    question=texts,
    budget=st.integers(0, 60),
    more=st.integers(0, 60),
    k=st.integers(0, 5),
)
def test_recall_keeps_to_its_scope_its_budget_and_its_number(
    said: list[tuple[str, str, str]], question: str, budget: int, more: int, k: int
) -> None:
    with Memory.open(":memory:", embedder=HashingEmbedder(32)) as memory:
        mine = set()
        for user, session, text in said:
            added = memory.session(session, user=user).add("user", text)
            if user == "ada":
                mine.add(added.id)
        memory.drain()
        chat = memory.session("one", user="ada")
        at = START + timedelta(days=9_000)
        hits = chat.recall(question, budget, at=at)
        found = {id for hit in hits for id in hit.message_ids}
        assert found <= mine
        assert sum(memory.counter(hit.text) + 1 for hit in hits) <= budget
        assert hits == chat.recall(question, budget, at=at)
        assert found <= {id for hit in chat.recall(question, budget + more, at=at) for id in hit.message_ids}
        assert sum(len(hit.message_ids) for hit in chat.recall(question, 10_000, k, at)) <= k
        assert len(chat.search(question, k, at)) <= k


def test_without_a_model_recall_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    _say_once.cache_clear()
    with caplog.at_level(logging.WARNING), Memory.open(tmp_path / "m.db") as memory:
        chat = memory.session("trip", user="ada")
        fill(chat)
        assert "peanuts" in chat.recall("peanuts")[0].text
        chat.recall("peanuts again")
    assert sum("pull e5-small-v2" in record.getMessage() for record in caplog.records) == 1


class Broken(HashingEmbedder):
    """An embedder that fails as its provider, or as a program, may."""

    error: Exception | None = None

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
        if self.error:
            raise self.error
        return super().embed(texts, kind=kind)


@pytest.mark.parametrize("error", [ModelUnavailable("the server is gone"), RuntimeError("a bug")])
def test_a_failing_model_loses_nothing_and_is_tried_again(tmp_path: Path, error: Exception) -> None:
    now = [START]
    embedder = Broken(64)
    with open_store(str(tmp_path / "m.db"), clock=lambda: now[0]) as kept_in:
        memory = Memory(kept_in, embedder=embedder)
        chat = memory.session("trip", user="ada")
        embedder.error = error
        fill(chat)
        assert "peanuts" in chat.recall("peanuts")[0].text
        embedder.error = None
        now[0] += timedelta(hours=1)
        assert memory.drain() == len(TALK) or kept_in.index.missing(chat.scope, embedder.name) == []
        memory.close()


def test_what_was_added_before_there_was_a_model_gets_its_vector(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None) as memory:
        fill(memory.session("trip", user="ada"))
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.reindex()
        memory.drain()
        assert memory.store.index.missing(Scope("default", "ada", "trip"), HashingEmbedder(64).name) == []


@pytest.mark.parametrize("before", [None, HashingEmbedder(32)])
def test_documents_of_another_time_get_a_vector_of_the_new_model(
    tmp_path: Path, before: HashingEmbedder | None
) -> None:
    with Memory.open(tmp_path / "m.db", embedder=before) as memory:
        memory.session("trip", user="ada").documents.add("Fill the kettle with vinegar.", name="kettle")
        memory.session("trip", user="bob").documents.add("Boil it twice. " * 2_000, name="long")
        memory.session("trip", user="bob", tenant="acme").add("user", "I boil it once.")
        memory.drain()
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.reindex()
        memory.drain()
        for tenant in ("default", "acme"):
            assert memory.store.index.missing(Scope(tenant), HashingEmbedder(64).name) == []


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
    ],
)
def test_the_ends_of_time_break_nothing(memory: Memory, at: datetime) -> None:
    chat = memory.session("trip", user="ada")
    chat.add(Message("user", "A message from far away.", at=at))
    assert chat.search("What came from far away in December 9999?", at=at)


def test_each_turn_is_under_its_own_day(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    for day, text in (
        (datetime(2023, 5, 8), "We booked the hotel."),
        (datetime(2024, 9, 20), "We cancelled the hotel."),
    ):
        chat.add(Message("user", text, at=day))
    memory.drain()
    (hit,) = chat.recall("hotel", budget=200)
    assert hit.text == "8 May 2023\nuser: We booked the hotel.\n20 September 2024\nuser: We cancelled the hotel."


def test_one_long_sentence_is_cut_rather_than_left_out(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("user", "and then we walked on along the river " * 500)
    memory.drain()
    (hit,) = chat.recall("river", budget=100)
    assert hit.text.endswith("[…]")


def test_drain_analyses_habits_once_there_are_enough_conversations(tmp_path: Path) -> None:
    plan = Settings(patterns_every_sessions=6)
    with Memory.open(tmp_path / "m.db", embedder=None, settings=plan, durability="normal") as memory:
        for n in range(6):
            assert "Habits" not in memory.session("now", user="ada").context("How?").memory
            chat = memory.session(f"s{n}", user="ada")
            chat.add_turn("How do I export an invoice?", "First, open the list of invoices. " * 60)
            chat.add_turn("Shorter please", "Invoices, then Export.")
            memory.drain()
        assert "Habits" in memory.session("now", user="ada").context("How?").memory


def test_drain_learns_what_was_said_to_another_process(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder=None, durability="normal") as memory:
        memory.session("monday", user="ada").add_turn("I am a vegetarian.", "Noted.")
    with Memory.open(tmp_path / "m.db", embedder=None, durability="normal") as memory:
        assert memory.drain() > 0
        assert "diet: vegetarian" in memory.session("friday", user="ada").context("What shall I cook?").memory


def test_a_users_sessions_are_listed_page_by_page(memory: Memory) -> None:
    for n in range(3):
        memory.session(f"s{n}", user="ada").add("user", "Hello.")
    memory.session("s0", user="ada").add("user", "Again.")
    memory.session("s0", user="eve").add("user", "Hello.")
    listed = memory.sessions("ada")
    assert [(one.scope.session, one.messages) for one in listed] == [("s0", 2), ("s2", 1), ("s1", 1)]
    assert memory.sessions("ada", limit=2) == listed[:2]
    assert memory.sessions("ada", limit=None) == listed
    assert memory.sessions("ada", before=listed[1].position) == listed[2:]
    assert {one.scope.user for one in memory.sessions()} == {"ada", "eve"}
    assert memory.sessions("ada", tenant="other") == memory.sessions("nobody") == []


def test_a_memory_tells_where_it_is_and_what_finds_things_a_session_whose_it_is(tmp_path: Path) -> None:
    file = tmp_path / "m.db"
    with Memory.open(file, embedder=None) as memory:
        assert repr(memory) == f"Memory(SqliteStore({str(file)!r}), embedder=None)"
        scope = "scope=Scope(tenant='default', user='ada', session="
        assert repr(memory.session("trip", user="ada")) == f"Session({scope}'trip'))"
        assert repr(memory.user("ada")) == f"User({scope}None))"
        assert repr(AsyncMemory(memory).session("trip", user="ada")) == f"AsyncSession(sync=Session({scope}'trip')))"
    with Memory.open(":memory:", embedder="hash:256") as memory:
        assert repr(memory) == "Memory(ReferenceStore(), embedder='hash:256')"
