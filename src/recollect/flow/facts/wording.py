"""What the rules are written with: sets of words, and patterns of sentences in upper or lower case."""

from __future__ import annotations

import re


def word_set(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


def any_of(words: str) -> str:
    """A pattern for any of these words; a "_" in one is a blank."""
    return f"(?:{'|'.join(word.replace('_', ' ') for word in words.split())})"


def rule(*forms: str) -> re.Pattern[str]:
    """A pattern that any of these forms matches, in capitals or not."""
    return re.compile("|".join(forms), re.IGNORECASE)
