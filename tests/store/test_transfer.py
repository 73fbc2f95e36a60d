"""What was put in moves whole from one kind of store to another: the same facts, documents and contexts there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recollect import Memory, Message, Scope
from recollect.answers import Excerpt
from recollect.backfill import backfill
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import Conflict, InvalidTranscript, NotFound
from recollect.frozen import freeze_dict
from recollect.imports import Put
from recollect.retention import Policy, apply, preview
from recollect.store import Filter, Item, Record, Store
from recollect.store import open as open_store
from recollect.store.rules import check_same_record
from recollect.transfer import export_lines, import_lines
from tests.postgres import emptied

EVERYONE = Scope("default")
ADA = Scope("default", "ada")
NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)
SAID = (
    "My name is Ada and I live in Lisbon.",
    "I moved to Oslo.",
    "I love jazz.",
    "What is the latest news about the ferry today?",
    "hm\x00\ud800",
    "",
)
TEXTS = st.sampled_from(
    [
        "# Kettle\n\nFill it with vinegar. Boil it twice.\n",
        "# A\n\nSame words.\n\n# A\n\nSame words.\n" * 40,
        "page one\fpage two\n\nTitle\n=====\n\n" + "One sentence of many. " * 300,
        "ha. " * 900,
        "\ufeff  odd\x00 text \ud800 \n",
    ]
) | st.text(min_size=1).filter(str.strip)
NAMES = st.sampled_from(["guide.md", "notes", "a b\n"])
TIMES = st.datetimes(
    datetime(1990, 1, 1), datetime(2026, 3, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))])
)
SESSIONS = st.sampled_from(["trip", "work"])
METADATA = st.sampled_from([{}, {"score": 7}, {"pinned": True, "tags": ["a", None]}])
MESSAGES = st.tuples(
    st.just("message"), SESSIONS, st.sampled_from(["user", "assistant"]), st.sampled_from(SAID), TIMES, METADATA
)
DOCUMENTS = st.tuples(st.just("document"), NAMES, TEXTS, st.none() | TIMES, METADATA)
FACTS = st.tuples(
    st.just("fact"),
    st.sampled_from(["city", "likes", "name"]),
    st.sampled_from(["Oslo", "jazz", "fair weather", None]),
    TIMES,
)
EXCERPTS = st.tuples(
    st.just("excerpt"), SESSIONS, st.sampled_from(["Rain \ud800.", "The ferry sails."]), TIMES, st.none() | TIMES,
    st.sampled_from(["", SAID[3]]),
)  # fmt: skip
REMOVED = st.tuples(st.just("remove"), NAMES) | st.tuples(st.just("forget"), SESSIONS)
TAGS = st.tuples(
    st.just("tag"), SESSIONS, st.sampled_from([{"score": 3}, {"score": None}, {"pinned": True}, {"note": ["b"]}])
)
STEPS = st.lists(MESSAGES | TAGS | DOCUMENTS | FACTS | EXCERPTS | REMOVED, max_size=14)


def put_in(memory: Memory, steps: list[Any]) -> None:
    for kind, *step in steps:
        match kind, step:
            case "message", (session, role, text, at, metadata):
                memory.session(session, user="ada").add(Message(role, text, at=at, metadata=metadata))
            case "tag", (session, tags):
                for message in memory.session(session, user="ada").history(1):
                    memory.session(session, user="ada").tag(message.id, **tags)
            case "document", (name, text, at, metadata):
                memory.session("x", user="ada").documents.add(text, name=name, at=at, metadata=metadata)
            case "fact", (key, value, at):
                memory.layers.semantic.remember(ADA, "interest", key, value, at, "trip")
            case "excerpt", (session, text, at, found, question):
                scope = memory.session(session, user="ada").scope
                memory.layers.tools.restore(scope, Excerpt(text, "https://a.example", found), at, question)
            case "remove", (name,):
                if name in [document.name for document in memory.session("x", user="ada").documents.list()]:
                    memory.session("x", user="ada").documents.remove(name)
            case "forget", (session,):
                chat = memory.session(session, user="ada")
                chat.forget([message.id for message in chat.history(1)])


def shown(memory: Memory) -> list[Any]:
    """What a user sees."""
    memory.drain()
    found: list[Any] = [memory.session("x", user="ada").facts(), memory.session("x", user="ada").documents.list()]
    for session in ("trip", "work"):
        chat = memory.session(session, user="ada")
        found += [
            chat.history(),
            chat.context("Does the ferry sail, and where do I boil vinegar?", 2_000, at=NOW).messages,
        ]
        found += [chat.summary(), chat.documents.search("vinegar sentence", 3)]
    return found


@contextmanager
def memory_of(kind: str, folder: str, url: str) -> Iterator[Memory]:
    """An empty memory in such a store."""
    if kind == "postgres":
        from recollect.store.postgres import PostgresStore

        store: Store = PostgresStore(emptied(url))
    else:
        store = open_store(":memory:" if kind == "reference" else f"{folder}/memory.db", durability="normal")
    with Memory(store, embedder=HashingEmbedder(64), clock=lambda: NOW) as memory:
        yield memory


@pytest.mark.parametrize("order", [("sqlite", "postgres", "reference"), ("postgres", "sqlite")])
@settings(max_examples=13, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
@example([("message", "trip", "user", "I love jazz.", datetime(2000, 1, 1, tzinfo=UTC), {})])
@example([("message", "trip", "user", "I love jazz.", NOW, {"score": 7}), ("tag", "trip", {"score": 3})])
def test_what_was_put_in_is_the_same_in_another_kind_of_store(
    order: tuple[str, ...], postgres_url: str, steps: Any
) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        first, *others = order
        memory = stack.enter_context(memory_of(first, folder, postgres_url))
        put_in(memory, steps)
        lines, seen = list(export_lines(memory, ADA)), shown(memory)
        assert list(export_lines(memory, EVERYONE)) == lines  # what is learned is not among it
        for kind in others:
            other = stack.enter_context(memory_of(kind, folder, postgres_url))
            for _ in range(2):
                assert import_lines(other, lines).total() == len(lines)
                assert list(export_lines(other, ADA)) == lines
            assert shown(other) == seen
            assert other.store.check() == []
        import_lines(memory, lines)
        assert list(export_lines(memory, ADA)) == lines
        assert shown(memory) == seen


@pytest.fixture(params=["reference", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with memory_of(request.param, str(tmp_path), "") as memory:
        yield memory


@pytest.fixture
def other() -> Iterator[Memory]:
    with memory_of("reference", "", "") as memory:
        yield memory


def told(memory: Memory, scope: Scope = ADA) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_lines(memory, scope)]


def test_a_document_keeps_its_dates_and_its_second_name(memory: Memory, other: Memory) -> None:
    mine = memory.session("trip", user="ada").documents
    mine.add("# Kettle\n\nBoil it.", name="a", at=NOW - timedelta(days=400), metadata={"by": "Bo"})
    mine.add("Another.", name="b")
    mine.add("# Kettle\n\nBoil it.", name="b")
    import_lines(other, export_lines(memory, ADA))
    theirs = other.session("trip", user="ada").documents
    assert theirs.list() == mine.list()
    assert [one.name for one in theirs.list()] == ["a", "b"]
    assert theirs.add("# Kettle\n\nBoil it.", name="b") == mine.list()[1]  # known, as if it had been added here
    later = (mine.list()[1].at or NOW) + timedelta(hours=23)
    assert preview(other.store, ADA, [Policy("documents", days=1)], later).going == ()
    later += timedelta(hours=2)
    assert preview(other.store, ADA, [Policy("documents", days=1)], later).count("documents") == 2


def test_a_document_kept_without_the_places_of_its_chunks_fits_together_again(memory: Memory) -> None:
    text = "# Guide\n\n" + " ".join(f"Sentence {n} says how it is done." for n in range(400))
    memory.session("trip", user="ada").documents.add(text, name="guide")
    (record,) = memory.store.records.find(ADA, kind="document")
    assert len(record.value["chunks"]) > 5
    without = {name: part for name, part in record.value.items() if name != "starts"}
    memory.store.records.supersede(ADA, record.id, Record("document", "guide", without, trust="document"))
    assert told(memory)[0]["document"]["text"] == text
    memory.session("trip", user="ada").documents.add(text, name="guide")
    assert "starts" in memory.store.records.find(ADA, kind="document")[0].value


def test_of_a_document_that_lost_parts_the_rest_is_exported_and_that_is_told(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    text = "# Guide\n\n" + " ".join(f"Sentence {n} says how it is done." for n in range(400))
    memory.session("trip", user="ada").documents.add(text, name="guide")
    (record,) = memory.store.records.find(ADA, kind="document")
    first, *others = record.value["chunks"]
    memory.store.index.delete(ADA, "chunk", [first])
    assert text.endswith(told(memory)[0]["document"]["text"][-2_000:])
    memory.store.index.delete(ADA, "chunk", others)
    assert told(memory) == []
    assert caplog.messages == ["the document 'guide' has lost parts: add it again, then export it again"] * 2


def test_facts_whose_messages_are_gone_move_and_those_of_messages_are_found_anew(memory: Memory, other: Memory) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("user", "I live in Lisbon.", at=NOW - timedelta(days=90))
    chat.add("user", "I love jazz.", at=NOW)
    memory.drain()
    apply(memory.store, preview(memory.store, ADA, [Policy("messages", days=30)], NOW))
    assert [kind for line in told(memory) for kind in line if kind not in ("user", "session")] == ["message", "fact"]
    import_lines(other, export_lines(memory, ADA))
    other.drain()
    known = [(fact.key, fact.value, fact.at, fact.valid_from) for fact in chat.facts()]
    assert [(f.key, f.value, f.at, f.valid_from) for f in other.session("trip", user="ada").facts()] == known
    assert len(known) == 2


def test_what_took_the_place_of_something_moves_where_its_messages_are_gone(memory: Memory, other: Memory) -> None:
    chat = memory.session("trip", user="ada")
    for day, text in enumerate(("I live in Lisbon.", "I have an exam on 20 March.", "The exam was moved to 25 March.")):
        chat.add(Message("user", text, at=NOW + timedelta(days=day)))
    chat.add(Message("user", "We moved from Lisbon to Porto.", at=NOW + timedelta(days=4)))
    before = [(fact.key, fact.value, fact.valid_to) for fact in chat.facts()]
    assert before[-1][:2] == ("place", "Porto")
    apply(memory.store, preview(memory.store, ADA, [Policy("messages", count=0)], NOW + timedelta(days=9)))
    assert [(fact.key, fact.value, fact.valid_to) for fact in chat.facts()] == before
    import_lines(other, list(export_lines(memory, ADA)))
    assert [(fact.key, fact.value, fact.valid_to) for fact in other.session("trip", user="ada").facts()] == before


def test_what_was_erased_is_not_in_an_export_and_goes_elsewhere_with_what_it_cites(
    memory: Memory, other: Memory
) -> None:
    chat = memory.session("trip", user="ada")
    (secret,) = chat.add_many([Message("user", "The code is quxwort.")])
    memory.store.records.put(ADA, [Record("plan", "code", "quxwort opens it", sources=(secret.id,))])
    chat.documents.add("quxwort", name="code")
    before = list(export_lines(memory, ADA))
    assert len(before) == 3
    chat.forget([secret.id])
    chat.documents.remove("code")
    assert told(memory) == []
    import_lines(other, before)
    other.session("trip", user="ada").forget([secret.id])
    assert [list(line) for line in told(other)] == [["user", "document"]]


@pytest.mark.parametrize("begun", [1, 3])
def test_what_changes_during_an_export_is_in_it_once_and_whole(memory: Memory, other: Memory, begun: int) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("user", "Hello.")
    chat.documents.add("The old ferry.", name="ferry")
    memory.store.records.put(ADA, [state := Record("plan", "state", 1, id="state")])
    chat.documents.add("Gone.", name="gone")
    lines = export_lines(memory, ADA)
    kept = [next(lines) for _ in range(begun)]
    chat.documents.add("The new ferry, which sails at nine.", name="ferry")
    chat.documents.remove("gone")
    memory.store.records.delete(ADA, ["state"])
    memory.store.records.put(ADA, [replace(state, value=2)])
    assert import_lines(other, [*kept, *lines]) == {"message": 1, "document": 1, "record": 1}
    there = other.session("trip", user="ada")
    assert [document.name for document in there.documents.list()] == ["ferry"]
    assert there.documents.search("ferry")[0].text == (
        "The new ferry, which sails at nine." if begun == 1 else "The old ferry."
    )


def test_what_is_erased_during_an_export_is_not_in_it_without_what_it_cites(
    memory: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.transfer.PAGE", 1)
    chat = memory.session("trip", user="ada")
    _, secret = chat.add_many([Message("user", "Hello."), Message("user", "The code is quxwort.")])
    memory.store.records.put(ADA, [Record("plan", "code", "quxwort opens it", sources=(secret.id,))])
    lines = export_lines(memory, ADA)
    first = next(lines)
    chat.forget([secret.id])
    assert import_lines(other, [first, *lines]) == {"message": 1}


def test_one_session_is_exported_with_its_excerpts_alone(memory: Memory) -> None:
    for session in ("trip", "work"):
        memory.session(session, user="ada").add("user", "Hello.")
        memory.session(session, user="ada").tools.add("It rains.", "weather", NOW)
    memory.session("trip", user="ada").remember("city", "Oslo")
    assert {line["session"] for line in told(memory, Scope("default", "ada", "trip"))} == {"trip"}
    assert len(told(memory, Scope("default", "ada", "trip"))) == 2
    assert len(told(memory)) == 5


def test_what_another_keeps_in_the_store_moves_and_is_found(memory: Memory, other: Memory) -> None:
    scope = Scope("default", "ada", "trip")
    (said,) = memory.session("trip", user="ada").add_many([Message("user", "Hello.")])
    kept = Record("plan", "route", {"stops": [None, 1.5]}, 0.5, "me", "mine", (said.id,), NOW, NOW, id="r")
    memory.store.records.put(scope, [kept])
    memory.store.index.put(scope, [Item("plan", "i", "By ferry to Oslo", NOW, metadata=freeze_dict({"a": 1}, ""))])
    import_lines(other, export_lines(memory, ADA), tenant="acme")
    other.drain()
    (there,) = other.store.records.find(Scope("acme", "ada"), kind="plan")
    check_same_record(there, kept)
    assert there.scope == Scope("acme", "ada", "trip")
    vector = HashingEmbedder(64).embed(["ferry"], kind="query")[0]
    where = Filter(kinds=("plan",), metadata=freeze_dict({"a": 1}, ""))
    by_meaning = other.store.index.nearest(Scope("acme"), vector, HashingEmbedder(64).name, where=where)
    assert [m.id for m in (*other.store.index.search(Scope("acme"), "ferry", where=where), *by_meaning)] == ["i", "i"]
    other.session("trip", user="ada", tenant="acme").forget([said.id])
    assert other.store.records.find(Scope("acme"), kind="plan") == []


def test_records_of_others_that_are_named_like_ours_move_and_odd_ones_do_not_stop_an_export(
    memory: Memory, other: Memory
) -> None:
    trip = Scope("default", "ada", "trip")
    memory.store.records.put(trip, [Record("fact", "sister.home", "Bergen"), Record("document", "a", {})])
    memory.store.records.put(ADA, [Record("artifact", "a", 5)])
    lines = list(export_lines(memory, ADA))
    assert import_lines(other, lines) == {"record": 3}
    assert list(export_lines(other, ADA)) == lines
    memory.store.records.put(ADA, [Record("fact", "home", "Oslo"), Record("document", "b", None)])
    memory.store.records.put(trip, [Record("artifact", "a", {"text": "x"})])
    assert list(export_lines(memory, ADA)) == lines


def line(kind: str, /, **body: Any) -> str:
    return json.dumps({"user": "ada", kind: body})


def said(**excerpt: Any) -> str:
    return json.dumps({"user": "ada", "session": "trip", "excerpt": excerpt})


FACT = {
    "type": "interest", "value": "Oslo", "at": "2026-01-01T00:00:00Z", "order": "2026-01-01T00:00:00Z",
    "session": "", "ended": False,
}  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        "{", "[]", "5", "null", "{}", '{"user": "ada"}', '{"user": null, "document": {"name": "a", "text": "b"}}',
        '{"user": "ada", "session": 5, "fact": {}}', '{"user": "ada", "message": {"role": "user"}}',
        '{"user": "ada", "picture": {}}', '{"user": "ada", "document": {"name": "x", "text": "y"}, "tenant": "eve"}',
        '{"user": "ada", "document": 5}', '{"user": "ada", "document": [["name", "x"]]}', "[" * 100_000,
        line("document", name="x"), line("document", text="x"), line("document", name="", text="x"),
        line("document", name="x", text="  "), line("document", name="x", text=5), line("document", name=5, text="x"),
        line("document", name="x", text="y", at="May"), line("document", name="x", text="y", metadata=5),
        line("document", name="x", text="y", size=5), line("document", name="\x00", text="y"),
        line("fact", key="city", id="f"), line("fact", key="city", value=FACT), line("fact", id="f", value=FACT),
        line("fact", key="city", id="", value=FACT), line("fact", key="city", id=5, value=FACT),
        line("fact", key="city", id="f", value=5), line("fact", key="city", id="f", value=None),
        line("fact", key="city", id="f", value={**FACT, "type": "rumour"}),
        line("fact", key="city", id="f", value={**FACT, "value": ""}),
        line("fact", key="city", id="f", value={**FACT, "value": 5}),
        line("fact", key="city", id="f", value={**FACT, "ended": 1}),
        line("fact", key="city", id="f", value={**FACT, "order": "2026-01-01T00:00:00"}),
        line("fact", key="city", id="f", value={**FACT, "at": 5}),
        line("fact", key="city", id="f", value={**FACT, "position": 5}),
        line("fact", key="city", id="f", value=FACT, confidence=2),
        line("fact", key="city", id="f", value=FACT, confidence="much"),
        line("fact", key="city", id="f", value=FACT, origin=5),
        line("fact", key="city", id="f", value=FACT, sources="m"),
        line("fact", key="city", id="f", value=FACT, kind="mark"),
        line("fact", key="city", id="f", value=FACT, valid_to=5),
        line("excerpt", text="x", source="y", at="2026-01-01T00:00:00Z"), said(text="x", source="y"),
        said(text="", source="y", at="2026-01-01T00:00:00Z"), said(text="x", source=5, at="2026-01-01T00:00:00Z"),
        said(text="x", source="y", at="2026-01-01T00:00:00Z", question=5),
        line("record", kind="mark", key="facts", id="r", value=9), line("record", kind="plan", key="k", value=1),
        line("record", kind="fact", key="k", id="r", value=1), line("record", kind="spent", key="k", id="r", value=1),
        line("record", kind="plan", key="k", id="r"), line("record", kind="plan", key="k", id="r", value=float("nan")),
        line("record", kind="plan", key="k", id="r", value=1, superseded_by="x"),
        line("item", kind="message", id="i", text="x"), line("item", kind="chunk", id="i", text="x"),
        line("item", kind="plan", id="i", text=5), line("item", kind="plan", id="i", text="x", role="king"),
    ],
)  # fmt: skip
def test_a_line_that_can_not_be_used_is_named_and_changes_nothing(broken: str, memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("user", "I live in Lisbon.")
    chat.remember("city", "Bergen")
    chat.documents.add("Mine.", name="mine")
    before, good = list(export_lines(memory, ADA)), line("document", name="good", text="Good.")
    with pytest.raises(InvalidTranscript, match=r"^line 3: "):
        import_lines(memory, [good, "\n", broken, good])
    assert [known for known in export_lines(memory, ADA) if '"name": "good"' not in known] == before
    memory.drain()
    assert [fact.value for fact in chat.facts()]
    assert chat.context("Where do I live?", 1_000).messages


@pytest.mark.parametrize(
    ("error", "broken"),
    [
        (Conflict, line("document", name="mine", text="Not mine.")),
        (Conflict, line("record", kind="plan", key="k", id="r", value=2)),
        (NotFound, line("record", kind="plan", key="k", id="s", value=2, sources=["gone"])),
        (NotFound, line("item", kind="plan", id="i", text="x", sources=["gone"])),
        (NotFound, line("fact", key="city", id="f", value=FACT, sources=["gone"])),
    ],
)
def test_what_is_here_stays_where_a_line_says_otherwise(error: type[Exception], broken: str, memory: Memory) -> None:
    memory.session("trip", user="ada").documents.add("Mine.", name="mine")
    memory.store.records.put(ADA, [Record("plan", "k", 1, id="r")])
    before = list(export_lines(memory, ADA))
    with pytest.raises(error, match=r"^line 1: "):
        import_lines(memory, [broken])
    assert list(export_lines(memory, ADA)) == before


@pytest.mark.parametrize("kind", ["reference", "sqlite", "postgres"])
def test_a_backfill_keeps_what_stands_around_a_line_that_can_not_be_kept(
    kind: str, tmp_path: Path, postgres_url: str
) -> None:
    with memory_of(kind, str(tmp_path), postgres_url) as memory:
        memory.store.records.put(ADA, [Record("plan", "k", 1, id="2")])
        plans = [{"kind": "plan", "key": "k", "id": str(n), "value": 0} for n in range(5)]
        things = [Put("record", plan, "ada", where=f"line {n}") for n, plan in enumerate(plans)]
        done = backfill(memory, [*things, Put("document", {"name": "a", "text": "b"}, "ada"), Put("fact", {}, "ada")])
        assert (done.others, done.documents, done.known) == (4, 1, 0)
        assert [one.where for one in done.skipped] == ["line 2", ""]
        assert [record.id for record in memory.store.records.find(ADA, kind="plan")] == ["2", "0", "1", "3", "4"]
        assert backfill(memory, things).known == 4


@given(st.data())
def test_a_damaged_archive_loses_nothing_that_is_here(data: st.DataObject) -> None:
    with memory_of("reference", "", "") as memory, memory_of("reference", "", "") as other:
        put_in(memory, data.draw(STEPS))
        put_in(other, data.draw(STEPS))
        archive = "".join(export_lines(memory, ADA)).encode()
        at = data.draw(st.integers(0, len(archive)))
        bad = archive[:at] + data.draw(st.binary(max_size=4)) + archive[at + data.draw(st.integers(0, 30)) :]
        before = list(export_lines(other, ADA))
        with suppress(InvalidTranscript, Conflict, NotFound):
            import_lines(other, bad.split(b"\n"))
        after = list(export_lines(other, Scope("default")))
        assert [known for known in after if known in before] == before
        shown(other)
