"""Rewrites a note about a user ("The user lives in Oslo", "User's name is Ada") as the user would say it."""

from __future__ import annotations

import re
from typing import Final

from recollect.flow.facts.wording import any_of, rule

_ABOUT_HIM: Final = re.compile(
    r"(?P<start>(?:\A|(?<=[.!?\n]))[^\S\n]*)(?:[-*•]\s+)?(?:[Tt]he )?[Uu]ser(?P<owns>'s)? "
    r"(?P<rest>[^\n]*?)(?=[.!?](?:\s|\Z)|\n|\Z)"
)
_FIRST_VERB: Final = rule(
    r"\A(?:"
    + any_of("also always currently now often really still usually mostly no_longer")
    + r" )*(?P<verb>[a-z]+(?:'t)?)\b"
)
_NEXT_VERB: Final = rule(
    r"\b(?:and|but) (?:(?:also|currently|now|still) )?(?P<verb>"
    + any_of("is has lives works likes loves hates enjoys prefers speaks uses wants plans needs doesn't isn't")
    + r")\b"
)
_HIS: Final = re.compile(r"\b(?:his|her|their)\b")
_NAME: Final = re.compile(r" [A-Z]")
_FIRST_PERSON: Final = {
    "is": "am",
    "has": "have",
    "was": "was",
    "isn't": "am not",
    "doesn't": "don't",
    "hasn't": "haven't",
}


def in_first_person(note: str) -> str:
    """The note with "I" and "my" in each sentence or list line that is about the user."""
    return _ABOUT_HIM.sub(_told, note.replace("\u2019", "'"))


def _told(sentence: re.Match[str]) -> str:
    start, rest = sentence["start"], sentence["rest"]
    stop = "." if sentence.string[sentence.end() : sentence.end() + 1] in {"", "\n"} else ""
    if sentence["owns"]:
        return f"{start}My {rest}{stop}"
    for verb in (_NEXT_VERB, _FIRST_VERB):
        rest = verb.sub(lambda found: found[0].removesuffix(found["verb"]) + _first_person(found["verb"]), rest)
    name = _NAME.search(rest)
    before = name.start() if name else len(rest)
    return f"{start}I {_HIS.sub('my', rest[:before])}{rest[before:]}{stop}"


def _first_person(verb: str) -> str:
    """The verb in the form that follows "I": "work" for "works", "study" for "studies"; others stay the same."""
    plain = verb.lower()
    if plain in _FIRST_PERSON:
        return _FIRST_PERSON[plain]
    if plain.endswith("ies") and len(plain) > 4:
        return plain[:-3] + "y"
    if plain.endswith(("ches", "shes", "sses", "xes", "oes")):
        return plain[:-2]
    return plain[:-1] if plain.endswith("s") and not plain.endswith(("ss", "us")) else verb
