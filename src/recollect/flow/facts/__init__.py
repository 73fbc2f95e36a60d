"""Facts from what users say about themselves, by rules: without model or network, and rather none than a wrong one.

text ──► corrections ──► voice: own words ──► prose: by clause
clause ──► names, profile, work, life, food, relations, renamed, likes, preferences, plans, mood ──► Found
messages before + "She …", "… there" or a short answer ──► pronouns, there, answers, guesses: spelled out, then read
Statements of all messages ──► known: what stands, what is past
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.flow.facts.answers import MOST_ANSWERED, as_statement
from recollect.flow.facts.card import listed
from recollect.flow.facts.corrections import Meant, corrected, place_in, with_word
from recollect.flow.facts.food import food
from recollect.flow.facts.found import Found
from recollect.flow.facts.known import ADDS_UP, Known, Statement, known
from recollect.flow.facts.life import life
from recollect.flow.facts.likes import likes
from recollect.flow.facts.mood import mood
from recollect.flow.facts.names import names
from recollect.flow.facts.notes import in_first_person
from recollect.flow.facts.people import is_someone
from recollect.flow.facts.plans import plans
from recollect.flow.facts.preferences import preferences
from recollect.flow.facts.profile import profile
from recollect.flow.facts.pronouns import PRONOUN, spelled_out, told_in
from recollect.flow.facts.prose import Clause, told
from recollect.flow.facts.relations import in_passing, relations
from recollect.flow.facts.renamed import renamed
from recollect.flow.facts.there import THERE, with_place
from recollect.flow.facts.wording import word_set
from recollect.flow.facts.work import work
from recollect.types import with_zone

__all__ = [
    "Found",
    "Known",
    "Statement",
    "amended",
    "as_statement",
    "carried_on",
    "extract",
    "known",
    "leans",
    "noted",
    "stated",
    "told_in",
]


def _wishes(clause: Clause) -> Iterable[Found]:
    return list(preferences(clause)) or likes(clause)


_Rules = tuple[Callable[[Clause], Iterable[Found]], ...]
_OF_MINE: Final[_Rules] = (names, profile, work, life, food, relations, renamed, _wishes, plans, mood)
_OF_OTHERS: Final[_Rules] = (names, profile, work, life, food, in_passing, _wishes, plans, mood)
_MINE: Final = word_set("i im ive id we weve my our")
_OTHERS: Final = word_set(
    """you please just everyone everybody friends people call calls it its this that name names myself as
    can could will would always never don dont do stop keep give make use using write answer reply respond be avoid
    include including format speak talk send explain show your these the
    remind add put help gotta cancel drop delete remove forget they on by in next tomorrow tonight
    thank thanks many no there nevermind for at tools being first second third last is was whenever
    appointment interview exam test viva meeting surgery dentist doctor deadline job driving final
    run check commit push start end sign skip only ask"""
)
"""The words that a clause about the user begins with, apart from names."""
_BY_NAME: Final[_Rules] = (in_passing, renamed, likes)
_FIRST: Final = re.compile(r"\w*")


def _find(clause: Clause) -> list[Found]:
    """What a clause says, by the rules for clauses with its first word."""
    match = _FIRST.match(clause.text)
    first = match[0].casefold() if match else ""
    if first in _MINE:
        rules = _OF_MINE
    elif first in _OTHERS or first.endswith("day"):
        rules = _OF_OTHERS
    else:
        rules = _BY_NAME
    return [one for rule in rules for one in rule(clause)]


def extract(text: str, at: datetime) -> list[Found]:
    """What a message says about the user who wrote it, in order; days count from `at`, when it was said.

    Of two statements about the same key, the later one counts. Quotes, code, pasted text, questions, what-ifs, and what
    others do say nothing about the user.
    """
    right, cuts = corrected(text)
    said = told(right, with_zone(at), _find) + listed(right, with_zone(at), _find)
    if cuts:
        said = [replace(one, span=place_in(cuts, one.span)) for one in said]
    return sorted({(one.key, one.ended): one for one in said}.values(), key=lambda one: (one.span, one.key))


def amended(before: str, text: str, meant: Meant, at: datetime) -> list[Found]:
    """What follows from a message that only corrects a word in the one `before` it: what was wrong ends.

    The message before was said at `at`.
    """
    was = [one for one in extract(before, at) if not one.ended]
    wrong = meant.wrong_in(
        before,
        (one.value for one in was if one.value[:1].isupper() and (is_someone(one.key) or not meant.of_someone)),
    )
    now = extract(with_word(before, wrong, meant.right), at) if wrong else []
    said, keys = {(one.key, one.value, one.valid_to) for one in was}, {one.key for one in now}
    right = {(one.key, one.value) for one in now}
    gone = [
        replace(one, ended=True)
        for one in was
        if now and (one.key not in keys or (one.key.endswith(ADDS_UP) and (one.key, one.value) not in right))
    ]
    new = [one for one in now if (one.key, one.value, one.valid_to) not in said]
    return [replace(one, span=(0, len(text))) for one in (*gone, *new)]


def leans(text: str) -> bool:
    """Whether a message may mean something only together with those before it: it is short or begins with "she"."""
    return len(text) <= MOST_ANSWERED or PRONOUN.match(text) is not None


def carried_on(before: str, reply: str, text: str, at: datetime, says: str = "") -> list[Found]:
    """What a message says that begins with "she", or ends something "there", with the user's message before it.

    That message must tell of just one person or place. `reply` is what was answered to it. What the message says by
    itself is left out. Of a message that answers a question, `says` is the statement it makes: "she is 32".
    """
    stated = says or text
    she = PRONOUN.match(stated)
    if not (she or THERE.match(stated)):
        return []
    was = extract(before, at)
    meant = with_place(stated, was, f"{before}\n{reply}")
    if she and any(one.ended and is_someone(one.key) for one in was):
        return []
    if she:
        meant = spelled_out(meant, before, reply, [one.value for one in was])
    return _more("" if meant == text else meant, text, at, {one.key for one in was if is_someone(one.key)})


def stated(says: str, text: str, at: datetime) -> list[Found]:
    """What a message says that makes a statement together with others, without what it says by itself."""
    return _more(says, text, at, set())


def _more(meant: str, text: str, at: datetime, but: Set[str]) -> list[Found]:
    """What a message says as it is meant, without what it says as it stands."""
    said = {one.key for one in extract(text, at)} | but if meant else but
    return [replace(one, span=(0, len(text))) for one in extract(meant, at) if one.key not in said] if meant else []


def noted(text: str, at: datetime) -> list[Found]:
    """What someone else's note says about a user: "The user lives in Oslo", "User's name is Ada", or "I …"."""
    said = in_first_person(text)
    return extract(text, at) if said == text else [replace(one, span=(0, len(text))) for one in extract(said, at)]
