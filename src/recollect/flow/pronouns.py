"""What a question means by "she" or "it", or leaves out ("Which hotel?"): things are named once, then asked about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from recollect.flow.days import MONTH, WEEKDAY

MAX_WORDS: Final = 12
"""Words of the longest question that is taken to leave something out."""
FEW: Final = 3
"""A question with more telling words than these says what its "it" is; so many are taken from earlier messages."""
MOST: Final = 25
"""More telling words than these, as of pasted text, would count for more than those of the question."""
LOOK_BACK, LOOKED_AT = 3, 500
"""How many messages may say what a question means, and how many characters of each."""
_WORD: Final = re.compile(r"[^\W\d_]\w*")
_PERSON: Final = re.compile(r"\b(?:s?he|hers?|him|his|they|them|theirs?)\b", re.IGNORECASE)
_THING: Final = re.compile(
    r"\b[Ii]ts?\b|(?<!\b[Ii]s )(?<!\b[Aa]re )(?<!\b[Ww]as )(?<!\b[Ww]ere )\bthere\b"
    r"|\b(?:is|was|are|were|did|does|do|about|of|for|in|at|to|from|with|than) (?:that|this|those|these)\b"
    r"(?! (?:morning|evening|day|week|weekend|month|year|spring|summer|autumn|fall|winter)\b)"
    r"|\b(?:that|this|those|these)\W*$|^\W*(?:[Aa]nd|[Ww]hat about|[Hh]ow about)\b"
)
"""Words for things named before; not "the book that I read", "is there", "in this year" or "the IT job"."""
_BARE: Final = re.compile(
    r"(?=.*\b(?:which|what|how|when|where|whom|whose|why)\b)"
    r"(?:\b(?!(?:is|are|am|was|were|do|does|did|have|ha[sd]|can|could|will|would|shall|should|must|may|might|s|re|ll"
    r"|i|my|we|our|you|your)\b)[a-z]+\W*){1,4}",
    re.IGNORECASE,
)
"""A question of a few words without a verb: what "Which hotel?" or "Since when?" is about was said before."""
_DATE: Final = re.compile(
    rf"{MONTH}|{WEEKDAY}|today|tonight|yesterday|tomorrow|ago|last|next|(?:day|week|weekend|month|year)s?",
    re.IGNORECASE,
)
"""Words for days: those of an earlier message are not the days that are asked about."""


def with_what_it_means(question: str, said: Iterable[str], common: Collection[str]) -> str:
    """The question and, where it has a pronoun or no verb, and no name, the telling words of what the user said last.

    `said` is what the user said before, the newest first; `common` are words that tell nothing. As "Great, thanks!"
    says too little, messages are taken until there are a few words. A long one says too much: only names are
    taken from it, and only for "she" and the like.
    """
    words = _WORD.findall(question)
    if len(words) > MAX_WORDS or any(word[0].isupper() for word in _telling(words[1:], common)):
        return question
    person = _PERSON.search(question)
    thing = _THING.search(question) or _BARE.fullmatch(question)
    if not person and (len(_telling(words, common)) > FEW or not thing):
        return question
    meant: list[str] = []
    for text in islice(said, LOOK_BACK):
        if len(meant) < FEW:
            meant += _telling(_WORD.findall(text[:LOOKED_AT]), common)
    if len(meant) > MOST:
        meant = [word for word in meant if person and word[0].isupper()]
    return " ".join((question, *meant))


def _telling(words: Iterable[str], common: Collection[str]) -> list[str]:
    """The words that are neither common nor for a day."""
    return [word for word in words if word.lower() not in common and not _DATE.fullmatch(word)]
