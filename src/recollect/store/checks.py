"""Checks of what callers pass to a store: ids, ranges, counts; and whether it is open."""

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
    """Whether there can be something with that id at all."""
    try:
        check_id(id, "id")
    except ConfigError:
        return False
    return True


def askable(name: str | None) -> str | None:
    """The name; "", which nothing has, where there can't be anything with that name."""
    return name if name is None or storable(name) else ""


def id_list(ids: Sequence[str]) -> str:
    """Ids as a JSON list, each once, those that can't exist left out."""
    return json.dumps([id for id in each_once(ids) if storable(id)]) if ids else "[]"


def each_once(ids: Sequence[str]) -> dict[str, None]:
    """The ids in their order, each once."""
    if isinstance(ids, str):
        raise ConfigError(f"ids={ids!r}: give a list of ids, not one text")
    try:
        return dict.fromkeys(ids)
    except TypeError as error:
        raise ConfigError(f"ids={ids!r}: give a list of ids") from error


def in_order(ids: Sequence[str], found: Iterable[T], id_of: Callable[[T], str]) -> list[T]:
    """What was found, in the order in which its ids were asked for; several with one id stay in the order given."""
    by_id: dict[str, list[T]] = {}
    for one in found:
        by_id.setdefault(id_of(one), []).append(one)
    return [one for id in each_once(ids) for one in by_id.get(id, ())]


def token_counts(messages: Sequence[Message], tokens: Sequence[int]) -> list[int]:
    """One count for each message, zeros where none were given."""
    if not tokens:
        return [0] * len(messages)
    if len(tokens) != len(messages):
        raise ConfigError(f"{len(tokens)} token counts for {len(messages)} messages: give one each, or none")
    for count in tokens:
        if type(count) is not int or not 0 <= count < 2**53:
            raise ConfigError(f"token count {count!r} is not a whole number of 0 or more")
    return list(tokens)


def check_session(scope: Scope) -> None:
    """Raises unless the scope names a session."""
    if scope.session is None:
        raise ConfigError(f"{scope} names no session: messages are kept in one, add session=")


def check_count(name: str, value: int | None, least: int = 0) -> None:
    """Raises unless a limit or bound is a whole number of at least `least`."""
    if value is not None:
        check_whole(name, value, least)


def check_range(after: int, until: int | None, limit: int | None) -> None:
    """Raises unless a range and its limit can be used."""
    check_count("after", after)
    check_count("until", until)
    check_count("limit", limit, 1)


def check_own_kind(kind: str) -> None:
    """Raises for the kind that belongs to the log."""
    if kind == MESSAGE:
        raise ConfigError("messages enter the index by log.append and leave it by log.erase alone; use another kind")


def check_durability(durability: str) -> None:
    """Raises unless a store can be opened with that durability."""
    if durability not in ("full", "normal"):
        raise ConfigError(f"durability {durability!r} is not 'full' or 'normal'")


def check_open(name: str, closed: bool, process: int) -> None:
    """Raises where a store is closed, or this process was forked from the one that opened it, whose number is given."""
    if closed:
        raise StoreUnavailable(f"the store {name} is closed; open it again")
    if os.getpid() != process:
        raise StoreUnavailable(f"the store {name} was opened before this process was forked: open it again in this one")
