"""Whom a question means by "she": people are named once, and asked about by a pronoun from then on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final

from recollect.flow.days import MONTH, WEEKDAY

MAX_WORDS: Final = 12
"""Words of the longest question that is taken to say all it says of someone by a pronoun."""
LOOK_BACK, LOOKED_AT = 3, 500
"""How many messages may be the one that names whom a question means, and how many characters of each."""
_WORD: Final = re.compile(r"[^\W\d_]\w*")
_NAMED: Final = re.compile(
    r"(?<=[\w,;)&] )[^\W\d_]\w*"
    r"|\b[^\W\d_]\w*(?=['\u2019]s\b| (?:and|had|will|said|told|got|went|came|met|left|\w+s|\w+ed)\b)"
)
"""A word inside a sentence, or one that may begin it as a name does: "Nadia called", not "Thanks" or "Please call"."""
_PRONOUN: Final = re.compile(r"\b(?:s?he|hers?|him|his|they|them|theirs?)\b", re.IGNORECASE)
_DATE: Final = re.compile(f"(?:{MONTH}|{WEEKDAY})", re.IGNORECASE)
_SOMEONE: Final = re.compile(r"\b(?:my|our|the) ([^\W\d_]+)", re.IGNORECASE)


def with_names(question: str, said: Iterable[str], common: Collection[str]) -> str:
    """The question and, where it has a pronoun and no name, whom the user last spoke of.

    `said` is what the user said before, the newest first; `common` are words that are no names.
    """
    if len(_WORD.findall(question)) > MAX_WORDS or not _PRONOUN.search(question) or _names(question, common):
        return question
    for text in islice(said, LOOK_BACK):
        start = text[:LOOKED_AT]
        if meant := _names(start, common) or _SOMEONE.findall(start):
            return " ".join((question, *dict.fromkeys(meant)))
    return question


def _names(text: str, common: Collection[str]) -> list[str]:
    """The names in a text: words with a capital that are neither common nor part of a date."""
    words = (word for word in _NAMED.findall(text) if word[0].isupper())
    return [word for word in words if word.lower() not in common and not _DATE.fullmatch(word)]
