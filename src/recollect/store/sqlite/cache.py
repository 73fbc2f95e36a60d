"""Vectors in memory, by owner and model, kept in step with the file whoever writes to it."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from recollect.store.sqlite import scopes
from recollect.store.vectors import unit

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

LIMIT: Final = 256 * 2**20
"""Bytes of vectors kept in memory."""

CHUNK: Final = 8_192
NEVER: Final = -(2**63)

_STATE: Final = "SELECT changes, epoch FROM scope, counter WHERE scope.id = ?"
_COUNT: Final = "SELECT count(*) FROM vector WHERE owner = ? AND model = ?"
_ROWS: Final = (
    "SELECT id, position, scope, kind, at, role, check_sum, data FROM vector"
    " WHERE owner = ? AND model = ? AND id > ? ORDER BY id LIMIT ?"
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors of length one and what is known about each; row i is position[i]."""

    position: NDArray[np.int64]
    scope: NDArray[np.int64]
    at: NDArray[np.int64]
    kind: NDArray[Any]
    role: NDArray[Any]
    unit: NDArray[np.float32]

    def columns(self) -> tuple[NDArray[Any], ...]:
        """All of it, column by column."""
        return self.position, self.scope, self.at, self.kind, self.role, self.unit

    def head(self, count: int) -> Rows:
        """The first rows."""
        return Rows(*(column[:count] for column in self.columns()))


class _Held:
    """One owner's rows of a model, with room to grow at the end."""

    def __init__(self, state: tuple[int, int], size: int) -> None:
        self.state, self.size = state, size
        self.last, self.count = 0, 0
        self.rows = _empty(0, size)

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self.rows.columns())

    def add(self, more: Rows, last: int) -> None:
        need = self.count + len(more.position)
        if need > len(self.rows.position):
            bigger = _empty(max(need, need * 5 // 4 if self.count else need), self.size)
            for old, new in zip(self.rows.columns(), bigger.columns(), strict=True):
                new[: self.count] = old[: self.count]
            self.rows = bigger
        for column, new in zip(self.rows.columns(), more.columns(), strict=True):
            column[self.count : need] = new
        self.count, self.last = need, last


class VectorCache:
    """The vectors of the owners asked for last, as many as fit."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, int], _Held] = OrderedDict()

    def rows(self, db: apsw.Connection, owner: int, model: int, size: int) -> Iterator[Rows]:
        """An owner's rows of a model as that connection sees them, in blocks."""
        with self._lock:
            held = self._current(db, owner, model, size)
            view = None if held is None else held.rows.head(held.count)
        if view is not None:
            yield view
            return
        for more, _ in _loaded(db, owner, model, size, 0):
            yield more

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._held.clear()

    def _current(self, db: apsw.Connection, owner: int, model: int, size: int) -> _Held | None:
        state = db.execute(_STATE, (owner,)).fetchone() or (0, 0)
        held = self._held.pop((owner, model), None)
        if held is None or held.state != state or held.size != size:
            held = _Held(state, size)
            if db.execute(_COUNT, (owner, model)).get * size * 4 > self._limit // 2:
                return None
        for more, last in _loaded(db, owner, model, size, held.last):
            held.add(more, last)
        self._held[owner, model] = held
        while len(self._held) > 1 and sum(other.bytes for other in self._held.values()) > self._limit:
            self._held.popitem(last=False)
        return held


def _loaded(db: apsw.Connection, owner: int, model: int, size: int, after: int) -> Iterator[tuple[Rows, int]]:
    while rows := list(scopes.rows(db, _ROWS, (owner, model, after, CHUNK))):
        after = rows[-1][0]
        yield _rows([row for row in rows if zlib.crc32(row[7]) == row[6]], size), after


def _rows(rows: Sequence[Any], size: int) -> Rows:
    import numpy as np

    out = _empty(len(rows), size)
    for column, place in ((out.position, 1), (out.scope, 2), (out.kind, 3), (out.role, 5)):
        column[:] = [row[place] for row in rows]
    out.at[:] = [NEVER if row[4] is None else row[4] for row in rows]
    if all(len(row[7]) == size * 4 for row in rows):
        given = np.frombuffer(b"".join(row[7] for row in rows), np.float32).reshape(-1, size)
    else:
        given = np.array([_floats(row[7], size) for row in rows], np.float32)
    out.unit[:] = unit(given)
    return out


def _floats(data: bytes, size: int) -> NDArray[np.float32]:
    import numpy as np

    kind = np.float32 if len(data) == size * 4 else np.int8
    return np.frombuffer(data, kind).astype(np.float32)


def _empty(count: int, size: int) -> Rows:
    import numpy as np

    numbers = [np.empty(count, np.int64) for _ in range(3)]
    names = [np.empty(count, object) for _ in range(2)]
    return Rows(numbers[0], numbers[1], numbers[2], names[0], names[1], np.empty((count, size), np.float32))
