"""What has been kept long enough: policies, and which things expire by them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from recollect.errors import ConfigError

K = TypeVar("K", bound=Hashable)

MESSAGES: Final = "messages"
Layer: TypeAlias = Literal["messages", "facts", "summaries", "documents", "tools", "patterns"]
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)


@dataclass(frozen=True, slots=True)
class Policy:
    """How long a layer keeps things. A thing goes as soon as one of the limits is exceeded.

    `days`: older things go. `count`: each user's things go, except the newest `count`. `idle`, for messages only:
    a session goes as a whole once nothing was said in it for that many days.
    """

    layer: str
    days: float | None = None
    count: int | None = None
    idle: float | None = None

    def __post_init__(self) -> None:
        if self.layer not in LAYERS:
            raise ConfigError(f"layer {self.layer!r} is not one of {', '.join(LAYERS)}")
        limits = {"days": self.days, "count": self.count, "idle": self.idle}
        if all(limit is None for limit in limits.values()):
            raise ConfigError(f"the policy for {self.layer} has no limit: give days, count or idle")
        for name, limit in limits.items():
            whole = int if name == "count" else (int, float)
            if limit is None:
                continue
            if isinstance(limit, bool) or not isinstance(limit, whole) or not 0 <= limit < math.inf:
                raise ConfigError(f"{name}={limit!r} for {self.layer}: give a number of 0 or more")
        if self.idle is not None and self.layer != MESSAGES:
            raise ConfigError(f"idle={self.idle!r} for {self.layer}: only sessions of messages are idle; give days")


@dataclass(frozen=True, slots=True)
class Aged(Generic[K]):
    """Something that is kept: its owner and session, when it was last said, its place in time, and its size."""

    key: K
    owner: Hashable
    session: Hashable
    at: datetime
    order: tuple[datetime | int, ...]
    size: int = 1


def cutoff(now: datetime, days: float) -> datetime:
    """The moment `days` ago, or the earliest datetime that there is."""
    try:
        return now - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def idle_sessions(things: Iterable[Aged[Any]], policies: Iterable[Policy], now: datetime) -> set[Hashable]:
    """The sessions in which nothing was said for longer than a policy allows."""
    limits = [cutoff(now, policy.idle) for policy in policies if policy.idle is not None]
    last: dict[Hashable, datetime] = {}
    for thing in things:
        last[thing.session] = max(thing.at, last.get(thing.session, thing.at))
    return {session for session, at in last.items() if any(at < limit for limit in limits)}


def expired(things: Sequence[Aged[K]], policies: Iterable[Policy], now: datetime) -> list[Aged[K]]:
    """The things that are too old or not among the newest `count` of their owner, in the order given.

    A thing with a size over one, such as a turn, stays as a whole if a part of it is among the newest.
    """
    gone: set[K] = set()
    for policy in policies:
        if policy.days is not None:
            limit = cutoff(now, policy.days)
            gone.update(thing.key for thing in things if thing.at < limit)
        if policy.count is not None:
            gone.update(_beyond(things, policy.count))
    return [thing for thing in things if thing.key in gone]


def _beyond(things: Sequence[Aged[K]], count: int) -> Iterable[K]:
    newer: dict[Hashable, int] = defaultdict(int)
    for thing in sorted(things, key=lambda thing: thing.order, reverse=True):
        if newer[thing.owner] >= count:
            yield thing.key
        newer[thing.owner] += thing.size
