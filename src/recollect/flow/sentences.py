"""Cuts text into sentences: spans that together cover all of it, so nothing is lost and every place is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]

_END: Final = re.compile(
    r"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)\]*_]*(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\"'\u201d\u2019\u300d\u300f\uff09]*"
    r"|(?<=\}),(?=\s*\{)"
    r"|\n"
)
_BLANKS: Final = re.compile(r"\s*")
_NOT_AN_END: Final = re.compile(
    r"(?:^|[\s(\"'])(?:[^\W\d_]|\d{1,3}|mr|mrs|ms|dr|prof|st|vs|etc|no|fig|approx|e\.g|i\.e|a\.m|p\.m|\w\.\w)\.$",
    re.IGNORECASE,
)
_NEW_LINE: Final = re.compile(r"\n[ \t\r]*(?:\n|[-*+#>|\u2022\t]|\d{1,3}[.)]\s|$)")
LOOK_BACK: Final = 12
QUESTION_MARKS: Final = ("?", "\uff1f", "\u061f")
NAME: Final = re.compile(r"(?<=[\w,;)&] )[^\W\d_a-z][\w'\u2019-]+")
"""A name inside a sentence: a word with a capital, not the first one."""


def sentences(text: str, *, lines: bool) -> list[Span]:
    """The spans of the sentences, each with the blanks after it.

    With `lines`, every end of a line ends a sentence too. Without, it does only in front of a paragraph, list or table:
    lines may be wrapped by hand.
    """
    return list(one_by_one(text, lines=lines))


def one_by_one(text: str, *, lines: bool) -> Iterator[Span]:
    """`sentences` as an iterator that finds each one only when it is asked for."""
    return (span for span in pairwise(chain([0], _cuts(text, lines), [len(text)])) if span[0] < span[1])


def _cuts(text: str, lines: bool) -> Iterator[int]:
    """Where the next sentence begins, in order."""
    last = 0
    for end in _END.finditer(text):
        if end.start() < last or not _ends(text, end, lines):
            continue
        last = _after(text, end.end())
        yield last


def _after(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _ends(text: str, end: re.Match[str], lines: bool) -> bool:
    if end[0] == "\n":
        return lines or _NEW_LINE.match(text, end.start()) is not None
    if not end[0].startswith("."):
        return True
    if _NOT_AN_END.search(text, max(0, end.start() - LOOK_BACK), end.start() + 1):
        return False
    return not text[(at := _after(text, end.end())) : at + 1].islower()
