"""A scope's columns say the same whether they are read at once or grow turn by turn."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.flow.passages import passages
from recollect.flow.rank import ASKS, ECHOED, Turns, long
from recollect.layers import columns as columns_module
from recollect.layers import postings, ranking
from recollect.layers.columns import A_SCOPE, Columns
from recollect.layers.ranking import Asked, Ranker
from recollect.llm.recall import NOTHING, OPENING
from recollect.recent import forget_all
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore
from recollect.store.words import words
from recollect.types import Message, Role, Scope, ToolResult
from tests.flow.test_rank import turns_of

OWNER = Scope("acme", "ada")
Spoken: TypeAlias = tuple[str, Role, str]
"""The session, the role and the words of a message."""
SPEAKERS: list[Role] = ["user", "assistant", "tool", "system"]
QUOTED = f"{OPENING}\n\nRecalled from earlier:\n> user: oslo trip"
TEXTS = [
    *(
        "oslo trip",
        "Where to?",
        "a " * 350,
        " ",
        "oslo oslo",
        "Trips to Oslo\u2019s fjörds \u2013 moved",
        "...",
        "どこ\uff1f",
        "أين\u061f",
    ),
    *("東京に行く trip", "नमस्ते दुनिया", "☕ \U0001f600", "word1 word2 word3"),
    *("sixteen0characters sixteen0character", "sixteen0characterX eightier eightierX Eightier_x\x00y \ud800"),
    QUOTED,
    NOTHING,
    "Oslo, a long trip. " * 250 + "Where to?",
]
NAMES = [None, "Ada Lovelace", "bot", "ÅSA"]
ZONE = timezone(timedelta(hours=5, minutes=30))

said = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(SPEAKERS), st.sampled_from(TEXTS)),
    max_size=100,
)


def message(number: int, role: Role, text: str) -> Message:
    at = datetime(2026, 1, 1, 20, tzinfo=ZONE) + timedelta(hours=7 * number)
    content = (ToolResult("c", text),) if role == "tool" else text
    return Message(role, content, f"m{number}", at, name=NAMES[(number + len(text)) % len(NAMES)])


def columns_of(spoken: list[Spoken], every: int) -> Columns:
    store, columns = ReferenceStore(), Columns(OWNER)
    for number, (session, role, text) in enumerate(spoken):
        store.log.append(Scope("acme", "ada", session), [message(number, role, text)])
        if (number + 1) % every == 0:
            columns.refresh(store)
    columns.refresh(store)
    return columns


def told(columns: Columns) -> dict[str, Any]:
    """Everything that columns say."""
    vocabulary = sorted({word for text in TEXTS for word in words(text)})
    return {
        **listed(columns.turns()),
        "spans": columns.spans,
        "ids": [*map(columns.id_of, range(len(columns)))],
        "words": list(columns.words),
        "speakers": columns.speakers,
        "names": columns.names,
        "bytes": columns.bytes,
        "position": columns.position,
        "positions": [columns.position_of(place) for place in range(len(columns))],
        "with assistant": columns.with_assistant,
        "sessions": [columns.session(name) for name in "abc"],
        "holders": columns.holders(vocabulary),
        "holding": [places.tolist() for places in columns.holding(vocabulary)],
    }


def listed(turns: Turns) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in turns._asdict().items()}


@given(said, st.integers(1, 7))
def test_growing_columns_are_those_read_at_once(spoken: list[Spoken], every: int) -> None:
    grown, whole = columns_of(spoken, every), columns_of(spoken, len(spoken) + 1)
    assert told(grown) == told(whole)
    assert [places.tolist() for places in grown.postings(["oslo", "trip"])] == [
        places.tolist() for places in whole.postings(["oslo", "trip"])
    ]


@given(said, st.integers(1, 30), st.integers(0, 5), st.integers(0, 20))
def test_columns_read_in_pages_are_those_read_message_by_message(
    spoken: list[Spoken], page: int, known: int, few: int
) -> None:
    one_by_one = columns_of(spoken, 1)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PAGE": page, "A_FEW": few, "ROOM": 1}.items():
            patch.setattr(columns_module, name, value)
        for name, value in {"KNOWN": known, "SLOTS": 2, "BLOCK": 3}.items():
            patch.setattr(postings, name, value)
        forget_all()  # the vocabulary has as many slots as there were when it was made
        try:
            assert told(columns_of(spoken, len(spoken) + 1)) == told(one_by_one)
        finally:
            forget_all()


def is_turn(role: Role, text: str) -> bool:
    return role != "system" and bool(text.strip()) and (role != "assistant" or text not in (QUOTED, NOTHING))


def only_quoted(spoken: list[Spoken]) -> set[str]:
    """The ids of the questions that got nothing but memory's own words."""
    found, last = set[str](), dict[str, tuple[str, bool]]()
    for number, (session, role, text) in enumerate(spoken):
        if is_turn(role, text):
            last[session] = (
                f"m{number}",
                role == "user" and len(text) < 100 and text.endswith(("?", "\uff1f", "\u061f")),
            )
        elif (role, text) == ("assistant", QUOTED) and last.get(session, ("", False))[1]:
            found.add(last[session][0])
    return found


@given(said)
@example([("a", "user", "Where to?"), ("b", "user", "oslo trip"), ("a", "assistant", QUOTED), ("a", "user", "...")])
def test_columns_say_of_each_message_what_it_says(spoken: list[Spoken]) -> None:
    columns = columns_of(spoken, len(spoken) + 1)
    kept = [
        (session, message(number, role, text), text[start:end])
        for number, (session, role, text) in enumerate(spoken)
        if is_turn(role, text)
        for start, end in passages(text)
    ]
    turns = columns.turns()
    assert [*map(columns.id_of, range(len(columns)))] == [(session, each.id) for session, each, _ in kept]
    assert list(columns.words) == [len(words(text)) for *_, text in kept]
    assert turns.worth.tolist() == [
        ASKS * text.endswith(("?", "\uff1f", "\u061f")) + ECHOED * (each.id in only_quoted(spoken))
        for _, each, text in kept
    ]
    assert turns.long.tolist() == [long(len(words(text))) for *_, text in kept]
    assert turns.day.tolist() == [each.at.astimezone(UTC).toordinal() for _, each, _ in kept if each.at]
    for hours in (-12, 5.5, 14):
        zone = timezone(timedelta(hours=hours))
        days = [each.at.astimezone(zone).toordinal() for _, each, _ in kept if each.at]
        assert columns.turns(timedelta(hours=hours)).day.tolist() == days
    assert turns.own.tolist() == [each.role == "user" for _, each, _ in kept]
    speakers = [each.name or each.role for _, each, _ in kept]
    assert list(columns.speakers) == list(dict.fromkeys(speakers))
    assert turns.speaker.tolist() == [columns.speakers[speaker] for speaker in speakers]
    assert columns.names == {word for speaker in speakers for word in words(speaker)}
    holding = dict[str, list[int]]()
    for place, (*_, text) in enumerate(kept):
        for word in words(text):
            holding.setdefault(word, []).append(place)
    assert [places.tolist() for places in columns.holding(list(holding))] == list(holding.values())


def test_columns_know_more_words_than_a_short_number_can_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "A_FEW", 1)
    many = " ".join(f"w{number}" for number in range(2**16 + 2))
    monkeypatch.setattr(columns_module, "LONG", len(many))
    columns = columns_of([("a", "user", many), ("a", "user", f"oslo w0 w1 w{2**16} w{2**16 + 1}")], 3)
    asked = ["w0", "w1", "w2", f"w{2**16}", f"w{2**16 + 1}", "oslo"]
    assert [places.tolist() for places in columns.holding(asked)] == [[0, 1], [0, 1], [0], [0, 1], [0, 1], [1]]


@given(said, st.integers(0, 100))
@example([("a", "user", "Where to?"), ("a", "assistant", QUOTED)], 1)
def test_columns_until_a_position_are_those_that_there_were(spoken: list[Spoken], count: int) -> None:
    count %= len(spoken) + 1
    then, whole = columns_of(spoken[:count], 1), columns_of(spoken, 3)
    cut = whole.until(count)
    differ = ("bytes", "position")  # they share what is held of words, and the log may have gone on without turns
    assert {**told(cut), **dict.fromkeys(differ)} == {**told(then), **dict.fromkeys(differ)}
    assert cut.lock is whole.lock  # what they share grows under it
    asked = ["oslo", "trip", "never"]
    assert cut.holders(asked) == then.holders(asked)
    assert [places.tolist() for places in cut.postings(asked)] == [places.tolist() for places in then.postings(asked)]
    if len(then):
        near = np.arange(1, 101), np.linspace(0, 1, 100)
        assert [one.tolist() for one in cut.known(*near)] == [one.tolist() for one in then.known(*near)]


@given(said, st.integers(0, 100))
def test_columns_read_until_a_position_go_on_from_there(spoken: list[Spoken], count: int) -> None:
    store, columns, count = ReferenceStore(), Columns(OWNER), count % (len(spoken) + 1)
    for number, (session, role, text) in enumerate(spoken):
        store.log.append(Scope("acme", "ada", session), [message(number, role, text)])
    columns.refresh(store, count)
    assert told(columns) == told(columns_of(spoken[:count], 1))
    columns.refresh(store)
    assert told(columns) == told(columns_of(spoken, 1))


@given(said)
def test_neighbours_and_lenders_are_those_of_the_rule(spoken: list[Spoken]) -> None:
    turns = columns_of(spoken, 1).turns()
    parts = [text[slice(*span)] for _, role, text in spoken if is_turn(role, text) for span in passages(text)]
    lengths = [float(len(words(part))) for part in parts]
    expected = turns_of(turns.session.tolist(), lengths)
    for name in ("before", "after", "lenders", "length", "runs"):
        assert (getattr(turns, name) == getattr(expected, name)).all(), name


def test_positions_of_the_log_are_turns_and_others_are_left_out() -> None:
    spoken: list[Spoken] = [("a", "user", "one"), ("a", "system", "rules"), ("b", "user", "two")]
    columns = columns_of(spoken, 1)
    store = ReferenceStore()
    for number, session in enumerate("aab"):
        store.log.append(Scope("acme", "ada", session), [Message("user", "x", f"m{number}")])
    first, system, last = [entry.position for entry in store.log.scan(OWNER)]
    asked = np.array([last, 10_000, 0, system, first])
    places, cosines = columns.known(asked, np.array([0.9, 0.8, 0.7, 0.6, 0.5]))
    assert (places.tolist(), cosines.tolist()) == ([1, 0], [0.9, 0.5])


def test_of_many_turns_words_that_tell_little_are_not_looked_up() -> None:
    many: list[Spoken] = [("a", "user", "oslo again" if n % 700 else "oslo trip") for n in range(2_100)]
    columns = columns_of(many, len(many))
    assert [places.tolist() for places in columns.postings(["oslo", "trip"])] == [[0, 700, 1_400]]
    assert [len(places) for places in columns.postings(["oslo"])] == [2_100]
    few = columns_of(many[:900], len(many))
    assert [len(places) for places in few.postings(["oslo", "trip"])] == [2, 900]


def test_a_word_said_twice_stands_there_twice() -> None:
    columns = columns_of([("a", "user", "oslo oslo"), ("a", "user", "oslo")], 1)
    assert [places.tolist() for places in columns.postings(["oslo", "never"])] == [[0, 0, 1]]


MANY = 3_000


@pytest.mark.parametrize(
    ("sentence", "turns"),
    [("", 0), ("oslo trip", 2), ("oslo {n}", MANY), ("oslo trip " * 5, MANY), ("word{n} " * 20, MANY)],
)
def test_the_memory_they_take_is_about_what_they_say(sentence: str, turns: int, tmp_path: Path) -> None:
    told = [Message("user", sentence.format(n=n)) for n in range(turns)]
    with SqliteStore(tmp_path / "memory.db") as store:
        store.log.append(Scope("acme", "ada", "a"), told)
        Columns(OWNER).refresh(store)  # what is made once in a process does not count
        tracemalloc.start()
        try:
            columns = Columns(OWNER)
            columns.refresh(store)
            taken, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert 0.5 < columns.bytes / taken < 2


def test_users_who_never_said_a_word_are_forgotten_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "KEPT_BYTES", 10 * A_SCOPE)
    ranker = Ranker(ReferenceStore())
    for number in range(100):
        ranker.rank(Asked("Where?", datetime.now(UTC), Scope("acme", f"nobody {number}")))
    assert len(ranker._kept) <= 12
