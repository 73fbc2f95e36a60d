"""Deeply frozen JSON values: they compare and print like dict and list, but can't be changed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from recollect.errors import InvalidTranscript


def _refuse(self: object, *_: Any, **__: Any) -> NoReturn:
    raise TypeError("this value is part of a kept message and can't be changed; copy it with thaw(value)")


class FrozenDict(dict[str, Any]):
    """A dict that can't be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (dict(self),)


class FrozenList(list[Any]):
    """A list that can't be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (list(self),)


EMPTY: Final = FrozenDict()
MOST_NESTED: Final = 100
"""The most levels of lists and dicts in a value: what is kept must be readable even deep inside a program's calls."""
MOST_BITS: Final = 14_284
"""The most bits of a whole number: Python writes and reads no more than 4,300 digits."""
_PLAIN: Final = frozenset({str, bool, type(None)})


def freeze(value: Any, where: str = "value") -> Any:
    """The same JSON value, deeply frozen; raises InvalidTranscript, with the path, for anything that is not JSON."""
    return value if isinstance(value, (FrozenDict, FrozenList)) else _frozen(value, where, MOST_NESTED)


def _frozen(value: Any, where: str, levels: int) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidTranscript(f"{value} is not JSON: use a finite number, or none", where)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InvalidTranscript("a whole number of over 4,300 digits can't be written as JSON: give it as text", where)
    if isinstance(value, str):
        return str.__str__(value)  # a member of an enum prints as something else
    if isinstance(value, (int, float)):
        return value
    if not levels:
        raise InvalidTranscript(f"it is nested too deeply, over {MOST_NESTED} levels, or contains itself", where[:40])
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidTranscript(f"key {key!r} is a {type(key).__name__}; keys must be text", where)
        return FrozenDict({k: _frozen(v, f"{where}.{k}", levels - 1) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return FrozenList(_frozen(v, f"{where}[{i}]", levels - 1) for i, v in enumerate(value))
    raise InvalidTranscript(f"a {type(value).__name__} is not JSON: use text, numbers, lists and dicts", where)


def freeze_dict(value: Mapping[str, Any] | None, where: str) -> FrozenDict:
    """A frozen copy of a mapping; for None, the shared empty one."""
    if not value:
        return EMPTY
    if isinstance(value, FrozenDict):
        return value
    if not isinstance(value, Mapping):
        raise InvalidTranscript(f"expected a mapping, got {type(value).__name__}", where)
    frozen: FrozenDict = freeze(value, where)
    return frozen


def thaw(value: Any) -> Any:
    """A plain, changeable copy of a frozen value."""
    if isinstance(value, Mapping):
        return {k: thaw(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(v) for v in value]
    return value
