"""Vectors with their scopes, times, kinds and roles, column by column."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.store import codec
from recollect.store.values import Filter
from recollect.store.vectors import unit

NEVER: Final = -(2**63)

_numbers: Final[dict[str | None, int]] = {}


def number(name: str | None) -> int:
    """The number of a kind or role in this process, so that whole columns can be compared fast."""
    return _numbers.setdefault(name, len(_numbers))


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors and what filters need to know about each: index i of every array is about the same vector.

    `vector` has them as unit vectors, `bits` their signs; one of the two has no columns if only the other is kept.
    """

    id: NDArray[np.int64]
    position: NDArray[np.int64]
    scope: NDArray[np.int64]
    at: NDArray[np.int64]
    kind: NDArray[np.int32]
    role: NDArray[np.int32]
    vector: NDArray[np.float32]
    bits: NDArray[np.uint64]

    def columns(self) -> tuple[NDArray[Any], ...]:
        """All columns."""
        return self.id, self.position, self.scope, self.at, self.kind, self.role, self.vector, self.bits

    def head(self, count: int) -> Rows:
        """The first `count` rows."""
        return Rows(*(column[:count] for column in self.columns()))

    def kept(self, only: int | None, where: Filter) -> NDArray[np.bool_] | None:
        """Which rows pass, or None if all do. `only` is the row of a scope; the filter's metadata is not checked."""
        keep: NDArray[np.bool_] | None = None
        for test in self._tests(only, where):
            keep = test if keep is None else keep & test
        return None if keep is None or keep.all() else keep

    def _tests(self, only: int | None, where: Filter) -> Iterable[NDArray[np.bool_]]:
        if only is not None:
            yield self.scope == only
        if where.kinds:
            yield _among(self.kind, where.kinds)
        if where.roles:
            yield _among(self.role, where.roles)
        if where.since is not None:
            yield self.at >= codec.micros(where.since)
        if where.before is not None:
            yield (self.at < codec.micros(where.before)) & (self.at != NEVER)
        if where.as_of is not None:
            yield self.position <= where.as_of


def _among(column: NDArray[np.int32], names: Iterable[str]) -> NDArray[np.bool_]:
    tests = (column == number(name) for name in names)
    return functools.reduce(operator.or_, tests)


def fill(room: Rows, start: int, rows: Sequence[Any]) -> int:
    """Put rows of the table into `room` from index `start`, without damaged ones; returns the index after the last.

    The rows are (id, position, scope, kind, at, role, check_sum, data).
    """
    whole = [row for row in rows if row[7] and codec.check_sum(row[7]) == row[6]]
    if not whole:
        return start
    end, size = start + len(whole), room.vector.shape[1]
    id, position, scope, kind, at, role, _, data = zip(*whole, strict=True)
    times = (NEVER if moment is None else moment for moment in at)
    given = (id, position, scope, times, _numbered(kind), _numbered(role))
    for column, values in zip(room.columns(), given, strict=False):
        column[start:end] = np.fromiter(values, column.dtype, len(whole))
    room.vector[start:end] = unit(numbers(data, size))
    return end


def _numbered(names: Sequence[str | None]) -> Iterable[int]:
    """The number of each name, fast because there are only a few different names."""
    return map({name: number(name) for name in set(names)}.__getitem__, names)


def numbers(data: Sequence[bytes], size: int) -> NDArray[np.float32]:
    """The vectors in these bytes."""
    if all(len(each) == size * 4 for each in data):
        return np.frombuffer(b"".join(data), np.float32).reshape(-1, size)
    return np.array([floats(each, size) for each in data], np.float32)


def floats(data: bytes, size: int) -> NDArray[np.float32]:
    """The vector in these bytes, which have either four bytes or one byte per number."""
    kind = np.float32 if len(data) == size * 4 else np.int8
    return np.frombuffer(data, kind).astype(np.float32)


def empty(count: int, size: int, words: int) -> Rows:
    """Room for `count` vectors of `size` numbers, with `words` words of signs each."""
    vector, bits = np.empty((count, size), np.float32), np.empty((count, words), np.uint64, order="F")
    wide = [np.empty(count, np.int64) for _ in range(4)]
    narrow = [np.empty(count, np.int32) for _ in range(2)]
    return Rows(wide[0], wide[1], wide[2], wide[3], narrow[0], narrow[1], vector, bits)
