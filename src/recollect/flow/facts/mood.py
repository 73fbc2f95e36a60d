"""The tone of a message, where the user says outright how he feels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.prose import Clause
from recollect.types import FactType

SENTIMENT: Final[FactType] = "sentiment"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_AM: Final = r"i(?:'m| am| feel|'m feeling| am feeling|'ve been feeling)(?: (?:just|truly|honestly|still|now|also|feeling))*"
_VERY: Final = r"(?: (?:so|really|very|extremely|super|absolutely|incredibly|beyond|deeply|quite|pretty))"
_NOT_MINE: Final = r"(?! (?:to (?:help|hear|answer|provide|pay|share|see)|if|when|for (?:you|him|her|them)|of (?:you|him|her)|(?:that )?you)\b)"
_BAD: Final = _rule(
    rf"{_AM}{_VERY}* (?:frustrated|furious|upset|depressed|overwhelmed|exhausted|miserable|devastated|heartbroken|terrified|fed up|"
    r"burnt out|burned out|desperate|disappointed)\b"
    rf"|{_AM}{_VERY}+ (?:annoyed|angry|sad|anxious|worried|stressed(?: out)?|lonely|scared|irritated|nervous|tired of)\b"
    r"|i feel (?:sad|lonely|anxious|angry|awful|terrible|hopeless)\b|i(?:'m| am) worried about my\b"
)
_GOOD: Final = _rule(
    rf"{_AM}{_VERY}* (?:thrilled|delighted|overjoyed|ecstatic|over the moon|stoked)\b{_NOT_MINE}"
    rf"|{_AM}{_VERY}+ (?:happy|excited|grateful|relieved|proud|pleased|impressed)\b{_NOT_MINE}"
)
_SO_BAD: Final = _rule(
    r"(?:this|it|that)(?:'s| is) (?:so|really|very|incredibly|extremely|absolutely) (?:frustrating|annoying|disappointing|infuriating|upsetting|depressing)\b"
)
_THANKS: Final = _rule(r"(?:thank you|thanks) (?:so much|a lot|very much|a million|a ton)|many thanks")
_PRAISE: Final = _rule(r"\b(?:perfect|exactly what i|awesome|amazing|brilliant|excellent|fantastic|wonderful|so helpful|lifesaver|life saver)\b")


def mood(clause: Clause) -> Iterator[Found]:
    """Whether a clause says that the user feels well or badly; a mood lasts for the day."""
    text = clause.text
    if match := _BAD.match(text) or _SO_BAD.match(text):
        yield _tone(clause, "negative", match.end())
    elif match := _GOOD.match(text) or (_THANKS.match(text) and _PRAISE.search(text)):
        yield _tone(clause, "positive", match.end())


def _tone(clause: Clause, tone: str, end: int) -> Found:
    day = clause.at.date()
    return found(clause, SENTIMENT, "tone", tone, end, 0.7, due=day if day < date.max - timedelta(1) else None)
