"""Whom the user names as his own: family, friends, pets, his boss; where they live, what they do, how old they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import Phrase, name, place_name, slug
from recollect.flow.facts.profile import AS_ROLE, PROFILE, STOP, birthday
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import any_of, rule, word_set

_ONE: Final = {
    "wife": "wife", "husband": "husband", "spouse": "spouse", "partner": "partner", "girlfriend": "girlfriend",
    "boyfriend": "boyfriend", "fiancé": "fiance", "fiancée": "fiance", "fiance": "fiance", "fiancee": "fiance",
    "mother": "mother", "mom": "mother", "mum": "mother", "father": "father", "dad": "father", "boss": "boss",
    "manager": "manager", "supervisor": "manager",
}  # fmt: skip
_SEVERAL: Final = {
    "sister": "sister", "brother": "brother", "son": "son", "daughter": "daughter", "cousin": "cousin", "aunt": "aunt",
    "uncle": "uncle", "niece": "niece", "nephew": "nephew", "grandmother": "grandmother", "grandma": "grandmother",
    "grandfather": "grandfather", "grandpa": "grandfather", "grandson": "grandson", "granddaughter": "granddaughter",
}  # fmt: skip
_MANY: Final = {
    "friend": "friend", "colleague": "colleague", "coworker": "colleague", "co-worker": "colleague",
    "neighbor": "neighbour", "neighbour": "neighbour", "roommate": "roommate", "flatmate": "roommate",
    "dog": "dog", "cat": "cat", "puppy": "dog", "kitten": "cat", "horse": "horse", "parrot": "parrot",
    "rabbit": "rabbit",
}  # fmt: skip
"""Of whom a user has so many that nothing is known of one without a name."""
_KEYS: Final = {**_ONE, **_SEVERAL, **_MANY}
_WHO: Final = f"({'|'.join(sorted(_KEYS, key=len, reverse=True))})"
_KIND: Final = (
    "(?:"
    + any_of("best older younger elder big little oldest youngest eldest only twin close good dear old new rescue baby")
    + " )?"
)
_STILL: Final = f"(?:,| and)?(?: {any_of('now still currently just recently also has both already')})*"

_MY: Final = rule(rf"(?:my|our) {_KIND}{_WHO}\b")
_MENTIONED: Final = rule(rf"\b(?:my|our) {_KIND}{_WHO},? (?=(?-i:[^\W\d_a-z]))")
_HAVE: Final = rule(
    f"(?:i|we) (?:also )?(?:have|have got|got) an? {_KIND}{_WHO}(?: who is| who's|,)? (?:named|called) ",
    f"(?:i|we)'ve got an? {_KIND}{_WHO}(?: who is| who's|,)? (?:named|called) ",
)
_MARRIED: Final = rule("i(?:'m| am)(?: now| happily)? (married|engaged) to ")
_NAMED: Final = rule("(?:'s name is|'s called| is called| is named|'s first name is) ")
_NEXT: Final = rule(",? ")
_BORN: Final = rule("(?:'s birthday is|'s birthday's)(?: on)?(?: the)? ")
_LIVES: Final = rule(
    f"{_STILL} (?:lives|resides|is living|is based) in ",
    f"{_STILL} (?:moved|relocated)(?: (?:back|over))?(?: from [^,.;]{{2,40}}?)? to ",
)
_LEFT: Final = rule(r" no longer lives in | (?:doesn't|does not) live in (?=.{1,60}\bany ?more\b)")
_PARTNERS: Final = word_set("wife husband spouse partner girlfriend boyfriend fiance")
_WHEN: Final = (
    r"(?=\s*(?:[.,!;)]|$|"
    + any_of("and but in on last this yesterday recently after because since so two three for_good a_few a_couple")
    + r"\b|(?:a|one|\d+) (?:day|week|month|year)))"
)
_DIED: Final = rule(rf"{_STILL} (?:died|passed away|is dead)\b(?! (?:laughing|inside|of laughter|a little))")
_PARTED: Final = rule(
    rf"{_STILL} (?:left|dumped|divorced) me{_WHEN}",
    rf" and i(?:'ve| have)?(?: {any_of('just recently finally now got are have officially')})*"
    rf" (?:divorced|separated|split up|broke up|broken up){_WHEN}",
)
_I_PARTED: Final = rule(
    rf"i(?:'ve| have)?(?: {any_of('just recently finally')})* (?:broke up with|broken up with|split up with"
    rf"|separated from|divorced|dumped) my {_WHO}\b"
)
_ABOUT: Final = ("place", "company", "role", "age", "birthday")
_WORKS: Final = rule(f"{_STILL} (?:works|is working|started working|started) (?:at|for) ")
_IS_A: Final = rule(f"{_STILL} (?:works as|is|became) (?:an? |the )", ", (?:an? |the )")
_AGED: Final = rule(
    rf"(?:{_STILL} (?:is|turned)|,) (\d{{1,3}})(?: years?[- ]old)?(?: now| today| last \w+| this \w+| in \w+)?{STOP}"
)


def relations(clause: Clause) -> Iterator[Found]:
    """What a clause says of the user's people and pets."""
    text = clause.text
    if (match := _MARRIED.match(text)) and (who := name(text, match.end(), most=2)):
        yield found(clause, PROFILE, "spouse" if match[1].lower() == "married" else "fiance", who.text, who.end, 0.95)
    elif (match := _HAVE.match(text)) and (who := name(text, match.end(), most=2)):
        yield found(clause, PROFILE, _key(match[1] or match[2], who), who.text, who.end, 0.95)
    elif match := _I_PARTED.match(text):
        yield from _gone(clause, _KEYS[match[1].lower()], match.end())
    elif match := _MY.match(text):
        yield from _own(clause, match[1].lower(), match.end())
    else:
        yield from _mentioned(clause)


def _mentioned(clause: Clause) -> Iterator[Found]:
    """Whom a clause names in passing: "I went skiing with my sister Nadia"."""
    for match in _MENTIONED.finditer(clause.text):
        who = name(clause.text, match.end(), most=2)
        if who and not _lost(clause.text, match[1], who.end):
            here = replace(clause, offset=clause.offset + match.start(), elided=False)
            yield found(here, PROFILE, _key(match[1], who), who.text, who.end - match.start(), 0.8)


def _own(clause: Clause, word: str, end: int) -> Iterator[Found]:
    text = clause.text
    if match := _NAMED.match(text, end):
        if who := name(text, match.end(), most=3):
            yield found(clause, PROFILE, _key(word, who), who.text, who.end, 0.95)
    elif (match := _NEXT.match(text, end)) and (who := name(text, match.end(), most=2)):
        if lost := _lost(text, word, who.end):
            yield from _gone(clause, _key(word, who), lost.end())
            return
        yield found(clause, PROFILE, _key(word, who), who.text, who.end)
        yield from _about(clause, _key(word, who), who.end)
    elif word not in _MANY:
        if lost := _lost(text, word, end):
            yield from _gone(clause, _KEYS[word], lost.end())
        yield from _about(clause, _KEYS[word], end)


def _lost(text: str, word: str, end: int) -> re.Match[str] | None:
    """The words that say of someone that he died or, of a partner, that they parted."""
    return _DIED.match(text, end) or (_PARTED.match(text, end) if _KEYS[word.lower()] in _PARTNERS else None)


def _gone(clause: Clause, who: str, end: int) -> Iterator[Found]:
    """The end of all that is known of someone."""
    for key in (who, *(f"{who}:{about}" for about in _ABOUT)):
        yield found(clause, PROFILE, key, "", end, ended=True)


def _key(word: str, who: Phrase) -> str:
    """A wife is "wife", whatever her name; one of several sisters is "sister:nadia"."""
    key = _KEYS[word.lower()]
    return key if word.lower() in _ONE else f"{key}:{slug(who.text)}"


def _about(clause: Clause, who: str, end: int) -> Iterator[Found]:
    """What a clause says of someone, one thing after the other: "is 80 and lives in Kent"."""
    while fact := _next_about(clause, who, end):
        yield fact
        end = fact.span[1] - clause.offset
        if fact.key == f"{who}:company":
            yield from _role_there(clause, who, end)


def _role_there(clause: Clause, who: str, end: int) -> Iterator[Found]:
    if (match := AS_ROLE.match(clause.text, end)) and (what := role(clause.text, match.end())):
        yield found(clause, PROFILE, f"{who}:role", what.text, what.end)


def _next_about(clause: Clause, who: str, end: int) -> Found | None:
    text = clause.text
    left = _LEFT.match(text, end)
    if (match := left or _LIVES.match(text, end)) and (where := place_name(text, match.end())):
        return found(clause, PROFILE, f"{who}:place", where.text, where.end, ended=left is not None)
    if (match := _WORKS.match(text, end)) and (firm := name(text, match.end())):
        return found(clause, PROFILE, f"{who}:company", firm.text, firm.end)
    if (match := _IS_A.match(text, end)) and (what := role(text, match.end())):
        return found(clause, PROFILE, f"{who}:role", what.text, what.end)
    if (match := _AGED.match(text, end)) and 0 < int(match[1]) < 116:
        return found(clause, PROFILE, f"{who}:age", str(int(match[1])), match.end())
    if (match := _BORN.match(text, end)) and (day := birthday(clause, match.end())):
        return found(clause, PROFILE, f"{who}:birthday", day.text, day.end)
    return None
