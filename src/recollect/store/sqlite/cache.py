"""Vectors in memory, by owner and model, kept in step with the file even if another process writes to it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.rows import Rows, empty, fill, numbers
from recollect.store.sqlite.signs import closest, sign_words, signs, worth_reading
from recollect.store.sqlite.vectors import Owned
from recollect.store.values import Filter

Scored: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]

LIMIT: Final = 256 * 2**20
"""Bytes of vectors kept in memory. Of an owner with more than that, only the signs are kept."""

COMPARED: Final = 64 * 2**20
"""Up to this many bytes, all vectors of an owner are compared; above that, their signs decide which ones."""

BESIDE, AN_OWNER = 48, 3_000
"""Bytes taken by what is kept beside each vector, and by an owner without vectors."""

CHUNK, BLOCK = 8_192, 512
"""How many vectors get their signs at a time, and how many of them are read at a time. Larger blocks are slower: their
memory is returned to the system and requested again each time."""

_COUNT: Final = "SELECT count(*) FROM vector WHERE owner = ? AND model = ?"
_ROWS: Final = (
    "SELECT id, position, scope, kind, at, role, check_sum, data FROM vector"
    " WHERE owner = ? AND model = ? AND id > ? ORDER BY id LIMIT ?"
)
_DATA: Final = "SELECT position, data FROM vector WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"


class VectorQuery(NamedTuple):
    """What to search for: the k vectors nearest to a direction that pass. `only` is the row of the scope to search."""

    direction: NDArray[np.float32]
    k: int
    only: int | None
    where: Filter


class _Held:
    """One owner's rows of a model: their vectors, their signs, or both, in arrays with room for more at the end.

    The signs are of the difference from the mean of the first rows, because all vectors of a model lean the same way.
    """

    def __init__(self, state: tuple[int, int], size: int, count: int, *, vectors: bool, signs: bool) -> None:
        self.state, self.size = state, size
        self.vectors, self.signs = vectors, signs
        self.last = 0
        self.mean: NDArray[np.float32] | None = None
        self._make_room(count)
        self.rows = self._all.head(0)

    def add(self, more: Rows, last: int) -> None:
        self.last = last
        if not len(more.position):
            return
        if self.mean is None:
            self.mean = more.vector.mean(axis=0)
        if self.signs:
            more = replace(more, bits=signs(more.vector, self.mean))
        if not self.vectors:
            more = replace(more, vector=more.vector[:, :0])
        count = len(self.rows.position)
        need = count + len(more.position)
        if need > len(self._all.position):
            self._make_room(need * 5 // 4)
            for old, new in zip(self.rows.columns(), self._all.columns(), strict=True):
                new[:count] = old
        for column, new in zip(self._all.columns(), more.columns(), strict=True):
            column[count:need] = new
        self.rows = self._all.head(need)

    def _make_room(self, count: int) -> None:
        self._all = empty(count, self.size if self.vectors else 0, sign_words(self.size) if self.signs else 0)
        self.bytes = AN_OWNER + sum(column.nbytes for column in self._all.columns())


class VectorCache:
    """The vectors of the most recently searched owners, as many as fit."""

    def __init__(self, limit: int = LIMIT, compared: int = COMPARED) -> None:
        self._limit, self._compared = limit, compared
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, int], _Held] = OrderedDict()
        self._bytes = 0

    def nearest(self, db: apsw.Connection, owned: Owned, asked: VectorQuery) -> Iterator[Scored]:
        """Cosines and positions of an owner's rows that pass, as that connection sees them, in blocks.

        If there are very many rows, only those that are likely to be near, except when the filter has metadata.
        """
        size = len(asked.direction)
        with self._lock:
            held = self._current(db, owned, size)
            rows = None if held is None else held.rows
        if held is not None and rows is not None and held.signs and not asked.where.metadata:
            yield _near(db, rows, held, asked)
        elif held is not None and rows is not None and held.vectors:
            yield _scored(rows, asked)
        else:
            for more, _ in _loaded(db, owned, size, 0):
                cosines, positions = _scored(more, asked)
                yield cosines, positions.copy()

    def _current(self, db: apsw.Connection, owned: Owned, size: int) -> _Held | None:
        of, state, last = owned[:2], owned[2:4], owned.last or 0
        held = self._held.pop(of, None)
        self._bytes -= held.bytes if held else 0
        if held is None or held.state != state or held.size != size or self._outgrown(held):
            count = db.execute(_COUNT, of).get
            if count * (sign_words(size) * 8 + BESIDE) > self._limit:
                return None
            few = count * (size * 4 + sign_words(size) * 8 + BESIDE) <= self._limit
            held = _Held(state, size, count, vectors=few, signs=not few or count * size * 4 > self._compared)
        if held.last < last:
            for more, loaded in _loaded(db, owned, size, held.last):
                held.add(more, loaded)
        self._held[of] = held
        self._bytes += held.bytes
        while len(self._held) > 1 and self._bytes > self._limit:
            self._bytes -= self._held.popitem(last=False)[1].bytes
        return held

    def _outgrown(self, held: _Held) -> bool:
        rows = held.bytes - AN_OWNER
        return rows > self._limit or (not held.signs and rows > 2 * self._compared)


def _scored(rows: Rows, asked: VectorQuery) -> Scored:
    scores, keep = _cosines(rows.vector, asked.direction), rows.kept(asked.only, asked.where)
    return (scores, rows.position) if keep is None else (scores[keep], rows.position[keep])


def _near(db: apsw.Connection, rows: Rows, held: _Held, asked: VectorQuery) -> Scored:
    """The cosines of the rows whose signs are most alike. A connection that sees an older moment may lack some rows."""
    lean = asked.direction if held.mean is None else asked.direction - held.mean
    places = closest(rows.bits, lean, rows.kept(asked.only, asked.where), asked.k)
    if held.vectors:
        return _cosines(rows.vector.take(places, axis=0), asked.direction), rows.position[places]
    places = worth_reading(rows.bits, lean, places, asked.k)
    found = list(db.execute(_DATA, (json.dumps(rows.id[places].tolist()),)))
    given = numbers([data for _, data in found], held.size)
    lengths = np.sqrt(np.einsum("ij,ij->i", given, given))
    return _cosines(given, asked.direction) / lengths, np.array([position for position, _ in found], np.int64)


def _cosines(directions: NDArray[np.float32], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosines, computed by one thread: the threads of `@` make it twenty times slower on a busy processor."""
    cosines: NDArray[np.float32] = np.vecdot(directions, asked)
    return cosines


def _loaded(db: apsw.Connection, owned: Owned, size: int, after: int) -> Iterator[tuple[Rows, int]]:
    """Chunks of rows, and the last id of each. All share the same arrays: a chunk is valid until the next."""
    room, read = empty(CHUNK, size, 0), CHUNK
    while read == CHUNK:
        rows, read, count = db.execute(_ROWS, (*owned[:2], after, CHUNK)), 0, 0
        while block := list(islice(rows, BLOCK)):
            read, after = read + len(block), block[-1][0]
            count = fill(room, count, block)
        yield room.head(count), after
