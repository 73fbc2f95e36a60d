"""Which turns of a scope hold each word, by its stem. Numpy handles the words of many turns as numbers."""

from __future__ import annotations

import threading
from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.flow.rank import Marks, Places
from recollect.recent import remembered
from recollect.store.stem import stem
from recollect.store.words import split, words

KNOWN, WAITING = 50_000, 2**20
"""How many different words a vocabulary holds, about, and how many words wait to be put away."""
SLOTS: Final = 18
"""Bits of a slot's number. The last word of each slot is looked up by numpy, others in a dictionary, more slowly."""
BLOCK: Final = 8_192
"""How many words are looked up at a time; new ones are in their slots from the next block on."""
LONG: Final = 16
"""Words of more bytes are looked up in the dictionary only."""

NOWHERE: Final[Marks] = np.empty(0, np.int32)
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_PLAIN: Final = bytes(
    byte if byte >= 128 else lower if (lower := ord(chr(byte).lower())) in _LETTERS else 32 for byte in range(256)
)
_BYTES: Final = np.array([256**size - 1 for size in range(9)], np.uint64)
_ODD: Final = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))


class Postings:
    """The places of the turns that hold each stem, in order; a turn appears as often as it holds the stem.

    Each stem has a row. What is known of many turns is in one array, row by row; what came since is held apart.
    """

    def __init__(self) -> None:
        self._rows, self._begins = dict[str, int](), array("q", (0,))
        self._places: Marks = np.empty(0, np.int32)
        self._later: dict[int, array[int]] = defaultdict(lambda: array("i"))

    def __len__(self) -> int:
        return len(self._rows)

    def held(self, stem: str, before: int) -> Marks:
        """The places of a stem before the place `before`."""
        if (row := self._rows.get(stem)) is None:
            return NOWHERE
        held = self._places[self._begins[row] : self._begins[row + 1]]
        if row in self._later:
            held = np.concatenate((held, self._later[row]))
        return held if not len(held) or held[-1] < before else held[: np.searchsorted(held, before)]

    def add(self, texts: Sequence[str], place: int) -> list[int]:
        """Add the texts of turns, the first of which is at `place`; returns how many words each has."""
        said = list(map(words, texts))
        for at, held in enumerate(said, place):
            for word in held:
                self._later[self._row(word)].append(at)
        return list(map(len, said))

    def extend(self, stems: Sequence[str], said: Marks, places: Marks) -> None:
        """Add words as the numbers of their stems, each with its place; all places are after those added before."""
        if not len(said):
            return
        there = np.flatnonzero(np.bincount(said))
        row_of = np.zeros(int(there[-1]) + 1, np.int32)
        row_of[there] = [self._row(stems[number]) for number in there.tolist()]
        early, later = np.diff(self._begins), np.fromiter(self._later, np.int32)
        sizes = [len(held) for held in self._later.values()]
        row = np.concatenate((np.repeat(np.arange(len(early)), early), np.repeat(later, sizes), row_of[said]))
        self._places = np.concatenate((self._places, *self._later.values(), places))[_order(row, len(self._rows))]
        self._begins = array("q", np.cumsum(np.bincount(row + 1, minlength=len(self._begins))).tobytes())
        self._later.clear()

    def _row(self, stem: str) -> int:
        row = self._rows.setdefault(stem, len(self._rows))
        if row == len(self._begins) - 1:
            self._begins.append(self._begins[-1])
        return row


def _order(row: NDArray[Any], rows: int) -> Places:
    """The order of the rows; few rows are sorted much faster."""
    return np.argsort(row.astype(np.uint16) if rows <= 2**16 else row, kind="stable")


class Vocabulary(dict[bytes, int]):
    """The words met lately, in all logs: a dict from each word to the number of its stem, which is in `stems`.

    For numpy, a word is two numbers of eight bytes each; its slot in the table is computed from them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stems = list[str]()
        self._known = dict[str, int]()
        self._first, self._second = np.zeros(2**SLOTS, np.uint64), np.zeros(2**SLOTS, np.uint64)
        self._number = np.zeros(2**SLOTS, np.int32)
        self._lock = threading.Lock()

    def __missing__(self, word: bytes) -> int:
        stemmed = stem(word.decode("utf-8", "surrogatepass"))
        number = self[word] = self._known.setdefault(stemmed, len(self.stems))
        if number == len(self.stems):
            self.stems.append(stemmed)
        return number

    def numbers(self, line: bytes, starts: Places, ends: Places) -> Marks:
        """The number of each word's stem in a line."""
        sizes = ends - starts
        first, second, slots = _keys(line, starts, sizes)
        numbers = np.empty(len(starts), np.int32)
        with self._lock:
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


vocabulary: Final = remembered(1)(Vocabulary)
"""The vocabulary in use."""


class Many:
    """Collects the words of many turns for the postings."""

    def __init__(self, postings: Postings) -> None:
        self._postings, self._vocabulary = postings, vocabulary()
        self._said, self._counts, self._start = list[Marks](), list[int](), 0

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
        self._said.append(self._vocabulary.numbers(line, starts, ends))
        if len(self._vocabulary) > KNOWN or sum(map(len, self._said)) > WAITING:
            self.put()
        return counts

    def put(self) -> None:
        """Hand what was collected to the postings."""
        places = np.arange(self._start, self._start + len(self._counts), dtype=np.int32)
        if len(places):
            self._postings.extend(self._vocabulary.stems, np.concatenate(self._said), np.repeat(places, self._counts))
        self._said.clear()
        self._counts.clear()
        if len(self._vocabulary) > KNOWN:
            vocabulary.cache_clear()
            self._vocabulary = vocabulary()


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
