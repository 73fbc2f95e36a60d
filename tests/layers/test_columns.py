"""A scope's columns say the same whether they are read at once or grow turn by turn."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.rank import Turns
from recollect.layers.columns import Columns
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore
from recollect.store.words import words
from recollect.types import Message, Role, Scope
from tests.flow.test_rank import turns_of

OWNER = Scope("acme", "ada")
Spoken: TypeAlias = tuple[str, Role, str]
"""The session, the role and the words of a message."""
SPEAKERS: list[Role] = ["user", "assistant", "system"]
TEXTS = ["oslo trip", "Where to?", "a " * 150, " ", "oslo oslo"]

said = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(SPEAKERS), st.sampled_from(TEXTS)),
    max_size=100,
)


def columns_of(spoken: list[Spoken], every: int) -> Columns:
    store, columns = ReferenceStore(), Columns(OWNER)
    for number, (session, role, text) in enumerate(spoken):
        store.log.append(Scope("acme", "ada", session), [Message(role, text, f"m{number}")])
        if number % every == 0:
            columns.refresh(store)
    columns.refresh(store)
    return columns


def listed(turns: Turns) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in turns._asdict().items()}


@given(said, st.integers(1, 7))
def test_growing_columns_are_those_read_at_once(spoken: list[Spoken], every: int) -> None:
    grown, whole = columns_of(spoken, every), columns_of(spoken, len(spoken) + 1)
    assert grown.ids == whole.ids
    assert grown.words == whole.words
    assert listed(grown.turns()) == listed(whole.turns())
    assert [places.tolist() for places in grown.postings(["oslo", "trip"])] == [
        places.tolist() for places in whole.postings(["oslo", "trip"])
    ]


@given(said, st.integers(0, 100))
def test_columns_until_a_position_are_those_that_there_were(spoken: list[Spoken], count: int) -> None:
    then, whole = columns_of(spoken[:count], 1), columns_of(spoken, 3)
    cut = whole.until(count)
    assert (cut.ids, cut.words, cut.speakers, cut.names) == (then.ids, then.words, then.speakers, then.names)
    assert cut.with_assistant == then.with_assistant
    assert cut.lock is whole.lock  # what they share grows under it
    assert [cut.session(name) for name in "abc"] == [then.session(name) for name in "abc"]
    assert listed(cut.turns()) == listed(then.turns())
    asked = ["oslo", "trip", "never"]
    assert cut.holders(asked) == then.holders(asked)
    assert [places.tolist() for places in cut.postings(asked)] == [places.tolist() for places in then.postings(asked)]
    if len(then):
        near = np.arange(1, 101), np.linspace(0, 1, 100)
        assert [one.tolist() for one in cut.known(*near)] == [one.tolist() for one in then.known(*near)]


@given(said)
def test_neighbours_and_lenders_are_those_of_the_rule(spoken: list[Spoken]) -> None:
    turns = columns_of(spoken, 1).turns()
    lengths = [float(len(words(text))) for _, role, text in spoken if role != "system" and text.strip()]
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


@pytest.mark.parametrize("sentence", ["oslo {n}", "oslo trip " * 5, "word{n} " * 20])
def test_the_memory_they_take_is_about_what_they_say(sentence: str, tmp_path: Path) -> None:
    told = [Message("user", sentence.format(n=n)) for n in range(3_000)]
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
