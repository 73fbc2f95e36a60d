"""How things stand on a terminal: tables, bars, colours and hostile words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from unicodedata import category
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.cli.context import COLOURS, places_of
from recollect.cli.terminal import out, printable, table

from .conftest import Run, parsed


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


def test_a_receipt_has_room_for_its_words_in_60_columns(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_width", 60)
    table, _, _ = trip("context", "Where does my sister live?", "--session", "trip").stdout.partition("└")
    assert "in the conversation" in " ".join(line.split("│")[4].strip() for line in table.splitlines()[3:])
    assert all(len(line) == 60 and len(line.split("│")[5]) > 12 for line in table.splitlines()[3:])


def test_on_a_narrow_terminal_rows_are_told_one_by_one(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_width", 40)
    here = ("--session", "trip")
    shown = {name: trip(*command).stdout for name, command in (
        ("facts", ["facts"]), ("stats", ["stats", *here]), ("context", ["context", "Where is Nadia?", *here])
    )}  # fmt: skip
    assert "key: sister:nadia:place\nvalue: Oslo\n" in shown["facts"]
    assert re.search(r"^2026-05-20 █+ 2$", shown["stats"], re.MULTILINE)
    assert re.search(r"^working  \d+  newest turns\nI am allergic to peanuts\.\n\n", shown["context"], re.MULTILINE)
    assert all(len(line) <= 40 for line in "".join((shown["facts"], shown["context"])).splitlines())


def test_a_mark_of_the_legend_stands_before_its_name_at_every_width(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in range(40, 100, 3):
        monkeypatch.setattr(out, "_width", width)
        legend = trip("context", "Where does my sister live?").stdout.rpartition("\n█ ")[2]
        assert all(re.search(r" [\d,]+ \(\d+%\) *$", line) for line in legend.splitlines()[:-1]), legend


@given(st.dictionaries(st.sampled_from(sorted(COLOURS)), st.integers(0, 10**6)), st.integers(0, 300))
def test_a_bar_has_its_width_and_a_place_for_whatever_has_a_token(sections: dict[str, int], width: int) -> None:
    places = places_of(sections, width)
    there = {name for name, tokens in sections.items() if tokens}
    assert set(places) == there
    assert all(places.values())
    assert sum(places.values()) == (max(width, len(there)) if there else 0)


def test_what_would_be_copied_from_a_table_is_not_cut(run: Run) -> None:
    session = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    run("add", "My favourite programming language is Python.", "--session", session)
    assert session in run("stats").stdout
    assert "\u2026" not in run("facts").stdout


def test_a_fact_is_told_in_a_line_in_80_columns_and_where_it_was_said_by_its_history(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 80)
    session = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    run("add", "I live in Oslo.", "--session", session)
    assert len([line for line in run("facts").stdout.splitlines() if line.startswith("│")]) == 1
    assert session in run("facts", "--history", "place").stdout


@pytest.mark.parametrize("session", ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "trip"])
def test_sessions_are_told_with_their_titles_in_80_columns(
    session: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 80)
    run(
        "add",
        "What is there to see in \u5965\u65af\u9646 on a rainy day with two small children?",
        "--session",
        session,
    )
    first, second = run("stats").stdout.splitlines()[4:6]
    assert re.fullmatch(rf"│ {session} +│ +1 │ +\d+ │ [\d-]+ \d\d:\d\d │", first)
    assert second.startswith("│ What is there to see in \u5965\u65af\u9646 on a… │ ")


def test_one_thing_is_told_as_one(run: Run, home: Path) -> None:
    run("add", "I like tea.")
    stats = run("stats").stdout
    assert re.match(r"1 message of ada, \d+ tokens, 1 session\n", stats)
    assert "the mean of the last 1 context of default" in stats
    assert "out.jsonl has 1 message. " in run("export", "out.jsonl").stderr
    brought = run("import", "out.jsonl", "--store", "other.db")
    new, hint = brought.stdout.split(". ")
    assert new == "New: 1 message of 1 conversation; here already: 0"
    assert hint == "See them with: recollect stats --store other.db\n"
    again = run("import", "out.jsonl", "--store", "my other.db", "--user", "bo")
    assert again.stdout.endswith(" with: recollect stats --store 'my other.db' --user bo\n")
    assert run("documents", "add", "-", "--name", "a", said="Tea.").stdout.startswith("a: 1 chunk, ")
    assert run("forget", code=1).stderr.startswith("1 message of session default of ada:\n")
    assert run("forget", "--session", "default", "--yes").stdout.startswith(
        ("Gone for good: 1 message,", "Gone for good: 1 message.")
    )


@pytest.mark.parametrize("long", ["word " * 5_000 + "the end", "line\n" * 50 + "the end"])
def test_at_a_terminal_a_huge_message_is_cut_and_the_way_to_all_of_it_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, long: str
) -> None:
    run("add", "-", said=f"About tea: {long}")
    looks = (["history"], ["search", "tea"])
    for look in looks:
        assert "the end" in run(*look).stdout
    monkeypatch.setattr(out, "_force_terminal", True)
    for look in looks:
        shown = run(*look).stdout
        assert "About tea: " in shown and "the end" not in shown and len(shown) < 1_500
        assert re.search(r"[\d,]+ more characters; all of it with --json, or by \| less", shown)
        assert "the end" in run(*look, "--json").stdout


def test_no_trace_of_a_progress_bar_where_there_is_no_terminal(trip: Run) -> None:
    trip("export", "out.jsonl")
    assert trip("import", "out.jsonl", "--store", "other.db").stderr == ""


def test_hits_stand_apart(trip: Run) -> None:
    assert "\n\n" in trip("search", "sister peanuts").stdout.rstrip()


@given(st.text(st.characters(codec=None)))
def test_what_is_printed_steers_no_terminal(text: str) -> None:
    shown = printable(text)
    turns = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert all(category(char) not in ("Cc", "Cs", "Zl", "Zp") or char in "\n\t" for char in shown)
    assert not set(turns).intersection(shown)
    shown.encode()


def test_lines_that_end_as_on_windows_are_printed_as_lines(run: Run) -> None:
    run("add", "Two\r\nlines")
    assert "Two\nlines\n" in run("history").stdout


@pytest.mark.parametrize("text", ["Allons\u202f!", "東京\u3000タワー", "می\u200cخواهم", "👨\u200d👩\u200d👧", "3\xa0€"])
def test_words_of_every_script_are_printed_as_they_are(text: str) -> None:
    assert printable(text) == text


def test_of_a_long_conversation_a_receipt_tells_the_newest_messages_one_by_one(run: Run) -> None:
    for number in range(9):
        run("add", f"Question {number}?")
    shown, _, _ = run("context", "And now?").stdout.partition("└")
    assert [f"Question {n}?" in shown for n in range(9)] == [False] * 3 + [True] * 6
    assert "3 messages before these" in shown
    assert len(parsed(run, "context", "And now?")["receipt"]["lines"]) >= 10


def test_numbers_of_a_table_stand_below_each_other_and_short_words_are_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("preference", 11891, "2026-06-02", "what was said about the ferry " * 3), ("profile", 7, "2026-06-02", "")]
    for width in (50, 30):
        monkeypatch.setattr(out, "_width", width)
        table(("type", "tokens", "said", "words"), rows)
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= width
        if width == 50:
            assert "preference │ 11,891 │ 2026-06-02 │" in shown
            assert "profile    │      7 │" in shown


def test_the_column_that_is_shown_whole_is_folded_before_short_words_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(out, "_width", 60)
    table(
        ("type", "key", "value", "said"),
        [("interest", "likes:thing number 0 0", "something", "2026-06-02")],
        whole="key",
    )
    assert {"interest", "2026-06-02"} <= set(capsys.readouterr().out.split())


WORDS = st.lists(st.sampled_from([1, 9, 12, 30]).map("x".__mul__), max_size=4).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=3), st.integers(60, 90), st.booleans())
@example([("x" * 10, "x" * 18, "xxxxxx xxxxxxxx", "x" * 10)], 60, True)
def test_a_table_has_its_right_edge_and_all_its_words(rows: list[tuple[str, ...]], width: int, whole: bool) -> None:
    with patch.object(out, "_width", width), out.capture() as shown:
        table(("type", "key", "value", "last said"), rows, whole="key" if whole else None)
    lines = shown.get().splitlines()
    assert lines[0][-1] == "┓" and {len(line) for line in lines} == {len(lines[0])} and len(lines[0]) <= width
    assert shown.get().count("x") == sum(cell.count("x") for row in rows for cell in row)


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
    assert "\x1b" not in run("forget", *here, code=1).stderr
    assert "\x1b" not in run("export", "out\x1b[2J.jsonl").stderr
    assert "model '[/x]' is not known" in run("models", "pull", "[/x]", code=1).stderr


@pytest.mark.parametrize("no_color", [True, False])
def test_colours_are_left_out_when_asked(trip: Run, home: Path, no_color: bool) -> None:
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", **({"NO_COLOR": "1"} if no_color else {})}
    env = {key: value for key, value in env.items() if no_color or key != "NO_COLOR"}
    command = [sys.executable, "-c", "from recollect.cli import main; main()", "context", "Where does she live?"]
    command += ["--session", "trip"]
    shown = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    coloured = bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", shown))
    assert coloured is not no_color
    assert not re.search(r"\x1b\[([0-9;]*;)?(37|9[237])m", shown), "can't be seen on a light background"


def test_bars_are_drawn_in_ascii_where_there_is_nothing_else(trip: Run) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    trip("add", "A long story. " * 50, "--session", "trip")
    here = ("--session", "trip")
    for bar, command in (
        (r"^[#=+]{5,}-+\n# overhead .*- free ", ["context", "Where does my sister live?", "--budget", "600", *here]),
        (r"^2026-05-20 #+ 2$", ["stats", *here]),
    ):
        told = subprocess.run([sys.executable, "-m", "recollect", *command], env=env, capture_output=True, check=True)
        shown = told.stdout.decode("ascii")
        assert re.search(bar, shown, re.MULTILINE)
        assert "?" not in shown.replace("live?", "")
