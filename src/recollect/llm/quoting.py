"""What can be quoted from a prompt: the facts and lines of its memory, and the user's words in the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import UTC, date, datetime, time
from functools import cache
from itertools import groupby, takewhile
from typing import Final, NamedTuple

from recollect.answers import UNDER, Fact
from recollect.flow.days import day_written, written
from recollect.flow.facts import Statement, extract, known
from recollect.flow.facts.spoken import read_line
from recollect.flow.fence import CLOSE, OPEN, SAYS, TITLES, without_memory
from recollect.flow.fence import heading as heading_of
from recollect.flow.pack import CUT
from recollect.types import Message, with_zone

EARLIER: Final = "Earlier in this conversation:"
HABITS: Final = f"{TITLES['hints']}:"
DOCUMENTS: Final = f"{TITLES['documents']}:"
FACTS: Final = (f"{TITLES['profile']}:", f"{TITLES['facts']}:")
UNKNOWN: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Stands for the day of a fact whose line names none."""
ONCE: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Stands for the time of a text that has none: facts are read from it, but not their days."""
_HEADINGS: Final = frozenset(map(heading_of, TITLES))
_NOW: Final = datetime.max.replace(tzinfo=UTC)
_DAY: Final = re.compile(r"(\d{1,2} \w+ \d{1,4})(?: \([^)]*\))?")
_TURN: Final = re.compile("^(?:user|assistant|system|tool): ")
LONGEST: Final = 500
"""How many characters of a line are quoted at most."""
_AROUND: Final = 80
_ANY_WORD: Final = re.compile(r"\S+")
_THEY: Final = re.compile(r"\b(?:he|she|they|his|her|their|him|them|it|its)\b", re.IGNORECASE)
_SOURCE: Final = re.compile(r"(\[document .*?)\](?: |$)")
_TITLE: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*")
_JSON: Final = re.compile(r"""\s*[\[{]\s*(?:["\[{\]}]|$)""")
_OPEN: Final = re.compile(f"^{OPEN}\n", re.MULTILINE)
_CLOSE: Final = re.compile(f"^{CLOSE}", re.MULTILINE)


class Line(NamedTuple):
    """A line that could be quoted: the heading above it, its day, and who said what."""

    heading: str
    day: str
    text: str

    @property
    def words(self) -> str:
        """What was said, without who said it."""
        return _TURN.sub("", self.text, count=1)

    @property
    def on(self) -> date | None:
        """The day on which it was said, where that is known."""
        found = _DAY.match(self.day)
        return day_written(found[1]) if found else None


def memory_of(text: str) -> str:
    """What is inside the memory fence of a text; empty if it has none."""
    opened = _OPEN.search(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    return text[opened.end() : closed.start()] if opened and closed else ""


def lines_of(memory: str) -> Iterator[Line]:
    """The lines of a memory; those of documents come with the headings above them."""
    for in_documents, lines in groupby(_lines(memory), key=lambda line: line.heading == DOCUMENTS):
        yield from (_passages if in_documents else iter)(lines)


def _passages(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines of documents, each with the headings above it; a heading on its own only if nothing is below it."""
    source, above, bare = "", dict[int, str](), None
    for line in filter(lambda line: line.text, lines):
        begins = _SOURCE.match(line.text)
        text = line.text[begins.end() :] if begins else line.text
        title = _TITLE.fullmatch(text)
        level = len(title[1]) if title else 0
        if bare and (begins or 0 < level <= max(above)):
            yield bare
        bare = None
        if begins:
            source, above = begins[1], {}
        if title:
            above = {n: name for n, name in above.items() if n < level} | {level: title[2]}
            bare = line._replace(text=f"{source}] {text}")
        else:
            path = source + "".join(f"{UNDER}{name}" for name in above.values() if f"{UNDER}{name}" not in source)
            yield line._replace(text=f"{path}] {text}") if begins or UNDER in path else line
    if bare:
        yield bare


def _lines(memory: str) -> Iterator[Line]:
    """The lines as they are. A tool's JSON is left out, and what an earlier answer of this kind quoted."""
    heading = day = ""
    readable = True
    for line in memory.split("\n"):
        if line in _HEADINGS:
            heading, day, readable = line.removeprefix("## ") + ":", "", True
        elif _DAY.fullmatch(line):
            day, readable = f"{line}, ", True
        else:
            if said := _TURN.match(line):
                readable = not _JSON.match(line, said.end())
            if readable and line != SAYS and not line.startswith("> "):
                yield Line(heading, day, line.strip())


def reply_to(lines: Sequence[Line], place: int) -> Line | None:
    """The assistant's answer to what the user said in a line; None if that is not quoted."""
    after = map(lines.__getitem__, range(place + 1, len(lines)))
    talk = takewhile(lambda line: line[:2] == lines[place][:2], after)
    for line in talk:
        if line.text.startswith("user: "):
            return None
        if line.text.startswith("assistant: "):
            rest = takewhile(lambda other: not _TURN.match(other.text), talk)
            return line._replace(text=" ".join(filter(None, (line.text, *(other.text for other in rest)))))
    return None


def said_of(lines: Sequence[Line], names: set[str], words: Callable[[str], set[str]]) -> list[bool]:
    """For each line, whether it is about someone with one of these names: it says one, or "she" right after one did."""
    about, found = False, list[bool]()
    for n, line in enumerate(lines):
        same_talk = n > 0 and (line.heading, line.day) == (lines[n - 1].heading, lines[n - 1].day)
        named = not names.isdisjoint(words(line.words))
        if line.text.startswith("user: "):
            about = named or (about and same_talk and _THEY.search(line.words) is not None)
        found.append(named or (about and line.text.startswith("user: ")))
    return found


def part_about(text: str, asked: Set[str], words: Callable[[str], set[str]]) -> str:
    """What was said in a line, as it is quoted; of a long one, the part with the most words of the question."""
    if len(text) <= LONGEST:
        return text
    known = cache(words)
    telling = [(word.start(), said) for word in _ANY_WORD.finditer(text) if (said := known(word[0]) & asked)]

    def worth(n: int) -> int:
        end = telling[n][0] + LONGEST - 2 * _AROUND
        near = takewhile(lambda one: one[0] < end, telling[n : n + LONGEST])
        return len(set[str]().union(*(said for _, said in near)))

    best = telling[max(range(len(telling)), key=worth)][0] if telling else 0
    first = text.rfind(" ", max(0, best - 2 * _AROUND), max(0, best - _AROUND)) + 1 or max(0, best - _AROUND)
    last = text.rfind(" ", best + 1, first + LONGEST) if first + LONGEST < len(text) else len(text)
    last = first + LONGEST if last < 0 else last
    return f"{CUT + ' ' if first else ''}{text[first:last]}{' ' + CUT if last < len(text) else ''}"


def said_before(messages: Sequence[Message]) -> Iterator[Line]:
    """What the user said earlier in the conversation itself; memory does not repeat it."""
    for message in filter(None, map(without_memory, messages)):
        day = f"{written(message.at)}, " if message.at else ""
        yield from (Line(EARLIER, day, f"user: {line}") for line in message.text.splitlines())


def facts_in(lines: Iterable[Line], messages: Sequence[Message]) -> list[Fact]:
    """The facts in memory, updated by what the user said in the conversation since."""
    told = [fact for line in lines if line.heading in FACTS and (fact := read_line(line.text))]
    said = ((message.text, message.at) for message in map(without_memory, messages) if message)
    return list(known([*(_statement(fact, n) for n, fact in enumerate(told)), *_statements(said)]).standing)


def ends_of(lines: Iterable[Line], asked_for: Callable[[Sequence[Fact]], Iterable[Fact]]) -> list[Line]:
    """The lines in which the user said that something is over, of what the question asks for."""
    said = [line for line in lines if line.text.startswith("user: ")]
    days = [datetime.combine(line.on, time(), UTC) if line.on else None for line in said]
    held = known(_statements(zip((line.words for line in said), days, strict=True)))
    standing = {fact.key for fact in held.standing}
    over = asked_for([fact for fact in held.past if fact.key not in standing])
    ids = {id for fact in over for id in held.rests[fact.key]}
    return [said[n] for n in sorted({int(id.partition(":")[0]) for id in ids})]


def _statements(said: Iterable[tuple[str, datetime | None]]) -> Iterator[Statement]:
    """The statements in these texts, each with the time it was said; their ids begin with the number of the text."""
    for n, (text, when) in enumerate(said):
        at = with_zone(when) if when else None
        for place, found in enumerate(extract(text, at or ONCE)):
            yield Statement(
                f"{n}:{place}",
                (at or _NOW, n, place),
                found.type,
                found.key,
                found.value,
                found.confidence,
                at or UNKNOWN,
                valid_to=found.valid_to if at else None,
                ended=found.ended,
                then=found.then,
            )


def _statement(fact: Fact, n: int) -> Statement:
    order = (fact.at, -1, n)
    return Statement(
        str(n), order, fact.type, fact.key, fact.value, 1.0, fact.at, valid_to=fact.valid_to, origin=fact.origin
    )


def stands_for(word: str, known: Iterable[str]) -> str:
    """The known word that a misspelt one stands for: "nmae" and "nam" are "name". The word itself if there is none."""
    return next((other for other in known if _slip(word, other)), word)


def _slip(word: str, other: str) -> bool:
    """Whether a word is another one with a letter missing or doubled, or with its letters in another order."""
    if not word or word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    if len(word) == len(other):
        return sorted(word) == sorted(other)
    short, long = sorted((word, other), key=len)
    at = next((n for n, letter in enumerate(short) if letter != long[n]), len(short))
    return short[at:] == long[at + 1 :] and (short == word or long[at] == long[at - 1])
