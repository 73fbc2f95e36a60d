"""A question asked again has the conversation as it was shown before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.assemble import Shown
from recollect.layers.settled import Before
from recollect.types import Message

TURNS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 9)), min_size=1, max_size=6)


def words(message: Message) -> int:
    return len(message.text.split())


@given(TURNS, st.integers(0, 3))
def test_turns_that_made_room_before_are_left_out_again_but_the_last_and_those_pinned_since(
    turns: list[tuple[bool, bool, int]], left_out: int
) -> None:
    talk, gone, ids = list[Message](), set[str](), set[str]()
    for n, (was_shown, pinned, length) in enumerate(turns):
        asked = Message("user", "word " * length, id=f"q{n}", metadata={"pinned": pinned})
        talk += [asked, Message("assistant", "Noted.", id=f"a{n}")]
        if was_shown:
            ids |= {f"q{n}", f"a{n}"}
        elif not pinned and n < len(turns) - 1:
            gone |= {f"q{n}", f"a{n}"}
    shown = Before({}, frozenset(ids)).shown(Shown(tuple(talk), sum(map(words, talk)), 7, left_out), words)
    assert shown.messages == tuple(one for one in talk if one.id not in gone)
    assert (shown.tokens, shown.left_out) == (sum(map(words, shown.messages)), left_out + len(gone))
    assert shown.overhead == 7
