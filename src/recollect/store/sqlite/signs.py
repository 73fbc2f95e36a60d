"""The signs of vectors, a bit a number: 1/32 of their size, and enough to find those worth a closer look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from recollect.store.sqlite.rows import Rows, empty

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CANDIDATES: Final = 1_000
"""How many vectors get a closer look."""

BLOCK: Final = 65_536
_FIRST: Final = 20
_FAR: Final = 65_535


class Signs:
    """What is known about many vectors, with their signs instead of their numbers; room to grow at the end."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self._rows = empty(0, 0)
        self._bits = _no_bits(size, 0)

    @property
    def rows(self) -> Rows:
        """What is known about each, without the vectors."""
        return self._rows.head(self.count)

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return self._bits.nbytes + sum(column.nbytes for column in self._rows.columns())

    def add(self, more: Rows) -> None:
        """Takes in more vectors."""
        need = self.count + len(more.position)
        if need > len(self._rows.position):
            self._grow(max(need, need * 5 // 4))
        for column, new in zip(self._rows.columns()[:-1], more.columns()[:-1], strict=True):
            column[self.count : need] = new
        self._bits[:, self.count : need] = _signs(more.unit).T
        self.count = need

    def _grow(self, room: int) -> None:
        rows, bits = empty(room, 0), _no_bits(len(self._bits) * 64, room)
        for column, old in zip(rows.columns(), self._rows.columns(), strict=True):
            column[: self.count] = old[: self.count]
        bits[:, : self.count] = self._bits[:, : self.count]
        self._rows, self._bits = rows, bits

    def view(self) -> Signs:
        """The same as it is now, whatever is added later."""
        view = object.__new__(Signs)
        view.count, view._rows, view._bits = self.count, self.rows, self._bits[:, : self.count]
        return view

    def closest(self, asked: NDArray[np.float32], keep: NDArray[np.bool_] | None, k: int) -> NDArray[np.int64]:
        """The places of those whose signs are most like the asked vector's: several times k, and CANDIDATES at least.

        The first half of the bits leaves twenty times as many, all bits decide among them.
        """
        import numpy as np

        wanted = max(CANDIDATES, 20 * k)
        asked_bits = _signs(asked[np.newaxis])[0]
        half = len(asked_bits) if self.count <= wanted * _FIRST else (len(asked_bits) + 1) // 2
        unlike = _unlike(self._bits[:half, : self.count], asked_bits[:half])
        if keep is not None:
            unlike[~keep] = _FAR
        places = _smallest(unlike, wanted * _FIRST)
        if half < len(asked_bits):
            rest = _unlike(self._bits[half:, places], asked_bits[half:])
            unlike = unlike[places] + rest
            places = places[_smallest(unlike, wanted)]
        else:
            places = places[_smallest(unlike[places], wanted)]
        return places


def _no_bits(size: int, count: int) -> NDArray[np.uint64]:
    import numpy as np

    return np.empty((-(-size // 64), count), np.uint64)


def _signs(unit: NDArray[np.float32]) -> NDArray[np.uint64]:
    import numpy as np

    rows, size = unit.shape
    packed = np.zeros((rows, -(-size // 64) * 8), np.uint8)
    packed[:, : -(-size // 8)] = np.packbits(unit > 0, axis=1)
    return packed.view(np.uint64)


def _unlike(bits: NDArray[np.uint64], asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """In how many bits each column differs; in blocks that stay in the processor's cache."""
    import numpy as np

    words, count = bits.shape
    out = np.zeros(count, np.uint16)
    differ, ones, few = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for start in range(0, count, BLOCK):
        here = slice(start, min(count, start + BLOCK))
        room = slice(0, here.stop - start)
        for word in range(words):
            np.bitwise_xor(bits[word, here], asked[word], out=differ[room])
            np.bitwise_count(differ[room], out=ones[room])
            _sum_up(out[here], few[room], ones[room], word, words)
    return out


def _sum_up(out: NDArray[Any], few: NDArray[Any], ones: NDArray[Any], word: int, words: int) -> None:
    """Adds up three words in a byte each before they go into the wider sum, which is slower to add to."""
    import numpy as np

    if word % 3 == 0:
        few[:] = ones
    else:
        np.add(few, ones, out=few)
    if word % 3 == 2 or word == words - 1:
        np.add(out, few, out=out)


def _smallest(unlike: NDArray[np.uint16], count: int) -> NDArray[np.int64]:
    """Where the smallest are: about so many, not fewer while there are any that count."""
    import numpy as np

    if len(unlike) > count:
        sample = unlike[:: max(1, len(unlike) // 50_000)]
        place = min(len(sample) - 1, -(-count * len(sample) // len(unlike)))
        bound = np.partition(sample, place)[place]
        return np.flatnonzero(unlike <= min(bound, _FAR - 1))
    return np.flatnonzero(unlike < _FAR)
