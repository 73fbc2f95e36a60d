"""Whom the user names as his own: family, friends and pets, and where they live, what they do, how old they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import Phrase, name, place_name, slug
from recollect.flow.facts.profile import PROFILE, birthday
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role

_ONE: Final = {
    "wife": "wife", "husband": "husband", "spouse": "spouse", "partner": "partner", "girlfriend": "girlfriend",
    "boyfriend": "boyfriend", "fiancé": "fiance", "fiancée": "fiance", "fiance": "fiance", "fiancee": "fiance",
    "mother": "mother", "mom": "mother", "mum": "mother", "father": "father", "dad": "father", "boss": "boss",
}  # fmt: skip
_MANY: Final = {
    "sister": "sister", "brother": "brother", "son": "son", "daughter": "daughter", "cousin": "cousin", "aunt": "aunt",
    "uncle": "uncle", "niece": "niece", "nephew": "nephew", "grandmother": "grandmother", "grandma": "grandmother",
    "grandfather": "grandfather", "grandpa": "grandfather", "grandson": "grandson", "granddaughter": "granddaughter",
}  # fmt: skip
_NAMED_ONLY: Final = {
    "friend": "friend", "colleague": "colleague", "coworker": "colleague", "co-worker": "colleague",
    "neighbor": "neighbour", "neighbour": "neighbour", "roommate": "roommate", "flatmate": "roommate",
    "dog": "dog", "cat": "cat", "puppy": "dog", "kitten": "cat", "horse": "horse", "parrot": "parrot", "rabbit": "rabbit",
}  # fmt: skip
_KEYS: Final = {**_ONE, **_MANY, **_NAMED_ONLY}
_WORDS: Final = "|".join(sorted(_KEYS, key=len, reverse=True))
_KIND: Final = (
    r"(?:(?:best|older|younger|elder|big|little|oldest|youngest|eldest|only|twin|close|good|dear|old|new|rescue|"
    r"baby|adopted|half|step|\d{1,2}-year-old) )?(?:golden |black |ginger )?"
)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_MY: Final = _rule(rf"(?:my|our) {_KIND}({_WORDS})\b")
_MENTIONED: Final = _rule(rf"\b(?:my|our) {_KIND}({_WORDS}),? (?=(?-i:[^\W\d_a-z]))")
_HAVE: Final = _rule(rf"(?:i|we)(?:'ve| have)?(?: also)?(?: got| have) an? {_KIND}({_WORDS})(?: who is| who's|,)? (?:named|called) ")
_MARRIED: Final = _rule(r"i(?:'m| am)(?: now| happily)? (married|engaged) to ")
_NAMED: Final = _rule(r"(?:'s name is|'s called| is called| is named|'s first name is) ")
_BORN: Final = _rule(r"(?:'s birthday is|'s birthday's)(?: on)?(?: the)? ")
_STILL: Final = r"(?: (?:now|still|currently|just|recently|also|has|both|already))*"
_LIVES: Final = _rule(
    rf",?{_STILL} (?:lives|resides|is living|is based|'s based) in |,?{_STILL} (?:moved|relocated)(?: (?:back|over))? to "
)
_WORKS: Final = _rule(rf",?{_STILL} (?:works|is working|started working|started)(?: (?:at|for)) ")
_WORKS_AS: Final = _rule(rf",?{_STILL} (?:works as|is|became|,) (?:an? |the )")
_AGED: Final = _rule(
    rf"(?:,?{_STILL} (?:is|turned|just turned)|,) (\d{{1,3}})(?: years?[- ]old)?(?: now| today| last \w+| this \w+| in \w+)?"
    r"(?=\s*(?:[.,!;)]|$|and\b|but\b))"
)


def relations(clause: Clause) -> Iterator[Found]:
    """What a clause says of the user's people and pets."""
    text = clause.text
    if (match := _MARRIED.match(text)) and (who := name(text, match.end(), most=2)):
        yield found(clause, PROFILE, "spouse" if match[1].lower() == "married" else "fiance", who.text, who.end, 0.95)
    elif (match := _HAVE.match(text)) and (who := name(text, match.end(), most=2)):
        yield found(clause, PROFILE, _key(match[1], who), who.text, who.end, 0.95)
    elif match := _MY.match(text):
        yield from _own(clause, match[1], match.end())


def mentioned(clause: Clause) -> Iterator[Found]:
    """Whom a clause names in passing: "I went skiing with my sister Nadia"."""
    for match in _MENTIONED.finditer(clause.text):
        if match.start() and (who := name(clause.text, match.end(), most=2)):
            yield found(clause, PROFILE, _key(match[1], who), who.text, who.end, 0.8, start=match.start())


def _own(clause: Clause, word: str, end: int) -> Iterator[Found]:
    text = clause.text
    if match := _NAMED.match(text, end):
        if who := name(text, match.end(), most=3):
            yield found(clause, PROFILE, _key(word, who), who.text, who.end, 0.95)
        return
    who = None
    if gap := re.compile(r",? ").match(text, end):
        who = name(text, gap.end(), most=2)
    if who:
        yield found(clause, PROFILE, _key(word, who), who.text, who.end)
        yield from _about(clause, _key(word, who), who.end)
    elif word.lower() not in _NAMED_ONLY:
        yield from _about(clause, _KEYS[word.lower()], end)


def _key(word: str, who: Phrase) -> str:
    """A wife is "wife", whatever her name; one of several sisters is "sister:nadia"."""
    key = _KEYS[word.lower()]
    return key if word.lower() in _ONE else f"{key}:{slug(who.text)}"


def _about(clause: Clause, who: str, end: int) -> Iterator[Found]:
    text = clause.text
    if (match := _LIVES.match(text, end)) and (where := place_name(text, match.end())):
        yield found(clause, PROFILE, f"{who}:place", where.text, where.end)
    elif (match := _WORKS.match(text, end)) and (firm := name(text, match.end())):
        yield found(clause, PROFILE, f"{who}:company", firm.text, firm.end)
    elif (match := _WORKS_AS.match(text, end)) and (what := role(text, match.end())):
        yield found(clause, PROFILE, f"{who}:role", what.text, what.end)
    elif (match := _AGED.match(text, end)) and 0 < int(match[1]) < 116:
        yield found(clause, PROFILE, f"{who}:age", str(int(match[1])), match.end())
    elif (match := _BORN.match(text, end)) and (day := birthday(clause, match.end())):
        yield found(clause, PROFILE, f"{who}:birthday", day.text, day.end)
