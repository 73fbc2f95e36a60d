"""What a rule finds in a clause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from recollect.answers import FactType
from recollect.flow.days import end_of
from recollect.flow.facts.phrases import slug
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import word_set

VALUED: Final = word_set(
    """likes dislikes allergy avoids speaks uses prefers todo plays teaches learning studies school drives habit
    citizenship asked"""
)
"""Keys that hold several values at once. The value is part of the key and may have a colon: "todo:flight at 9:25"."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that users said about themselves, in `text[span[0]:span[1]]`.

    `ended` means that this value no longer holds or, without a value, that nothing under the key does; `then` is what
    holds instead, if it did hold. A plan with a `then` that has not ended is a new plan if there was none. `valid_from`
    is when it began, if that was said; `valid_to` is the end of the day on which something is due, or of a mood.
    `apart` means that it is said of "my younger sister", who may be another than the one whose name is known.
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
    apart: bool = False


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
    key = f"{key}:{slug(value)}" if key in VALUED else key
    span = clause.offset + clause.added, clause.offset + end
    begin = datetime.combine(since, time(), clause.at.tzinfo) if since else None
    over = end_of(due, clause.at.tzinfo) if due else None
    return Found(type, key, value, confidence, span, begin, over, ended, then)
