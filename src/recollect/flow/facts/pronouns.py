"""Whom a message means that begins with "she" or "he": the one person the message before it told of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from recollect.flow.days import MONTHS, WEEKDAYS
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.people import COUPLES, KEYS, PETS, PLURALS
from recollect.flow.facts.phrases import name
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.relations import KIND, WHO
from recollect.flow.facts.roles import PEOPLE as BY_TRADE
from recollect.flow.facts.someone import GOT
from recollect.flow.facts.voice import DO_WITH_TEXT, FICTION, own_words
from recollect.flow.facts.wording import any_of, lower, rule, word_set

_OPENING: Final = any_of(
    """actually oh no yes yeah well so and but btw by_the_way also sorry update fyi ok okay anyway wait hmm correction
    my_mistake my_bad i_mean i_meant"""
)
PRONOUN: Final = rule(
    rf"\s*(?:{_OPENING}[,.:!]*\s+){{0,3}}"
    r"(?P<word>(?P<who>s?he)(?P<is>'?s)?(?= )|(?P<whose>his|her|its)(?= (?:name|birthday|bday)\b))"
)
_HAS: Final = rule(r" (?:(?:just|now|already|recently|since) )?(?:moved|relocated|left|quit|lost|turned|started)\b")
"""What makes the "'s" before it a "has"."""
_MENTIONED: Final = rule(rf"\b(?:my|our|{GOT} an?) {KIND}{WHO}\b(?!'?s\b|-| in law)")
_WOMEN: Final = word_set(
    "wife girlfriend mother sister daughter aunt niece grandmother granddaughter mother-in-law sister-in-law"
)
_MEN: Final = word_set(
    "husband boyfriend father brother son uncle nephew grandfather grandson father-in-law brother-in-law"
)
_OTHERS: Final = rule(
    r"\b(?:guy|girl|man|woman|men|women|boy|lady|kids?|baby|someone|somebody|anyone|person|people)\b",
    r"\b(?:his|her|their) (?:[\w-]+ )?(?:teacher|coach|tutor|student|client|patient|ex|date|crush|nanny|trainer)\b",
)
"""Someone else of whom a message tells."""
_PEOPLE: Final = rule(rf"\b(?:{'|'.join(sorted({*KEYS, *PLURALS}, key=len, reverse=True))})\b")
_SOMEONE: Final = any_of(
    """queen king prince princess president minister mayor celebrity star actress hero heroine host hostess guest
    stranger bride groom passenger owner winner postman policeman nun monk sergeant captain senator judge candidate
    tenant suspect victim witness bestie crush"""
)
_BROUGHT_IN: Final = rule(
    rf"\b(?:who|whose|whom|my ex|(?:a|first|blind) date|tinder|siri|alexa|cortana|claude|{_SOMEONE}s?)\b",
    r"\b(?:new|old|older|other|young|younger|tall|blonde|pretty|nice|first|second) one\b",
)
"""Words that may bring someone in, or ask for someone, without telling anything of them."""
_THE_ONE: Final = rule(rf"\bthe (?:{_SOMEONE}|{'|'.join(sorted(BY_TRADE))})\b")
_NAMED_SMALL: Final = BY_TRADE | FORENAMES
_BEGINS: Final = rule(
    r"(?:is|was|has|had|will|can|and i|[a-z]{2,}ed|"
    + any_of("came got went says said loves likes hates lives works wants needs thinks looks seems told")
    + r")\b"
)
"""What follows a name that a message begins with, and no other word there: "Nadia came by"."""
_POOR_KID: Final = rule(r"\b(?<!your )(?:poor|lucky|brave|sweet|little|good|smart|the) (?:kid|child)\b")
"""What a reply calls the child of whom the user told."""
_SHE, _HE = rule(r"\b(?:she|her|hers|herself)\b"), rule(r"\b(?:he|him|his|himself)\b")
_NOT_TOLD: Final = rule(rf"\b(?:{FICTION}|{DO_WITH_TEXT})\b")
"""Talk of texts and stories: "she" may be in those."""
_NAME: Final = re.compile(r"(?<![.!?\n] )(?<!\A)(?<!\n)\b[A-Z][\w'-]*")
_ANY_WORD: Final = re.compile(r"[\w'-]+")
_FIRST_WORD: Final = re.compile(r"(?:\A|(?<=[.!?\n] )|(?<=\n))[A-Z][\w'-]*")
_ASIDE: Final = rule(r",? (?:actually|btw|by the way|lol|haha|though|tho)(?=[.!,]|\s*\Z)")
"""Words after which no rule sees that something ends."""
_CALLED: Final = rule(r",? (?:(?:who is |who's )?(?:called|named) )?(?=(?-i:[A-Z]))")
_NO_NAMES: Final = {*MONTHS, *WEEKDAYS, *word_set("i i'm i've i'd i'll mom mum dad ok lol")}


def spelled_out(text: str, before: str, reply: str, told: Iterable[str]) -> str:
    """The message with the name, or "my sister", in place of the "she" that it begins with; "" if that is not clear.

    `before` is the user's message before it, `told` what is known from that; `reply` is what was answered to it.
    """
    pronoun = PRONOUN.match(text)
    who = _the_one(own_words(before), told) if pronoun and not _NOT_TOLD.search(before) else None
    if pronoun is None or who is None or _tells_of_others(reply, before, who):
        return ""
    kind, words = who
    word = lower(pronoun["who"] or pronoun["whose"])
    if kind in (_MEN if word in ("she", "her") else _WOMEN) or (word == "its" and kind not in PETS.values()):
        return ""
    rest = text[pronoun.end("word") :]
    has = " has" if pronoun["is"] and _HAS.match(rest) else "'s"
    its = has if pronoun["is"] or pronoun["whose"] else ""
    return f"{text[: pronoun.start('word')]}{words}{its}{_ASIDE.sub('', rest)}"


def told_in(turns: Sequence[tuple[str, str]], text: str) -> int:
    """Which of the turns before a message tells of the "she" that it begins with; 0 if it begins with none.

    A turn is what the user said and what was answered, the newest comes first. An older one counts only if nobody was
    brought in since.
    """
    pronoun, known = PRONOUN.match(text), set[str]()
    if pronoun is None:
        return 0
    women = lower(pronoun["who"] or pronoun["whose"]) in ("she", "her")
    for n, (said, reply) in enumerate(turns[1:]):
        known.update(_ANY_WORD.findall(said.casefold()))
        if any(_brings_in(one, known, _HE if women else _SHE) for one in (*turns[n], reply)):
            return n
    return len(turns) - 1


def _brings_in(text: str, known: Iterable[str], other: re.Pattern[str]) -> bool:
    """Whether a text may tell of someone else than those whose names are known, or of an `other` kind of people."""
    if any(one.search(text) for one in (_PEOPLE, _OTHERS, _BROUGHT_IN, _NOT_TOLD, other)):
        return True
    words = {word.removesuffix("s") for word in _ANY_WORD.findall(text.casefold())}
    if words & _NAMED_SMALL.difference(known):
        return True
    first = name(text, 0, most=2)
    names = first is not None and first.text.casefold() not in known and _BEGINS.match(text, first.end + 1)
    return bool(names or _names_in(text, known))


def _the_one(before: str, told: Iterable[str]) -> tuple[str, str] | None:
    """The only person of whom a message tells: what they are to the user, and the words for them."""
    known = {word.casefold() for value in told for word in value.split()}
    mentions = list(_MENTIONED.finditer(before))
    if not mentions:
        who = name(before, 0, most=2)
        words = who.text if who and not (_PEOPLE.search(before) or _OTHERS.search(before)) else ""
        return ("", words) if words and not _names_in(before[len(words) :], known) else None
    first, *more = mentions
    kind = KEYS[lower(first[1])]
    if more or kind in COUPLES.values() or len(_people_in(before)) > 1 or _OTHERS.search(before, first.end()):
        return None
    called = _CALLED.match(before, first.end())
    named = name(before, called.end(), most=2) if called else None
    known |= {word.casefold() for word in named.text.split()} if named else set()
    if _names_in(before, known):
        return None
    return kind, f"my {lower(first[1])}{f' {named.text}' if named else ''}"


def _people_in(text: str) -> list[str]:
    return [match[0] for match in _PEOPLE.finditer(text)]


def _names_in(text: str, known: Iterable[str]) -> list[str]:
    """The words in a text that may name someone, but for those that are known to be other names."""
    words = [*_NAME.findall(text), *(word for word in _FIRST_WORD.findall(text) if word.lower() in FORENAMES)]
    plain = (word.casefold().removesuffix("'s") for word in words)
    places = {word for place in PLACE.finditer(text.casefold()) for word in place[1].split()}
    return [word for word in plain if not (word in _NO_NAMES or word in known or word in places)]


def _tells_of_others(reply: str, before: str, who: tuple[str, str]) -> bool:
    """Whether a reply brings in someone else, whom the next "she" may mean."""
    kinds = {KEYS.get(lower(word), "") for word in _people_in(_POOR_KID.sub("", reply))}
    known = set(_ANY_WORD.findall(before.casefold()))
    return bool(kinds - {who[0]} or _THE_ONE.search(reply) or _names_in(reply, known))
