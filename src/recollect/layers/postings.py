"""Which turns of a scope hold each word, by its stem. Numpy handles the words of many turns as numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recollect.flow.rank import Marks, Places
from recollect.store.stem import stem
from recollect.store.words import split, words

KNOWN, WAITING = 50_000, 2**20
"""How many different words are remembered while turns are taken in, and how many words wait to be put away."""
SLOTS: Final = 18
"""Bits of a slot's number. The last word of each slot is looked up by numpy, others in a dictionary, more slowly."""
BLOCK: Final = 8_192
"""How many words are looked up at a time; new ones are in their slots from the next block on."""
LONG: Final = 16
"""Words of more bytes are looked up in the dictionary only."""

_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_PLAIN: Final = bytes(
    byte if byte >= 128 else lower if (lower := ord(chr(byte).lower())) in _LETTERS else 32 for byte in range(256)
)
_BYTES: Final = np.array([256**size - 1 for size in range(9)], np.uint64)
_ODD: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Postings:
    """The places of the turns that hold each stem, in order; a turn appears as often as it holds the stem."""

    def __init__(self) -> None:
        self._places: dict[str, array[int]] = defaultdict(lambda: array("i"))

    def __len__(self) -> int:
        return len(self._places)

    def held(self, word: str, before: int) -> Sequence[int]:
        """The places of a stem before the place `before`."""
        held: Sequence[int] = self._places.get(word, ())
        return held if not held or held[-1] < before else held[: bisect_left(held, before)]

    def add(self, texts: Sequence[str], place: int) -> list[int]:
        """Add the texts of turns, the first of which is at `place`; returns how many words each has."""
        said = list(map(words, texts))
        for at, held in enumerate(said, place):
            for word in held:
                self._places[word].append(at)
        return list(map(len, said))

    def extend(self, stems: Sequence[str], said: Marks, places: Marks) -> None:
        """Add words as the numbers of their stems, each with its place; all places are after those added before."""
        short = said.astype(np.uint16) if len(stems) <= 2**16 else said  # short ones are sorted much faster
        data, start = places[np.argsort(short, kind="stable")].tobytes(), 0
        counts = np.bincount(said)
        there = np.flatnonzero(counts)
        ends = np.cumsum(counts[there]) * places.itemsize
        for number, end in zip(there.tolist(), ends.tolist(), strict=True):
            self._places[stems[number]].frombytes(data[start:end])
            start = end


class Many(dict[bytes, int]):
    """Collects the words of many turns for the postings. It is a dict from each word to the number of its stem.

    For numpy, a word is two numbers of eight bytes each; its slot in the table is computed from them.
    """

    def __init__(self, postings: Postings) -> None:
        super().__init__()
        self._postings, self._stems = postings, dict[str, int]()
        self._said, self._counts, self._start = list[Marks](), list[int](), 0
        self._first, self._second = np.zeros(2**SLOTS, np.uint64), np.zeros(2**SLOTS, np.uint64)
        self._number = np.zeros(2**SLOTS, np.int32)

    def __missing__(self, word: bytes) -> int:
        stemmed = stem(word.decode("utf-8", "surrogatepass"))
        number = self[word] = self._stems.setdefault(stemmed, len(self._stems))
        return number

    def add(self, texts: Sequence[str], place: int) -> list[int]:
        """Collect the texts of turns, the first of which is at `place`; returns how many words each has."""
        data = [text.encode() if text.isascii() else _spaced(text) for text in texts]
        line = b" ".join((b"", *data, bytes(LONG))).translate(_PLAIN)
        letters = np.frombuffer(line, np.uint8) != 32
        edges = np.flatnonzero(letters[1:] != letters[:-1]) + 1
        starts, ends = np.ascontiguousarray(edges[::2]), np.ascontiguousarray(edges[1::2])
        last = np.cumsum(np.fromiter(map(len, data), np.int64, len(data)) + 1)
        counts: list[int] = np.diff(np.searchsorted(starts, last), prepend=0).tolist()
        if not self._counts:
            self._start = place
        self._counts += counts
        self._said.append(self._numbers(line, starts, ends))
        if len(self) > KNOWN or sum(map(len, self._said)) > WAITING:
            self.put()
        return counts

    def put(self) -> None:
        """Hand what was collected to the postings."""
        places = np.arange(self._start, self._start + len(self._counts), dtype=np.int32)
        if len(places):
            self._postings.extend(list(self._stems), np.concatenate(self._said), np.repeat(places, self._counts))
        self._said.clear()
        self._counts.clear()
        if len(self) > KNOWN:
            self.clear()
            self._stems.clear()
            self._first.fill(0)  # no word begins with a 0

    def _numbers(self, line: bytes, starts: Places, ends: Places) -> Marks:
        """The number of each word's stem in a line."""
        sizes = ends - starts
        first, second, slots = _keys(line, starts, sizes)
        numbers = np.empty(len(starts), np.int32)
        for start in range(0, len(starts), BLOCK):
            here = slice(start, start + BLOCK)
            slot, found = slots[here], numbers[here]
            found[:] = self._number.take(slot)
            known = (self._first.take(slot) == first[here]) & (self._second.take(slot) == second[here])
            others = np.flatnonzero(~known | (sizes[here] > LONG))
            spelt = zip(starts[here][others].tolist(), ends[here][others].tolist(), strict=True)
            found[others] = [self[line[begin:end]] for begin, end in spelt]
            at = slot[others]
            self._first[at], self._second[at] = first[here][others], second[here][others]
            self._number[at] = found[others]
        return numbers


def _keys(
    line: bytes, starts: Places, sizes: Places
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
    """The first eight bytes of each word, the next eight, and its slot; words over LONG bytes have all ones there."""
    eight: NDArray[np.uint64] = np.ndarray(len(line) - 7, "<u8", line, strides=(1,))
    first, second = eight[starts] & _BYTES[np.minimum(sizes, 8)], np.zeros(len(starts), np.uint64)
    more = np.flatnonzero(sizes > 8)
    second[more] = eight[starts[more] + 8] & _BYTES[np.minimum(sizes[more] - 8, 8)]
    second[more[sizes[more] > LONG]] = _BYTES[8]
    slots = (first * _ODD[0] ^ second * _ODD[1]) >> np.uint64(64 - SLOTS)
    return first, second, slots.astype(np.int64)


def _spaced(text: str) -> bytes:
    return " ".join(split(text)).encode("utf-8", "surrogatepass")
