"""Who the user says he is: name, work, place, age, birthday, diet, allergies, languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, name, place_name, slug, thing, things
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.when import ahead, periods
from recollect.types import FactType

PROFILE: Final[FactType] = "user_profile"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_AM: Final = r"i(?:'m| am)(?: (?:now|currently|still|also|actually|originally|just|already))*"
_LATELY: Final = r"(?: (?:just|recently|now|finally|since|already|currently|also|still|actually|usually|mostly))*"
_NAME: Final = _rule(
    r"my (?:full |first |real |legal )?name(?: is|'s) (?:actually |now )?(?=\w)|i(?:'m| am) (?:called|named) "
    r"|i go by (?:the name (?:of )?)?|(?:you can |please |just |everyone |everybody |(?:my )?friends |people )*calls? me "
)
_NOT_NAMED: Final = _rule(r"my name (?:is not|isn't|is no longer) ")
_BUT: Final = _rule(r",? (?:it's|it is|but(?: it's)?|my name is) ")
_I_AM: Final = _rule(r"(?:i'm|i am|this is) ")
_LIVE: Final = _rule(
    rf"(?:i|we){_LATELY} (?:live|reside)(?: here)? in |(?:i'm|i am|we're|we are){_LATELY} (?:living|based|settled|located) in "
    rf"|(?:i've|i have|we've|we have) been living in "
)
_MOVED: Final = _rule(rf"(?:i|we|i've|i have|we've|we have){_LATELY} (?:moved|relocated)(?: (?:back|over|here|away|down|up))? to ")
_LEFT_PLACE: Final = _rule(
    r"(?:i|we) no longer live in |(?:i|we) (?:don't|do not) live in (?=.{1,60}\bany ?more\b)|(?:i|we)(?:'ve)? moved (?:out of|away from) "
)
_FROM: Final = _rule(
    rf"{_AM} from |i (?:originally )?come from |i (?:was (?:born and raised|born|raised)|grew up) in "
)
_WORK: Final = _rule(
    rf"i{_LATELY} (?:work|started working|started(?: a new job)?|got a (?:new )?job|began working)(?: (?:part-time|full-time|remotely|here))?"
    rf" (?:at|for) |{_AM} (?:working|employed) (?:at|for|by) |(?:i've|i have){_LATELY} (?:been working|started working|started|joined)"
    r"(?: (?:at|for))? "
)
_LEFT_WORK: Final = _rule(
    r"i no longer work (?:at|for) |i (?:don't|do not) work (?:at|for) (?=.{1,60}\bany ?more\b)|i(?:'ve)? (?:stopped working) (?:at|for) "
    r"|i(?:'ve| have)? (?:left|quit|resigned from) (?:my job at )?(?=\w+(?: \w+)?\s*(?:[.!]|$))"
)
_JOBLESS: Final = _rule(
    r"(?:i(?:'ve)?(?: just)? (?:quit|lost|left) my (?:old )?job|i (?:just )?(?:got|was|have been) (?:laid off|fired|let go|made redundant))\b"
)
_WORK_AS: Final = _rule(rf"i{_LATELY} work as (?:an? |the )?|{_AM} (?:working|employed) as (?:an? |the )?")
_ROLE: Final = _rule(
    rf"{_AM} (?:an? |the )|as an? (?=[^,]{{3,40}}, i\b)|i (?:just |recently )?(?:became|got promoted to|was promoted to)"
    r" (?:an? |the )?|my job is (?:being )?an? "
)
_OLD: Final = _rule(r"(\d{1,3})[- ]years?[- ]old,? ")
_NOT_ROLE: Final = _rule(r"i(?:'m| am) (?:not|no longer) an? ")
_RETIRED: Final = _rule(rf"{_AM} (retired|unemployed|self-employed)\b(?! (?:from|and|but))")
_AT: Final = _rule(r",? (?:at|for|with) ")
_TAIL_FROM: Final = _rule(r",? (?:from) ")
_TAIL_IN: Final = _rule(r",? (?:based|living|and live) in ")
_AGE: Final = _rule(
    rf"(?:{_AM}|i(?:'ve)? (?:just |recently )?turned) (\d{{1,3}})(?: years?[- ]old| yo| y/o)?(?: now| today| yesterday| last \w+| this \w+)?"
    r"(?=\s*(?:[.,!;)]|$|and\b|but\b))"
)
_BIRTHDAY: Final = _rule(r"my birthday(?: is|'s)(?: on)?(?: the)? |i was born on (?:the )?")
_ALLERGIC: Final = _rule(rf"{_AM}(?: (?:very|severely|deathly|highly|a bit|slightly|really))* allergic to ")
_ALLERGY: Final = _rule(r"i(?:'ve| have)?(?: got| suffer from)? (?:have )?an? (?:severe |bad |serious |mild )?([\w-]{3,20}(?: [\w-]{3,20})?) allergy\b")
_DIETS: Final = r"(vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]intolerant|coeliac|celiac)\b"
_DIET: Final = _rule(rf"{_AM} (?:an? )?(?:strict |lifelong |committed )?{_DIETS}(?! (?:restaurant|food|recipe|dish|option|diet|place))")
_NO_DIET: Final = _rule(rf"i(?:'m| am) (?:not|no longer) (?:an? )?{_DIETS}")
_LANGUAGES: Final = (
    "English|Spanish|French|German|Italian|Portuguese|Dutch|Swedish|Norwegian|Danish|Finnish|Polish|Czech|Russian|Ukrainian|"
    "Greek|Turkish|Arabic|Hebrew|Hindi|Urdu|Bengali|Tamil|Telugu|Punjabi|Farsi|Persian|Chinese|Mandarin|Cantonese|Japanese|"
    "Korean|Vietnamese|Thai|Indonesian|Malay|Tagalog|Swahili|Hungarian|Romanian|Bulgarian|Croatian|Serbian|Catalan|Welsh|Irish"
)
LANGUAGE: Final = _rule(rf"({_LANGUAGES})\b")
_SPEAK: Final = _rule(
    r"i (?:also )?speak (?:fluent |some |a little |basic |both )?|my (?:native|first) language is |my mother tongue is "
    r"|i(?:'m| am) (?:fluent in|a native speaker of) "
)


def profile(clause: Clause) -> Iterator[Found]:
    """What a clause says of the user himself."""
    for read in (_names, _places, _work, _roles, _age, _birthday, _body, _speaks):
        yield from read(clause)


def _names(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _NOT_NAMED.match(text):
        wrong = name(text, match.end())
        but = _BUT.match(text, wrong.end) if wrong else None
        right = name(text, but.end()) if but else None
        if right:
            yield found(clause, PROFILE, "name", right.text, right.end, 0.95)
        elif wrong:
            yield found(clause, PROFILE, "name", wrong.text, wrong.end, 0.9, ended=True)
    elif match := _NAME.match(text):
        if is_name := name(text, match.end(), most=5):
            yield found(clause, PROFILE, "name", is_name.text, is_name.end, 0.95)
    elif clause.greeted and (match := _I_AM.match(text)):
        is_name = name(text, match.end(), most=3)
        if is_name and _closes(text, is_name.end):
            yield found(clause, PROFILE, "name", is_name.text, is_name.end, 0.8)


def _closes(text: str, end: int) -> bool:
    return re.match(r"\s*(?:[.,!;)–—-]|$|and\b|from\b)", text[end:], re.IGNORECASE) is not None


def _places(clause: Clause) -> Iterator[Found]:
    yield from _read(clause, _LIVE, place_name, "place")
    yield from _read(clause, _LEFT_PLACE, name, "place", ended=True)
    yield from _read(clause, _FROM, place_name, "hometown")
    if (match := _MOVED.match(clause.text)) and (where := place_name(clause.text, match.end())):
        began = _began(clause, where.end)
        yield found(clause, PROFILE, "place", where.text, where.end, valid_from=began)


def _began(clause: Clause, end: int) -> date | None:
    """The first day of the period named after place `end`, where it lies in the past."""
    today = clause.at.date()
    named = [first for first, _ in periods(clause.text[end : end + 60], today) if 0 < first <= today.toordinal()]
    return date.fromordinal(named[0]) if named else None


def _read(
    clause: Clause,
    rule: re.Pattern[str],
    read: Callable[[str, int], Phrase | None],
    key: str,
    confidence: float = 0.9,
    ended: bool = False,
) -> Iterator[Found]:
    if (match := rule.match(clause.text)) and (value := read(clause.text, match.end())):
        yield found(clause, PROFILE, key, value.text, value.end, confidence, ended=ended)


def _work(clause: Clause) -> Iterator[Found]:
    if jobless := _JOBLESS.match(clause.text):
        for key in ("company", "role"):
            yield found(clause, PROFILE, key, "", jobless.end(), ended=True)
        return
    yield from _read(clause, _LEFT_WORK, name, "company", ended=True)
    yield from _read(clause, _WORK, name, "company")


def _roles(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _RETIRED.match(text):
        yield found(clause, PROFILE, "role", match[1].lower(), match.end())
    elif (match := _NOT_ROLE.match(text)) and (was := role(text, match.end())):
        yield found(clause, PROFILE, "role", was.text, was.end, ended=True)
    elif (match := _WORK_AS.match(text)) and (what := thing(text, match.end(), stops=LINKED)):
        yield found(clause, PROFILE, "role", what.text, what.end)
        yield from _around_role(clause, what.end)
    elif match := _ROLE.match(text):
        start = match.end()
        if old := _OLD.match(text, start):
            start = old.end()
        if what := role(text, start):
            if old:
                yield found(clause, PROFILE, "age", old[1], old.end())
            yield found(clause, PROFILE, "role", what.text, what.end, 0.85)
            yield from _around_role(clause, what.end)


def _around_role(clause: Clause, end: int) -> Iterator[Found]:
    text = clause.text
    for rule, read, key in ((_AT, name, "company"), (_TAIL_FROM, place_name, "hometown"), (_TAIL_IN, place_name, "place")):
        if (match := rule.match(text, end)) and (value := read(text, match.end())):
            yield found(clause, PROFILE, key, value.text, value.end, 0.85)


def _age(clause: Clause) -> Iterator[Found]:
    if (match := _AGE.match(clause.text)) and 4 < int(match[1]) < 116:
        yield found(clause, PROFILE, "age", str(int(match[1])), match.end())


def _birthday(clause: Clause) -> Iterator[Found]:
    if (match := _BIRTHDAY.match(clause.text)) and (day := birthday(clause, match.end())):
        yield found(clause, PROFILE, "birthday", day.text, day.end, 0.95)


def birthday(clause: Clause, start: int) -> Phrase | None:
    """The day of a year a text names right there: "9 November", "3 March 1988"."""
    rest = clause.text[start : start + 40]
    named = ahead(rest, clause.at.date())
    if named is None or named[0] > 0 or re.match(r"\W*(?:this|next|in|the end|later)\b|.*\b(?:week|month)", rest.lower()[: named[1]]):
        return None
    day = named[2]
    year = f" {day.year}" if re.search(r"\b\d{4}\b", rest[: named[1]]) else ""
    return Phrase(f"{day.day} {day:%B}{year}", start + named[1])


def _body(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _ALLERGIC.match(text):
        for what in things(text, match.end()):
            yield found(clause, PROFILE, f"allergy:{slug(what.text)}", what.text, what.end, 0.95)
    elif match := _ALLERGY.match(text):
        yield found(clause, PROFILE, f"allergy:{slug(match[1])}", match[1], match.end())
    elif match := _NO_DIET.match(text):
        yield found(clause, PROFILE, "diet", match[1].lower(), match.end(), ended=True)
    elif match := _DIET.match(text):
        yield found(clause, PROFILE, "diet", match[1].lower(), match.end(), 0.95)


def _speaks(clause: Clause) -> Iterator[Found]:
    if (match := _SPEAK.match(clause.text)) and (language := LANGUAGE.match(clause.text, match.end())):
        what = language[1].capitalize()
        yield found(clause, PROFILE, f"speaks:{slug(what)}", what, language.end(), 0.95)
