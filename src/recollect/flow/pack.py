"""Recalled turns under a token budget: best first, grouped by session under one date, never over the budget.

Turns are taken strictly in their order until one does not fit; of that one, the sentences that matter most are taken
as far as they fit, with every cut marked. So more budget never loses anything that less budget held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from recollect.types import Hit

Count: TypeAlias = Callable[[str], int]
Words: TypeAlias = Callable[[str], list[str]]

CUT: Final = "[…]"
ALIKE: Final = 0.9
"""Share of words in common from which on two turns count as the same."""
_SENTENCE: Final = re.compile(r"[^\n.!?\u3002\uff01\uff1f]*(?:[.!?\u3002\uff01\uff1f]+|\n+|$)\s*")


@dataclass(frozen=True, slots=True)
class Moment:
    """A turn that may be recalled; of two with one `order`, neither comes first in time."""

    id: str
    session: str
    order: int
    at: datetime
    speaker: str
    text: str
    score: float


@dataclass(slots=True)
class _Packed:
    """What is taken so far, by session, and what it costs."""

    count: Count
    groups: dict[str, list[tuple[Moment, str]]] = field(default_factory=dict)
    used: int = 0

    def cost(self, moment: Moment, line: str) -> int:
        """The tokens a line adds: itself, its end, and the date where its session has none yet."""
        heading = 0 if moment.session in self.groups else self.count(day_line(moment.at)) + 1
        return heading + self.count(line) + 1

    def take(self, moment: Moment, line: str) -> None:
        self.used += self.cost(moment, line)
        self.groups.setdefault(moment.session, []).append((moment, line))

    def hits(self) -> list[Hit]:
        return [_hit(group) for group in self.groups.values()]


def pack(moments: Iterable[Moment], budget: int, count: Count, words: Words, asked: set[str]) -> list[Hit]:
    """The hits that fit `budget` tokens, best first; `asked` are the words that make a sentence matter."""
    packed = _Packed(count)
    for moment in moments:
        line = turn_line(moment)
        if packed.used + packed.cost(moment, line) <= budget:
            packed.take(moment, line)
            continue
        for excerpt in excerpts(moment, words, asked):
            if packed.used + packed.cost(moment, excerpt) <= budget:
                packed.take(moment, excerpt)
                break
        break
    return packed.hits()


def one_by_one(moments: Iterable[Moment]) -> list[Hit]:
    """A hit for each turn."""
    return [_hit([(moment, turn_line(moment))]) for moment in moments]


def distinct(moments: Iterable[Moment]) -> Iterator[Moment]:
    """The moments without those that say nearly the same as an earlier one."""
    seen: list[set[str]] = []
    exact: set[str] = set()
    for moment in moments:
        if moment.text in exact:
            continue
        exact.add(moment.text)
        said = set(moment.text.lower().split())
        if len(said) > 3 and any(len(said & other) >= ALIKE * len(said | other) for other in seen):
            continue
        seen.append(said)
        yield moment


def excerpts(moment: Moment, words: Words, asked: set[str]) -> Iterator[str]:
    """Ever shorter excerpts of a turn, each a part of the one before: the least telling sentence goes first."""
    sentences = [found for found in _SENTENCE.findall(moment.text) if found.strip()]
    worth = [len(asked.intersection(words(sentence))) for sentence in sentences]
    by_worth = sorted(range(len(sentences)), key=lambda n: (-worth[n], n))
    for keep in range(len(sentences) - 1, 0, -1):
        yield f"{moment.speaker}: {_joined(sentences, set(by_worth[:keep]))}"


def _joined(sentences: list[str], kept: set[int]) -> str:
    out: list[str] = []
    for n, sentence in enumerate(sentences):
        if n in kept:
            out.append(sentence.strip())
        elif not out or out[-1] != CUT:
            out.append(CUT)
    return " ".join(out)


def _hit(group: list[tuple[Moment, str]]) -> Hit:
    best = max(moment.score for moment, _ in group)
    timely = sorted(group, key=lambda pair: pair[0].order)
    first = timely[0][0]
    text = "\n".join([day_line(first.at), *(line for _, line in timely)])
    return Hit(tuple(moment.id for moment, _ in timely), text, best, first.at, first.session)


def day_line(at: datetime) -> str:
    """A day as people write it, and as short as it gets: 8 May 2023."""
    return f"{at.day} {at:%B} {at.year}"


def turn_line(moment: Moment) -> str:
    """Who said what."""
    return f"{moment.speaker}: {moment.text}"
