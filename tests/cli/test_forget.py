"""What goes is shown first, and is gone for good."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run, parsed


def test_forget_shows_what_would_go_and_asks(trip: Run) -> None:
    asked = trip("forget", "--session", "trip", said="n\n", code=1)
    assert "3 messages" in asked.stderr and "Nadia" in asked.stderr
    assert "\n  and 3 facts\n" in asked.stderr
    first = parsed(trip, "history", "--session", "trip")[0]["id"]
    assert "\n  and 2 facts\n" in trip("forget", first, "--session", "trip", said="n\n", code=1).stderr
    assert len(parsed(trip, "history", "--session", "trip")) == 3
    assert len(parsed(trip, "facts")) == 3
    assert trip("forget", "--session", "trip", "--yes").stdout == "Gone for good: 3 messages, 3 facts.\n"


def test_forget_shows_a_line_of_a_long_message(run: Run) -> None:
    run("add", "word " * 100_000)
    told = run("forget", said="n\n", code=1).stderr.splitlines()
    assert told[1].startswith("  user: word word") and told[1].endswith("\u2026") and told[2].startswith("Erase")


def test_forget_shows_the_calls_of_a_message_without_words(run: Run) -> None:
    weather = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    call = {"role": "assistant", "content": None, "tool_calls": [weather]}
    asked = {"role": "user", "content": "Is it raining?"}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "6 °C, rain"}
    Path("talk.jsonl").write_text(json.dumps({"session_id": "default", "messages": [asked, call, result]}))
    run("import", "talk.jsonl")
    assert "  assistant: weather({})" in run("forget", said="n\n", code=1).stderr.splitlines()


def test_forget_erases_messages_by_id(trip: Run) -> None:
    first = parsed(trip, "history", "--session", "trip")[0]["id"]
    assert set(parsed(trip, "forget", first, "--session", "trip", "--yes")) == {"messages", "records", "items", "jobs"}
    assert "Oslo" not in trip("facts").stdout
    assert "recollect history" in trip("forget", first, "--session", "trip", "--yes", code=1).stderr


def test_a_message_of_another_session_is_told_with_it(trip: Run) -> None:
    first = parsed(trip, "history", "--session", "trip")[0]["id"]
    for command in (("forget", first, "--yes"), ("tag", first, "score=9")):
        told = trip(*command, code=1).stderr
        assert f"no message '{first}' in the session default: it is in trip, name that with --session" in told


def test_forget_everything_leaves_nothing_of_the_user(trip: Run) -> None:
    trip("add", "I live in Bergen.", "--user", "bo")
    trip("forget", "--everything", "--yes")
    assert parsed(trip, "stats")["messages"] == 0
    assert parsed(trip, "facts") == []
    assert parsed(trip, "stats", "--user", "bo")["messages"] == 1


def test_a_fact_is_shown_asked_about_and_erased(trip: Run) -> None:
    trip("remember", "place", "Rome")
    trip("remember", "place", "Oslo")
    asked = trip("forget", "--fact", "place", said="n\n", code=1).stderr
    assert "2 values known about" in asked and "  place: Rome (" in asked and "Erase this for good?" in asked
    assert len(parsed(trip, "facts", "--history", "place")) == 2
    assert [fact["value"] for fact in parsed(trip, "forget", "--fact", "place", "--yes")] == ["Rome", "Oslo"]
    assert "place" not in [fact["key"] for fact in parsed(trip, "facts")]
    assert trip("forget", "--fact", "sister:nadia", said="y\n").stdout == "Gone for good: 2 values.\n"
    assert "under 'place'" in trip("forget", "--fact", "place", "--yes", code=1).stderr
    for more in (("--everything",), ("--session", "trip"), ("x",)):
        assert "give nothing else to forget" in trip("forget", "--fact", "place", "--yes", *more, code=1).stderr
    assert len(parsed(trip, "history", "--session", "trip")) == 3


def test_forget_wants_ids_or_everything(trip: Run) -> None:
    assert "not both" in trip("forget", "x", "--everything", "--yes", code=1).stderr
    assert (
        "leave out either it or --session" in trip("forget", "--everything", "--session", "a", "--yes", code=1).stderr
    )
    assert parsed(trip, "stats")["messages"] > 0
    assert "recollect stats" in trip("forget", "--session", "nothing", "--yes", code=1).stderr


def test_forget_without_a_question_wants_to_be_told_what(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("add", "I live in Bergen.")
    monkeypatch.setenv("RECOLLECT_SESSION", "default")
    for nothing in ((), ("",)):
        run("forget", *nothing, "--yes", code=1)
    told = run("forget", "--yes", code=1).stderr
    assert all(way in told for way in ("ids", "--session", "--everything"))
    assert len(parsed(run, "history")) == 1
    assert parsed(run, "forget", "--session", "default", "--yes")["messages"] == 1


def test_forget_everything_of_nobody_is_an_error(trip: Run) -> None:
    told = trip("forget", "--everything", "--user", "nosuch", "--yes", code=1)
    assert told.stderr.splitlines()[-1].startswith("NotFound: nothing is kept of nosuch") and not told.stdout


def test_forget_everything_takes_documents_where_nothing_was_said(run: Run) -> None:
    run("documents", "add", "-", "--name", "guide", said="Water tomatoes in the morning.")
    assert "  and 1 document\n" in run("forget", "--everything", code=1).stderr
    assert parsed(run, "forget", "--everything", "--yes")["messages"] == 0
    assert parsed(run, "documents", "list") == []


def test_forget_takes_the_facts_of_a_session_that_retention_erased(run: Run) -> None:
    run("add", "I live in Bergen.", "--at", "2020-05-20")
    assert parsed(run, "facts")
    run("retention", "messages", "--idle", "1", "--yes")
    assert "  and 1 fact\n" in run("forget", code=1).stderr
    assert parsed(run, "forget", "--session", "default", "--yes")["records"] == 1
    assert parsed(run, "facts") == []
