"""What users list about themselves, line by line: "About me:", "- Name: Ada", "- City: Oslo"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from recollect.flow.facts.found import Found
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.voice import GAP, own_words
from recollect.flow.facts.wording import rule

_HEADING: Final = rule(
    r"(?:^|(?<=[.!?]\n))[ \t*]*(?:(?:[\w' ]{1,20} )?about me|my (?:profile|details|info|data)):[ \t*]*(?:\r?\n)+"
)
_LINE: Final = re.compile(r"[ \t]*(?:[-*•][ \t]+)?\**([A-Za-z][A-Za-z -]{1,20}?)\**:\**[ \t]+(\S[^\n]{0,200})(?:\n|\Z)")
_ONE: Final = {
    "My name is ": "name full_name", "I'm ": "age diet", "I live in ": "city location lives_in place home",
    "I'm from ": "from hometown", "I work as a ": "job role occupation profession title job_title",
    "I work at ": "company employer workplace works_at", "My email is ": "email e-mail mail",
    "My pronouns are ": "pronouns", "My time zone is ": "timezone time_zone", "My birthday is ": "birthday",
    "My wife is ": "wife", "My husband is ": "husband",
}  # fmt: skip
_SEVERAL: Final = {
    "I like ": "likes hobbies interests loves", "I don't like ": "dislikes", "I speak ": "languages speaks",
    "I'm allergic to ": "allergies allergy allergic_to", "My stack is ": "stack tools",
}  # fmt: skip
_SAID_AS: Final = {
    label.replace("_", " "): (words, words in _SEVERAL)
    for words, labels in (_ONE | _SEVERAL).items()
    for label in labels.split()
}
"""The words that a label stands for, and whether it may have several values, separated by commas."""
_VALUE: Final = re.compile(r"[^,\r]+")
_OPEN: Final = rule(r"\W|(?:tbd|tba|n/?a|none|unknown|your|todo)\b")
"""A value that is not filled in yet."""


def listed(text: str, at: datetime, find: Callable[[Clause], list[Found]]) -> list[Found]:
    """What `find` finds in the lines of a list about the writer, read as sentences, if they are the writer's own."""
    if ":" not in text or not (heading := _HEADING.search(text)):
        return []
    if GAP in own_words(text)[heading.start() : heading.end()]:
        return []
    return [fact for clause in _sentences(text, heading.end(), at) for fact in find(clause)]


def _sentences(text: str, start: int, at: datetime) -> Iterator[Clause]:
    while line := _LINE.match(text, start):
        start = line.end()
        words, several = _SAID_AS.get(line[1].strip().casefold(), ("", False))
        values = _VALUE.finditer(text, *line.span(2)) if several else [line]
        for value in values if words and not _OPEN.match(line[2]) else ():
            told = value[0] if several else line[2]
            begin = (value.start() if several else line.start(2)) + len(told) - len(told.lstrip())
            yield Clause(words + told.strip(), begin - len(words), at, added=len(words))
