"""What memory makes of conversations, on the command line: facts stated outright, habits, summary, excerpts, tags."""

from __future__ import annotations

import pytest

from .conftest import Run, parsed


def test_a_fact_is_kept_in_place_of_what_was_known_and_can_be_ended(trip: Run) -> None:
    kept = parsed(trip, "remember", "place", "Bergen", "--session", "trip")
    assert (kept["type"], kept["key"], kept["value"], kept["session"]) == ("user_profile", "place", "Bergen", "trip")
    trip("remember", "place", "Rome")
    assert [fact["value"] for fact in parsed(trip, "facts") if fact["key"] == "place"] == ["Rome"]
    assert parsed(trip, "remember", "place", "--end") == {"ended": ["place"]}
    assert "place" not in {fact["key"] for fact in parsed(trip, "facts")}


def test_a_prompt_has_what_the_last_command_said(run: Run) -> None:
    run("add", "I live in Rome.", "--session", "a")
    run("facts")
    run("chat", "I live in Bergen now.", "--session", "b")
    told = run("context", "Where do I live?", "--session", "c", "--prompt").stdout
    assert "place: Bergen" in told and "place: Rome" not in told
    assert "You live in Bergen" in run("chat", "Where do I live?", "--session", "c").stdout


def test_every_value_of_a_fact_is_shown(trip: Run) -> None:
    for city in ("Bergen", "Rome"):
        trip("remember", "place", city)
    assert [fact["value"] for fact in parsed(trip, "facts", "--history", "place")] == ["Bergen", "Rome"]
    shown = trip("facts", "--history", "place").stdout
    assert "Bergen" in shown and "until" in shown
    assert parsed(trip, "facts", "--history", "place", "--session", "trip") == []
    assert "leave --as-of out" in trip("facts", "--history", "place", "--as-of", "2026-01-01", code=2).stderr


def test_what_was_made_of_conversations_is_searched_by_its_kind(trip: Run) -> None:
    trip("tools", "add", "Peanut prices rise.", "--source", "news", "--session", "trip")
    trip("add", "Hello.", "--session", "food")
    for kind, text in (("facts", "allergy: peanuts"), ("tools", "[tool news] Peanut prices rise."), ("turns", "I am")):
        (hit,) = parsed(trip, "search", "peanuts", "--kind", kind, "--here", "--session", "trip")["hits"]
        assert text in hit["text"]
        assert parsed(trip, "search", "peanuts", "--kind", kind, "--here", "--session", "food")["hits"] == []
    assert "--kind" in trip("search", "peanuts", "--kind", "fact", code=2).stderr


def test_a_fact_can_begin_a_store_and_its_kind_is_told(run: Run) -> None:
    said = run("remember", "seat", "by the window", "--type", "preference").stdout
    assert said == "Known about ada from now on. See all with: recollect facts\n"
    assert "preference" in run("facts").stdout


def test_what_to_do_next_is_told_for_the_store_and_user_that_were_named(run: Run) -> None:
    bo = ("--store", "my other.db", "--user", "bo")
    whose = "--store 'my other.db' --user bo\n"
    assert run("add", "Hello.", *bo).stdout.endswith(f" with: recollect search WORDS {whose}")
    assert run("facts", *bo).stdout.endswith(f" with: recollect add TEXT {whose}")
    assert run("remember", "place", "Oslo", *bo).stdout.endswith(f" with: recollect facts {whose}")
    assert run("facts", "--as-of", "2020-01-01", *bo).stdout.endswith(f" with: recollect facts {whose}")


def test_all_values_of_a_key_end_together(run: Run) -> None:
    for value in ("jazz", "green tea"):
        run("remember", "likes", value, "--type", "interest")
    run("remember", "likesome", "no")
    assert run("remember", "likes", "--end").stdout == "No longer known about ada: likes:jazz, likes:green tea.\n"
    assert [fact["key"] for fact in parsed(run, "facts")] == ["likesome"]


def test_a_key_can_be_taken_from_the_table_to_end_its_fact(trip: Run) -> None:
    trip("add", "My favourite programming language is Python.")
    keys = [fact["key"] for fact in parsed(trip, "facts")]
    shown = trip("facts").stdout
    assert keys and all(f"│ {key} " in shown for key in keys)
    for key in reversed(keys):
        trip("remember", key, "--end")
    assert parsed(trip, "facts") == []


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (("place",), 2, "give a value, or --end"),
        (("place", "Oslo", "--end"), 2, "give a value, or --end"),
        (("place", " "), 1, "ConfigError: the value is empty: give some text; nothing was kept\n"),
        (("place", "\udcff"), 1, "ConfigError: the value is not utf-8 text: convert it first; nothing was kept\n"),
        (("seat", "--end"), 1, "NotFound: nothing is known under 'seat': see the keys with `recollect facts`;"),
        (("siste", "--end"), 1, "under 'siste': perhaps 'sister:nadia' or 'sister:nadia:place' is meant; nothing"),
    ],
)
def test_a_fact_that_says_nothing_is_refused(trip: Run, given: tuple[str, ...], code: int, says: str) -> None:
    before = parsed(trip, "facts")
    assert says in trip("remember", *given, code=code).stderr
    assert parsed(trip, "facts") == before


def test_habits_are_told_with_their_evidence(run: Run) -> None:
    assert run("add", "Hello.") and "No habit shows yet" in run("patterns").stdout
    for session in "abc":
        run("add", "How do I export an invoice?", "--session", session)
    shown = run("patterns").stdout
    assert shown.startswith("4 turns of ada in 4 conversations\n- ")
    assert "Asked in 3 conversations: “How do I export an invoice?”" in shown
    assert parsed(run, "patterns")["questions"][0]["conversations"] == 3
    assert "Nothing was said by bo yet" in run("patterns", "--user", "bo").stdout


def test_a_summary_has_the_sentences_of_its_session(trip: Run) -> None:
    assert "- user: My sister Nadia moved to Oslo in May." in trip("summary", "--session", "trip").stdout
    assert parsed(trip, "summary", "--session", "trip")["text"].startswith("- user: ")
    trip("add", "Hi")
    assert parsed(trip, "summary") == {"session": "default", "text": ""}
    assert "Nothing worth a sentence was said by ada in the session default." in trip("summary").stdout


def test_excerpts_are_kept_listed_found_and_quoted(run: Run) -> None:
    kept = parsed(run, "tools", "add", "Rain in Bergen, 6 degrees.", "--source", "weather")
    assert (kept["text"], kept["source"]) == ("Rain in Bergen, 6 degrees.", "weather")
    run("tools", "add", "-", "--source", "timetable", said="The ferry is late.")
    assert [one["source"] for one in parsed(run, "tools", "list")] == ["weather", "timetable"]
    assert [one["source"] for one in parsed(run, "tools", "search", "Is the ferry late?")] == ["timetable"]
    assert "weather\nRain in Bergen" in run("tools", "list").stdout
    assert "[tool weather] Rain in Bergen" in run("context", "Will it rain in Bergen?", "--prompt").stdout


def test_where_there_are_no_excerpts_the_way_to_one_is_told(trip: Run) -> None:
    assert "recollect tools add TEXT --source NAME" in trip("tools", "list").stdout
    assert "recollect tools list" in trip("tools", "search", "rain").stdout
    assert "the excerpt is empty" in trip("tools", "add", " ", "--source", "weather", code=1).stderr
    assert "--source" in trip("tools", "add", "Rain.", code=2).stderr


def test_tags_are_set_as_what_they_are_and_taken_off(trip: Run) -> None:
    here = ("--session", "trip")
    id = parsed(trip, "history", *here)[0]["id"]
    assert trip("tag", id, "score=9", "topic=travel", *here).stdout == 'Tagged: score=9, topic="travel"\n'
    assert parsed(trip, "tag", id, "topic=null", "pinned=true", *here)["metadata"] == {"score": 9, "pinned": True}
    assert parsed(trip, "history", *here)[0]["metadata"] == {"score": 9, "pinned": True}


@pytest.mark.parametrize("wrong", ["score", "=9"])
def test_what_is_no_tag_is_told_with_the_form_expected(trip: Run, wrong: str) -> None:
    assert "write it like score=9" in trip("tag", "x", wrong, code=2).stderr


def test_a_tag_that_cannot_be_set_is_told(trip: Run) -> None:
    id = parsed(trip, "history", "--session", "trip")[0]["id"]
    assert (
        "no message 'x' in the session default: see the ids with `recollect history`"
        in trip("tag", "x", "score=9", code=1).stderr
    )
    assert "score is 11" in trip("tag", id, "score=11", "--session", "trip", code=1).stderr
