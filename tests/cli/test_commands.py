"""What the commands print, for people and for machines, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.answers import FACT_TYPES
from recollect.cli.bench import SCRIPT
from recollect.cli.context import COLOURS, places_of
from recollect.cli.facts import TYPES
from recollect.cli.shell import out, printable
from recollect.testing import Provider
from recollect.types import ROLES

from .conftest import Run, parsed


def test_a_message_is_kept_with_its_id_and_times(run: Run) -> None:
    kept = parsed(run, "add", "Hello.", "--at", "2026-05-20")
    assert set(kept) == {"role", "content", "id", "at", "received"}
    assert kept["at"] == "2026-05-20T00:00:00+00:00"


def test_a_message_can_come_from_stdin(run: Run) -> None:
    assert parsed(run, "add", "-", said="Two\nlines")["content"] == "Two\nlines"


@pytest.mark.parametrize("command", [("add", "-"), ("chat",), ("documents", "add", "-")])
def test_input_that_is_no_text_is_told_in_a_line(run: Run, command: tuple[str, ...]) -> None:
    told = run(*command, said=b"\xff\xfe\n", code=1).stderr
    assert "ConfigError: the input is not utf-8 text (invalid start byte): convert it first" in told


@pytest.mark.parametrize("command", [("add", "-"), ("chat",), ("import", "-"), ("add", "\udcff"), ("chat", "\udcff")])
def test_bytes_that_are_no_text_are_refused_in_every_locale(home: Path, command: tuple[str, ...]) -> None:
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


@pytest.mark.parametrize("option", ["--user", "--store"])
@pytest.mark.parametrize("command", [("add", "Hello."), ("forget", "--everything", "--yes"), ("history",)])
def test_an_empty_name_is_not_taken_for_none(trip: Run, command: tuple[str, ...], option: str) -> None:
    assert "it is empty" in trip(*command, option, "", code=2).stderr
    assert len(parsed(trip, "history", "--session", "trip")) == 3


def test_an_empty_variable_of_the_environment_is_none(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECOLLECT_USER", "RECOLLECT_STORE", "RECOLLECT_SESSION"):
        monkeypatch.setenv(name, "")
    assert len(parsed(trip, "history", "--session", "trip")) == 3


@pytest.mark.parametrize("command", [("facts", "--as-of", "yesterday"), ("add", "Hello.", "--at", "gestern")])
def test_a_time_that_is_none_is_told_with_the_form_expected(run: Run, command: tuple[str, ...]) -> None:
    told = run(*command, code=2).stderr
    assert command[-1] in told and command[-2] in told
    assert "2026-05-20" in told and "2026-05-20T12:00" in told


def test_a_context_has_its_prompt_and_receipt(trip: Run) -> None:
    made = parsed(trip, "context", "Where does my sister live?", "--budget", "2000")
    assert set(made) == {"messages", "receipt", "settings"}
    assert set(made["receipt"]) == {"tokens", "overhead", "budget", "sections", "lines"}
    assert made["receipt"]["tokens"] <= made["receipt"]["budget"] == 2000
    assert "Oslo" in made["messages"][-1]["content"]


def test_a_receipt_is_a_table_with_a_bar_of_the_budget(trip: Run) -> None:
    shown = trip("context", "Where does my sister live?", "--budget", "300").stdout
    table, _, rest = shown.partition("└")
    assert "question" in table and "Where does my sister live?" in table
    bar = rest.splitlines()[1]
    assert len(bar) == out.width and set(bar) <= set("█▓▒·")
    assert re.search(r"free \d+ \(\d+%\)", rest)


def test_a_receipt_tells_date_speaker_and_words_in_80_columns_and_cuts_what_is_long(
    trip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    trip("add", "Nadia likes stamps. " + "She has many of them. " * 50 + "The end.", "--session", "trip")
    monkeypatch.setattr(out, "_width", 80)
    shown = trip("context", "Where does my sister live?", "--at", "2026-06-01", "--session", "later").stdout
    table, _, _ = shown.partition("└")
    assert max(map(len, table.splitlines())) == 80
    what = " ".join(line.split("│")[5].strip() for line in table.splitlines()[3:] if "│" in line)
    assert "20 May 2026 (1 week ago) user: My sister Nadia moved to Oslo in May." in what
    assert "…" in what and "The end." not in what


@pytest.mark.parametrize("more", [(), ("--json",), ("--system", "Be brief.")])
def test_a_context_of_nothing_is_told(trip: Run, more: tuple[str, ...]) -> None:
    told = trip("context", "--session", "nowhere", *more, code=1).stderr
    assert told.startswith("NotFound: nothing was said in the session nowhere: give a question")
    assert "Nadia" in trip("context", "--session", "trip").stdout


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_in_a_folder_that_is_not_there_is_told_in_words(trip: Run, command: str) -> None:
    told = trip(command, "nowhere/file", code=1).stderr
    assert told == "ConfigError: there is no folder nowhere for nowhere/file: make it first, or name another file\n"


def test_the_prompt_itself_is_shown_when_asked_for(trip: Run) -> None:
    assert "<memory>" in trip("context", "Where does my sister live?", "--prompt").stdout


def test_a_budget_that_is_too_small_says_by_how_much(trip: Run) -> None:
    assert re.match(r"BudgetTooSmall: \d+ tokens must stay", trip("context", "Hello?", "--budget", "5", code=1).stderr)


@given(st.dictionaries(st.sampled_from(sorted(COLOURS)), st.integers(0, 10**6)), st.integers(0, 300))
def test_a_bar_has_its_width_and_a_place_for_whatever_has_a_token(sections: dict[str, int], width: int) -> None:
    places = places_of(sections, width)
    there = {name for name, tokens in sections.items() if tokens}
    assert set(places) == there
    assert all(places.values())
    assert sum(places.values()) == (max(width, len(there)) if there else 0)


def test_search_gives_turns_with_their_session(trip: Run) -> None:
    found = parsed(trip, "search", "sister", "-k", "1")
    assert set(found) == {"relevance", "hits"}
    assert set(found["hits"][0]) == {"message_ids", "text", "score", "at", "session"}
    assert "Nadia" in trip("search", "sister").stdout
    assert parsed(trip, "search", "sister", "--here", "--session", "other")["hits"] == []


def test_facts_are_told_in_words(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(TYPES) == set(FACT_TYPES)
    trip("add", "Remind me to call the bank. I like green tea. My favourite color is blue.")
    monkeypatch.setattr(out, "_width", 120)
    shown = trip("facts").stdout.splitlines()
    rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in shown if "│" in line]
    assert ["profile", "sister Nadia, place", "Oslo"] in rows
    assert ["interest", "likes", "green tea"] in rows
    assert ["to do", "to do", "call the bank"] in rows
    assert not any("_" in cell or ":" in cell for row in rows for cell in row)


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
    page = parsed(trip, "history", "--session", "trip", "--before", "2")
    assert [line["content"] for line in page] == ["My sister Nadia moved to Oslo in May."]
    assert "recollect stats" in trip("history", "--session", "nothing").stdout


def test_what_finds_nothing_by_meaning_loads_no_model(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "onnx:a-folder-that-is-gone")
    assert "a-folder-that-is-gone" in trip("search", "Oslo", code=1).stderr
    for command in (["history"], ["facts"], ["export"], ["forget", "--session", "trip", "--yes"]):
        trip(*command)


def test_documents_are_kept_found_and_removed(run: Run, home: Path) -> None:
    (home / "guide.md").write_text("# Tomatoes\n\nWater tomatoes in the morning.")
    kept = parsed(run, "documents", "add", "guide.md")
    assert set(kept[0]) == {"name", "chunks", "tokens", "at", "hash", "metadata"}
    assert [document["name"] for document in parsed(run, "documents", "list")] == ["guide.md"]
    assert parsed(run, "documents", "search", "water tomatoes")[0]["document"] == "guide.md"
    assert parsed(run, "documents", "remove", "guide.md")["name"] == "guide.md"
    assert "guide.md" in run("documents", "remove", "guide.md", code=1).stderr


def test_chat_answers_from_memory_and_keeps_both(trip: Run) -> None:
    answer = parsed(trip, "chat", "Where does my sister live?")
    assert set(answer) == {"answer", "model", "tokens", "budget", "usage"}
    assert "Oslo" in answer["answer"]
    assert [line["role"] for line in parsed(trip, "history")] == ["user", "assistant"]


def test_chat_takes_a_line_at_a_time(trip: Run) -> None:
    said = trip("chat", "--session", "now", said="Where does my sister live?\n\nAnd my brother?\n").stdout
    assert "Oslo" in said
    assert [line["role"] for line in parsed(trip, "history", "--session", "now")] == ["user", "assistant"] * 2


def test_a_model_by_name_is_asked_with_what_memory_recalls(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        said = trip("chat", "Where does my sister live?", "--model", "openai:gpt-4o-mini").stdout
        assert "Nadia" in json.dumps(provider.requests[0].body)
    assert said == "In Oslo.\n"


def test_what_was_said_is_kept_though_the_model_fails(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."], faults=["unauthorized"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        failed = trip("chat", "Where does my sister live?", "--model", "openai:gpt-4o-mini", code=1)
    assert len(failed.stderr.splitlines()) == 1
    assert [line["content"] for line in parsed(trip, "history")] == ["Where does my sister live?"]


def test_a_conversation_goes_on_after_a_failure(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["In Oslo."], faults=["unauthorized"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        said = trip("chat", "--model", "openai:gpt-4o-mini", said="Hello?\nWhere does my sister live?\n")
    assert said.stdout == "In Oslo.\n"
    assert [line["role"] for line in parsed(trip, "history")] == ["user", "user", "assistant"]


def test_a_second_try_at_a_model_is_no_news(home: Path) -> None:
    with Provider("openai", ["In Oslo."], faults=["unavailable"]) as provider:
        reached = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "x"}
        command = [sys.executable, "-m", "recollect", "chat", "Hello", "--model", "openai:gpt-4o"]
        told = subprocess.run(command, env={**os.environ, **reached}, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, "In Oslo.\n", "")


def test_a_model_nobody_knows_is_refused_before_anything_is_kept(run: Run) -> None:
    assert "openai:gpt-4o-mini" in run("chat", "Hello", "--model", "nobody", code=1).stderr
    assert parsed(run, "history") == []


def test_what_would_be_copied_from_a_table_is_not_cut(run: Run) -> None:
    session = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    run("add", "My favourite programming language is Python.", "--session", session)
    assert session in run("stats").stdout
    assert "\u2026" not in run("facts").stdout
    shown = run("config").stdout
    assert all(row["name"] in shown for row in parsed(run, "config"))


def test_a_question_nobody_can_answer_says_how_to_go_on(trip: Run) -> None:
    trip("backup", "monday.backup")
    for command in (["forget", "--session", "trip"], ["restore", "monday.backup"]):
        told = trip(*command, code=1).stderr.splitlines()
        assert told[-1].startswith("ConfigError:") and "--yes" in told[-1]
    assert len(parsed(trip, "history", "--session", "trip")) == 3


def test_stats_count_sessions_days_sections_and_cached_prefixes(trip: Run) -> None:
    found = parsed(trip, "stats", "--session", "trip")
    assert set(found) == {"user", "messages", "tokens", "sessions", "days", "sections", "cached_prefix"}
    assert found["days"] == {"2026-05-20": 2, "2026-05-21": 1}
    assert list(found["cached_prefix"]) == ["1", "3"]
    assert found["sections"]["question"] > 0
    shown = trip("stats", "--session", "trip").stdout
    assert re.search(r"2026-05-20 █+ 2\n2026-05-21 █+ 1\n", shown)


def test_one_thing_is_told_as_one(run: Run, home: Path) -> None:
    run("add", "I like tea.")
    stats = run("stats").stdout
    assert re.match(r"1 message of ada, \d+ tokens, 1 session\n", stats)
    assert "the mean of the last 1 context of default" in stats
    assert "out.jsonl has 1 message. " in run("export", "out.jsonl").stderr
    brought = run("import", "out.jsonl", "--store", "other.db")
    assert brought.stdout == "New: 1 message of 1 conversation and 0 facts; here already: 0.\n"
    assert run("documents", "add", "-", "--name", "a", said="Tea.").stdout.startswith("a: 1 chunk, ")
    assert run("forget", code=1).stderr.startswith("1 message of session default of ada:\n")
    assert run("forget", "--session", "default", "--yes").stdout.startswith("Gone for good: 1 message, and ")


def test_stats_of_nobody_say_how_to_begin(trip: Run) -> None:
    said = trip("stats", "--user", "bo").stdout
    assert said == "Nothing was said by bo yet. Tell something with: recollect add TEXT\n"


def test_no_trace_of_a_progress_bar_where_there_is_no_terminal(trip: Run) -> None:
    trip("export", "out.jsonl")
    assert trip("import", "out.jsonl", "--store", "other.db").stderr == ""


def test_hits_stand_apart(trip: Run) -> None:
    assert "\n\n" in trip("search", "sister peanuts").stdout.rstrip()


def test_config_tells_an_option_from_its_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", "mine.db")
    rows = {row["name"]: (row["value"], row["from"]) for row in parsed(run, "config", "--user", "bo")}
    assert rows["store"] == ("mine.db", "the environment")
    assert rows["user"] == ("bo", "given")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:geheim@db:5432/memory", "postgresql://ada:***@db:5432/memory"),
        ("postgresql://db/memory?user=ada&password=geheim", "postgresql://db/memory?user=ada&password=***"),
        ("postgresql://ada:a:b/c@db/memory", "postgresql://ada:***@db/memory"),
        ("postgresql://ada@db/memory", "postgresql://ada@db/memory"),
    ],
)
def test_the_password_of_a_store_is_not_shown(run: Run, address: str, shown: str) -> None:
    rows = {row["name"]: row["value"] for row in parsed(run, "config", "--store", address)}
    assert rows["store"] == shown


def test_config_says_where_every_value_came_from(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "providers.yaml").write_text("agent:\n  context_budget: 9000\n  low_water: 0.5\n")
    (home / ".env").write_text("RECOLLECT_LOW_WATER=0.6\nRAG_CHUNK_SIZE=200\n")
    monkeypatch.setenv("RECOLLECT_MIN_TURNS", "2")
    rows = {row["name"]: (row["value"], row["from"]) for row in parsed(run, "config")}
    assert rows["context_budget"] == (9000, "providers.yaml, section agent")
    assert rows["low_water"] == (0.6, ".env")
    assert rows["chunk_tokens"] == (200, ".env")
    assert rows["min_turns"] == (2, "the environment")
    assert rows["min_messages"] == (2, "default")
    assert rows["user"] == ("ada", "default")
    assert "min_turns" in run("config").stdout


def test_a_setting_that_is_wrong_is_told_in_one_line(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LOW_WATER", "7")
    for command in (["config"], ["facts"]):
        assert trip(*command, code=1).stderr.startswith("ConfigError: the environment: low_water")


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"recollect {metadata.version('recollect')}\n"


def test_the_default_store_is_in_the_data_folder(run: Run, home: Path) -> None:
    missing = run("facts", code=1).stderr
    assert str(home / "memory.db") in missing and "recollect add" in missing
    run("add", "Hello.")
    assert (home / "memory.db").exists()


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


@given(st.text(st.characters(codec=None)))
def test_what_is_printed_steers_no_terminal(text: str) -> None:
    shown = printable(text)
    assert all(char.isprintable() or char in "\n\t" for char in shown)
    shown.encode()


def test_names_of_emoji_in_words_stay_words(run: Run) -> None:
    run("add", "Press :x: to close, or :smile:.")
    assert "Press :x: to close, or :smile:." in run("history").stdout
    assert ":x:" in run("search", "press close").stdout


def test_hostile_words_reach_the_terminal_as_words(run: Run) -> None:
    here = ("--session", "[/x]\x1b[2J")
    run("add", "[red]bold[/red] \x1b]0;title\x07 \x1b[2J wiped", *here)
    for command in (["history"], ["search", "bold"], ["context", "bold?"], ["stats"], ["facts"]):
        shown = run(*command, *here).stdout
        assert "\x1b" not in shown
    assert "[red]bold[/red]" in run("history", *here).stdout
    assert "model '[/x]' is not known" in run("models", "pull", "[/x]", code=1).stderr


@pytest.mark.parametrize("no_color", [True, False])
def test_colours_are_left_out_when_asked(trip: Run, home: Path, no_color: bool) -> None:
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", **({"NO_COLOR": "1"} if no_color else {})}
    env = {key: value for key, value in env.items() if no_color or key != "NO_COLOR"}
    command = [sys.executable, "-c", "from recollect.cli import main; main()", "context", "Where does my sister live?"]
    shown = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    coloured = bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", shown))
    assert coloured is not no_color


def test_help_is_there_before_anything_heavy_is_loaded(home: Path) -> None:
    code = (
        "import sys; from recollect.cli.app import app\n"
        "try: app()\n"
        "finally: print([name for name in ('numpy', 'recollect.memory', 'recollect.llm') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert told.stdout.endswith("[]\n")


def test_a_variable_with_a_misspelt_name_is_told_once_on_stderr(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CONTEXT_BUGDET", "100")
    said = run("config", "--json")
    told = "nothing reads RECOLLECT_CONTEXT_BUGDET: is RECOLLECT_CONTEXT_BUDGET or RECOLLECT_ALERT_BUDGET meant?\n"
    assert said.stderr == told
    assert json.loads(said.stdout)
