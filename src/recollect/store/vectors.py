"""Vectors as numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ConfigError

Vector: TypeAlias = NDArray[np.float32] | NDArray[np.int8]
Positions: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

_MOST: Final = 65_536


def checked(vector: Any) -> Vector:
    """The vector as a float32 or int8 row; ConfigError if it is not a row of numbers, or has no direction."""
    row = np.asarray(vector)
    if row.dtype != np.int8:
        row = row.astype(np.float32)
    if row.ndim != 1 or not 1 <= row.size <= _MOST:
        raise ConfigError(f"a vector must be one row of 1 to 65,536 numbers, not an array of shape {row.shape}")
    if not np.isfinite(row).all() or not row.any():
        raise ConfigError("a vector must have finite numbers that are not all zero")
    return np.ascontiguousarray(row)


def unit(rows: Vector) -> NDArray[np.float32]:
    """The vectors scaled to length one."""
    wide = rows.astype(np.float32, copy=False)
    lengths = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
    directions: NDArray[np.float32] = (wide / np.maximum(lengths, np.float32(1e-30))).astype(np.float32, copy=False)
    return directions


def direction(vector: Any) -> NDArray[np.float32]:
    """One vector, checked, scaled to length one."""
    row = np.asarray(vector, np.float32)
    length = math.sqrt(row.dot(row)) if row.ndim == 1 and row.size <= _MOST else 0.0
    return row / np.float32(length) if 0 < length < math.inf else unit(checked(vector))


def positions(found: Iterable[tuple[int, float]]) -> Positions:
    """Positions and their cosines as two arrays."""
    pairs = list(found)
    return np.array([pair[0] for pair in pairs], np.int64), np.array([pair[1] for pair in pairs], np.float64)


def check_length(model: str, have: int, given: int) -> None:
    """Raises unless a vector is as long as the model's other vectors."""
    if have != given:
        raise ConfigError(
            f"vectors of model {model!r} have {have} numbers, this one has {given}: use another model name"
        )
