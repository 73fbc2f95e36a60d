"""Cuts documents into chunks at headings and sentences, each within a size and with the headings above it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice, takewhile
from typing import Final, TypeAlias

from recollect.errors import ConfigError
from recollect.flow import sentences
from recollect.flow.sentences import Span

Count: TypeAlias = Callable[[str], int]
Fits: TypeAlias = Callable[[int, int], bool]

MIN_SIZE: Final = 20
SMALL: Final = 4
"""A section smaller than the chunk size divided by this shares its chunk with the next one."""
_HEADING: Final = re.compile(r"^(?:(#{1,6})[ \t]+(\S[^\n]*)|[ \t]*(`{3,}|~{3,})([^\n]*))|(\f)", re.MULTILINE)
_PAGE: Final = re.compile(r"page (\d+)")
_UNDERLINED: Final = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n\r\n))(?![-*>|#`~\s])([^\n|]+)\n(={3,}|-{3,})[ \t\r]*(?=\n|\Z)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: its exact text, where it starts, and the headings above it, outermost first."""

    text: str
    start: int
    headings: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    end: int
    headings: tuple[str, ...]


def chunks(text: str, count: Count, size: int = 300, overlap: int = 50) -> list[Chunk]:
    """The chunks of a text, in order; each has at most `size` tokens, and together they hold every character."""
    return list(one_by_one(text, count, size, overlap))


def one_by_one(text: str, count: Count, size: int, overlap: int) -> Iterator[Chunk]:
    """`chunks` as an iterator that finds each chunk only when it is asked for.

    A chunk ends where a sentence ends, and a new one begins at each heading, unless the section above it is very short.
    Inside a section, a chunk begins with as many of the previous chunk's last sentences as fit in `overlap` tokens.
    """
    if size < MIN_SIZE:
        raise ConfigError(f"a chunk of {size} tokens is too small; give at least {MIN_SIZE}")
    if not 0 <= overlap < size:
        raise ConfigError(f"an overlap of {overlap} tokens does not fit in chunks of {size}; give 0 to {size - 1}")
    fits, overlaps = (partial(_within, text, count, limit) for limit in (size, overlap))
    for group in _merged(_sections(text), text, count, size // SMALL) if text.strip() else ():
        for a, b in _packed(_pieces(text, group[0].start, group[-1].end, fits), fits, overlaps):
            yield Chunk(text[a:b], a, _above([one for one in group if one.start < b and a < one.end]))


def _within(text: str, count: Count, limit: int, start: int, end: int) -> bool:
    return count(text[start:end]) <= limit


def _sections(text: str) -> Iterator[_Section]:
    path: list[tuple[int, str]] = []
    start = 0
    for at, level, title in _headings(text):
        if at > start:
            yield _Section(start, at, tuple(name for _, name in path))
        path = [(above, name) for above, name in path if above < level] + [(level, title)]
        start = at
    if start < len(text):
        yield _Section(start, len(text), tuple(name for _, name in path))


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Each heading's place, level and words; none inside code. A new page counts as a heading above all others."""
    signed = _HEADING.finditer(text) if any(sign in text for sign in "#`~\f") else ()
    underlined = _UNDERLINED.finditer(text) if "\n==" in text or "\n--" in text else ()
    page, code = 1, ""
    if "\f" in text:
        yield 0, 0, "page 1"
    for mark in merge(signed, underlined, key=re.Match.start):
        at = mark.start()
        if mark.re is _UNDERLINED:
            if not code:
                yield at, 1 if mark[2].startswith("=") else 2, mark[1].strip()
        elif mark[5]:
            page += 1
            yield at, 0, f"page {page}"
        elif mark[3]:
            code = _fence(code, mark[3], mark[4])
        elif not code:
            yield at, len(mark[1]), mark[2].strip().rstrip("#").strip()


def _fence(code: str, sign: str, rest: str) -> str:
    """The fence that opened the current block of code, after a line that begins with a fence; empty outside code."""
    if not code:
        return "" if "`" in sign and "`" in rest else sign
    return "" if sign.startswith(code) and not rest.strip() else code


def _merged(sections: Iterable[_Section], text: str, count: Count, small: int) -> Iterator[list[_Section]]:
    """The sections, with short ones merged into the next."""
    together: list[_Section] = []
    for section in sections:
        together.append(section)
        if count(text[together[0].start : section.end]) >= small:
            yield together
            together = []
    if together:
        yield together


def _above(sections: list[_Section]) -> tuple[str, ...]:
    """The headings that merged sections have in common; several pages are named from the first to the last."""
    paths = [section.headings for section in sections]
    outer = {path[:depth] for path in paths for depth in range(len(path))}
    inner = [path for path in paths if path not in outer]
    shared = tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*inner, strict=False)))
    pages = [match[1] for path in paths if path and (match := _PAGE.fullmatch(path[0]))]
    return shared or ((f"pages {pages[0]}-{pages[-1]}",) if len(pages) == len(paths) else ())


def _pieces(text: str, start: int, end: int, fits: Fits) -> Iterator[Span]:
    """The pieces that are not cut any further: the sentences from `start` to `end`, with over-long ones in parts."""
    for a, b in sentences.one_by_one(text[start:end], lines=False):
        yield from _parts(text, start + a, start + b, fits)


def _parts(text: str, start: int, end: int, fits: Fits) -> Iterator[Span]:
    if end - start < 2 or fits(start, end):
        yield start, end
        return
    middle = _middle(text, start, end)
    yield from _parts(text, start, middle, fits)
    yield from _parts(text, middle, end, fits)


def _middle(text: str, start: int, end: int) -> int:
    """Where to halve a text: after a line, else after a space, else anywhere except before a combining character."""
    half = (start + end) // 2
    for sign in ("\n", " "):
        if (at := text.rfind(sign, start + (end - start) // 8, half)) >= 0:
            return at + 1
    whole = half
    while whole > start and unicodedata.combining(text[whole]):
        whole -= 1
    return whole if whole > start else half


class _Spans:
    """Pieces by their number; each is found only when it is asked for."""

    def __init__(self, source: Iterator[Span]) -> None:
        self.source, self.found = source, list[Span]()

    def has(self, number: int) -> bool:
        """Whether there are more than so many."""
        self.found += islice(self.source, max(0, number + 1 - len(self.found)))
        return number < len(self.found)

    def __getitem__(self, number: int) -> Span:
        return self.found[number]


def _packed(pieces: Iterator[Span], fits: Fits, overlaps: Fits) -> Iterator[Span]:
    """Chunks of as many pieces as fit, each beginning with the last pieces of the chunk before."""
    first, new, spans = 0, 0, _Spans(pieces)
    while spans.has(new):
        last = _furthest(spans, first, new, fits)
        yield spans[first][0], spans[last][1]
        first, new = _repeated(spans, last, fits, overlaps), last + 1


def _furthest(spans: _Spans, first: int, last: int, fits: Fits) -> int:
    """The last piece that fits in a chunk that begins at `first`; searched by doubling and halving, to count seldom."""
    start, step, grows = spans[first][0], 1, True
    while step:
        if spans.has(last + step) and fits(start, spans[last + step][1]):
            last += step
        else:
            grows = False
        step = step * 2 if grows else step // 2
    return last


def _repeated(spans: _Spans, last: int, fits: Fits, overlaps: Fits) -> int:
    """The first piece of the next chunk: one of this chunk's last, as overlap and the room for a new piece allow.

    It is never this chunk's first: with a new piece, this chunk would not fit.
    """
    if not spans.has(last + 1):
        return last + 1
    end, following = spans[last][1], spans[last + 1][1]
    at = last + 1
    while overlaps(spans[at - 1][0], end) and fits(spans[at - 1][0], following):
        at -= 1
    return at
