"""Recalled turns under a token budget: best first, grouped by session under one date, never over the budget.

Turns are taken strictly in their order until one does not fit; of that one, the sentences that matter most are taken
as far as they fit, with every cut marked. So more budget never loses anything that less budget held.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial, reduce
from itertools import groupby, pairwise
from operator import xor
from typing import Final, NamedTuple, TypeAlias

from recollect.answers import Hit
from recollect.flow.days import written
from recollect.flow.sentences import NAME, sentences

Count: TypeAlias = Callable[[str], int]
Words: TypeAlias = Callable[[str], list[str]]
Day: TypeAlias = Callable[[datetime], str]

CUT: Final = "[…]"
DIFFERENT: Final = 0.1
"""Share of words that may differ between two turns that count as the same."""
A_TOKEN: Final = 20
"""Characters of a token that words hardly ever reach; lines of dashes may."""
LOOKED_AT, BLOCK = 100_000, 2_000
"""Characters of a message that are looked at for an excerpt, unless its tokens may have more; and of a part of it."""
MIN_WORDS: Final = 8
"""Words below which a piece of a sentence says nothing."""
_TELLING: Final = re.compile(r"\d|^\W*(?:not?|never|cannot|without)\b|n['\u2019]t\b")
"""Words that change what is said: numbers, and those that deny it."""
_BLANK: Final = re.compile(r"\s")
_LIKE_A_TURN: Final = re.compile(
    r"([\n\r\v\f\x85\u2028\u2029])"
    r"(?=[ \t]{0,9}(?:(?:user|assistant|system|tool): |\d{1,2} \w{3,9} \d{1,4}(?: \([^)\n]{1,40}\))?[ \t\r]*$))",
    re.MULTILINE | re.IGNORECASE,
)
"""A further line of a text that could pass for who says something next, or on which day."""
_STEM_END: Final = re.compile(r"(?<=.)[ei]$")
_MARKS: Final = ".,;:!?()\"'"
"""What may stand around a name."""
FEW: Final = 24
"""Texts up to which a further one is compared with each; of more, with those that share a telling word or part."""
_Said: TypeAlias = tuple[str, set[str]]
"""A text and its words."""
_Key: TypeAlias = str | tuple[tuple[int, int], int, str]
"""A word, or a part of the words of a text: which of how many, its words as one number, and whether that is all."""


class Moment(NamedTuple):
    """A turn that may be recalled, or a passage of a long one; `order` is its place in time, and in its message.

    `goes_on` says that its message has more after it.
    """

    id: str
    session: str
    order: tuple[int, int]
    at: datetime
    speaker: str
    text: str
    score: float
    goes_on: bool = False


class _Line(NamedTuple):
    moment: Moment
    day: str
    text: str


def _order(line: _Line) -> tuple[int, int]:
    return line.moment.order


@dataclass(slots=True)
class _Packed:
    """What is taken so far, by session in the order of time, and what it costs."""

    count: Count
    count_day: Count
    groups: dict[str, list[_Line]] = field(default_factory=dict)
    taken: list[_Line] = field(default_factory=list)
    used: int = 0

    def take(self, moment: Moment, day: str, line: str, budget: int) -> bool:
        """Whether the line was taken, as it fits."""
        if self._too_long(line, budget) or (used := self._with(moment, day, line)) > budget:
            return False
        self.used = used
        self.taken.append(_Line(moment, day, line))
        insort(self.groups.setdefault(moment.session, []), self.taken[-1], key=_order)
        return True

    def fits(self, moment: Moment, day: str, line: str, budget: int) -> bool:
        """Whether there is room for a line."""
        return not self._too_long(line, budget) and self._with(moment, day, line) <= budget

    def _too_long(self, line: str, budget: int) -> bool:
        """Whether the start of a line is too much already: the rest of a megabyte need not be counted."""
        most = A_TOKEN * budget
        return len(line) > most and self.count(line[:most]) > budget

    def _with(self, moment: Moment, day: str, line: str) -> int:
        """What everything would cost with one more line, its end, and the days that are written for it.

        Each line of a message counts by itself: as one, they are no longer. The end of a line may be one token with the
        sign in front of it; that of a hit is counted as one more.
        """
        lines = sum(self.count_day(f"{one}\n") for one in self._days(moment, day)) + self.count(f"{line}\n")
        return self.used + lines + (moment.session not in self.groups)

    def _days(self, moment: Moment, day: str) -> list[str]:
        """The days that a line adds: its own, if no line beside it has that; and that of the lines which it splits."""
        group = self.groups.get(moment.session, [])
        at = bisect_right(group, moment.order, key=_order)
        before, after = group[at - 1].day if at else "", group[at].day if at < len(group) else ""
        if day in (before, after):
            return []
        return [day, after] if before == after != "" else [day]

    def hits(self, budget: int) -> list[Hit]:
        """The hits. Where the counter rounds down, lines are more together than one by one: the last leave again."""
        while True:
            hits = [_hit(group) for group in self.groups.values() if group]
            if not hits or self.count("\n".join(hit.text for hit in hits)) <= budget:
                return hits
            last = self.taken.pop()
            self.groups[last.moment.session].remove(last)


def pack(
    moments: Iterable[Moment], budget: int, count: Count, words: Words, asked: set[str], day: Day = written
) -> list[Hit]:
    """The hits that fit `budget` tokens, best first; `asked` are the words that make a sentence matter."""
    packed, most = _Packed(count, cache(count)), max(LOOKED_AT, A_TOKEN * budget)
    for moment in moments:
        said = day(moment.at)
        if not packed.take(moment, said, turn_line(moment), budget):
            cut = excerpt(moment, words, asked, partial(packed.fits, moment, said, budget=budget), most)
            if cut is not None:
                packed.take(moment, said, cut, budget)
            break
    return packed.hits(budget)


def one_by_one(moments: Iterable[Moment]) -> list[Hit]:
    """A hit for each turn."""
    return [_hit([_Line(moment, written(moment.at), turn_line(moment))]) for moment in moments]


def of_sessions(moments: Iterable[Moment], most: int | None, sessions: set[str]) -> Iterator[Moment]:
    """The moments of the first `most` sessions among them; the names of those are added to `sessions`."""
    for moment in moments:
        if moment.session in sessions or most is None or len(sessions) < most:
            sessions.add(moment.session)
            yield moment


def distinct(moments: Iterable[Moment], said: Iterable[str] = ()) -> Iterator[Moment]:
    """The moments without those that say nearly the same as an earlier one, or just what was `said`.

    Very long ones are told apart by any letter.
    """
    seen, under = list[_Said](), dict[_Key, list[_Said]]()
    exact = set(said)
    for moment in moments:
        if moment.text in exact:
            continue
        exact.add(moment.text)
        words = set(moment.text.lower().split()) if len(moment.text) <= LOOKED_AT else set[str]()
        if len(words) > 3:
            others = seen if len(seen) < FEW else [other for key in _asks(words) for other in under.get(key, ())]
            size, slack = len(words), len(words) // 8
            if any(_alike(moment.text, words, *other) for other in others if abs(len(other[1]) - size) <= slack):
                continue
            seen.append((moment.text, words))
            new = [] if len(seen) < FEW else seen if len(seen) == FEW else seen[-1:]
            for other in new:
                for key in _entered(*other, under):
                    under.setdefault(key, []).append(other)
        yield moment


def _entered(text: str, words: set[str], under: Mapping[_Key, Sized]) -> Iterator[_Key]:
    """What a text is entered under, so that every text like it `_asks` for one of that.

    A number, name or denial is enough, for those must be the same: the one that the fewest texts are `under` so far.
    """
    names = {name.lower() for name in NAME.findall(text)}
    if firm := [word for word in words if _TELLING.search(word) or word.strip(_MARKS) in names]:
        yield min(firm, key=lambda word: len(under.get(word, ())))
        return
    for part, hashes in _parts(words, _number(len(words))):
        whole = reduce(xor, hashes, 0)
        yield part, whole, "all"
        yield from ((part, whole ^ one, "all but one") for one in hashes)


def _asks(words: set[str]) -> Iterator[_Key]:
    """What texts with nearly these words may be entered under."""
    yield from words
    size, differ = len(words), len(words) // 9
    for number in range(_number(size - differ), _number(size + differ) + 1):
        for part, hashes in _parts(words, number):
            whole = reduce(xor, hashes, 0)
            yield part, whole, "all"
            yield part, whole, "all but one"
            yield from ((part, whole ^ one, "all") for one in hashes)


def _number(size: int) -> int:
    """How many parts so many words are divided into, so that two texts that are alike differ by one word in one part.

    A tenth of the words of both is a ninth of those of one.
    """
    return 1 + size // 18


def _parts(words: set[str], number: int) -> Iterable[tuple[tuple[int, int], list[int]]]:
    """The words by the part that they are in, as their hashes."""
    parts = {(number, n): list[int]() for n in range(number)}
    for one in map(hash, words):
        parts[number, one % number].append(one)
    return parts.items()


def _alike(text: str, one: set[str], before: str, other: set[str]) -> bool:
    """Whether two texts have nearly the same words, and the very same numbers, names and denials."""
    shared = len(one & other)
    differ, both = len(one) + len(other) - 2 * shared, len(one) + len(other) - shared
    if differ > DIFFERENT * both or any(map(_TELLING.search, one ^ other)):
        return False
    named = {name.lower() for name in (*NAME.findall(text), *NAME.findall(before))}
    return named.isdisjoint(word.strip(_MARKS) for word in one ^ other)


def excerpt(
    moment: Moment, words: Words, asked: set[str], fits: Callable[[str], bool], most: int = LOOKED_AT
) -> str | None:
    """The longest part of a turn that fits. Repeated sentences leave first, then those with fewest of the asked words.

    Where one sentence is left, half of its words leave each time. How many sentences fit is found by bisection: a log
    of a thousand lines is not gone through a thousand times. Of a turn longer than `most` characters, so many are
    looked at: where the asked words are, else at its start.
    """
    parts = [*[""] * (moment.order[1] > 0), *_sentences(moment.text, asked, most), *[""] * moment.goes_on]
    first = {part: n for n, part in reversed(list(enumerate(parts)))}
    worth = [len(asked.intersection(words(part))) for part in parts]
    by_worth = sorted((n for n, part in enumerate(parts) if part), key=lambda n: (first[parts[n]] != n, -worth[n], n))

    def kept(number: int) -> str:
        return f"{moment.speaker}: {_joined(parts, set(by_worth[:number]))}"

    if number := bisect_left(range(1, len(parts)), True, key=lambda number: not fits(kept(number))):
        return kept(number)
    best = parts[by_worth[0]].split() if parts else []
    while len(best) > MIN_WORDS:
        best = best[: len(best) // 2]
        if fits(cut := f"{moment.speaker}: {' '.join(best)} {CUT}"):
            return cut
    return None


def _sentences(text: str, asked: set[str], most: int) -> Iterator[str]:
    """The sentences of a text; of one longer than `most`, those of its telling blocks, and "" for what is between."""
    end = 0
    for start, stop in _telling(text, asked, most) if len(text) > most else [(0, len(text))]:
        if start > end:
            yield ""
        end = stop
        block = text[start:stop]
        yield from (part for span in sentences(block, lines=True) if (part := block[slice(*span)].strip()))
    if end < len(text):
        yield ""


def _telling(text: str, asked: set[str], most: int) -> Iterator[tuple[int, int]]:
    """Where the blocks of a text are that hold most of the asked words, the first of them, from word to word.

    Asked words are stems: the e or i at their end may be another letter in the text.
    """
    stems = [_STEM_END.sub("", word) for word in asked]
    blocks = range(0, len(text), BLOCK)
    worth = [sum(_begins(block, stem) for stem in stems) for at in blocks if (block := text[at : at + BLOCK].lower())]
    best = sorted(range(len(blocks)), key=lambda n: (-worth[n], n))[: most // BLOCK]
    for n in sorted(best):
        yield _word_at(text, blocks[n]), _word_at(text, blocks[n] + BLOCK)


def _begins(text: str, stem: str) -> bool:
    """Whether a word of a text begins with a stem."""
    at = text.find(stem)
    while at > 0 and text[at - 1].isascii() and text[at - 1].isalnum():
        at = text.find(stem, at + 1)
    return at >= 0


def _word_at(text: str, at: int) -> int:
    """Where the next word begins, or the same place where there is none near."""
    found = _BLANK.search(text, at, at + A_TOKEN) if 0 < at < len(text) else None
    return found.end() if found else min(at, len(text))


def _joined(parts: list[str], kept: set[int]) -> str:
    out: list[str] = []
    for n, part in enumerate(parts):
        if n in kept:
            out.append(part)
        elif not out or out[-1] != CUT:
            out.append(CUT)
    return " ".join(out)


def _hit(group: list[_Line]) -> Hit:
    best = max(line.moment.score for line in group)
    first, texts, day = group[0].moment, list[str](), ""
    messages = {id: list(lines) for id, lines in groupby(group, key=lambda line: line.moment.id)}
    for lines in messages.values():
        text = _one_line(lines)
        texts += [text] if lines[0].day == day else [day := lines[0].day, text]
    return Hit(tuple(messages), "\n".join(texts), best, first.at, first.session)


def _one_line(lines: Sequence[_Line]) -> str:
    """The lines of one message as one: passages in a row as they stand, a mark where something is left out."""
    runs = [[lines[0]]]
    for before, line in pairwise(lines):
        runs += [] if _follows(line, before) else [[]]
        runs[-1].append(line)
    who = f"{lines[0].moment.speaker}: "
    said = [run[0].text.removeprefix(who) if len(run) == 1 else _marked([line.moment for line in run]) for run in runs]
    for n in range(1, len(said)):
        said[n - 1], said[n] = said[n - 1].removesuffix(CUT).rstrip(), said[n].removeprefix(CUT).lstrip()
    return who + f" {CUT} ".join(said)


def _follows(line: _Line, before: _Line) -> bool:
    """Whether a whole passage begins where another ends, with no more blanks between than the end of a line takes."""
    one, other = before.moment, line.moment
    cut = before.text != turn_line(one) or line.text != turn_line(other)
    if cut or one.order[1] + len(one.text) != other.order[1]:
        return False
    blanks = len(one.text) - len(one.text.rstrip()) + len(other.text) - len(other.text.lstrip())
    return blanks <= len(f" {CUT}\n{other.speaker}: {CUT} ")


def _marked(passages: Sequence[Moment]) -> str:
    """Passages in a row, with a mark where their message has more."""
    before, after = passages[0].order[1] > 0, passages[-1].goes_on
    return _own(f"{CUT * before} {''.join(one.text for one in passages).strip()} {CUT * after}".strip())


def _own(text: str) -> str:
    """The text, with escapes where it would pass for another turn: whoever said it said all of it."""
    return _LIKE_A_TURN.sub(r"\1\\", text)


def turn_line(moment: Moment) -> str:
    """Who said what."""
    return f"{moment.speaker}: {_marked([moment]) if moment.order[1] or moment.goes_on else _own(moment.text)}"
