"""What has been kept long enough is shown first, and then is gone for good."""

from __future__ import annotations

import pytest

from .conftest import Run, parsed


@pytest.fixture
def old(run: Run) -> Run:
    """The command line over a session of ada's that is years old."""
    for text in ("My sister Nadia moved to Oslo in May.", "Noted!", "I am allergic to peanuts."):
        role = "assistant" if text == "Noted!" else "user"
        run("add", text, "--role", role, "--session", "trip", "--at", "2020-05-20")
    return run


def test_what_is_too_old_is_shown_and_goes_when_the_answer_is_yes(old: Run) -> None:
    old("add", "And this is new.", "--session", "trip")
    told = old("retention", "messages", "--days", "90", said="n\n", code=1)
    assert "messages" in told.stderr and "3" in told.stderr and "2020-05-20" in told.stderr
    assert len(parsed(old, "history", "--session", "trip")) == 4
    told = old("retention", "messages", "--days", "90", said="y\n")
    assert told.stdout.endswith("Gone for good: 3 messages, and 0 things kept with them.\n")
    assert [message["content"] for message in parsed(old, "history", "--session", "trip")] == ["And this is new."]


def test_a_preview_touches_nothing(old: Run) -> None:
    (going,) = parsed(old, "retention", "messages", "--idle", "30", "--preview")
    assert (going["layer"], going["count"], going["oldest"]) == ("messages", 3, "2020-05-20T00:00:00+00:00")
    assert len(parsed(old, "history", "--session", "trip")) == 3
    assert parsed(old, "retention", "documents", "--count", "5", "--preview") == []
    assert old("retention", "documents", "--count", "5", "--preview").stdout == "Nothing would go.\n"
    assert old("retention", "documents", "--count", "5").stdout == "There was nothing to erase.\n"


def test_it_is_of_one_user_unless_everyone_is_meant(old: Run) -> None:
    old("add", "I live in Bergen.", "--user", "bo", "--at", "2020-05-20")
    assert parsed(old, "retention", "messages", "--count", "0", "--yes")["messages"] == 3
    assert parsed(old, "stats", "--user", "bo")["messages"] == 1
    both = old("retention", "messages", "--count", "0", "--everyone", "--user", "eve", "--yes", code=1)
    assert both.stderr == "ConfigError: --everyone means all users: leave out either it or --user; nothing was erased\n"
    assert parsed(old, "retention", "messages", "--count", "0", "--everyone", "--yes")["messages"] == 1


def test_a_policy_that_says_nothing_is_told(old: Run) -> None:
    assert "give days, count or idle" in old("retention", "messages", "--yes", code=1).stderr
    assert "only sessions of messages are idle" in old("retention", "facts", "--idle", "3", "--yes", code=1).stderr
    assert "nothing" in old("retention", "nothing", "--days", "3", "--yes", code=2).stderr
