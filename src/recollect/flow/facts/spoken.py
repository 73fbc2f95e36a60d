"""Facts as sentences to the user: "place: Oslo" is "You live in Oslo"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from recollect.answers import Fact, FactType
from recollect.flow.days import day_written, end_of
from recollect.flow.facts.people import ABOUT, COUPLES, PEOPLE
from recollect.flow.facts.phrases import slug
from recollect.flow.facts.tell import HOLDS_SEVERAL, LABELS

_LINE: Final = re.compile(r"([^:\n]+): (.*?)(?: \((said|noted) (\d{1,2} \w+ \d{1,4})\))?")
_BY: Final = re.compile(r" by (\d{1,2} \w+ \d{1,4})$")
_KEYS: Final = {words: key for key, words in LABELS.items()}
_SENTENCES: Final = {
    "name": "Your name is {}",
    "pronouns": "Your pronouns are {}",
    "age": "You are {} years old",
    "birthday": "Your birthday is {}",
    "born": "You were born in {}",
    "citizenship": "You are {a} citizen",
    "place": "You live in {}",
    "hometown": "You come from {}",
    "household": "You live with {}",
    "role": "You are {a}",
    "company": "You work at {}",
    "teaches": "You teach {}",
    "studies": "You study {}",
    "school": "You went to {}",
    "speaks": "You speak {}",
    "drives": "You drive {a}",
    "email": "Your email is {}",
    "phone": "Your phone number is {}",
    "username": "Your username is {}",
    "timezone": "Your time zone is {}",
    "diet": "Your diet is {}",
    "allergy": "You are allergic to {}",
    "avoids": "You avoid {}",
    "likes": "You like {}",
    "favorite": "Your favorite {of} is {}",
    "dislikes": "You don't like {}",
    "plays": "You play {}",
    "learning": "You are learning {}",
    "habit": "You usually {}",
    "prefers": "You prefer {}",
    "uses": "You use {}",
    "asked": "You asked me to {}",
    "answer_length": "You want answers that are {}",
    "answer_style": "You want answers with this style: {}",
    "language": "You want answers in {}",
    "units": "You want units that are {}",
    "todo": "To do: {}",
    "tone": "Your mood was {}",
    "note": "{}",
}
"""The sentence for each key, in the order in which facts are told."""
_OF_ANOTHER: Final = {
    "place": "{} lives in {}",
    "company": "{} works at {}",
    "role": "{} is {a}",
    "age": "{} is {} years old",
    "birthday": "{}'s birthday is {}",
    "diet": "{}'s diet is {}",
    "allergy": "{} is allergic to {}",
}
_OF_TWO: Final = {"lives": "live", "works": "work", "is": "are"}
_ORDER: Final = {key: n for n, key in enumerate(_SENTENCES)}
_LIKE_AN: Final = re.compile(r"(?!eu|uni|use|one)[aeiou]|(?:mba|hr|nhs|mp)\b", re.IGNORECASE)
_NO_ARTICLE: Final = re.compile(
    r"(?:retired|unemployed|self-employed|\d{4})\b|(?:head|director|vp|president) of\b|the ", re.IGNORECASE
)
_ALONE: Final = {"alone": "alone", "by myself": "by yourself", "on my own": "on your own"}
_ONE_OF_YOURS: Final = re.compile(
    r"(?!(?:my|our|his|her|their|the|an?|some\w*|no|nobody|(?:an)?other|several|many|both|one|two|three|four|five|six)\b)"
    r"[a-z]"
)
"""Someone at home of whom it is not said whose or how many: "parents"."""
_MINE: Final = re.compile(r"\b(my|our)\b", re.IGNORECASE)
_ME: Final = re.compile(r"\b(me|us)\b")


def read_line(line: str) -> Fact | None:
    """The fact in a line of a prompt, with only its key, value and day; None if the line is not one."""
    if not (match := _LINE.fullmatch(line)):
        return None
    label, value, how, day = match.groups()
    said = day_written(day) if day else None
    at = datetime(said.year, said.month, said.day, tzinfo=UTC) if said else datetime.min.replace(tzinfo=UTC)
    key, due = _key(label, value), None
    if key.startswith("todo:") and (by := _BY.search(value)) and (last := day_written(by[1])):
        value = value[: by.start()]
        key, due = _key(label, value), end_of(last, UTC)
    kind: FactType = "action_item" if key.startswith("todo:") else "user_profile"
    return Fact(kind, key, value, 1.0, at, at, valid_to=due, origin="note" if how == "noted" else "user")


def _key(label: str, value: str) -> str:
    """The key that a label stands for; for keys with several values, with the value or the name in it."""
    who, comma, about = label.rpartition(", ")
    if comma and about in ABOUT:
        return f"{who.partition(' ')[0]}:{slug(who.partition(' ')[2])}:{about}".replace("::", ":")
    first, _, of = label.partition(" ")
    if first == "favorite" and of:
        return f"{first}:{of}"
    key = _KEYS.get(label, label.replace(" ", "_"))
    return f"{key}:{slug(value)}" if key in HOLDS_SEVERAL or key == "note" else key


def place_in_telling(fact: Fact) -> tuple[int, str]:
    """Where a fact comes when everything is told: who the user is, their people, what they like, then plans by day."""
    first = fact.key.partition(":")[0]
    if first in PEOPLE:
        return _ORDER["diet"], fact.key
    return _ORDER.get(first, len(_ORDER)), fact.valid_to.isoformat() if fact.valid_to else "~"


def sentence(fact: Fact) -> str:
    """The fact as a sentence without a full stop: "Your sister Nadia lives in Oslo"."""
    first, *rest = fact.key.split(":")
    if first in PEOPLE:
        return _of_another(first, rest, fact.value)
    if first == "household" and fact.value.lower() in _ALONE:
        return f"You live {_ALONE[fact.value.lower()]}"
    if first not in _SENTENCES:
        return f"Your {fact.key.replace('_', ' ').replace(':', ', ')}: {fact.value}"
    value = _ME.sub("you", _MINE.sub("your", fact.value))
    if first == "household" and _ONE_OF_YOURS.match(fact.value):
        value = f"your {value}"
    return _filled(_SENTENCES[first], {"a": _with_article(value), "of": ":".join(rest)}, value)


def _of_another(kin: str, rest: list[str], value: str) -> str:
    if not rest or rest[-1] not in ABOUT:
        return f"{value} is your {kin}"
    who = " ".join(["Your", kin, *map(str.title, rest[:-1])])
    form = _OF_ANOTHER[rest[-1]]
    if kin in COUPLES.values():
        form = " ".join(_OF_TWO.get(word, word) for word in form.split(" "))
    return _filled(form, {"a": _with_article(value)}, who, value)


def _filled(form: str, named: Mapping[str, str], *values: str) -> str:
    return form.format(*values, **named).replace(" 1 years old", " 1 year old")


def _with_article(what: str) -> str:
    if _NO_ARTICLE.match(what):
        return what
    return f"{'an' if _LIKE_AN.match(what) else 'a'} {what}"
