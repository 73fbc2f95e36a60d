from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.layers.columns import Columns
from recollect.layers.ranking import Ranking
from recollect.types import Scope


@given(
    st.lists(st.integers(0, 9), max_size=400),
    st.integers(0, 500),
    st.one_of(st.none(), st.sets(st.integers(0, 399))),
)
@example([3] * 300, 290, None)
@example([n % 7 for n in range(300)], 300, set(range(0, 300, 2)))
def test_the_best_turns_come_in_order_however_many_are_asked_for(
    scores: list[int], count: int, meant: set[int] | None
) -> None:
    places = None if meant is None else np.array(sorted(n for n in meant if n < len(scores)), np.int64)
    ranking = Ranking(np.array(scores, float), Columns(Scope("acme", "ada")), 0.0, places=places)
    in_order = sorted(range(len(scores)) if places is None else places.tolist(), key=lambda n: (-scores[n], n))
    assert ranking.count == len(in_order)
    assert list(ranking.best(count)) == in_order[:count]
    assert list(islice(ranking.best(len(scores)), count)) == in_order[:count]
