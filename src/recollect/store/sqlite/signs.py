"""The signs of vectors, a bit a number: 1/32 of their size, and enough to find those worth a closer look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CANDIDATES, MORE = 800, 3
"""How many vectors get a closer look, and how many more for each that is wanted; see docs/benchmarks.md."""
READ, READ_MORE = 400, 2
"""The same where each must be read from the file."""

BLOCK: Final = 65_536
_WIDER: Final = 10
_BY_HALF, _BY_ALL = 50, 400
"""One of how many vectors passes by half of its signs, and by all of them, at the least."""
_FAR: Final = 65_535


def signs(directions: NDArray[np.float32], mean: NDArray[np.float32] | float = 0.0) -> NDArray[np.uint64]:
    """A row of bits for each direction: where it is above the mean."""
    import numpy as np

    rows, size = directions.shape
    packed = np.zeros((rows, sign_words(size) * 8), np.uint8)
    packed[:, : -(-size // 8)] = np.packbits(directions > mean, axis=1)
    return packed.view(np.uint64)


def sign_words(size: int) -> int:
    """How many numbers of 64 bits hold the signs of a vector of that size."""
    return -(-size // 64)


def closest(
    bits: NDArray[np.uint64], asked: NDArray[np.float32], keep: NDArray[np.bool_] | None, k: int
) -> NDArray[np.intp]:
    """The places of those whose signs are most like the asked direction's: enough that the k nearest are among them.

    The first half of the bits leaves several times as many as get a closer look, all bits decide among these.
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
    """Of these places those whose signs go best with the asked numbers: a sign tells more where the number is large."""
    import numpy as np

    order = np.argsort(_sums(_taken(bits, places), asked), kind="stable")
    return places[order[-READ - READ_MORE * k :]]


def _taken(bits: NDArray[np.uint64], places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Some of the rows, word by word as all are kept: a third of the time that indexing takes."""
    return bits.T.take(places, axis=1).T


def _sums(bits: NDArray[np.uint64], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each row the sum of the asked numbers where its bit is set, looked up a byte at a time."""
    import numpy as np

    octets = np.ascontiguousarray(bits).view(np.uint8)
    numbers = np.zeros((octets.shape[1], 8), np.float32)
    numbers.reshape(-1)[: len(asked)] = asked
    sums = numbers @ np.unpackbits(np.arange(256, dtype=np.uint8)[np.newaxis], axis=0)
    found: NDArray[np.float32] = sums.reshape(-1).take(octets + np.arange(0, sums.size, 256)).sum(axis=1)
    return found


def _unlike(bits: NDArray[np.uint64], like: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each row differs; in blocks that stay in the processor's cache."""
    import numpy as np

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
    """Adds three words up in bytes before they go into the wider sum, which takes longer to add to."""
    import numpy as np

    if word % 3 == 0:
        few[:] = ones
    else:
        np.add(few, ones, out=few)
    if word % 3 == 2 or word == count - 1:
        np.add(out, few, out=out)


def _smallest(unlike: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """The places of about the `count` smallest; of very many, the bound is taken from a sample."""
    import numpy as np

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
