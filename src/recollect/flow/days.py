"""Words for days: months, weekdays and numbers, how a date is written, and how long ago it was."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
MONTHS: Final = {name[:size].lower(): n for n, name in enumerate(_NAMES, 1) for size in (3, len(name))} | {"sept": 9}
_WEEK: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS: Final = {name: n for n, name in enumerate(_WEEK)}
_DIGITS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_A_FEW: Final = {"a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "a few": 3, "few": 3}
_NUMBERS: Final = {word: n for n, word in enumerate(_DIGITS)} | _A_FEW
DAYS: Final = {"day": 1.0, "week": 7.0, "month": 30.4, "year": 365.0}


def one_of(words: Iterable[str]) -> str:
    """A pattern with a group for any of these words, the longest first."""
    return "(" + "|".join(sorted(words, key=len, reverse=True)) + ")"


MONTH, NUMBER = one_of(MONTHS), r"(\d{1,4}|" + one_of(_NUMBERS)[1:]
WEEKDAY: Final = one_of(WEEKDAYS)
DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
"""The number of a day in a month, as in "3" or "3rd"."""
_STRETCH: Final = r"days?|weeks?|weekends?|months?|years?"
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next|coming|previous) "
    rf"(?:night|morning|afternoon|evening|spring|summer|autumn|fall|winter|{_STRETCH}|{WEEKDAY}|{MONTH})"
    rf"|{NUMBER} (?:{_STRETCH}) ago|in {NUMBER} (?:{_STRETCH})|(?:on|by|until) {WEEKDAY})\b",
    re.IGNORECASE,
)
_SPANS: Final = ((365, "year"), (30, "month"), (7, "week"), (1, "day"))


def relative(text: str) -> bool:
    """Whether a text names a day that depends on when it was said."""
    return _RELATIVE.search(text) is not None


def written(day: date, year: bool = True) -> str:
    """A date in English, whatever the locale: "12 May 2025"."""
    return f"{day.day} {_NAMES[day.month - 1]}" + (f" {day.year}" if year else "")


def day_written(text: str) -> date | None:
    """The day that a text gives, in the form of `written`; None if it is not one."""
    parts = text.split(" ")
    if len(parts) != 3 or parts[1] not in _NAMES:
        return None
    try:
        return date(int(parts[2]), _NAMES.index(parts[1]) + 1, int(parts[0]))
    except ValueError:
        return None


def end_of(day: date, zone: tzinfo | None) -> datetime | None:
    """The moment at which a day is over; None for the last day that a date can hold."""
    return None if day == date.max else datetime.combine(day + timedelta(days=1), time(), zone)


def ago(day: date, today: date) -> str:
    """How long ago a day was, as people say it: today, yesterday, 3 weeks ago, in 2 days."""
    days = (today - day).days
    if days in (0, 1, -1):
        return {0: "today", 1: "yesterday", -1: "tomorrow"}[days]
    size, name = next((size, name) for size, name in _SPANS if abs(days) >= size)
    number = abs(days) // size
    told = f"{number} {name}{'s' if number > 1 else ''}"
    return f"{told} ago" if days > 0 else f"in {told}"


def number(word: str) -> int:
    """A number in digits or in words."""
    return int(word) if word.isdigit() else _NUMBERS[word]
