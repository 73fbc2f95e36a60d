"""What two lists have in common, in the order of both."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.align import align
from recollect.flow.matches import matches, overlap

WORDS = st.lists(st.sampled_from("abc"), max_size=12)


@given(WORDS, WORDS)
def test_matches_are_the_same_in_both_and_do_not_cross(one: list[str], other: list[str]) -> None:
    found = sorted(matches(one, other))
    assert all(one[a] == other[b] for a, b in found)
    assert sorted({b for _, b in found}) == [b for _, b in found]
    assert len({a for a, _ in found}) == len(found)


@given(st.lists(st.integers(), unique=True, max_size=40), st.data())
def test_of_an_edited_list_all_that_was_left_is_found(one: list[int], data: st.DataObject) -> None:
    left = [n for n in range(len(one)) if data.draw(st.booleans())]
    other = [item for n in left for item in ["new"] * data.draw(st.integers(0, 2)) + [one[n]]]
    assert [a for a, _ in sorted(matches(one, other))] == left


@given(WORDS, WORDS)
def test_two_lists_overlap_as_far_as_the_one_ends_and_the_other_begins(one: list[str], other: list[str]) -> None:
    ends = [n for n in range(min(len(one), len(other)) + 1) if one[len(one) - n :] == other[:n]]
    assert overlap(one, other) == max(ends)


def calls(work: Callable[[], Any]) -> int:
    """How many functions the work calls, those written in C as well."""
    count = 0

    def called(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_work_grows_with_the_length_whatever_is_said_again(words: int, chance: random.Random) -> None:
    known, said = ([chance.randrange(words) for _ in range(size)] for size in (400, 200))
    assert calls(lambda: align(known, [*said, "new"])) < 30 * (len(known) + len(said))
