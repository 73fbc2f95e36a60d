"""The past periods a question names: "last May", "two weeks ago", "between March and June"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from itertools import islice
from typing import Final, TypeAlias

from recollect.flow.days import DAY, DAYS, MONTH, MONTHS, NUMBER, WEEKDAY, WEEKDAYS, number

Period: TypeAlias = tuple[int, int]
"""First and last day, as `date.toordinal` numbers them."""

_GIVE_OR_TAKE: Final = {"day": 1, "week": 3, "month": 10, "year": 45}
_FEASTS: Final = {
    "christmas eve": "24 december", "christmas": "25 december", "new year's eve": "31 december",
    "new year's day": "1 january", "valentine's day": "14 february", "st. patrick's day": "17 march",
    "independence day": "4 july", "halloween": "31 october",
}  # fmt: skip
_LAST: Final = {"week": (10, 2), "weekend": (8, 1), "month": (45, 7)}
"""How many days back the last one may have begun and ended, as people use the words."""
_NEAR: Final = {"yesterday": 1, "last night": 1, "day before yesterday": 2}
_FEAST: Final = re.compile(rf"\b(?:{'|'.join(_FEASTS)})\b")
_PAST: Final = re.compile(r"\b(?:did|was|were|had|said|told)\b")
_SINCE: Final = re.compile(r"\bsince (?:the )?$")
_NUMBER: Final = re.compile(r"\b(?:mid)?\d")
_WORD: Final = re.compile(r"[a-z]+")
_TELLING: Final = frozenset(
    ("ago", "last", "past", "previous", "this", "today", "yesterday", *MONTHS, *map("mid{}".format, MONTHS), *WEEKDAYS)
)
"""Words one of which, or a number, is in the name of any period."""


def periods(question: str, asked: date) -> list[Period]:
    """The periods that the question names; relative ones count back from the day it was asked."""
    text, found = question[:10_000].lower().replace("\u2019", "'"), list[Period]()
    text = _FEAST.sub(lambda match: _FEASTS[match[0]], text)
    if _TELLING.isdisjoint(_WORD.findall(text)) and not _NUMBER.search(text):
        return found
    for pattern, read in _PATTERNS:
        if matches := list(pattern.finditer(text)):
            found += [period for match in matches for period in _since(text, match, read(match, asked), asked)]
            text = pattern.sub(lambda match: " " * len(match[0]), text)
    return found


def _since(text: str, match: re.Match[str], named: Iterator[Period], asked: date) -> Iterator[Period]:
    """The periods as they are named; "since" one of them, until the question."""
    on = match[0].startswith("since ") or _SINCE.search(text, 0, match.start())
    for first, last in named:
        yield first, max(last, asked.toordinal()) if on else last


def with_days(question: str, days: Mapping[str, str]) -> str:
    """The question with days that it names by what they are ("my birthday") replaced by their dates ("9 November")."""
    for name, day in days.items():
        question = re.sub(rf"\b{re.escape(name)}\b", day, question, flags=re.IGNORECASE)
    return question


def _ordinal(year: int, month: int, day: int) -> Iterator[int]:
    try:
        yield date(year, month, day).toordinal()
    except ValueError:
        return


def _day(day: str, month: int, year: str | None, asked: date) -> Iterator[Period]:
    """A day without a year is the latest one that was not after the question."""
    years = [int(year)] if year else range(asked.year, asked.year - 9, -1)
    found = (n for one in years for n in _ordinal(one, month, int(day)))
    yield from islice(((n, n) for n in found if year or n <= asked.toordinal()), 1)


def _whole_month(month: int, year: int) -> Iterator[Period]:
    for first in _ordinal(year, month, 1):
        yield first, first + monthrange(year, month)[1] - 1


def _around(match: re.Match[str], asked: date) -> Iterator[Period]:
    centre = asked.toordinal() - round((number(match[1]) if match[1] else 0.5) * DAYS[match[2]])
    yield centre - _GIVE_OR_TAKE[match[2]], centre + _GIVE_OR_TAKE[match[2]]


def _slashes(match: re.Match[str], asked: date) -> Iterator[Period]:
    """Month and day, or day and month: each that is a day."""
    for month, day in dict.fromkeys(((match[1], match[2]), (match[2], match[1]))):
        yield from _day(day, int(month), match[3], asked)


def _beside(match: re.Match[str], asked: date) -> Iterator[Period]:
    """A time before or after a day, as "a week before 3 May"; without a year, the latest not after the question."""
    count, unit = number(match[1] or "one"), match[2]
    away = round(count * DAYS[unit]) * (-1 if match[3] == "before" else 1)
    day, month = int(match[4] or match[7]), MONTHS[match[5] or match[6]]
    years = [int(match[8])] if match[8] else range(asked.year + 1, asked.year - 9, -1)
    centres = (n + away for year in years for n in _ordinal(year, month, day))
    for centre in islice((n for n in centres if match[8] or n <= asked.toordinal()), 1):
        slack = 0 if unit == "day" else _GIVE_OR_TAKE[unit]
        yield centre - slack, centre + slack


def _month_of(month: int, year: str | None, asked: date) -> Iterator[Period]:
    """A month without a year is the latest one that had begun by the day of the question."""
    return _whole_month(month, int(year) if year else asked.year - (month > asked.month))


def _in_month(match: re.Match[str], asked: date) -> Iterator[Period]:
    """A month without a year; the "last" one had ended by the day of the question."""
    month = MONTHS[match[1]]
    if match[0].startswith("last") and month == asked.month:
        return _whole_month(month, asked.year - 1)
    return _month_of(month, None, asked)


def _months(match: re.Match[str], asked: date) -> Iterator[Period]:
    """From one month to another, which is in the next year where it is no later in its own."""
    first, last, year = MONTHS[match[1]], MONTHS[match[2]], match[3]
    for end in _month_of(last, year, asked):
        of = date.fromordinal(end[1]).year - (first >= last)
        yield from ((begin[0], end[1]) for begin in _whole_month(first, of))


def _year(year: int) -> Iterator[Period]:
    for first in _ordinal(year, 1, 1):
        yield first, date(year, 12, 31).toordinal()


def _last(match: re.Match[str], asked: date) -> Iterator[Period]:
    return _year(asked.year - 1) if match[1] == "year" else _back(asked, *_LAST[match[1]])


def _this(match: re.Match[str], asked: date) -> Iterator[Period]:
    """What there was until the question of the week, month or year it was asked in."""
    so_far = {"week": asked.weekday(), "month": asked.day - 1, "year": asked.timetuple().tm_yday - 1}
    yield from _back(asked, so_far[match[1]], 0)


def _back(asked: date, most: int, least: int) -> Iterator[Period]:
    yield asked.toordinal() - most, asked.toordinal() - least


def _weekday(match: re.Match[str], asked: date) -> Iterator[Period]:
    """The last such day before the question; "on Friday" alone is one only where something was said to be past."""
    if match[0].startswith("on ") and not _PAST.search(match.string, 0, match.start()):
        return
    back = (asked.weekday() - WEEKDAYS[match[1]]) % 7 or 7
    yield from _back(asked, back, back)


def _near(match: re.Match[str], asked: date) -> Iterator[Period]:
    back = _NEAR.get(match[1], 0)
    yield from _back(asked, back, back)


_FORMS: Final[tuple[tuple[str, Callable[[re.Match[str], date], Iterator[Period]]], ...]] = (
    (
        rf"\b(?:{NUMBER}|the) (day|week|month|year)s? (before|after) (?:the )?"
        rf"(?:{DAY}(?: of)? {MONTH}|{MONTH}\.? {DAY})\b(?:,? (\d{{4}})\b)?",
        _beside,
    ),
    (rf"\b(?:between|from) {MONTH} (?:and|to|until|through) {MONTH}\b(?:,?(?: of)? (\d{{4}})\b)?", _months),
    (rf"\b{DAY}(?: of)? {MONTH}\b\.?,?(?: (\d{{4}}))?", lambda m, asked: _day(m[1], MONTHS[m[2]], m[3], asked)),
    (rf"\b{MONTH}\.? {DAY}\b,?(?: (\d{{4}}))?", lambda m, asked: _day(m[2], MONTHS[m[1]], m[3], asked)),
    (r"\b(\d{4})-(\d\d)-(\d\d)\b", lambda m, asked: _day(m[3], int(m[2]), m[1], asked)),
    (r"\b(?:on|by|before|after|around|since|until) (\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b(?!/)", _slashes),
    (rf"\b{MONTH}\.?,?(?: of)? (\d{{4}})\b", lambda m, _: _whole_month(MONTHS[m[1]], int(m[2]))),
    (rf"\b(?:in|during|of|since|early|late|mid|this|last|by|until)[ -](?:early |late |mid-?)?{MONTH}\b", _in_month),
    (
        r"\b(?:in|during|since|throughout|early|late|mid|spring of|summer of|autumn of|fall of|winter of)[ -]"
        r"(?:early |late |mid-?)?((?:19|20)\d\d)\b",
        lambda m, _: _year(int(m[1])),
    ),
    (rf"\b(?:half an?|{NUMBER}) (day|week|month|year)s? ago\b", _around),
    (
        rf"\b(?:last|past) {NUMBER} (day|week|month|year)s\b",
        lambda m, asked: _back(asked, round(number(m[1]) * DAYS[m[2]]), 0),
    ),
    (
        r"\b(?:the last(?! \w+ of\b)|past) (week|month|year)\b",
        lambda m, asked: _back(asked, 365 if m[1] == "year" else _LAST[m[1]][0], 0),
    ),
    (rf"\b(?:last|past|this|on|since) {WEEKDAY}\b", _weekday),
    (r"\b(?:last(?! \w+ of\b)|past|previous) (weekend|week|month|year)\b", _last),
    (r"\bthis (week|month|year)\b", _this),
    (r"\b(day before yesterday|yesterday|last night|today|this morning)\b", _near),
)
"""Patterns, and what reads the period that one matches; what an earlier one matched is not read again."""
_PATTERNS: Final = tuple((re.compile(pattern), read) for pattern, read in _FORMS)
