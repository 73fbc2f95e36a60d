"""What two long lists have in common, in the order of both, in time that grows linearly with their length.

The time of the standard library's `difflib` grows with the cube of the length if the same items come again and again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

ROUNDS: Final = (4, 2, 1, 0)
"""Anchors are runs of so many items that both lists have once; with 0 it is each item, counted from the end."""


def matches(one: Sequence[Hashable], other: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Pairs of places at which both lists have the same item; no two pairs cross.

    First come the items that both lists begin and end with. Between those, runs that each list has only once are
    anchors, and between anchors the same is done again with shorter runs.
    """
    todo = [(0, len(one), 0, len(other), 0)]
    while todo:
        a, b, c, d, rounds = todo.pop()
        while a < b and c < d and one[a] == other[c]:
            yield a, c
            a, c = a + 1, c + 1
        while a < b and c < d and one[b - 1] == other[d - 1]:
            b, d = b - 1, d - 1
            yield b, d
        if a < b and c < d and rounds < len(ROUNDS):
            found = [(a + x, c + y) for x, y in _anchors(one[a:b], other[c:d], ROUNDS[rounds])]
            yield from found
            edges = [(a - 1, c - 1), *found, (b, d)]
            todo += [(x + 1, x2, y + 1, y2, rounds + 1) for (x, y), (x2, y2) in pairwise(edges)]


def overlap(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """The length of the longest run of items that both ends `one` and begins `other`."""
    shorter = list[int]()  # for each beginning of `other`: the longest shorter run that both begins and ends it
    size = 0
    for n, item in enumerate(other):
        size = _longer(other, shorter, size, item) if n else 0
        shorter.append(size)
    size = 0
    for item in one[max(0, len(one) - len(other)) :]:
        size = _longer(other, shorter, size, item)
    return size


def _longer(other: Sequence[Hashable], shorter: Sequence[int], size: int, item: Hashable) -> int:
    """How long a beginning of `other` ends with this item, if one of length `size` ended with the item before."""
    while size and other[size] != item:
        size = shorter[size - 1]
    return size + (other[size] == item)


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], size: int) -> list[tuple[int, int]]:
    """The longest series of pairs that do not cross, of runs that both lists have exactly once (patience sorting)."""
    places = _once(_runs(one, size))
    ends, chains = list[int](), list[Any]()  # the least end of a chain of each length, and that chain, linked
    for run, n in _once(_runs(other, size)).items():
        if (at := places.get(run)) is not None:
            length = bisect_left(ends, at)
            ends[length : length + 1] = [at]
            chains[length : length + 1] = [(at, n, chains[length - 1] if length else None)]
    found, link = list[tuple[int, int]](), chains[-1] if chains else None
    while link:
        at, n, link = link
        found.append((at, n))
    return found[::-1]


def _once(runs: Sequence[Hashable]) -> dict[Hashable, int]:
    """The runs that occur exactly once, each with its place, in order."""
    counts = Counter(runs)
    return {run: n for n, run in enumerate(runs) if counts[run] == 1}


def _runs(items: Sequence[Hashable], size: int) -> list[Hashable]:
    """For each item, the run of `size` items that ends with it; with size 0, the item and its count from the end."""
    if size:
        return [tuple(items[max(0, n - size + 1) : n + 1]) for n in range(len(items))]
    counts = Counter[Hashable]()
    counted = list[Hashable]()
    for item in reversed(items):
        counts[item] += 1
        counted.append((item, counts[item]))
    return counted[::-1]
