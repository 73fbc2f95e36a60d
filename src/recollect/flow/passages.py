"""A long message cut into passages, ranked and quoted like turns: what one part of it says is found by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.flow.sentences import Span

LONG: Final = 4_000
"""Characters up to which a message is one passage: about twice as many as a small model reads."""
SIZE: Final = 600
"""Characters of a passage, at most: few enough for a vector to tell what each sentence says."""


def passages(text: str) -> list[Span]:
    """Where the passages of a text begin and end: in order, and together all but blanks.

    A passage ends with a line, else with a sentence, else with a word; quickly, as all of a user's log is cut at once.
    """
    return list(_cut(text)) if len(text) > LONG else [(0, len(text))]


def pieces(text: str) -> list[str]:
    """The passages of a text themselves."""
    return [text[start:end] for start, end in _cut(text)] if len(text) > LONG else [text]


def _cut(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        end = _end(text, start, len(text) - start)
        if not text[start:end].isspace():
            yield start, end
        start = end


def _end(text: str, start: int, left: int) -> int:
    """Where a passage ends, with so many characters left; little more than one is halved, so that none is a scrap."""
    if left <= SIZE:
        return len(text)
    least, most = (SIZE // 2, SIZE) if left > SIZE * 3 // 2 else (left // 2 - SIZE // 4, left // 2 + SIZE // 4)
    for sign in ("\n", ". ", " "):
        if (found := text.rfind(sign, start + least, start + most)) >= 0:
            return found + len(sign)
    return start + most
