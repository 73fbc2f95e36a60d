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


_FEEL: Final = (
    r"i(?:'m| am| feel|'m feeling| am feeling|'ve been feeling)(?: (?:so|really|very|extremely|quite|pretty|just|super|absolutely|"
    r"incredibly|a bit|a little|too|truly|honestly|still|such))* "
)
_BAD: Final = _rule(
    _FEEL + r"(?:frustrated|annoyed|angry|furious|upset|sad|depressed|anxious|worried|stressed(?: out)?|overwhelmed|disappointed|"
    r"exhausted|miserable|lonely|devastated|heartbroken|scared|terrified|fed up|burnt out|burned out|irritated|desperate)\b"
)
_GOOD: Final = _rule(
    _FEEL + r"(?:happy|excited|thrilled|delighted|grateful|relieved|proud|overjoyed|ecstatic|pleased|glad|impressed|stoked)\b"
    r"(?! (?:to (?:help|answer|hear any|provide|pay|share)|if|when|for you to))"
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
