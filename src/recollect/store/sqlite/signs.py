"""The signs of vectors, one bit per number: 1/32 of their size, and enough to find the vectors worth comparing."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CANDIDATES, MORE = 800, 3
"""How many vectors are compared, and how many more for each that is wanted; see docs/benchmarks.md."""
READ, READ_MORE = 400, 2
"""The same if each must be read from the file."""

BLOCK: Final = 65_536
_WIDER: Final = 10
_BY_HALF, _BY_ALL = 50, 400
"""By half of their signs at least one in `_BY_HALF` vectors passes, and by all of them at least one in `_BY_ALL`."""
_FAR: Final = 65_535


def signs(directions: NDArray[np.float32], mean: NDArray[np.float32] | float = 0.0) -> NDArray[np.uint64]:
    """A row of bits for each vector, set where it is above the mean."""
    rows, size = directions.shape
    packed = np.zeros((rows, sign_words(size) * 8), np.uint8)
    packed[:, : -(-size // 8)] = np.packbits(directions > mean, axis=1)
    return packed.view(np.uint64)


def sign_words(size: int) -> int:
    """How many 64-bit words the signs of a vector of that size take."""
    return -(-size // 64)


def closest(
    bits: NDArray[np.uint64], asked: NDArray[np.float32], keep: NDArray[np.bool_] | None, k: int
) -> NDArray[np.intp]:
    """The indexes of the vectors with the most similar signs: enough of them that the k nearest should be among them.

    The first half of the bits selects several times as many as are returned; all bits decide among these.
    """
    wanted = CANDIDATES + MORE * k
    like = signs(asked[None])[0]
    half = (len(like) + 1) // 2
    unlike = _unlike(bits[:, :half], like[:half])
    if keep is not None:
        unlike[~keep] = _FAR
    places = _smallest(unlike, max(_WIDER * wanted, len(bits) // _BY_HALF))
    rest = _unlike(_taken(bits[:, half:], places), like[half:])
    return places[_smallest(unlike[places] + rest, max(wanted, len(bits) // _BY_ALL))]


def worth_reading(
    bits: NDArray[np.uint64], asked: NDArray[np.float32], places: NDArray[np.intp], k: int
) -> NDArray[np.intp]:
    """The best of these indexes, with each sign weighted by the size of the number asked for at its place."""
    order = np.argsort(_sums(_taken(bits, places), asked), kind="stable")
    return places[order[-READ - READ_MORE * k :]]


def _taken(bits: NDArray[np.uint64], places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Some of the rows, taken column by column, as they are stored: three times as fast as indexing rows."""
    return bits.T.take(places, axis=1).T


def _sums(bits: NDArray[np.uint64], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each row the sum of the numbers asked for at its set bits, by a table lookup for each byte."""
    octets = np.ascontiguousarray(bits).view(np.uint8)
    numbers = np.zeros((octets.shape[1], 8), np.float32)
    numbers.reshape(-1)[: len(asked)] = asked
    sums = numbers @ np.unpackbits(np.arange(256, dtype=np.uint8)[np.newaxis], axis=0)
    found: NDArray[np.float32] = sums.reshape(-1).take(octets + np.arange(0, sums.size, 256)).sum(axis=1)
    return found


def _unlike(bits: NDArray[np.uint64], like: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each row differs, computed in blocks that fit the processor's cache."""
    out = np.zeros(len(bits), np.uint16)
    differ, ones, few = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, len(bits), BLOCK):
        here = slice(start, min(len(bits), start + BLOCK))
        room = slice(0, here.stop - start)
        for word in range(len(like)):
            np.bitwise_xor(bits[here, word], like[word], out=differ[room])
            np.bitwise_count(differ[room], out=ones[room])
            _sum_up(out[here], few[room], ones[room], word, len(like))
    return out


def _sum_up(out: NDArray[Any], few: NDArray[Any], ones: NDArray[Any], word: int, count: int) -> None:
    """Add up three words in bytes before adding them to `out`, because adding to its wider numbers is slower."""
    if word % 3 == 0:
        few[:] = ones
    else:
        np.add(few, ones, out=few)
    if word % 3 == 2 or word == count - 1:
        np.add(out, few, out=out)


def _smallest(unlike: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """The indexes of about the `count` smallest; the limit is estimated from a sample if there are very many."""
    if len(unlike) <= count:
        return np.flatnonzero(unlike < _FAR)
    sample = unlike[:: max(1, len(unlike) // 50_000)]
    place = min(len(sample) - 1, -(-count * len(sample) // len(unlike)))
    bound = int(np.searchsorted(np.cumsum(np.bincount(sample)), place, side="right"))
    found = np.flatnonzero(unlike <= min(bound, _FAR - 1))
    if len(found) > 4 * count:
        newest = found[::-1]
        found = np.sort(newest[np.argsort(unlike[newest], kind="stable")[:count]])
    return found
