"""A user, a session or a key that is not there: told on stderr, with the ones that are."""

from __future__ import annotations

import pytest

from .conftest import Run, parsed

STATS = "see the others with `recollect stats`"


@pytest.mark.parametrize(
    ("command", "otherwise"),
    [
        (("history",), STATS), (("summary",), STATS), (("forget",), STATS), (("facts",), STATS),
        (("search", "sister", "--here"), STATS), (("recall", "sister", "--here"), STATS),
        (("context",), "give a question, or name another with"),
    ],
)  # fmt: skip
def test_a_session_that_is_not_there_is_told_with_one_like_it(
    trip: Run, command: tuple[str, ...], otherwise: str
) -> None:
    for given, says in (("trp", "perhaps 'trip' is meant"), ("Tri", "perhaps 'trip' is meant"), ("xyz", otherwise)):
        for more in ((), ("--json",)):
            told = trip(*command, "--session", given, *more, code=1)
            assert told.stdout == ""
            assert told.stderr.startswith(f"NotFound: nothing was said by ada in the session {given}: {says}")


def test_a_key_that_was_never_known_is_told_with_one_like_it(trip: Run) -> None:
    for given, says in (
        ("sister", "perhaps 'sister:nadia' or 'sister:nadia:place' is meant"),
        ("alergy:peanuts", "perhaps 'allergy:peanuts' is meant"),
        ("shoes", "see the keys with `recollect facts`"),
    ):
        told = trip("facts", "--history", given, code=1)
        assert (told.stdout, told.stderr) == (
            "",
            f"NotFound: nothing was ever known about ada under {given!r}: {says}\n",
        )


@pytest.mark.parametrize(
    "command",
    [
        ("facts",), ("stats",), ("patterns",), ("search", "sister"), ("recall", "sister"), ("documents", "list"),
        ("context", "Where?"), ("retention", "messages", "--days", "1", "--preview"),
    ],
)  # fmt: skip
def test_who_is_in_the_store_is_told_for_one_who_is_not(trip: Run, command: tuple[str, ...]) -> None:
    assert trip(*command).stderr == ""
    for user, says in (("ad", "perhaps 'ada' is meant"), ("root", "the store has ada")):
        told = trip(*command, "--user", user)
        assert told.stderr == f"Nothing was said by {user}: {says}. Name one with --user.\n"


def test_a_user_of_whom_only_facts_or_documents_are_kept_is_there(trip: Run) -> None:
    trip("remember", "place", "Oslo", "--user", "bob")
    trip("documents", "add", "-", "--name", "a.md", "--user", "carol", said="Oslo is in Norway.")
    for user, says in (("bo", "perhaps 'bob' is meant"), ("root", "the store has ada, carol, bob")):
        assert trip("facts", "--user", user).stderr == f"Nothing was said by {user}: {says}. Name one with --user.\n"
    for user in ("bob", "carol"):
        assert trip("facts", "--user", user).stderr == ""


def test_the_hint_is_no_part_of_what_machines_read(trip: Run) -> None:
    assert parsed(trip, "facts", "--user", "root") == []


def test_only_a_few_of_many_users_are_named(run: Run) -> None:
    for n in range(7):
        run("add", "Hello.", "--user", f"u{n}")
    assert run("facts", "--user", "root").stderr == (
        "Nothing was said by root: the store has u6, u5, u4, u3, u2, \u2026. Name one with --user.\n"
    )


def test_nobody_is_named_where_all_users_are_meant_or_the_store_is_empty(
    trip: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_USER", "root")
    assert trip("retention", "messages", "--days", "1", "--preview", "--everyone").stderr == ""
    assert trip("export", "-", "--everyone").stderr == ""
    assert trip("add", "Hello.", "--user", "root").stderr == ""
    trip("remember", "place", "Oslo", "--store", "new.db")
    assert trip("facts", "--store", "new.db").stderr == ""
