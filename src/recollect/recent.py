"""Caches: a dict with a limit, and caches that are emptied when something that users said is erased."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """A dict of at most `most` entries: setting one more drops the one that was set longest ago."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > self._most:
            self.popitem(last=False)


class _Forgets(Protocol):
    def cache_clear(self) -> None: ...


F = TypeVar("F", bound=_Forgets)
_THAT_FORGET: Final = WeakValueDictionary[int, _Forgets]()


def remembered(most: int) -> Callable[[Callable[..., V]], _lru_cache_wrapper[V]]:
    """`lru_cache` for a function whose arguments hold what users said: `forget_all` empties it."""
    return lambda function: that_forgets(lru_cache(maxsize=most)(function))


def that_forgets(cache: F) -> F:
    """Have `forget_all` empty this cache for as long as it exists; returns the cache."""
    _THAT_FORGET[id(cache)] = cache
    return cache


def forget_all() -> None:
    """Empty every cache of what users said, and the patterns that `re` compiled from it, because some was erased."""
    for kept in _THAT_FORGET.valuerefs():  # `values` would fail where another thread makes a cache meanwhile
        if (cache := kept()) is not None:
            cache.cache_clear()
    re.purge()
