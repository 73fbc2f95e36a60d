"""The future day that a text names: "by Friday", "in two weeks", "on the 3rd"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from recollect.flow.days import DAY, DAYS, MONTH, MONTHS, NUMBER, WEEKDAY, WEEKDAYS, number


def ahead(text: str, said: date) -> tuple[int, int, date] | None:
    """Where a text names a future day, and that day; for a week or month, its last. It counts from the day it was said.

    What is due before a week or month is due on the day before its first.

    A weekday is the next one after the day it was said, and a date without a year the next such date.
    """
    lower = text.lower()
    if len(lower) != len(text):
        return None
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(lower):
            try:
                return match.start(), match.end(), read(match, said)
            except (ValueError, OverflowError):
                continue
    return None


def _next_date(year: str | None, month: int, day: int, said: date) -> date:
    if year:
        return date(int(year), month, day)
    years = (one for one in range(said.year, said.year + 9) if day <= monthrange(one, month)[1])
    return min(found for one in years if (found := date(one, month, day)) >= said)


def _this_or_next_month(day: int, said: date) -> date:
    ends = (_month_end(said.year, said.month + n) for n in range(3))
    return min(found for end in ends if day <= end.day and (found := end.replace(day=day)) >= said)


def _month_end(year: int, month: int) -> date:
    """The last day of a month; months count on, the 13th is next January."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return date(year, month, monthrange(year, month)[1])


def _month(match: re.Match[str], said: date) -> date:
    end = _month_end(said.year, said.month + (match[1] == "next"))
    return _due(match, said, end.replace(day=1), end)


def _named_month(match: re.Match[str], said: date) -> date:
    month = MONTHS[match[1]]
    end = _month_end(int(match[2]) if match[2] else said.year + (month < said.month), month)
    return _due(match, said, end.replace(day=1), end)


def _due(match: re.Match[str], said: date, first: date, last: date) -> date:
    """The last of these days; the day before the first if something is due before them, and it is not over yet."""
    before = match[0].startswith("before ") and " end of " not in match[0]
    return first - timedelta(days=1) if before and said < first else last


def _later(match: re.Match[str], said: date) -> date:
    count, unit = number(match[1]), match[2]
    if unit != "month":
        return said + timedelta(days=count * round(DAYS[unit]))
    end = _month_end(said.year, said.month + count)
    return end.replace(day=min(said.day, end.day))


def _week(match: re.Match[str], said: date) -> date:
    sunday = said + timedelta(days=6 - said.weekday() + 7 * (match[1] == "next"))
    return _due(match, said, sunday - timedelta(days=6 if match[2] == "week" else 1), sunday)


_UNTIL: Final = r"(?:(?:by|on|before|until|till|for|at|due)(?: the)? )?"
_PART: Final = "(?: (?:morning|afternoon|evening|night))?"
_FORMS: Final[tuple[tuple[str, Callable[[re.Match[str], date], date]], ...]] = (
    (rf"\b{_UNTIL}(\d{{4}})-(\d\d)-(\d\d)\b", lambda m, said: _next_date(m[1], int(m[2]), int(m[3]), said)),
    (
        rf"\b{_UNTIL}(?:{WEEKDAY},? )?{DAY}(?: of)? {MONTH}\b,?(?: (\d{{4}})\b)?",
        lambda m, said: _next_date(m[4], MONTHS[m[3]], int(m[2]), said),
    ),
    (
        rf"\b{_UNTIL}(?:{WEEKDAY},? )?{MONTH}\.? {DAY}\b(?:,? (\d{{4}})\b)?",
        lambda m, said: _next_date(m[4], MONTHS[m[2]], int(m[3]), said),
    ),
    (rf"\b(?:the )?day after tomorrow{_PART}\b", lambda _, said: said + timedelta(days=2)),
    (rf"\b{_UNTIL}(?:tomm?orr?ow|tmrw){_PART}\b", lambda _, said: said + timedelta(days=1)),
    (rf"\b{_UNTIL}(?:today|tonight)\b", lambda _, said: said),
    (
        r"\b(?:by|on|before|until|till) the (\d{1,2})(?:st|nd|rd|th)(?=\s*(?:[.,!;?)]|$|(?:and|but|so|at|for|to)\b))",
        lambda m, said: _this_or_next_month(int(m[1]), said),
    ),
    (rf"\bin (?:about )?{NUMBER} (day|week|month)s?(?: time)?\b", _later),
    (
        rf"\b{_UNTIL}(?:this |next |coming )?{WEEKDAY}{_PART}\b",
        lambda m, said: said + timedelta(days=(WEEKDAYS[m[1]] - said.weekday() - 1) % 7 + 1),
    ),
    (rf"\b{_UNTIL}(?:the end of |end of |later )?(this|next|the) (week|weekend)\b", _week),
    (rf"\b{_UNTIL}(?:the end of |end of |later )?(this|next|the) month\b", _month),
    (
        rf"\b(?:in|by|until|before|this|next|(?:(?:by|before|until|at) )?(?:the )?end of) {MONTH}\b(?:,? (\d{{4}})\b)?",
        _named_month,
    ),
)
"""Patterns, and what reads the day that one matches; the first that is a day counts."""
_PATTERNS: Final = tuple((re.compile(pattern), read) for pattern, read in _FORMS)
