"""The days a text names: "last May", "two weeks ago" as past periods; "by Friday", "in two weeks" as days to come."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from itertools import islice
from typing import Final, TypeAlias

Period: TypeAlias = tuple[int, int]
"""First and last day, as `date.toordinal` numbers them."""

_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTHS: Final = {name[:size].lower(): n for n, name in enumerate(_NAMES, 1) for size in (3, len(name))} | {"sept": 9}
_WEEK: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS: Final = {name: n for n, name in enumerate(_WEEK)}
_DIGITS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NUMBERS: Final = {word: n for n, word in enumerate(_DIGITS)} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a couple": 2,
    "couple of": 2,
    "a few": 3,
    "few": 3,
}
_DAYS: Final = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.0}
_GIVE_OR_TAKE: Final = {"day": 1, "week": 3, "month": 10, "year": 45}
_FEASTS: Final = {
    "christmas eve": "24 december", "christmas": "25 december", "new year's eve": "31 december",
    "new year's day": "1 january", "valentine's day": "14 february", "st. patrick's day": "17 march",
    "independence day": "4 july", "halloween": "31 october",
}  # fmt: skip
_LAST: Final = {"week": (10, 2), "weekend": (8, 1), "month": (45, 7)}
_NEAR: Final = {"yesterday": 1, "last night": 1, "day before yesterday": 2}


def _one_of(words: dict[str, int]) -> str:
    return "(" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_MONTH, _NUMBER = _one_of(_MONTHS), r"(\d{1,4}|" + _one_of(_NUMBERS)[1:]
_FORMS: Final[tuple[tuple[str, str], ...]] = (
    (
        "beside",
        rf"\b(?:{_NUMBER}|the) (day|week|month|year)s? (before|after) (?:the )?"
        rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?)\b"
        r"(?:,? (\d{4})\b)?",
    ),
    ("months", rf"\b(?:between|from) {_MONTH} (?:and|to|until|through) {_MONTH}\b(?:,?(?: of)? (\d{{4}})\b)?"),
    ("day month", rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?,?(?: (\d{{4}}))?"),
    ("month day", rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (\d{{4}}))?"),
    ("iso", r"\b(\d{4})-(\d\d)-(\d\d)\b"),
    ("slashes", r"\b(?:on|by|before|after|around|since|until) (\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b(?!/)"),
    ("month year", rf"\b{_MONTH}\.?,?(?: of)? (\d{{4}})\b"),
    ("month", rf"\b(?:in|during|of|since|early|late|mid|this|last|by|until)[ -](?:early |late |mid-?)?{_MONTH}\b"),
    (
        "year",
        r"\b(?:in|during|since|throughout|early|late|mid|spring of|summer of|autumn of|fall of|winter of)[ -]"
        r"(?:early |late |mid-?)?((?:19|20)\d\d)\b",
    ),
    ("ago", rf"\b{_NUMBER} (day|week|month|year)s? ago\b"),
    ("last n", rf"\b(?:last|past) {_NUMBER} (day|week|month|year)s\b"),
    ("past year", r"\b(?:the last|the past|past) year\b"),
    ("weekday", rf"\b(?:last|past|this|on) {_one_of(_WEEKDAYS)}\b"),
    ("last", r"\b(?:last|past|previous) (weekend|week|month|year)\b"),
    ("this", r"\bthis (week|month|year)\b"),
    ("near", r"\b(day before yesterday|yesterday|last night|today|this morning)\b"),
)
_PATTERNS: Final = tuple((form, re.compile(pattern)) for form, pattern in _FORMS)
_ANY: Final = re.compile(
    rf"{_MONTH}|{_one_of(_WEEKDAYS)}|\bago\b|[-/]\d|\b(?:19|20)\d\d\b"
    r"|\b(?:last|past|previous|this|yesterday|today)\b"
)
"""What every form has something of."""
_FEAST: Final = re.compile(rf"\b(?:{'|'.join(_FEASTS)})\b")
_PAST: Final = re.compile(r"\b(?:did|was|were|had|said|told)\b")
_SINCE: Final = re.compile(r"\bsince (?:the )?$")
_UNTIL: Final = r"(?:(?:by|on|before|until|till|for|at|due)(?: the)? )?"
_AHEAD: Final[tuple[tuple[str, str], ...]] = (
    ("iso", rf"\b{_UNTIL}(\d{{4}})-(\d\d)-(\d\d)\b"),
    (
        "day month",
        rf"\b{_UNTIL}(?:{_one_of(_WEEKDAYS)},? )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b,?(?: (\d{{4}})\b)?",
    ),
    (
        "month day",
        rf"\b{_UNTIL}(?:{_one_of(_WEEKDAYS)},? )?{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}})\b)?",
    ),
    ("after tomorrow", r"\b(?:the )?day after tomorrow(?: (?:morning|afternoon|evening|night))?\b"),
    ("tomorrow", rf"\b{_UNTIL}(?:tomm?orr?ow|tmrw)(?: (?:morning|afternoon|evening|night))?\b"),
    ("today", rf"\b{_UNTIL}(?:today|tonight)\b"),
    (
        "day",
        r"\b(?:by|on|before|until|till) the (\d{1,2})(?:st|nd|rd|th)(?=\s*(?:[.,!;?)]|$|(?:and|but|so|at|for|to)\b))",
    ),
    ("in", rf"\bin (?:about )?{_NUMBER} (day|week|month)s?(?: time)?\b"),
    ("weekday", rf"\b{_UNTIL}(?:this |next |coming )?{_one_of(_WEEKDAYS)}(?: (?:morning|afternoon|evening|night))?\b"),
    ("week", rf"\b{_UNTIL}(?:the end of |end of |later )?(this|next|the) (?:week|weekend)\b"),
    ("this month", rf"\b{_UNTIL}(?:the end of |end of |later )?(this|next|the) month\b"),
    ("month", rf"\b(?:in|by|until|before|this|next|(?:by )?(?:the )?end of) {_MONTH}\b(?:,? (\d{{4}})\b)?"),
)
_AHEAD_PATTERNS: Final = tuple((form, re.compile(pattern)) for form, pattern in _AHEAD)
_STRETCH: Final = r"days?|weeks?|weekends?|months?|years?"
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next|coming|previous) "
    rf"(?:night|morning|afternoon|evening|spring|summer|autumn|fall|winter|{_STRETCH}|{_one_of(_WEEKDAYS)}|{_MONTH})"
    rf"|{_NUMBER} (?:{_STRETCH}) ago|in {_NUMBER} (?:{_STRETCH})|(?:on|by|until) {_one_of(_WEEKDAYS)})\b",
    re.IGNORECASE,
)


def periods(question: str, asked: date) -> list[Period]:
    """Each period the question names; relative ones count back from the day it was asked."""
    text, found = question[:10_000].lower().replace("\u2019", "'"), list[Period]()
    text = _FEAST.sub(lambda match: _FEASTS[match[0]], text)
    if not _ANY.search(text):
        return found
    for form, pattern in _PATTERNS:
        if matches := list(pattern.finditer(text)):
            found += [period for match in matches for period in _since(text, match, _READ[form](match, asked), asked)]
            text = pattern.sub(lambda match: " " * len(match[0]), text)
    return found


def _since(text: str, match: re.Match[str], named: Iterator[Period], asked: date) -> Iterator[Period]:
    """The periods as they are named; "since" one of them, until the question."""
    on = match[0].startswith("since ") or _SINCE.search(text, 0, match.start())
    for first, last in named:
        yield first, max(last, asked.toordinal()) if on else last


def relative(text: str) -> bool:
    """Whether a text names a day that depends on when it was said."""
    return _RELATIVE.search(text) is not None


def with_days(question: str, days: Mapping[str, str]) -> str:
    """The question with the days it names by what they are ("my birthday") as they are written ("9 November")."""
    for name, day in days.items():
        question = re.sub(rf"\b{re.escape(name)}\b", day, question, flags=re.IGNORECASE)
    return question


def ahead(text: str, said: date) -> tuple[int, int, date] | None:
    """Where a text names a day to come, and that day; of a week or month its last. It counts from the day it was said.

    A weekday is the next one after that day, a date without a year the next such date.
    """
    lower = text.lower()
    if len(lower) != len(text):
        return None
    for form, pattern in _AHEAD_PATTERNS:
        for match in pattern.finditer(lower):
            try:
                return match.start(), match.end(), _AHEAD_READ[form](match, said)
            except (ValueError, OverflowError):
                continue
    return None


def written(day: date, year: bool = True) -> str:
    """A day as it is written, in English wherever this runs: "12 May 2025"."""
    return f"{day.day} {_NAMES[day.month - 1]}" + (f" {day.year}" if year else "")


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]


def _ordinal(year: int, month: int, day: int) -> Iterator[int]:
    try:
        yield date(year, month, day).toordinal()
    except ValueError:
        return


def _day(day: str, month: int, year: str | None, asked: date) -> Iterator[Period]:
    """A day without a year is the latest one that was not after the question."""
    in_year = int(year) if year else asked.year - ((month, int(day)) > (asked.month, asked.day))
    yield from ((n, n) for n in _ordinal(in_year, month, int(day)))


def _whole_month(month: int, year: int) -> Iterator[Period]:
    for first in _ordinal(year, month, 1):
        yield first, first + monthrange(year, month)[1] - 1


def _around(match: re.Match[str], asked: date) -> Iterator[Period]:
    centre = asked.toordinal() - round(_count(match[1]) * _DAYS[match[2]])
    yield centre - _GIVE_OR_TAKE[match[2]], centre + _GIVE_OR_TAKE[match[2]]


def _slashes(match: re.Match[str], asked: date) -> Iterator[Period]:
    """Month and day, or day and month: each that is a day."""
    for month, day in dict.fromkeys(((match[1], match[2]), (match[2], match[1]))):
        if 1 <= int(month) <= 12:
            yield from _day(day, int(month), match[3], asked)


def _beside(match: re.Match[str], asked: date) -> Iterator[Period]:
    """So long before or after a day; without a year, the latest time that was not after the question."""
    count, unit = _count(match[1] or "one"), match[2]
    away = round(count * _DAYS[unit]) * (-1 if match[3] == "before" else 1)
    day, month = int(match[4] or match[7]), _MONTHS[match[5] or match[6]]
    years = [int(match[8])] if match[8] else range(asked.year + 1, asked.year - 9, -1)
    centres = (n + away for year in years for n in _ordinal(year, month, day))
    for centre in islice((n for n in centres if match[8] or n <= asked.toordinal()), 1):
        slack = 0 if unit == "day" else _GIVE_OR_TAKE[unit]
        yield centre - slack, centre + slack


def _month_of(month: int, year: str | None, asked: date) -> Iterator[Period]:
    """A month without a year is the latest one that had begun by the day of the question."""
    return _whole_month(month, int(year) if year else asked.year - ((month, 1) > (asked.month, asked.day)))


def _months(match: re.Match[str], asked: date) -> Iterator[Period]:
    """From one month to another, which is in the next year where it is no later in its own."""
    first, last, year = _MONTHS[match[1]], _MONTHS[match[2]], match[3]
    for end in _month_of(last, year, asked):
        of = date.fromordinal(end[1]).year - (first > last)
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
    back = (asked.weekday() - _WEEKDAYS[match[1]]) % 7 or 7
    yield from _back(asked, back, back)


def _near(match: re.Match[str], asked: date) -> Iterator[Period]:
    back = _NEAR.get(match[1], 0)
    yield from _back(asked, back, back)


_READ: Final[dict[str, Callable[[re.Match[str], date], Iterator[Period]]]] = {
    "beside": _beside,
    "day month": lambda m, asked: _day(m[1], _MONTHS[m[2]], m[3], asked),
    "month day": lambda m, asked: _day(m[2], _MONTHS[m[1]], m[3], asked),
    "iso": lambda m, asked: _day(m[3], int(m[2]), m[1], asked),
    "slashes": _slashes,
    "month year": lambda m, _: _whole_month(_MONTHS[m[1]], int(m[2])),
    "month": lambda m, asked: _month_of(_MONTHS[m[1]], None, asked),
    "months": _months,
    "year": lambda m, _: _year(int(m[1])),
    "ago": _around,
    "last n": lambda m, asked: _back(asked, round(_count(m[1]) * _DAYS[m[2]]), 0),
    "weekday": _weekday,
    "past year": lambda _, asked: _back(asked, 365, 0),
    "last": _last,
    "this": _this,
    "near": _near,
}


_SPANS: Final = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))


def ago(day: date, today: date) -> str:
    """How long ago a day was, as people say it: today, yesterday, 3 weeks ago, in 2 days."""
    days = (today - day).days
    if days in (0, 1, -1):
        return {0: "today", 1: "yesterday", -1: "tomorrow"}[days]
    size, name = next((size, name) for size, name in _SPANS if abs(days) >= size)
    number = abs(days) // size
    told = f"{number} {name}{'s' if number > 1 else ''}"
    return f"{told} ago" if days > 0 else f"in {told}"


def _next_date(year: str | None, month: int, day: int, said: date) -> date:
    if year:
        return date(int(year), month, day)
    return date(said.year + ((month, day) < (said.month, said.day)), month, day)


def _this_or_next_month(day: int, said: date) -> date:
    on = _month_end(said.year, said.month + (day < said.day))
    return on.replace(day=day)


def _month_end(year: int, month: int) -> date:
    """The last day of a month; months count on, the 13th is next January."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, monthrange(year, month)[1])


def _named_month(month: int, year: str | None, said: date) -> date:
    return _month_end(int(year) if year else said.year + (month < said.month), month)


def _later(match: re.Match[str], said: date) -> date:
    count, unit = _count(match[1]), match[2]
    if unit != "month":
        return said + timedelta(days=count * round(_DAYS[unit]))
    end = _month_end(said.year, said.month + count)
    return end.replace(day=min(said.day, end.day))


def _sunday(match: re.Match[str], said: date) -> date:
    return said + timedelta(days=6 - said.weekday() + 7 * (match[1] == "next"))


_AHEAD_READ: Final[dict[str, Callable[[re.Match[str], date], date]]] = {
    "iso": lambda m, said: _next_date(m[1], int(m[2]), int(m[3]), said),
    "day month": lambda m, said: _next_date(m[4], _MONTHS[m[3]], int(m[2]), said),
    "month day": lambda m, said: _next_date(m[4], _MONTHS[m[2]], int(m[3]), said),
    "after tomorrow": lambda _, said: said + timedelta(days=2),
    "tomorrow": lambda _, said: said + timedelta(days=1),
    "today": lambda _, said: said,
    "day": lambda m, said: _this_or_next_month(int(m[1]), said),
    "in": _later,
    "weekday": lambda m, said: said + timedelta(days=(_WEEKDAYS[m[1]] - said.weekday() - 1) % 7 + 1),
    "week": _sunday,
    "this month": lambda m, said: _month_end(said.year, said.month + (m[1] == "next")),
    "month": lambda m, said: _named_month(_MONTHS[m[1]], m[2], said),
}
