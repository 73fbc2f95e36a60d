"""What is exported comes in elsewhere as it was, and so does what other products export."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from recollect import Memory, Scope, imports
from recollect.cli import importing
from recollect.store import Record

from .conftest import Run, parsed


def test_what_is_exported_can_be_imported_as_it_was(trip: Run, home: Path) -> None:
    trip("export", "out.jsonl")
    done = parsed(trip, "import", "out.jsonl", "--store", "other.db")
    assert {key: done[key] for key in ("sessions", "messages", "known", "skipped")} == {
        "sessions": 1, "messages": 3, "known": 0, "skipped": [],
    }  # fmt: skip
    assert trip("export", "--store", "other.db").stdout == (home / "out.jsonl").read_text()
    assert parsed(trip, "import", "out.jsonl", "--store", "other.db")["known"] == 3
    assert "Oslo" in trip("facts", "--store", "other.db").stdout


def test_help_names_every_format() -> None:
    assert ", ".join(imports.FORMATS) == importing.FORMATS


def test_memories_of_several_users_stay_theirs(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = [{"id": f"m{n}", "memory": said, "user_id": user} for n, (user, said) in enumerate(
        [("ada", "Lives in Oslo"), ("eve", "Has diabetes")]
    )]  # fmt: skip
    (home / "mem0.json").write_text(json.dumps({"results": memories}))
    monkeypatch.setenv("RECOLLECT_USER", "ada")
    assert run("import", "mem0.json").stdout == (
        "New: 2 facts; here already: 0. See them with: recollect facts\nKept for eve: see what is theirs with --user.\n"
    )
    for user, said in (("ada", "Lives in Oslo"), ("eve", "Has diabetes")):
        assert [fact["value"] for fact in parsed(run, "facts", "--user", user)] == [said]
    run("import", "mem0.json", "--user", "ada", "--store", "one.db")
    assert len(parsed(run, "facts", "--user", "ada", "--store", "one.db")) == 2


def test_an_export_can_be_piped_into_an_import(trip: Run, home: Path) -> None:
    lines = trip("export").stdout
    assert parsed(trip, "import", "-", "--store", "copy.db", said=lines)["messages"] == 3
    assert trip("export", "--store", "copy.db").stdout == lines
    with zipfile.ZipFile(home / "export.zip", "w") as archive:
        archive.writestr("conversations.jsonl", lines)
    packed = (home / "export.zip").read_bytes()
    assert parsed(trip, "import", "-", "--store", "unpacked.db", said=packed)["messages"] == 3
    assert "ConfigError: stdin can't be read (not JSON: " in trip("import", "-", said="{broken", code=1).stderr


def test_all_that_was_put_in_is_exported_and_imported(trip: Run, home: Path) -> None:
    (home / "guide.md").write_text("# Tomatoes\n\nWater tomatoes in the morning.")
    trip("documents", "add", "guide.md")
    with Memory.open(home / "memory.db", embedder=None) as memory:
        memory.session("trip", user="ada").remember("city", "Bergen")
        memory.session("trip", user="ada").tools.add("The ferry sails at nine.", "timetable")
        memory.store.records.put(Scope("default", "ada"), [Record("plan", "route", "by ferry")])
    written = trip("export", "out.jsonl").stderr
    assert "out.jsonl has 3 messages, 1 document, 1 fact, 1 excerpt, 1 record. " in written
    brought = trip("import", "out.jsonl", "--store", "other.db").stdout
    assert brought == (
        "New: 3 messages of 1 conversation, 1 fact, 1 document, 1 excerpt, 1 other thing; here already: 0. "
        "See them with: recollect stats --store other.db\n"
    )
    assert trip("export", "--store", "other.db").stdout == (home / "out.jsonl").read_text()
    again = parsed(trip, "import", "out.jsonl", "--store", "other.db")
    assert (again["known"], again["documents"], again["skipped"]) == (7, 0, [])
    for told in (("facts",), ("documents", "list"), ("documents", "search", "When do I water tomatoes?")):
        assert trip(*told, "--store", "other.db").stdout == trip(*told).stdout
    mine = trip("import", "out.jsonl", "--store", "other.db", "--user", "bo").stdout
    assert mine.startswith("New: 3 messages of 1 conversation, 1 fact, 1 document")
    assert "guide.md" in trip("documents", "list", "--store", "other.db", "--user", "bo").stdout


def test_everyone_is_exported_and_imported(trip: Run, home: Path) -> None:
    trip("add", "I live in Rome.", "--user", "bo", "--session", "trip")
    trip("documents", "add", "-", "--name", "note", "--user", "cleo", said="Tea.")
    each = [trip("export", "--user", user).stdout for user in ("ada", "bo", "cleo")]
    assert trip("export", "--everyone").stdout == "".join(each)
    assert "has 4 messages, 1 document. " in trip("export", "all.jsonl", "--everyone").stderr
    trip("import", "all.jsonl", "--store", "other.db")
    assert trip("export", "--everyone", "--store", "other.db").stdout == "".join(each)
    assert "Rome" in trip("facts", "--store", "other.db", "--user", "bo").stdout
    assert "leave --session out" in trip("export", "--everyone", "--session", "trip", code=1).stderr
    assert "leave out either it or --user" in trip("export", "--everyone", "--user", "bo", code=1).stderr


def test_a_user_with_documents_alone_is_exported(run: Run, home: Path) -> None:
    run("documents", "add", "-", "--name", "note", said="Tea.")
    lines = run("export").stdout
    assert run("import", "-", "--store", "other.db", said=lines).stdout.startswith("New: 1 document; here already: ")
    assert run("export", "--store", "other.db").stdout == lines
    theirs = json.dumps({**json.loads(lines), "user": "eve"})
    assert "Kept for eve" in run("import", "-", "--store", "other.db", said=theirs).stdout


def test_a_line_that_can_not_be_kept_is_told_with_its_number_and_the_rest_is_kept(trip: Run, home: Path) -> None:
    trip("documents", "add", "-", "--name", "note", said="Tea.")
    odd = [
        {"user": "ada", "document": {"name": "note", "text": "Coffee."}},
        {"user": "ada", "hologram": {}},
        {"user": "ada", "fact": {"key": "city"}},
        {"user": "ada", "record": {"kind": "plan", "key": "k", "id": "r", "value": 1, "sources": ["z"]}},
        {"user": "ada", "document": {"name": "new", "text": "Milk."}},
    ]
    (home / "odd.jsonl").write_text("".join(json.dumps(line) + "\n" for line in odd))
    done = parsed(trip, "import", "odd.jsonl")
    assert done["documents"] == 1
    assert [(one["where"], one["why"].split(":")[0]) for one in done["skipped"]] == [
        ("odd.jsonl line 1", "document 'note' is here with another text and stays; remove it to import this one"),
        ("odd.jsonl line 2", "not as recollect writes it"),
        ("odd.jsonl line 3", "not a fact as an export writes it"),
        ("odd.jsonl line 4", "it cites messages that are not here"),
    ]
    assert "but hologram" in done["skipped"][1]["why"]
    assert "Tea." in trip("documents", "search", "tea").stdout


def test_an_export_does_not_write_over_a_file(trip: Run, home: Path) -> None:
    (home / "out.jsonl").write_text("mine")
    assert "out.jsonl" in trip("export", "out.jsonl", code=1).stderr
    assert (home / "out.jsonl").read_text() == "mine"


@pytest.mark.parametrize("file", ["-", "out.jsonl"])
@pytest.mark.parametrize(
    ("whose", "who"), [(("--user", "nobody"), "nobody"), (("--session", "no-trip"), "ada in the session no-trip")]
)
def test_an_export_of_nothing_fails_and_writes_nothing(
    trip: Run, home: Path, file: str, whose: tuple[str, ...], who: str
) -> None:
    failed = trip("export", file, *whose, code=1)
    assert failed.stderr == f"NotFound: nothing was said by {who}: did you mean another --user or another --store?\n"
    assert failed.stdout == ""
    assert not (home / "out.jsonl").exists()


def test_import_tells_what_was_skipped_and_whose_it_is(run: Run, home: Path) -> None:
    lines = [{"session_id": "a", "user_id": "bo", "messages": [{"role": "user", "content": "Hi from Bo."}]}]
    (home / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    assert "chats.jsonl line 2" in run("import", "chats.jsonl").stderr
    assert parsed(run, "stats", "--user", "bo")["messages"] == 1
    assert parsed(run, "import", "chats.jsonl", "--user", "ada")["messages"] == 1


def test_import_says_what_it_can_read(run: Run, home: Path) -> None:
    (home / "shopping.txt").write_text("milk")
    assert "give an export as JSON, JSON lines or its archive" in run("import", "shopping.txt", code=1).stderr
    (home / "shopping.txt").write_text("[1]")
    assert "--format" in run("import", "shopping.txt", code=1).stderr
    missing = run("import", "nowhere.jsonl", code=1).stderr
    assert (
        missing == "ConfigError: nowhere.jsonl can't be read (No such file or directory):"
        " give the path of a readable export file\n"
    )


def test_import_that_can_take_nothing_fails_and_says_why_in_words(run: Run, home: Path) -> None:
    (home / "odd.jsonl").write_text('{"x": 1}\n' + '{"user": "a", "session": "b", "message": 3}\n')
    failed = run("import", "odd.jsonl", "--format", "recollect", code=1)
    assert "odd.jsonl line 1: not as recollect writes it: no message, " in failed.stderr
    assert "Error(" not in failed.stderr
    assert len(parsed(run, "import", "odd.jsonl", "--format", "recollect", code=1)["skipped"]) == 2


def test_an_import_is_no_failure_where_all_was_here_already(trip: Run, home: Path) -> None:
    trip("export", "out.jsonl")
    with (home / "out.jsonl").open("a") as file:
        file.write("{broken\n")
    assert "skipped" in trip("import", "out.jsonl").stderr


def test_an_import_that_is_stopped_tells_that_the_rest_can_be_brought(
    trip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    trip("export", "out.jsonl")
    monkeypatch.setattr("recollect.backfill.backfill", stopped)
    told = trip("import", "out.jsonl", "--store", "other.db", code=130).stderr
    assert "What came in so far is kept; the same command brings the rest." in told
