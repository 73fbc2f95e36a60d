"""The user's mood, if they say outright how they feel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.answers import FactType
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import any_of, rule

SENTIMENT: Final[FactType] = "sentiment"

_AM: Final = f"i(?:'m| am| feel|'ve been feeling)(?: {any_of('just truly honestly still now also feeling')})*"
_VERY: Final = f"(?: {any_of('so really very extremely super absolutely incredibly beyond deeply quite pretty')})"
_OWN: Final = (
    r"(?! (?:to (?:help|hear|answer|provide|pay|share|see)|if|when|for (?:you|him|her|them)|of (?:you|him|her)"
    r"|(?:that )?(?:you|they))\b)"
)
"""Excludes what is felt for someone else, and mere courtesies."""
_BAD: Final = rule(
    f"{_AM}{_VERY}* "
    + any_of(
        """frustrated furious upset depressed overwhelmed exhausted miserable devastated heartbroken terrified fed_up
        burnt_out burned_out desperate disappointed"""
    )
    + r"\b",
    f"{_AM}{_VERY}+ "
    + any_of("annoyed angry sad anxious worried stressed lonely scared irritated nervous tired_of")
    + r"\b",
    r"i feel (?:sad|lonely|anxious|angry|awful|terrible|hopeless)\b",
    r"i(?:'m| am) worried about my\b",
    r"(?:this|it|that)(?:'s| is) (?:so|really|very|incredibly|extremely|absolutely) "
    r"(?:frustrating|annoying|disappointing|infuriating|upsetting|depressing)\b(?! (?:when|if|how|that)\b)",
)
_GOOD: Final = rule(
    rf"{_AM}{_VERY}* (?:thrilled|delighted|overjoyed|ecstatic|over the moon|stoked)\b{_OWN}",
    rf"{_AM}{_VERY}+ (?:happy|excited|grateful|relieved|proud|pleased|impressed)\b{_OWN}",
)
_THANKS: Final = rule("(?:thank you|thanks) (?:so much|a lot|very much|a million|a ton)", "many thanks")
_PRAISE: Final = rule(
    r"\b" + any_of("perfect exactly_what_i awesome amazing brilliant excellent fantastic wonderful so_helpful") + r"\b"
)


def mood(clause: Clause) -> Iterator[Found]:
    """Whether a clause says that the user feels well or badly; a mood lasts for the day."""
    text = clause.text
    if match := _BAD.match(text):
        yield _tone(clause, "negative", match.end())
    elif match := _GOOD.match(text) or (_THANKS.match(text) and _PRAISE.search(text)):
        yield _tone(clause, "positive", match.end())


def _tone(clause: Clause, tone: str, end: int) -> Found:
    return found(clause, SENTIMENT, "tone", tone, end, 0.7, due=clause.at.date())
