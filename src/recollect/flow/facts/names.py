"""What the user is called, and what is told along with a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.food import DIETS
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.people import KEYS
from recollect.flow.facts.phrases import Phrase, given, name, place_name
from recollect.flow.facts.profile import AS_FROM, NO_NAME, PROFILE, STOP, lasts
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import any_of, rule
from recollect.flow.facts.work import around_role

_NAME: Final = rule(r"my (?:full |first |real |legal |good )?name(?: is|'s) (?:actually |now |spel(?:led|t) )?(?=\w)")
_CALLED: Final = rule(
    r"i(?:'m| am) (?:called|named) |i go by (?:the name (?:of )?)?",
    r"(?:i(?: want|'d like) you to |you can |please |just |everyone |everybody |(?:my )?friends |people )*calls? me ",
    "i(?:'m| am) (?=(?:dr|mr|mrs|ms|prof)\\b)",
    r"(?:it's|this is) (?=(?-i:[A-Z])[\w'-]+ here\b)",
    rf"(?:name's|myself) (?=(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?(?:{STOP}|(?= from (?-i:[A-Z]))))",
)
_NOT_NAMED: Final = rule(r"my name (?:is not|isn't|is no longer) ")
_BUT: Final = rule(r",? (?:it's|it is|but(?: it's)?|my name is) ")
_HELLO_I_AM: Final = rule(r"(?:i'm|i am|this is) ")
_NO_CALLING: Final = rule(
    any_of(
        """interested not very so just still really also from in at on available ready done back new great good fine
        ok okay urgent confused stuck lost sick ill tired bored busy late early here free sorry glad happy sad sure
        unsure afraid worried excited curious unable desperate ridiculous terrible awful amazing broken wrong
        serious hungry cold drunk pregnant alone scared angry upset frustrated exhausted blocked single married lazy
        crazy old maybe later when if whatever anything names asap"""
    )
    + r"\b"
)
_WORD: Final = re.compile(r"[A-Za-z]+")
_HELLO_ENDS: Final = rule(r"\s*(?:[.,!;)\u2013\u2014-]|$|(?:and|from|i|i'm|my)\b)")
_SURNAME: Final = re.compile(r" ([a-z]{3,15})(?<!ing)(?<!ed)(?<!ly)(?=\s*(?:[.,!;)]|$|(?:and|from|i|i'm|im|my)\b))")
_NO_SURNAME: Final = rule(
    any_of(
        """again btw speaking lol too and from here her his your their the now today please pls thanks thx hello help
        everyone everybody all guys folks there male female guy girl boy man woman person parent kid teen first second
        next who that this"""
    )
    + r"\b",
    DIETS,
)
_MYSELF_ENDS: Final = rule(
    r"\s*(?:[.!]|$|(?:,|,? and) (?:i|i'm|i've|my|an?|from|\d\d)\b|, (?:[a-z-]+ ){1,3}(?:at|for) (?-i:[A-Z]))"
)
_AGED, _BY_TRADE = rule(rf", (\d\d)(?: years?[- ]old| yo)?{STOP}"), rule(",? (?:(?:and )?working as )?(?:an? |the )|, ")


def names(clause: Clause) -> Iterator[Found]:
    """What a clause says the user is called: "my name is …", "call me …", "hi, I'm …"."""
    yield from (fact for fact in _names(clause) if lasts(clause, fact))


def _names(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _NOT_NAMED.match(text):
        wrong = name(text, match.end())
        but = _BUT.match(text, wrong.end) if wrong else None
        right = name(text, but.end()) if but else None
        if who := right or wrong:
            yield found(clause, PROFILE, "name", who.text, who.end, 0.95, ended=right is None)
    elif match := (named := _NAME.match(text)) or _CALLED.match(text):
        who = (given if named else name)(text, match.end(), most=5)
        if who and not _NO_CALLING.match(who.text):
            yield found(clause, PROFILE, "name", who.text, who.end, 0.95)
            yield from _around_name(clause, who.end)
    elif clause.greeted and (match := _HELLO_I_AM.match(text)):
        who = name(text, match.end(), most=3) or _small_name(text, match.end())
        if who and _HELLO_ENDS.match(text, who.end) and not (NO_NAME.match(who.text) or _NO_CALLING.match(who.text)):
            yield found(clause, PROFILE, "name", who.text, who.end, 0.8)
            yield from _around_name(clause, who.end)
    elif clause.first and (match := _HELLO_I_AM.match(text)):
        who = forename(text, match.end())
        if who and _MYSELF_ENDS.match(text, who.end):
            yield found(clause, PROFILE, "name", who.text, who.end, 0.8)
            yield from _around_name(clause, who.end)


def _small_name(text: str, start: int) -> Phrase | None:
    """A common forename in small letters, and a surname if only one more word follows: "sam smith"."""
    first = forename(text, start)
    last = _SURNAME.match(text, first.end) if first else None
    if not first or not last or role(text, last.start(1)) or last[1] in KEYS:
        return first
    if any(no.match(last[1]) for no in (NO_NAME, _NO_CALLING, _NO_SURNAME)):
        return first
    return Phrase(f"{first.text} {last[1].capitalize()}", last.end())


def forename(text: str, start: int) -> Phrase | None:
    """One of the common forenames, in small letters or with a capital."""
    word = _WORD.match(text, start)
    return Phrase(word[0].capitalize(), word.end()) if word and word[0].lower() in FORENAMES else None


def _around_name(clause: Clause, end: int) -> Iterator[Found]:
    """What is told along with a name: "Yuki, 24 years old, from Osaka", "Ada, a nurse at Lakeside"."""
    text = clause.text
    if match := _AGED.match(text, end):
        yield found(clause, PROFILE, "age", match[1], match.end())
        end = match.end()
    if (match := AS_FROM.match(text, end)) and (where := place_name(text, match.end())):
        yield found(clause, PROFILE, "hometown", where.text, where.end)
        end = where.end
    if (match := _BY_TRADE.match(text, end)) and (what := role(text, match.end())):
        yield found(clause, PROFILE, "role", what.text, what.end)
        yield from around_role(clause, what.end)
