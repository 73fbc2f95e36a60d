"""The largest of many numbers, however many there are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.largest import largest


@given(st.lists(st.integers(-5, 5), max_size=400), st.integers(1, 30), st.sampled_from([1, 10, 100]))
def test_every_number_left_out_is_smaller_than_all_that_are_wanted(numbers: list[int], count: int, times: int) -> None:
    numbers = numbers * times
    places = largest(np.array(numbers, np.float32), count).tolist()
    assert places == sorted(set(places))
    wanted = sorted(numbers, reverse=True)[:count]
    assert sorted((numbers[place] for place in places), reverse=True)[:count] == wanted
    left_out = set(range(len(numbers))) - set(places)
    assert all(numbers[place] < wanted[-1] for place in left_out)


def test_few_more_than_wanted_pass() -> None:
    numbers = np.random.default_rng(1).normal(size=50_000)
    assert 100 <= len(largest(numbers, 100)) <= 150
