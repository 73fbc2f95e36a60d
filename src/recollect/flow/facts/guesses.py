"""Answers to a guess of the assistant: "You live in Bergen, right?" and "No, Oslo" say that the user lives in Oslo."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from recollect.flow.facts.food import DIETS
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.people import KEYS
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.profile import NO_NAME, NUMBER
from recollect.flow.facts.roles import role
from recollect.flow.facts.unfit import EVASIVE, NO_PLACE, is_no_firm, is_no_name, is_no_place
from recollect.flow.facts.wording import any_of, rule

_CAPITAL: Final = r"(?-i:[A-Z])[\w'-]*"
_PEOPLE: Final = FORENAMES | KEYS.keys()
_NAMES: Final = re.compile(rf"{_CAPITAL}(?:,? (?:(?:of|the|de|la|van|von|and|&) )?{_CAPITAL}){{0,3}}")
_BEGINS: Final = (
    r"(?:^|[.!:\n] *)(?:(?:"
    + any_of(
        """so and ah oh ok okay sorry then right great nice wait well got_it i_see just_to_confirm to_confirm
        just_checking just_to_be_sure if_i_remember_(?:right|correctly|rightly) as_i_recall i_remember(?:_that)?
        i_(?:think|believe) i_(?:assume|guess|take_it)(?:_that)? if_i'm_not_mistaken
        if_i_understand_(?:right|correctly) so_then"""
    )
    + r"),?\s+){0,3}"
)
_SURE: Final = any_of(
    """right correct yes is_that_(?:right|correct|so) don't_you aren't_you isn't_(?:it|he|she) doesn't_(?:he|she)
    am_i_right then too now i_(?:think|believe|guess|take_it|assume|gather) if_i_remember_(?:right|correctly)
    if_i'm_not_mistaken"""
)
_YES: Final = rule(
    r"\s*(?:yes|yeah|yep|yup|correct|exactly|indeed|right|true|that's (?:right|correct|true)|i do|i am"
    r"|you got it|spot on)"
    r"(?:[,.! ]+(?:yes|exactly|correct|indeed|i do|i am|it is|s?he (?:is|does)|that's (?:right|correct|me)))*"
    r"\s*[.!]*\s*$"
)
_NO: Final = rule(
    r"\s*(?:no|nope|nah|not quite|wrong)\s*[,.!:;\u2013\u2014-]+\s*(?:(?:no|actually|sorry|it's|it is)[,:]? )*"
    r"(?P<it>\w.{0,60}?)(?:,? (?:now|actually|please|though))?\s*[.!]*\s*$"
)


@dataclass(frozen=True, slots=True)
class _Guessed:
    """A guess, whether what it says of `it` fits, the sentence that is true then, and what a "No" may say before `it`.

    Before another word, as in "No, she lives in Oslo", it would be said of someone or something else.
    """

    guess: re.Pattern[str]
    fits: Callable[[str], bool]
    says: str
    leads: re.Pattern[str]


def _is_proper(it: str) -> bool:
    return _NAMES.fullmatch(it) is not None and not (NO_NAME.match(it) or EVASIVE.intersection(it.casefold().split()))


def _is_known_place(it: str) -> bool:
    return PLACE.fullmatch(it.casefold()) is not None


def _is_place(it: str) -> bool:
    if _is_known_place(it):
        return True
    return _is_proper(it) and not is_no_place(it) and it.casefold().split()[0] not in FORENAMES | NO_PLACE


def _is_firm(it: str) -> bool:
    named = it.removeprefix("the ")
    return _is_proper(named) and not is_no_firm(named) and named.casefold().split()[0] not in _PEOPLE


def _is_name(it: str) -> bool:
    return it.casefold() in FORENAMES or (_is_proper(it) and not is_no_name(it))


def _is_role(it: str) -> bool:
    found = role(it, 0)
    whole = found is not None and found.end == len(it) and it[1:] == it[1:].lower()
    return whole and "'" not in it.partition(" ")[0]


def _is(pattern: str) -> Callable[[str], bool]:
    whole = rule(f"{pattern}$")
    return lambda it: whole.match(it) is not None


def _guess(form: str) -> re.Pattern[str]:
    return rule(rf"{_BEGINS}{form} (?P<it>\w[\w'&., -]{{0,60}}?)(?:,? {_SURE})*\?\s*$")


def _leads(words: str) -> re.Pattern[str]:
    return rule(rf"\A{any_of(words)} ")


_is_age, _is_diet = _is(rf"{NUMBER}(?: years? old)?"), _is(rf"(?:an? )?{DIETS}")
_YOU_ARE: Final = "you(?:'re| are)(?: currently| still| now| also)?"
_KIN: Final = rf"your (?P<kin>{'|'.join(sorted(KEYS, key=len, reverse=True))})(?P<named>,? {_CAPITAL})?"
_IN, _AT = _leads("i_live_in i_live i'm_in in"), _leads("i_work_(?:at|for) at for")
_AM, _A, _FROM = _leads("i'm i_am"), _leads("(?:i'm_|i_am_)?an? i'm i_am"), _leads("(?:i'm_|i_am_)?from")
_NAMED: Final = _leads("my_name_is my_name's i'm_called i'm i_am")
_SHE_IN, _SHE_AT = _leads("(?:s?he_lives_)?in s?he's_in"), _leads("(?:s?he_works_)?(?:at|for)")
_SHE_IS, _SHE_IS_A = _leads("s?he(?:'s|_is)"), _leads("(?:s?he(?:'s|_is)_)?an? s?he(?:'s|_is)")
_SHE_NAMED: Final = _leads("s?he(?:'s|_is)(?:_called|_named)? (?:his|her)_name(?:_is|'s) called")
_GUESSED: Final = (
    _Guessed(_guess(r"you(?: still| currently| now)? live in"), _is_place, "I live in {it}", _IN),
    _Guessed(_guess(rf"{_YOU_ARE} (?:based|living|located) in"), _is_place, "I live in {it}", _IN),
    _Guessed(_guess(rf"{_YOU_ARE} (?:originally )?from"), _is_known_place, "I'm from {it}", _FROM),
    _Guessed(_guess(r"you(?: still| currently| now)? work (?:at|for)"), _is_firm, "I work at {it}", _AT),
    _Guessed(_guess(rf"{_YOU_ARE} an?"), _is_role, "I'm a {it}", _A),
    _Guessed(_guess(_YOU_ARE), _is_age, "I'm {it}", _AM),
    _Guessed(_guess(_YOU_ARE), _is_diet, "I'm {it}", _AM),
    _Guessed(_guess(r"your name(?: is|'s)"), _is_name, "My name is {it}", _NAMED),
    _Guessed(_guess(rf"{_YOU_ARE} called"), _is_name, "My name is {it}", _NAMED),
    _Guessed(_guess(rf"{_KIN} lives in"), _is_place, "My {kin}{named} lives in {it}", _SHE_IN),
    _Guessed(_guess(rf"{_KIN} works (?:at|for)"), _is_firm, "My {kin}{named} works at {it}", _SHE_AT),
    _Guessed(_guess(rf"{_KIN}(?: is|'s) an?"), _is_role, "My {kin}{named} is a {it}", _SHE_IS_A),
    _Guessed(_guess(rf"{_KIN}(?: is|'s)"), _is_age, "My {kin}{named} is {it}", _SHE_IS),
    _Guessed(
        _guess(rf"{_KIN}(?:'s name is|(?: is|'s) (?:called|named))"), _is_name, "My {kin}'s name is {it}", _SHE_NAMED
    ),
)


def as_confirmed(guess: str, answer: str) -> str:
    """The statement that a "Yes" to a guess makes, or "No, Oslo"; "" if the answer is another, or no guess was made."""
    no = None if (yes := _YES.match(answer)) else _NO.match(answer)
    if not (yes or no) or guess.count("?") != 1:
        return ""
    for one in _GUESSED:
        if (match := one.guess.search(guess)) and one.fits(match["it"]):
            parts = {name: part or "" for name, part in match.groupdict().items()}
            it = one.leads.sub("", no["it"], 1) if no else match["it"]
            return one.says.format(**{**parts, "it": it}) if one.fits(it) else ""
    return ""
