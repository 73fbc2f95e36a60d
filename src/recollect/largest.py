"""Which of many numbers are the largest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SPREAD = 8
"""How many groups there are for each number wanted. The more there are, the fewer other numbers are returned too."""

FEW = 4_000
"""Up to this many numbers, looking at all of them is faster than making groups."""


def largest(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The places of the `count` largest numbers and of a few more; every number left out is smaller than all of these.

    Of many numbers, only the maxima of groups are sorted: at least `count` numbers are as large as the `count`-th
    largest maximum.
    """
    groups = SPREAD * count
    if count >= len(values):
        return np.arange(len(values))
    if len(values) >= max(2 * groups, FEW):
        candidates = values[: len(values) // groups * groups].reshape(-1, groups).max(axis=0)
    else:
        candidates = values.copy()
    nth = len(candidates) - count
    candidates.partition(nth)
    places: NDArray[np.intp] = (values >= candidates[nth]).nonzero()[0]
    return places
