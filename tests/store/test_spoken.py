"""What is read of many messages as one list is what is read of each by itself."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import StoreError
from recollect.store import codec, rules
from recollect.store.spoken import TOGETHER, decoded
from recollect.types import Message, Text, ToolResult, local_now

SAID = [
    Message("user", 'Ada said: "so, what?" \\ [1, {2}]', "a", name="Ada"),
    Message("assistant", (Text("one"), Text("two\ud800")), "b"),
    Message("tool", (ToolResult("c", "[]"),), "c"),
    Message("user", "", "d", metadata={"a": [1, [2]]}),
]
BODIES = [codec.encode(message) for message in rules.arrived(SAID, local_now())]
ROWS = [(place, "s", message.id, body) for place, (message, body) in enumerate(zip(SAID, BODIES, strict=True))]


@given(st.lists(st.sampled_from(ROWS), max_size=12), st.integers(1, 5))
def test_many_are_read_as_each_is(rows: list[tuple[int, str, str, bytes]], together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recollect.store.spoken.TOGETHER", together)
        assert decoded(rows) == [spoken for row in rows for spoken in decoded([row])]


damage = st.tuples(
    st.integers(0, 3), st.integers(0, 400), st.integers(0, 400), st.sampled_from([b"", b"},{", b"],[", b"1"])
)


@given(st.lists(damage, min_size=1, max_size=2))
@example([(0, 400, 400, b",{}")])
def test_one_that_is_damaged_is_told_whatever_stands_beside_it(cuts: list[tuple[int, int, int, bytes]]) -> None:
    bodies = list(BODIES)
    for place, start, end, put in cuts:
        bodies[place] = bodies[place][:start] + put + bodies[place][max(start, end) :]
    rows = [(place, "s", f"m{place}", body) for place, body in enumerate(bodies)]
    alone = list[object]()
    for row in rows:
        try:
            alone += decoded([row])
        except StoreError:
            with pytest.raises(StoreError):
                decoded(rows)
            return
    assert decoded(rows) == alone
    assert len(rows) <= TOGETHER
