"""What the rules are written with: sets of words, and patterns that match in upper and lower case."""

from __future__ import annotations

import re
from typing import Any, Final, cast

_APOSTROPHE: Final = re.compile(r"(?<=[a-z:|()])'(?=(?:m|ve|d|s|t)\b)")
"""That of "i'm", "don't" and "wife's" in a rule. Without theirs, "we're" and "we'll" are other words."""
_LIKE_ASCII: Final = {0x130: "i", 0x131: "i", 0x17F: "s"}
"""Letters that a rule takes for an i or an s: from a Turkish keyboard, the i of "my wife" may come without its dot."""
EMOJI: Final = "\u2600-\u27bf\U0001f300-\U0001faff"
"""As part of a set of characters: many end a sentence with one."""


def word_set(words: str) -> frozenset[str]:
    """The set of the words in a text; "it's" is also in it as "its", as many people type it."""
    return frozenset(form for word in words.split() for form in (word, _APOSTROPHE.sub("", word)))


def lower(matched: str) -> str:
    """What a rule matched, in small letters as the rule has it."""
    return matched.translate(_LIKE_ASCII).lower()


def any_of(words: str) -> str:
    """A pattern for any of these words; "_" in a word means a space."""
    return f"(?:{'|'.join(word.replace('_', ' ') for word in words.split())})"


class _Later:
    """A pattern that is compiled on first use: there are hundreds, and programs that learn nothing need none."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update({way: getattr(compiled, way) for way in ("match", "search", "finditer", "split", "sub")})
        return object.__getattribute__(self, name)


def rule(*forms: str) -> re.Pattern[str]:
    """A pattern for any of these forms, in upper or lower case, with or without apostrophes: "im", "dont"."""
    return cast("re.Pattern[str]", _Later(_APOSTROPHE.sub("'?", "|".join(forms)), re.IGNORECASE))


def small(*forms: str) -> re.Pattern[str]:
    """A pattern for text in small letters, which is fast; used to check first for what a rule needs."""
    return cast("re.Pattern[str]", _Later("|".join(forms), re.NOFLAG))


HOUR: Final = rule(r" at \d[\d:.]*(?: ?[ap]m\b)?")
"""The hour of a plan, which goes where another day takes the place of its own."""
