"""Pets that get another name: "We renamed Rex to Max", "Rex is now called Max"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.people import CALLED, PETS
from recollect.flow.facts.phrases import Phrase, name, slug
from recollect.flow.facts.profile import PROFILE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.relations import KIND
from recollect.flow.facts.wording import any_of, lower, rule

_PET: Final = rf"(?:(?:my|our) {KIND}({'|'.join(sorted(PETS, key=len, reverse=True))}),? )?"
_RENAMED: Final = rule(
    rf"(?:i|we)(?:'ve| have)?(?: {any_of('just recently finally also')})* (?:renamed|changed) {_PET}(?=(?-i:[A-Z]))"
)
_TO: Final = {"renamed": rule(" (?:to|as) (?=(?-i:[A-Z]))"), "changed": rule("'s name to (?=(?-i:[A-Z]))")}
_IS_CALLED: Final = rule(
    " is now (?:called|named) (?=(?-i:[A-Z]))", r" is (?:called|named) (?=(?-i:[A-Z])[\w'-]+ now\b)"
)
_ENDS: Final = rule(r"(?: now)?\s*(?:[.,!;)]|$|(?:and|but|because|since|as|so|after|last|this|yesterday|today)\b)")


def renamed(clause: Clause) -> Iterator[Found]:
    """Which pet a clause says has another name now; if only the old name is said, a pet of that name must be known."""
    text = clause.text
    match = _RENAMED.match(text)
    pet = match[1] if match else None
    was = name(text, match.end() if match else 0, most=2) if match or text[:1].isupper() else None
    if was is None:
        return
    link = (_TO["changed" if "changed " in match[0].lower() else "renamed"] if match else _IS_CALLED).match(
        text, was.end
    )
    now = name(text, link.end(), most=2) if link else None
    if now and _ENDS.match(text, now.end) and slug(now.text) != slug(was.text):
        yield from _another_name(clause, PETS[lower(pet)] if pet else CALLED, was, now)


def _another_name(clause: Clause, kind: str, was: Phrase, now: Phrase) -> Iterator[Found]:
    yield found(clause, PROFILE, f"{kind}:{slug(was.text)}", was.text, now.end, ended=True, then=now.text)
    if kind != CALLED:
        yield found(clause, PROFILE, f"{kind}:{slug(now.text)}", now.text, now.end)
