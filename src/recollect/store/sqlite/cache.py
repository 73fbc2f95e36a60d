"""Vectors in memory, by owner and model, kept in step with the file whoever writes to it."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from recollect.store import codec
from recollect.store.sqlite import scopes
from recollect.store.sqlite.rows import Rows, empty, made, numbers
from recollect.store.sqlite.signs import closest, signs, words
from recollect.store.values import Filter

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    Scored: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]

LIMIT: Final = 256 * 2**20
"""Bytes of vectors kept in memory. An owner whose vectors take more than half of it is kept by their signs."""

CHUNK: Final = 8_192

_STATE: Final = (
    "SELECT changes, epoch, (SELECT max(id) FROM vector WHERE owner = ?1 AND model = ?2) FROM scope, counter"
    " WHERE scope.id = ?1"
)
_COUNT: Final = "SELECT count(*) FROM vector WHERE owner = ? AND model = ?"
_ROWS: Final = (
    "SELECT id, position, scope, kind, at, role, check_sum, data FROM vector"
    " WHERE owner = ? AND model = ? AND id > ? ORDER BY id LIMIT ?"
)
_DATA: Final = "SELECT data FROM vector WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"


class Asked(NamedTuple):
    """What is looked for: the nearest k to a direction among what passes. `only` is a scope's row."""

    direction: NDArray[np.float32]
    k: int
    only: int | None
    where: Filter


class _Held:
    """One owner's rows of a model, with room to grow at the end."""

    def __init__(self, state: list[int], size: int, by_signs: bool) -> None:
        self.state, self.size, self.by_signs = state, size, by_signs
        self.last, self.count = 0, 0
        self.rows = self._room(0)

    @property
    def bytes(self) -> int:
        return sum(column.nbytes for column in self.rows.columns())

    def add(self, more: Rows, last: int) -> None:
        if self.by_signs:
            more = replace(more, vector=signs(more.vector))
        need = self.count + len(more.position)
        if need > len(self.rows.position):
            bigger = self._room(max(need, need * 5 // 4 if self.count else need))
            for old, new in zip(self.rows.columns(), bigger.columns(), strict=True):
                new[: self.count] = old[: self.count]
            self.rows = bigger
        for column, new in zip(self.rows.columns(), more.columns(), strict=True):
            column[self.count : need] = new
        self.count, self.last = need, last

    def _room(self, count: int) -> Rows:
        import numpy as np

        if self.by_signs:
            return empty(count, np.empty((count, words(self.size)), np.uint64, order="F"))
        return empty(count, np.empty((count, self.size), np.float32))


class VectorCache:
    """The vectors of the owners asked for last, as many as fit."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, int], _Held] = OrderedDict()

    def nearest(self, db: apsw.Connection, owner: int, model: int, asked: Asked) -> Iterator[Scored]:
        """Cosines and positions of an owner's rows of a model that pass, as that connection sees them, in blocks.

        Where the vectors do not fit into memory only of those that are near; all, where metadata must be looked at.
        """
        size = len(asked.direction)
        with self._lock:
            held = self._current(db, owner, model, size)
            view = None if held is None else held.rows.head(held.count)
        if view is None or held is None or (held.by_signs and asked.where.metadata):
            yield from (_scored(more, asked) for more, _ in _loaded(db, owner, model, size, 0))
        elif held.by_signs:
            yield _near(db, view, size, asked)
        else:
            yield _scored(view, asked)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._held.clear()

    def _current(self, db: apsw.Connection, owner: int, model: int, size: int) -> _Held | None:
        *state, last = db.execute(_STATE, (owner, model)).fetchone() or (0, 0, None)
        held = self._held.pop((owner, model), None)
        if held is None or held.state != state or held.size != size or held.bytes > self._limit:
            count = db.execute(_COUNT, (owner, model)).get
            held = _Held(state, size, count * size * 4 > self._limit // 2)
            if count * (words(size) * 8 + 48) > self._limit:
                return None
        self._held[owner, model] = held
        if held.last < (last or 0):
            for more, loaded in _loaded(db, owner, model, size, held.last):
                held.add(more, loaded)
            while len(self._held) > 1 and sum(other.bytes for other in self._held.values()) > self._limit:
                self._held.popitem(last=False)
        return held


def _scored(rows: Rows, asked: Asked) -> Scored:
    scores, keep = _cosines(rows.vector, asked.direction), rows.kept(asked.only, asked.where)
    return (scores, rows.position) if keep is None else (scores[keep], rows.position[keep])


def _near(db: apsw.Connection, rows: Rows, size: int, asked: Asked) -> Scored:
    """The same of those whose signs are most alike, by their own vectors."""
    import numpy as np

    places = closest(rows.vector, asked.direction, rows.kept(asked.only, asked.where), asked.k)
    data = [row[0] for row in scopes.rows(db, _DATA, (json.dumps(rows.id[places].tolist()),))]
    given = numbers(data, size)
    lengths = np.sqrt(np.einsum("ij,ij->i", given, given))
    return _cosines(given, asked.direction) / lengths, rows.position[places]


def _cosines(directions: NDArray[np.float32], asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """By one thread: those that `@` may start cost twenty times as much where the processor is busy."""
    import numpy as np

    cosines: NDArray[np.float32] = np.einsum("ij,j->i", directions, asked)
    return cosines


def _loaded(db: apsw.Connection, owner: int, model: int, size: int, after: int) -> Iterator[tuple[Rows, int]]:
    while rows := list(scopes.rows(db, _ROWS, (owner, model, after, CHUNK))):
        after = rows[-1][0]
        yield made([row for row in rows if _whole(row)], size), after


def _whole(row: Any) -> bool:
    return bool(row[7]) and codec.check_sum(row[7]) == row[6]
