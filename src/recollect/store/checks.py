"""Checks of what callers pass to a store (ids, ranges, counts), and that it is open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from recollect.arguments import check_whole
from recollect.errors import ConfigError, StoreUnavailable
from recollect.store.values import MESSAGE
from recollect.types import Message, Scope, check_id

T = TypeVar("T")


def storable(id: Any) -> bool:
    """Whether this is a valid id, so that something with it could exist."""
    try:
        check_id(id, "id")
    except ConfigError:
        return False
    return True


def askable(name: str | None) -> str | None:
    """The name, or if it is not a valid one "", which nothing is called."""
    return name if name is None or storable(name) else ""


def id_list(ids: Sequence[str]) -> str:
    """The ids as a JSON list, each once, without invalid ones."""
    return json.dumps([id for id in each_once(ids) if storable(id)]) if ids else "[]"


def each_once(ids: Sequence[str]) -> dict[str, None]:
    """The ids in their order, each once, as the keys of a dict."""
    if isinstance(ids, str):
        raise ConfigError(f"ids={ids!r}: give a list of ids, not one text")
    try:
        return dict.fromkeys(ids)
    except TypeError as error:
        raise ConfigError(f"ids={ids!r}: give a list of ids") from error


def in_order(ids: Sequence[str], found: Iterable[T], id_of: Callable[[T], str]) -> list[T]:
    """What was found, in the order of the ids; several things with one id stay in their order."""
    by_id: dict[str, list[T]] = {}
    for one in found:
        by_id.setdefault(id_of(one), []).append(one)
    return [one for id in each_once(ids) for one in by_id.get(id, ())]


def token_counts(messages: Sequence[Message], tokens: Sequence[int]) -> list[int]:
    """One count for each message; zeros if none were given."""
    if not tokens:
        return [0] * len(messages)
    if len(tokens) != len(messages):
        raise ConfigError(f"{len(tokens)} token counts for {len(messages)} messages: give one for each, or none at all")
    for count in tokens:
        if type(count) is not int or not 0 <= count < 2**53:
            raise ConfigError(f"token count {count!r} is not a whole number of 0 or more")
    return list(tokens)


def check_session(scope: Scope) -> None:
    """Raises unless the scope names a session."""
    if scope.session is None:
        raise ConfigError(f"{scope} names no session: messages are kept in sessions, so add session=")


def check_count(name: str, value: int | None, least: int = 0) -> None:
    """Raises unless a limit or bound is None or a whole number of at least `least`."""
    if value is not None:
        check_whole(name, value, least)


def check_range(after: int, until: int | None, limit: int | None) -> None:
    """Raises unless the bounds and the limit of a range are valid."""
    check_count("after", after)
    check_count("until", until)
    check_count("limit", limit, 1)


def check_own_kind(kind: str) -> None:
    """Raises for the kind 'message', which belongs to the log."""
    if kind == MESSAGE:
        raise ConfigError("only log.append and log.erase may put and delete items of kind 'message': use another kind")


def check_durability(durability: str) -> None:
    """Raises unless the durability is a known one."""
    if durability not in ("full", "normal"):
        raise ConfigError(f"durability {durability!r} is unknown: use 'full' or 'normal'")


def check_open(name: str, closed: bool, process: int) -> None:
    """Raises if a store is closed, or if this process is a fork of `process`, the one that opened it."""
    if closed:
        raise StoreUnavailable(f"the store {name} is closed: open it again")
    if os.getpid() != process:
        raise StoreUnavailable(f"the store {name} was opened before this process was forked: open it again here")
