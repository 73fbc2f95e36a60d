"""What the commands print, for people and for machines, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pytest

from recollect.answers import FACT_TYPES, Hit, Recalled
from recollect.cli.bench import SCRIPT
from recollect.cli.facts import TYPES
from recollect.cli.search import show
from recollect.cli.terminal import out
from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.types import ROLES

from .conftest import Run, parsed


def test_a_message_is_kept_with_its_id_and_times(run: Run) -> None:
    kept = parsed(run, "add", "Hello.", "--at", "2026-05-20")
    assert set(kept) == {"role", "content", "id", "at", "received"}
    assert kept["at"] == "2026-05-20T00:00:00+00:00"


def test_a_message_can_come_from_stdin(run: Run) -> None:
    for said in ("Two\nlines", "Two\nlines\n"):  # as `echo` ends them
        assert parsed(run, "add", "-", said=said)["content"] == "Two\nlines"


@pytest.mark.parametrize("command", [("add", "-"), ("chat", "-"), ("tools", "add", "-", "--source", "x")])
def test_a_text_written_on_windows_is_read_as_its_words(run: Run, command: tuple[str, ...]) -> None:
    run(*command, said=b"\xef\xbb\xbfTwo\r\nlines\r\n")
    shown = parsed(run, "tools", "list") if command[0] == "tools" else parsed(run, "history")
    assert (shown[0].get("text") or shown[0].get("content")) == "Two\nlines"


def test_lines_written_on_windows_are_said_as_their_words(run: Run) -> None:
    run("chat", said=b"\xef\xbb\xbf\r\nHello.\r\n")
    assert [one["content"] for one in parsed(run, "history", "--role", "user")] == ["Hello."]


def test_a_document_from_stdin_is_the_same_as_its_file(run: Run, home: Path) -> None:
    (home / "guide.md").write_bytes(b"\xef\xbb\xbf# Tomatoes\n\nWater them.\n")
    run("documents", "add", "guide.md")
    again = run("documents", "add", "-", "--name", "b", said=(home / "guide.md").read_bytes()).stdout
    assert again == "b has the text of guide.md, which stays the one kept.\n"


@pytest.mark.parametrize(("name", "code", "says"), [("", 2, "'--name': it is empty"), ("x", 1, "no file ''")])
def test_a_document_without_a_name_is_refused(run: Run, name: str, code: int, says: str) -> None:
    assert says in run("documents", "add", "", "--name", name, code=code).stderr


@pytest.mark.parametrize("command", [("add", "-"), ("chat",), ("documents", "add", "-")])
def test_input_that_is_no_text_is_told_in_a_line(run: Run, command: tuple[str, ...]) -> None:
    told = run(*command, said=b"\xff\xfe\n", code=1).stderr
    assert "ConfigError: the input is not utf-8 text (invalid start byte): convert it first" in told


def test_a_broken_pdf_is_told_in_a_line(run: Run, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    told = run("documents", "add", "bad.pdf", code=1).stderr
    assert told.startswith("ConfigError: bad.pdf can't be read as a PDF") and not caplog.records


@pytest.mark.parametrize("command", [("add", "-"), ("import", "-"), ("chat", "\udcff")])
def test_bytes_that_are_no_text_are_refused_where_a_locale_takes_them(home: Path, command: tuple[str, ...]) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "recollect", *command],
        input=b"\xff\xfe\n",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    assert (told.returncode, told.stdout) == (1, b"")
    assert re.match(r"ConfigError: [^/]*not utf-8 text.*convert it", told.stderr.decode(), re.IGNORECASE)


def test_a_role_nobody_has_is_refused(run: Run) -> None:
    told = run("add", "Hello.", "--role", "robot", code=2).stderr
    assert all(role in told for role in ROLES) and "parse" not in told


@pytest.mark.parametrize("said", ["", "\n"])
@pytest.mark.parametrize("command", [("add", ""), ("add", " \n "), ("add", "-"), ("chat", ""), ("chat", " \n ")])
def test_a_message_without_words_is_refused_and_nothing_kept(
    run: Run, home: Path, command: tuple[str, str], said: str
) -> None:
    told = run(*command, said=said, code=1).stderr
    assert told.startswith("ConfigError: the message is empty: give some text")
    assert not (home / "memory.db").exists()


@pytest.mark.parametrize("command", [("serve", "--host", "999.1.1.1"), ("chat", "Hello.")])
def test_an_empty_model_is_not_taken_for_none(trip: Run, command: tuple[str, ...]) -> None:
    assert "'--model'" in trip(*command, "--model", "", code=2).stderr


@pytest.mark.parametrize("option", ["--user", "--store", "--session"])
@pytest.mark.parametrize("command", [("add", "Hello."), ("forget", "--everything", "--yes"), ("history",)])
def test_an_empty_name_is_not_taken_for_none(trip: Run, command: tuple[str, ...], option: str) -> None:
    assert "it is empty" in trip(*command, option, "", code=2).stderr
    assert len(parsed(trip, "history", "--session", "trip")) == 3


@pytest.mark.parametrize("command", [("facts", "--as-of", "yesterday"), ("add", "Hello.", "--at", "gestern")])
def test_a_time_that_is_none_is_told_with_the_form_expected(run: Run, command: tuple[str, ...]) -> None:
    told = run(*command, code=2).stderr
    assert command[-1] in told and command[-2] in told
    assert "2026-05-20" in told and "2026-05-20T12:00" in told


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        (("retention", "messages", "--days", "abc"), "'--days': it must be a valid number"),
        (("context", "Hi", "--budget", "0"), "'--budget': it must be greater than or equal to 1"),
        (("tools", "search", "rain", "-k", "few"), "'-k': it must be a valid integer"),
    ],
)
def test_a_number_that_is_none_is_told_in_our_words(run: Run, command: tuple[str, ...], wrong: str) -> None:
    assert wrong in run(*command, code=2).stderr


def test_what_answers_a_question_is_recalled_within_a_budget(trip: Run) -> None:
    found = parsed(trip, "recall", "Where does my sister live?", "--budget", "40")
    assert "Nadia moved to Oslo" in found["hits"][0]["text"] and found["relevance"] > 0
    assert parsed(trip, "recall", "Where does my sister live?", "--budget", "5")["hits"] == []
    trip("add", "Hello.", "--session", "other")
    assert "Nadia" not in trip("recall", "sister", "--here", "--session", "other").stdout
    assert "peanuts" not in trip("recall", "sister", "--since", "2026-01-01", "--budget", "40").stdout
    assert "user: My sister Nadia" in trip("recall", "sister").stdout


def test_a_context_has_its_prompt_and_receipt(trip: Run) -> None:
    made = parsed(trip, "context", "Where does my sister live?", "--budget", "2000")
    assert set(made) == {"messages", "receipt", "settings"}
    assert set(made["receipt"]) == {"tokens", "overhead", "budget", "sections", "lines"}
    assert made["receipt"]["tokens"] <= made["receipt"]["budget"] == 2000
    assert "Oslo" in made["messages"][-1]["content"]


def test_a_context_can_be_shown_as_it_was(trip: Run) -> None:
    here = ("--session", "trip", "--budget", "2000", "--system", "Be brief.")
    before = parsed(trip, "context", "Do I like stamps?", *here)
    trip("add", "Do I like stamps?", "--session", "trip")
    trip("add", "You do.", "--role", "assistant", "--session", "trip")
    id = parsed(trip, "history", "--session", "trip")[-2]["id"]
    for asked in ("4", id):
        assert parsed(trip, "context", "--replay", asked, *here)["messages"] == before["messages"]
    assert (
        "no message 'x' in the session trip: see the ids with" in trip("context", "--replay", "x", *here, code=1).stderr
    )
    assert "is not a user's" in trip("context", "--replay", "2", *here, code=1).stderr
    assert "leave both out" in trip("context", "Why?", "--replay", "4", *here, code=2).stderr


@pytest.mark.parametrize("more", [(), ("--json",), ("--system", "Be brief.")])
def test_a_context_of_nothing_is_told(trip: Run, more: tuple[str, ...]) -> None:
    told = trip("context", "--session", "nowhere", *more, code=1).stderr
    assert told.startswith("NotFound: nothing was said by ada in the session nowhere: give a question")
    assert "Nadia" in trip("context", "--session", "trip").stdout


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_in_a_folder_that_is_not_there_is_told_in_words(trip: Run, command: str) -> None:
    told = trip(command, "nowhere/file", code=1).stderr
    assert told == "ConfigError: there is no folder nowhere for nowhere/file: make it first, or name another file\n"


def test_the_prompt_itself_is_shown_when_asked_for(trip: Run) -> None:
    assert "<memory>" in trip("context", "Where does my sister live?", "--prompt").stdout


def test_a_budget_that_is_too_small_says_by_how_much(trip: Run) -> None:
    assert re.match(r"BudgetTooSmall: \d+ tokens must stay", trip("context", "Hello?", "--budget", "5", code=1).stderr)


def test_what_is_found_by_chance_is_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    hit = Hit(("1",), "user: I like tea", 0.1, datetime(2025, 5, 12, tzinfo=UTC), "trip")
    show(Recalled([hit], 0.7, by_chance=True), as_json=False)
    far = capsys.readouterr().out
    show(Recalled([hit], 0.9), as_json=False)
    near = capsys.readouterr().out
    assert far.startswith("Nothing was said about that") and "I like tea" in far
    assert "Nothing was said" not in near and "I like tea" in near


def test_search_gives_turns_with_their_session(trip: Run) -> None:
    found = parsed(trip, "search", "sister", "-k", "1")
    assert set(found) == {"relevance", "by_chance", "hits"}
    assert set(found["hits"][0]) == {"message_ids", "text", "score", "at", "session"}
    trip("add", "Is my sister well?", "--session", "later")
    sessions = [hit["session"] for hit in parsed(trip, "search", "sister")["hits"]]
    told = trip("search", "sister").stdout.splitlines()
    assert sorted(sessions) == ["later", "trip"]
    assert [line for line in told if line.endswith(("trip", "later"))] == [f"1. {sessions[0]}", f"2. {sessions[1]}"]
    trip("add", "Hello.", "--session", "other")
    assert parsed(trip, "search", "sister", "--here", "--session", "other")["hits"] == []


def test_facts_are_told_by_the_keys_that_remember_takes(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(TYPES) == set(FACT_TYPES)
    trip(
        "add",
        "Remind me to call the bank. I like green tea. My favourite color is blue. Remind me to vote on 2150-05-16.",
    )
    monkeypatch.setattr(out, "_width", 120)
    shown = trip("facts").stdout.splitlines()
    rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in shown if "│" in line]
    assert ["profile", "sister:nadia:place", "Oslo"] in rows
    assert ["interest", "likes:green tea", "green tea"] in rows
    assert ["to do", "todo:call the bank", "call the bank"] in rows
    assert ["to do", "todo:vote", "vote by 16 May 2150"] in rows
    assert not any("_" in kind for kind, *_ in rows)


def test_facts_are_known_as_of_a_day(trip: Run) -> None:
    known = parsed(trip, "facts", "--session", "trip")
    assert {"type", "key", "value", "confidence", "sources"} <= set(known[0])
    assert "Oslo" in {fact["value"] for fact in known}
    assert "peanuts" in trip("facts").stdout
    assert parsed(trip, "facts", "--as-of", "2020-01-01") == []
    assert "Nothing was known" in trip("facts", "--as-of", "2020-01-01").stdout
    trip("add", "I live in Rome.", "--user", "bob", "--at", "2026-05-20T12:00")
    for day, values in (("2026-05-19", []), ("2026-05-20", ["Rome"]), ("2026-05-20T11:00", [])):
        assert [fact["value"] for fact in parsed(trip, "facts", "--user", "bob", "--as-of", day)] == values


def test_history_is_numbered_and_can_be_paged(trip: Run) -> None:
    assert [line["number"] for line in parsed(trip, "history", "--session", "trip", "--limit", "2")] == [2, 3]
    second = parsed(trip, "history", "--session", "trip")[1]["id"]
    for before in ("2", second):
        page = parsed(trip, "history", "--session", "trip", "--before", before)
        assert [line["content"] for line in page] == ["My sister Nadia moved to Oslo in May."]
    assert "Nothing was said before that." in trip("history", "--session", "trip", "--before", "1").stdout
    assert "before=0: give a whole number" in trip("history", "--session", "trip", "--before", "0", code=1).stderr


def test_what_finds_nothing_by_meaning_loads_no_model(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "onnx:a-folder-that-is-gone")
    assert "a-folder-that-is-gone" in trip("search", "Oslo", code=1).stderr
    for command in (["history", "--session", "trip"], ["facts"], ["export"], ["forget", "--session", "trip", "--yes"]):
        trip(*command)


def test_documents_are_kept_found_and_removed(run: Run, home: Path) -> None:
    (home / "guide.md").write_text("# Tomatoes\n\nWater tomatoes in the morning.")
    kept = parsed(run, "documents", "add", "guide.md")
    assert set(kept[0]) == {"name", "chunks", "tokens", "at", "hash", "metadata"}
    assert [document["name"] for document in parsed(run, "documents", "list")] == ["guide.md"]
    assert parsed(run, "documents", "search", "water tomatoes")[0]["document"] == "guide.md"
    assert parsed(run, "documents", "remove", "guide.md")["name"] == "guide.md"
    assert "guide.md" in run("documents", "remove", "guide.md", code=1).stderr


def test_the_same_text_by_another_name_is_told(run: Run, home: Path) -> None:
    for name in ("guide.md", "copy.md"):
        (home / name).write_text("# Tomatoes\n\nWater them every second day.\n")
    assert run("documents", "add", "guide.md").stdout.startswith("guide.md: 1 chunk")
    assert run("documents", "add", "copy.md").stdout == "copy.md has the text of guide.md, which stays the one kept.\n"
    assert run("documents", "add", "guide.md").stdout.startswith("guide.md: 1 chunk")
    assert "guide.md" in run("documents", "add", "-", "--name", "b", said=(home / "copy.md").read_text()).stdout


def test_facts_can_be_those_of_one_session(trip: Run) -> None:
    trip("add", "I live in Bergen.", "--session", "home")
    assert {fact["key"] for fact in parsed(trip, "facts", "--session", "home")} == {"place"}
    assert len(parsed(trip, "facts")) > 1
    trip("add", "Hello.", "--session", "other")
    assert "from the session other" in trip("facts", "--session", "other").stdout


def test_a_data_folder_that_cannot_be_made_says_what_to_do(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").touch()
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(home / "file" / "data"))
    told = run("add", "Hello", code=1).stderr
    assert told.startswith("ConfigError:") and "RECOLLECT_DATA_DIR" in told
    with pytest.raises(ConfigError, match="RECOLLECT_DATA_DIR"):
        Memory.open(embedder=None)


def test_a_question_is_not_part_of_the_answer(trip: Run) -> None:
    assert trip("forget", "--session", "trip", "--json", code=1).stdout == ""
    assert json.loads(trip("forget", "--session", "trip", "--json", said="Y\n").stdout)["messages"] == 3


def test_a_question_nobody_can_answer_says_how_to_go_on(trip: Run) -> None:
    trip("backup", "monday.backup")
    for command in (["forget", "--session", "trip"], ["restore", "monday.backup"]):
        told = trip(*command, code=1).stderr.splitlines()
        assert told[-1].startswith("ConfigError:") and "--yes" in told[-1]
    assert len(parsed(trip, "history", "--session", "trip")) == 3


def test_stats_count_sessions_days_sections_and_cached_prefixes(trip: Run) -> None:
    found = parsed(trip, "stats", "--session", "trip")
    assert set(found) == {"user", "messages", "tokens", "sessions", "days", "sections", "cached_prefix"}
    assert [one["title"] for one in found["sessions"]] == ["My sister Nadia moved to Oslo in May."]
    assert found["days"] == {"2026-05-20": 2, "2026-05-21": 1}
    assert list(found["cached_prefix"]) == ["1", "3"]
    assert found["sections"]["question"] > 0
    shown = trip("stats", "--session", "trip").stdout
    assert re.search(r"2026-05-20 █+ 2\n2026-05-21 █+ 1\n", shown)


def test_stats_of_nobody_say_how_to_begin(trip: Run) -> None:
    said = trip("stats", "--user", "bo").stdout
    assert said == "Nothing was said by bo yet. Tell something with: recollect add TEXT --user bo\n"


@pytest.mark.parametrize("other", [("--session", "nowhere"), ("--session", "trip", "--budget", "5")])
def test_stats_without_a_context_say_why(trip: Run, other: tuple[str, ...]) -> None:
    shown = trip("stats", *other).stdout
    assert f"No context of the session {other[1]}: nothing was asked in it, or the budget is too small." in shown
    assert "Name another with --session or --budget." in shown and "Tokens by section" not in shown


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"recollect {metadata.version('recollect')}\n"


def test_doctor_takes_a_file_by_itself(trip: Run) -> None:
    assert trip("doctor", "memory.db").stdout == "All is well.\n"


def test_a_file_that_is_no_store_is_told_as_such_and_left_alone(run: Run, home: Path) -> None:
    (home / "text.db").write_text("not a database, " * 500)
    with sqlite3.connect(home / "other.db") as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    (home / "folder.db").mkdir()
    before = (home / "text.db").read_bytes()
    for file in ("text.db", "other.db", "folder.db"):
        for command in (["doctor", file], ["add", "Hello.", "--store", file]):
            failed = run(*command, code=1).stderr
            assert "not a Recollect store" in failed
            assert len(failed.splitlines()) == 1
    assert (home / "text.db").read_bytes() == before


def test_a_store_in_a_folder_that_is_not_there_says_so(run: Run, home: Path) -> None:
    told = run("add", "Hello.", "--store", str(home / "nowhere" / "a.db"), code=1).stderr
    assert f"there is no folder {home / 'nowhere'}" in told and "make it first" in told


def test_benchmarks_without_a_checkout_say_where_they_are(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.cli.bench.SCRIPT", Path("nowhere"))
    assert "./scripts/bench" in run("bench", code=1).stderr


def test_a_benchmark_that_is_not_there_is_told_before_anything_is_installed() -> None:
    told = subprocess.run([SCRIPT, "nothing"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("there is no benchmark nothing: choose one of documents ")


def test_help_is_there_before_anything_heavy_is_loaded(home: Path) -> None:
    code = (
        "import sys; from recollect.cli.app import app\n"
        "heavy = 'numpy', 'recollect.memory', 'recollect.llm', 'recollect.imports', 'rich.progress'\n"
        "heavy += ('recollect.flow.receipt',)\n"
        "try: app()\n"
        "finally: print([name for name in heavy if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert told.stdout.endswith("[]\n")


@pytest.mark.parametrize("command", [["context"], ["search"], ["documents", "search"], ["tools", "search"]])
def test_a_question_without_words_is_refused(trip: Run, command: list[str]) -> None:
    assert "it is empty: give some words" in trip(*command, " ", code=2).stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["import", "nofile.json"], "give the path of a readable export file"),
        (["import", "-"], "give an export as JSON"),
        (["documents", "add", "nofile.md"], "there is no file nofile.md: name one that exists, or pipe a text in"),
        (["chat", "Hi", "--model", "nope:x"], "model 'nope:x' is not known"),
        (["remember", " ", "x"], "the key is empty"),
        (["tools", "add", "x", "--source", ""], "the source is empty"),
    ],
)
def test_what_can_not_be_done_leaves_no_store_behind(run: Run, home: Path, command: list[str], says: str) -> None:
    refused = run(*command, "--store", "new.db", said="no export", code=1)
    assert says in refused.stderr
    assert not Path(home, "new.db").exists()


def test_history_and_search_are_narrowed_by_role_time_and_tag(run: Run) -> None:
    mine = parsed(run, "add", "My sister Nadia moved to Oslo.", "--at", "2026-05-20")["id"]
    answer = parsed(run, "add", "Noted!", "--role", "assistant", "--at", "2026-05-22")["id"]
    run("tag", answer, "important=true")
    assert [one["id"] for one in parsed(run, "history", "--role", "user")] == [mine]
    assert [one["id"] for one in parsed(run, "history", "--tag", "important=true")] == [answer]
    assert [one["id"] for one in parsed(run, "history", "--since", "2026-05-21")] == [answer]
    assert [one["id"] for one in parsed(run, "history", "--until", "2026-05-21")] == [mine]
    assert "No message matches that." in run("history", "--tag", "topic=tea").stdout
    assert len(parsed(run, "search", "sister", "--role", "user")["hits"]) == 1
    assert parsed(run, "search", "sister", "--role", "assistant")["hits"] == []
    assert parsed(run, "search", "sister", "--since", "2026-05-21")["hits"] == []
    assert "role 'boss' is not one of" in run("history", "--role", "boss", code=1).stderr


def test_help_has_a_short_name(run: Run) -> None:
    assert run("facts", "-h").stdout == run("facts", "--help").stdout


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("add", "My", "sister"), '(sister). Put a text of several words in quotes: "like this"'),
        (("documents", "search", "Who", "waters?"), '(waters?). Put a text of several words in quotes: "like this"'),
        (("--json", "facts"), "Error --json goes after the command: recollect COMMAND --json …"),
        (("--stor", "x.db", "facts"), "No such option: --stor"),
    ],
)
def test_forgotten_quotes_and_an_option_in_the_wrong_place_are_told(
    run: Run, command: tuple[str, ...], says: str
) -> None:
    told = " ".join(re.sub("[│╭╮╰╯─]", " ", run(*command, code=2).stderr).split())
    assert says in told and "--version" not in told
