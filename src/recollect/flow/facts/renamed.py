"""Pets that get another name: "We renamed Rex to Max", "Rex is now called Max"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.people import CALLED, PETS
from recollect.flow.facts.phrases import name, slug
from recollect.flow.facts.profile import PROFILE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.relations import KIND
from recollect.flow.facts.wording import any_of, lower, rule

_PET: Final = rf"(?:(?:my|our) {KIND}(?P<pet>{'|'.join(sorted(PETS, key=len, reverse=True))}),? )?"
_RENAMED: Final = rule(
    rf"(?:i|we)(?:'ve| have)?(?: {any_of('just recently finally also')})* "
    rf"(?P<verb>renamed|changed) {_PET}(?=(?-i:[A-Z]))"
)
_TO: Final = {"renamed": rule(" (?:to|as) (?=(?-i:[A-Z]))"), "changed": rule("'s name to (?=(?-i:[A-Z]))")}
_IS_CALLED: Final = rule(
    " is now (?:called|named) (?=(?-i:[A-Z]))", r" is (?:called|named) (?=(?-i:[A-Z])[\w'-]+ now\b)"
)
_ENDS: Final = rule(r"(?: now)?\s*(?:[.,!;)]|$|(?:and|but|because|since|as|so|after|last|this|yesterday|today)\b)")


def renamed(clause: Clause) -> Iterator[Found]:
    """Which pet a clause says has another name now; if only the old name is said, a pet of that name must be known."""
    text = clause.text
    if "named " in text or "called " in text or "name to " in text:
        match = _RENAMED.match(text)
        kind = PETS[lower(match["pet"])] if match and match["pet"] else CALLED
        link = _TO[lower(match["verb"])] if match else _IS_CALLED
        yield from _another_name(clause, kind, match.end() if match else 0, link)


def _another_name(clause: Clause, kind: str, start: int, link: re.Pattern[str]) -> Iterator[Found]:
    text = clause.text
    was = name(text, start, most=2)
    to = link.match(text, was.end) if was else None
    now = name(text, to.end(), most=2) if to else None
    if was and now and _ENDS.match(text, now.end) and slug(now.text) != slug(was.text):
        yield found(clause, PROFILE, f"{kind}:{slug(was.text)}", was.text, now.end, ended=True, then=now.text)
        if kind != CALLED:
            yield found(clause, PROFILE, f"{kind}:{slug(now.text)}", now.text, now.end)
