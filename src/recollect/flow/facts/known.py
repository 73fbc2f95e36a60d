"""What is known of a user, from everything he ever said: the newest value of each key, and the ones before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from recollect.answers import Fact, FactType

_OPPOSITE: Final = {"likes": "dislikes", "dislikes": "likes"}


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said about a key, and its place among everything said: by time, then in the order of the log.

    `ended` means that the value, or without one whatever is known, no longer holds.
    """

    id: str
    order: tuple[datetime, int, int]
    type: FactType
    key: str
    value: str
    confidence: float
    at: datetime
    session: str = ""
    sources: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that stand, and past ones; both in the order they were said. `last` is the last statement of each key."""

    standing: tuple[Fact, ...] = ()
    past: tuple[Fact, ...] = ()
    last: Mapping[str, str] = field(default_factory=dict)

    def of(self, key: str) -> list[Fact]:
        """All that was ever known under a key, the oldest first."""
        return [fact for fact in (*self.past, *self.standing) if fact.key == key]


def known(statements: Iterable[Statement]) -> Known:
    """What follows from these statements, in whatever order they are given."""
    standing, past, last = dict[str, Fact](), list[Fact](), dict[str, str]()
    for said in sorted(statements, key=lambda one: (one.order, one.id)):
        old, last[said.key] = standing.get(said.key), said.id
        if said.ended:
            if old and said.value.casefold() in ("", old.value.casefold()):
                past.append(_ended(standing.pop(said.key), said))
        elif old and _same(old, said):
            standing[said.key] = _again(old, said)
        else:
            for key in (said.key, opposite(said.key)):
                if key in standing:
                    past.append(_ended(standing.pop(key), said))
            standing[said.key] = _fact(said)
    return Known(tuple(standing.values()), tuple(past), last)


def opposite(key: str) -> str:
    """The key that can't hold beside this one: who likes jazz does not dislike it."""
    verb, colon, what = key.partition(":")
    return f"{_OPPOSITE[verb]}:{what}" if colon and verb in _OPPOSITE else ""


def _begin(said: Fact | Statement) -> datetime:
    return said.valid_from or said.at


def _same(old: Fact, said: Statement) -> bool:
    same_day = said.type != "action_item" or said.valid_to in (None, old.valid_to)
    return old.value.casefold() == said.value.casefold() and same_day


def _again(old: Fact, said: Statement) -> Fact:
    new = tuple(id for id in said.sources if (said.session, id) not in zip(old.sessions, old.sources, strict=True))
    return replace(
        old,
        confidence=max(old.confidence, said.confidence),
        updated_at=max(old.updated_at, said.at),
        sources=old.sources + new,
        sessions=old.sessions + (said.session,) * len(new),
        valid_to=said.valid_to or old.valid_to,
    )


def _ended(old: Fact, by: Statement) -> Fact:
    end = max(_begin(by), _begin(old))
    return replace(old, valid_to=min(end, old.valid_to) if old.valid_to else end)


def _fact(said: Statement) -> Fact:
    return Fact(
        said.type,
        said.key,
        said.value,
        said.confidence,
        said.at,
        said.at,
        said.session,
        said.sources,
        said.span,
        said.valid_from,
        said.valid_to,
        (said.session,) * len(said.sources),
    )
