"""What a rule finds in a clause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from recollect.answers import FactType
from recollect.flow.days import end_of
from recollect.flow.facts.prose import Clause


@dataclass(frozen=True, slots=True)
class Found:
    """Something users said of themselves: `text[span[0]:span[1]]` says it.

    `ended` means that this value no longer holds or, without a value, that nothing under the key does; `then` is what
    holds instead, if it did hold. `valid_from` is when it began, where that was said; `valid_to` is the end of the day
    on which something is due, or of a mood.
    """

    type: FactType
    key: str
    value: str
    confidence: float
    span: tuple[int, int]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended: bool = False
    then: str = ""


def found(
    clause: Clause,
    type: FactType,
    key: str,
    value: str,
    end: int,
    confidence: float = 0.9,
    *,
    since: date | None = None,
    due: date | None = None,
    ended: bool = False,
    then: str = "",
) -> Found:
    """What a clause says up to the place `end` in it: true since a day, or due on one."""
    span = clause.offset + clause.added, clause.offset + end
    begin = datetime.combine(since, time(), clause.at.tzinfo) if since else None
    over = end_of(due, clause.at.tzinfo) if due else None
    return Found(type, key, value, confidence, span, begin, over, ended, then)
