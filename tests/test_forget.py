"""What is forgotten is gone: from the log, from all that was learned from it, from every file and every context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from unittest.mock import Mock, patch

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect import ConfigError, Memory, Message, Scope, Session, ToolCall, ToolResult, validate
from recollect.answers import Excerpt
from recollect.embed.hashing import HashingEmbedder
from recollect.layers import procedural
from recollect.layers.procedural import Procedural
from recollect.layers.semantic import Semantic
from recollect.retention import Policy, apply, preview
from recollect.store import Store
from recollect.store import open as open_store
from recollect.store.sqlite.records import _record
from recollect.transfer import export_lines, import_lines
from tests.forgetting import (
    EAGER,
    LEVELS,
    MARKER,
    NOW,
    OTHERS,
    SECRETS,
    SESSIONS,
    Line,
    Parrot,
    by_session,
    searched,
    shown,
    tell,
)
from tests.strategies import SHAPES


@contextmanager
def opened(folder: Path, model: Any = None, clock: Callable[[], datetime] = lambda: NOW) -> Iterator[Memory]:
    store = open_store(str(folder / "memory.db"), durability="normal", clock=clock)
    model = model or Parrot()
    with Memory(
        store, embedder=HashingEmbedder(64), settings=EAGER, model=model, search=searched, clock=clock
    ) as memory:
        yield memory


def kept(folder: Path) -> str:
    """Everything that is in the files."""
    return "".join(path.read_bytes().decode("latin-1") for path in folder.iterdir()).lower()


lines = st.tuples(
    st.sampled_from(SESSIONS), st.sampled_from(["user", "user", "assistant"]), st.sampled_from(SECRETS + OTHERS)
)

MOVED = ("trip", 0), ("trip", 2), ("trip", 5), ("home", 1), ("home", 0), ("trip", 0), ("trip", 0)
"""SQLite moves some of the records of these to other pages, and leaves copies behind."""


@settings(max_examples=40, deadline=None)
@given(st.lists(lines, min_size=1, max_size=14), st.sampled_from(LEVELS), st.lists(lines, max_size=3))
@example([(session, "user", (SECRETS + OTHERS)[place]) for session, place in MOVED], by_session, [])
def test_what_is_forgotten_is_in_no_table_and_no_context(
    said: list[Line], forget: Callable[[Memory], None], later: list[Line]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        with opened(folder) as memory:
            tell(memory, said)
            forget(memory)
            memory.drain()
            tell(memory, [(session, role, text) for session, role, text in later if MARKER not in text.lower()])
            assert MARKER not in kept(folder)
            assert MARKER not in shown(memory)
        with opened(folder) as memory:
            assert MARKER not in shown(memory)
            assert memory.store.check() == []


@settings(max_examples=30, deadline=None)
@given(
    st.lists(lines, min_size=1, max_size=14),
    st.sampled_from([Scope(), Scope("default", "ada"), *(Scope("default", "ada", name) for name in SESSIONS)]),
    st.none() | st.lists(st.integers(0, 13), min_size=1, max_size=4),
)
def test_what_would_be_forgotten_is_what_is_forgotten(said: list[Line], scope: Scope, which: list[int] | None) -> None:
    with TemporaryDirectory() as name, opened(Path(name)) as memory:
        tell(memory, said)
        kept = memory.store.log.scan(Scope())
        ids = None if which is None else [kept[n % len(kept)].message.id for n in which]
        would = memory.would_forget(scope, ids)
        assert memory.store.log.scan(Scope()) == kept
        assert memory.forget(scope, ids) == would.counted()
        left = {record.position for record in memory.store.records.find(Scope())}
        assert left.isdisjoint(record.position for record in would.records)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        yield memory


def chat(memory: Memory, name: str = "trip") -> Session:
    return memory.session(name, user="ada")


def on_begin(monkeypatch: pytest.MonkeyPatch, store: Store, act: Callable[[], object]) -> None:
    """Something happens elsewhere just before the next transaction begins."""
    begin = store.transaction

    def interrupted(*scope: Any) -> Any:
        monkeypatch.setattr(store, "transaction", begin)
        act()
        return begin(*scope)

    monkeypatch.setattr(store, "transaction", interrupted)


def test_a_user_forgets_messages_of_many_sessions_and_all_summaries_are_made_anew(memory: Memory) -> None:
    gone = []
    for name in SESSIONS:
        gone.append(chat(memory, name).add("user", f"We call the boat {MARKER} from now on.").id)
        for n in range(9):
            chat(memory, name).add("user", f"Pier {n} of Lisbon has {n} boats.")
    memory.drain()
    ada = memory.user("ada")
    would = ada.would_forget(gone).counted()
    assert ada.forget(gone) == would and would.messages == len(SESSIONS)
    memory.drain()
    for name in SESSIONS:
        end, record = memory.layers.summary.newest(chat(memory, name).scope)
        assert end == 10
        assert record is not None and MARKER not in repr(record)


@pytest.mark.parametrize("where", [Scope("default", "ada", "trip"), Scope("default", "ada"), Scope("default")])
def test_after_a_models_wording_was_erased_the_summary_goes_on(memory: Memory, where: Scope) -> None:
    first = [chat(memory).add("user", f"Pier {n} of Lisbon has {n} boats.").id for n in range(40)]
    memory.drain()
    record = memory.layers.summary.newest(chat(memory).scope)[1]
    assert record is not None and record.origin.startswith("model")
    memory.forget(where, [first[35]])
    chat(memory).add("user", "hm")
    memory.drain()
    assert memory.layers.summary.newest(chat(memory).scope)[0] == 40


def test_the_store_alone_erases_each_wording_of_a_model_that_was_shown_the_message(memory: Memory) -> None:
    secret = chat(memory).add("user", MARKER)
    for n in range(40):
        chat(memory).add("user", f"Pier {n} of Lisbon has {n} boats.")
        memory.drain()
    assert MARKER in repr(memory.store.records.find(chat(memory).scope, kind="summary"))
    memory.store.log.erase(chat(memory).scope, [secret.id])
    assert MARKER not in repr(memory.store.records.find(chat(memory).scope, kind="summary"))


def test_retention_takes_along_what_was_summarised_and_searched_for(tmp_path: Path) -> None:
    now = [NOW - timedelta(days=90)]
    with opened(tmp_path, clock=lambda: now[0]) as memory:
        tell(memory, [("trip", "user", f"What is the latest news about {MARKER} today?"), ("trip", "assistant", "hm")])
        now[0] = NOW
        tell(memory, [("trip", "user", f"Pier {n} of Lisbon has {n} boats.") for n in range(9)])
        plan = preview(memory.store, Scope("default", "ada"), [Policy("messages", days=30)], NOW)
        assert plan.count("messages") == 2
        assert plan.count("summaries") > 0
        assert plan.count("tools") == 1
        apply(memory.store, plan)
        memory.drain()
        assert memory.layers.summary.newest(chat(memory).scope)[0] == 10
        facts = memory.store.records.find(Scope(), kind="fact")
        memory.store.records.delete(Scope(), [record.id for record in facts])
        assert MARKER not in kept(tmp_path)


def test_a_session_takes_along_the_facts_whose_messages_retention_had_erased(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        trip = chat(memory)
        trip.add(Message("user", f"I live in {MARKER.title()}.", at=NOW - timedelta(days=90)))
        trip.add(Message("user", "My sister is called Anna.", at=NOW))
        trip.remember("seat", "by the window")
        memory.drain()
        apply(memory.store, preview(memory.store, trip.scope, [Policy("messages", days=30)], NOW))
        memory.drain()
        lines = [*export_lines(memory, trip.scope.owner)]
        _forgets_what_it_learned(trip)
        assert MARKER not in kept(tmp_path)
    with Memory.open(":memory:", embedder=None) as other:
        import_lines(other, lines)
        other.drain()
        _forgets_what_it_learned(chat(other))


def _forgets_what_it_learned(trip: Session) -> None:
    assert {fact.key for fact in trip.facts()} >= {"place", "seat", "sister:anna"}
    told = trip.would_forget().counted()
    assert trip.forget().records == told.records
    assert [fact.key for fact in trip.facts()] == ["seat"]


def test_a_message_erased_while_facts_are_learned_leaves_none(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.store.log.append(chat(memory).scope, [Message("user", f"I live in {MARKER.title()}.", id="m1")])
    memory.store.log.append(chat(memory).scope, [Message("user", "My name is Ada.", id="m2")])
    on_begin(monkeypatch, memory.store, lambda: memory.store.log.erase(chat(memory).scope, ["m1"]))
    assert Semantic(memory.store).catch_up(chat(memory).scope) == 1
    assert [fact.value for fact in chat(memory).facts()] == ["Ada"]


def test_a_message_erased_while_patterns_are_counted_leaves_none(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SESSIONS:
        memory.store.log.append(chat(memory, name).scope, [Message("user", f"Is {MARKER} nice?", id=f"in {name}")])
    on_begin(monkeypatch, memory.store, lambda: memory.store.log.erase(chat(memory).scope.owner))
    assert MARKER not in repr(Procedural(memory.store, len).patterns(chat(memory).scope))
    assert MARKER not in repr(memory.store.records.find(chat(memory).scope.owner))


@pytest.mark.processor(60)
def test_what_was_learned_from_a_message_that_the_log_lost_is_learned_anew(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(procedural, "PART", 4)
    scope, others = chat(memory).scope, [Message("user", text) for text in OTHERS]
    for name in SESSIONS:
        asked = Message("user", f"Is {MARKER} nice?", id=f"in {name}")
        memory.store.log.append(chat(memory, name).scope, [asked, *others])
    memory.layers.summary.catch_up(scope)
    assert MARKER in repr(memory.store.records.find(scope, kind="summary"))
    assert MARKER in repr(Procedural(memory.store, len).patterns(scope))
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as file:
        file.execute("DELETE FROM message WHERE id LIKE 'in %'")
    memory.store.log.append(scope, others)
    memory.layers.summary.catch_up(scope)
    assert MARKER not in repr(Procedural(memory.store, len).patterns(scope))
    assert MARKER not in repr(memory.store.records.find(scope, kind="summary"))


def test_a_question_erased_while_it_is_searched_for_leaves_none(memory: Memory, tmp_path: Path) -> None:
    asked = chat(memory).add("user", f"What is the latest news about {MARKER} today?")

    def interrupted(question: str) -> list[Excerpt]:
        chat(memory).forget([asked.id])
        return searched(question)

    memory.layers.tools.search = interrupted
    assert MARKER not in repr(chat(memory).context().prompt)
    assert MARKER not in kept(tmp_path)


def test_the_web_is_searched_once_though_something_else_is_erased_meanwhile(memory: Memory) -> None:
    """An erasure forgets which questions were searched for."""
    other, asked = chat(memory).add("user", "The boat leaks."), list[str]()

    def interrupted(question: str) -> list[Excerpt]:
        asked.append(question)
        chat(memory).forget([other.id])
        return searched(question)

    memory.layers.tools.search = interrupted
    question = f"What is the latest news about {MARKER} today?"
    assert MARKER in repr(chat(memory).context(question).prompt)
    assert asked == [question]


def test_a_message_erased_while_the_model_thinks_leaves_nothing(tmp_path: Path) -> None:
    model = Parrot()
    with opened(tmp_path, model) as memory:
        secret = chat(memory).add("user", SECRETS[3])
        chat(memory).add_many(Message("user", text) for text in OTHERS * 2)
        model.interrupted = lambda: memory.forget(Scope("default", "ada"), [secret.id])
        memory.drain()
        assert MARKER not in kept(tmp_path)
        assert MARKER not in shown(memory)


def test_an_error_that_quotes_a_message_is_not_kept(tmp_path: Path) -> None:
    class Picky(HashingEmbedder):
        def embed(self, texts: Any, kind: Any = "passage") -> Any:
            raise ValueError(f"can't read {texts}")

    store = open_store(str(tmp_path / "memory.db"), durability="normal")
    with Memory(store, embedder=Picky(64)) as memory:
        secret = chat(memory).add("user", SECRETS[0])
        memory.drain()
        (job,) = [job for job in store.jobs.find(Scope()) if job.kind == "embed hash:64"]
        assert job.error == "ValueError"
        chat(memory).forget([secret.id])
        assert MARKER not in kept(tmp_path)


@pytest.mark.parametrize("ids", [["1"], None])
def test_facts_of_another_session_stay_though_its_messages_have_the_same_ids(
    memory: Memory, ids: list[str] | None
) -> None:
    chat(memory, "trip").add(Message("user", "My name is Ada.", id="1"))
    chat(memory, "work").add(Message("user", "I live in Lisbon.", id="1"))
    memory.drain()
    chat(memory, "trip").forget(ids)
    memory.drain()
    assert [(fact.key, fact.value) for fact in chat(memory, "new").facts() if fact.type == "user_profile"] == [
        ("place", "Lisbon")
    ]


def test_what_would_go_with_a_message_is_told_without_reading_all_facts(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        ada = memory.user("ada")
        for n in range(20):
            ada.remember(f"thing {n}", "blue")
        memory.session("trip", user="ada").add("user", "I live in Oslo.", id="1")
        assert len(ada.facts()) == 21
        with patch("recollect.store.sqlite.records._record", Mock(wraps=_record)) as read:
            found = memory.would_forget(Scope("default", "ada", "trip"), ["1"])
        assert ("fact" in {record.kind for record in found.records}, read.call_count < 10) == (True, True)


@pytest.mark.parametrize(
    "forget", [lambda trip: trip.forget(["1"]), lambda trip: trip.forget(), lambda trip: trip.forget_fact("place")]
)
def test_facts_are_read_before_others_have_to_wait(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, forget: Callable[[Session], object]
) -> None:
    trip, begin, reads = chat(memory), memory.store.transaction, list[int]()
    for n in range(30):
        memory.user("ada").remember(f"thing {n}", "blue")
    trip.add("user", "I live in Oslo.", id="1")
    memory.drain()

    @contextmanager
    def counting(*scope: Scope) -> Iterator[None]:
        with begin(*scope):
            before = read.call_count
            yield
            reads.append(read.call_count - before)

    monkeypatch.setattr(memory.store, "transaction", counting)
    with patch("recollect.store.sqlite.records._record", Mock(wraps=_record)) as read:
        forget(trip)
    assert max(reads) < 20 < read.call_count
    assert "place" not in {fact.key for fact in trip.facts()}


def test_what_is_stated_while_facts_are_read_counts(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(session: str, text: str) -> None:
        memory.store.log.append(chat(memory, session).scope, [Message("user", text, id="1")])
        Semantic(memory.store).catch_up(chat(memory, session).scope)

    state("trip", "I live in Oslo.")
    on_begin(monkeypatch, memory.store, lambda: state("work", "My name is Ada."))
    chat(memory).forget(["1"])
    assert [fact.value for fact in chat(memory).facts()] == ["Ada"]
    on_begin(monkeypatch, memory.store, lambda: state("home", "Call me Bo."))
    assert [fact.value for fact in Semantic(memory.store).erase(chat(memory).scope, "name")] == ["Ada", "Bo"]
    assert chat(memory).facts() == []


def test_ids_are_a_list(memory: Memory) -> None:
    chat(memory).add(Message("user", "hm", id="a"))
    with pytest.raises(ConfigError, match="list of ids"):
        chat(memory).forget("a")
    assert memory.forget(Scope(), []).messages == 0
    assert len(chat(memory).history()) == 1


@pytest.mark.parametrize("gone", range(5))
@pytest.mark.parametrize("shape", SHAPES)
def test_a_prompt_is_valid_whichever_message_of_a_tool_call_was_forgotten(gone: int, shape: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "What is the weather?")
        chat.add(Message("assistant", (ToolCall("c1", "weather"), ToolCall("c2", "weather"))))
        chat.add_many(Message("tool", (ToolResult(id, "rain"),)) for id in ("c1", "c2"))
        chat.add("assistant", "Rain.")
        chat.forget([chat.history()[gone].id])
        assert validate(chat.context("And tomorrow?").prompt, shape) == []


def without_document(memory: Memory) -> None:
    memory.user("ada").documents.remove("notes")


def without_facts(memory: Memory) -> None:
    apply(memory.store, preview(memory.store, Scope("default", "ada"), [Policy("facts", count=1)], memory.clock()))


@pytest.mark.parametrize("erase", [without_document, without_facts])
def test_a_file_is_rewritten_when_a_document_or_facts_go(erase: Callable[[Memory], None], tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        memory.user("ada").documents.add("\n\n".join(f"Note {n}: {n * 'so '}" for n in range(300)), name="notes")
        for n in range(300):
            memory.user("ada").remember(f"likes:thing {n}", f"thing {n} " + n * "so ")
        memory.drain()
        erase(memory)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as db:
        assert db.pragma("freelist_count") == 0


def test_forgetting_waits_for_nobody_who_reads_facts() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "I live in Paris.")
        assert chat.facts()
        (cached,) = memory.layers.semantic._users.values()
        forgetting = Thread(target=chat.forget, daemon=True)
        with cached.lock:  # as whoever reads the facts, and may have to wait for the store
            forgetting.start()
            forgetting.join(30)
            assert not forgetting.is_alive()
        assert chat.facts() == []
