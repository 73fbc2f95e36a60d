"""Who the user is in their own words: place, age, birthday, languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final

from recollect.answers import FactType
from recollect.flow.ahead import ahead
from recollect.flow.days import written
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import Phrase, name, place_name
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import EMOJI, any_of, lower, rule
from recollect.flow.when import periods

PROFILE: Final[FactType] = "user_profile"
STOP: Final = rf"(?=\s*(?:[.,](?!\d)|[!;:(){EMOJI}]|$|and\b(?! (?:over|under|up|above))|but\b))"

LATELY: Final = (
    f"(?: {any_of('just recently now finally since already currently also still actually usually mostly later then')})*"
)
AM: Final = f"i(?:'m| am)(?: {any_of('now currently still also actually originally just already')})*"
_HAVE: Final = f"(?:i|we)(?:'ve| have)?{LATELY}"

NATIONS: Final = any_of(
    """american british english irish scottish welsh french german italian spanish portuguese dutch belgian swiss
    austrian swedish norwegian danish finnish polish czech russian ukrainian greek turkish arab israeli iranian
    indian pakistani chinese japanese korean vietnamese thai filipino indonesian australian canadian mexican
    brazilian african nigerian egyptian european asian hungarian romanian bulgarian croatian serbian bosnian slovenian
    albanian macedonian estonian latvian lithuanian colombian peruvian venezuelan chilean argentinian cuban jamaican
    kenyan ghanaian ethiopian moroccan algerian tunisian libyan syrian jordanian palestinian armenian georgian persian
    mongolian malaysian singaporean puerto_rican afghan angolan costa_rican dominican fijian guatemalan honduran
    moldovan nicaraguan paraguayan rwandan salvadoran samoan somali sri_lankan tongan ugandan uruguayan"""
)
NO_NAME: Final = rule(
    r"[^ ]*\d|[a-z]{2,}ing\b",
    rf"{NATIONS}\b",
    any_of(
        """latino latina christian catholic protestant muslim jewish hindu buddhist sikh atheist texan californian
        lutheran anglican alaskan catalan corsican mormon okinawan tibetan tuscan wiccan"""
    )
    + r"\b",
)
_HOME: Final = (
    r"(?: here| on my own| alone| by myself| near the [\w-]+| with (?:my|our|an?|two|three|\d)(?: [\w-]+){1,4}?)?"
)
_LIVE: Final = rule(
    rf"(?:i|we){LATELY} (?:live|reside){_HOME} in (?:an? (?:[\w-]+ ){{1,3}}in )?",
    f"(?:i'm|i am|we're|we are){LATELY} (?:living|based|settled|located|residing) (?:in|at) ",
    r"(?:i've|i have|we've|we have) lived in (?=[^,.;]{2,40} (?:since|for|all my life)\b)",
    r"(?:i|we) live at \d[^,.;!?]{2,40}?,? in ",
    "as someone (?:who lives|living) in ",
    "(?:my|our) (?:home|house|flat|apartment) is in ",
    "(?:i've|i have|we've|we have) been living in ",
    rf"{AM} in (?=(?-i:[A-Z])[\w ,-]{{2,30}} (?:these days|nowadays)\b)",
)
_MOVED: Final = rule(
    f"{_HAVE} (?:moved|relocated)(?: (?:back|over|here|away|down|up))? to ",
    rf"{_HAVE} moved into (?:an?|my|our|the) (?:[\w-]+ ){{0,2}}(?:flat|apartment|house|home|place|studio|condo) in ",
    f"i(?:'ve| have)?{LATELY} (?:moved|relocated)(?: (?:back|over|here))? from (?P<old>[^,.;]{{2,40}}?) to ",
)
_A_WHILE: Final = (
    r"for (?:the|(?:just |only |about )?(?:an?|one|two|three|four|five|six|\d+|several|a few|a couple of)) "
    r"(?:days?|nights?|weeks?|weekend|months?|years?|summer|winter|spring|autumn|semester|term|season|while|bit|time)"
)
_SEASONS: Final = "week weekend month summer winter spring autumn fall semester term season"
_SEASON: Final = any_of(_SEASONS)
_WITHIN: Final = r"(?:(?! (?:and|but|so|because|since|as of|which|where|who|to)\b)[^,.;!?\x00]){0,40}?"
_PASSING: Final = rule(
    rf"{_WITHIN} (?:this {_SEASON}|for the {_SEASON}|during the {_SEASON}|today|tonight|until|till|unless|when(?:ever)?"
    r"|half (?:of )?the (?:time|year)|in (?:training|spirit|the shower|my dreams|another life)|at heart"
    r"|by (?:training|education))\b",
    r"[^.;!?\x00]{0,40} (?:and|but) (?:then )?(?:left|retired|quit|came back|moved back)\b"
    r"(?=\s*[.,!;]|$| (?:in|after|again|there|it)\b)",
)
"""Words after a place, firm or profession which say that it is not for good: "this week", "until May"."""
_NOW: Final = (*(f" this {when}" for when in _SEASONS.split()), " today")
_BEGUN: Final = rule(r".*\b(?:moved|relocated|started|joined|became|promoted|got|began|first day)\b")
_NOT_FOR_GOOD: Final = rule(
    rf"\s*(?:when|as an? (?:kid|child|teen\w*|student)|until|before|{_A_WHILE}|,? ?but (?:then )?(?:moved|came|went))\b"
)
_LEFT_PLACE: Final = rule(
    "(?:i|we) no longer live in ",
    r"(?:i|we) (?:don't|do not) live in (?=(?-i:[A-Z]))(?![^.,;!?]* (?:full-time|all year|permanently)\b)",
    "(?:i|we)(?:'ve)? moved (?:out of|away from) ",
    rf"{_HAVE} (?:moved|relocated) from (?=.{{2,60}}? to\b)",
)
_LASTING: Final = frozenset({"place", "company", "role"})
_TO: Final = rule(" to ")
_FROM: Final = rule(
    f"{AM} from ",
    "i (?:originally )?come from ",
    r"i (?:was (?:born and raised|born(?: in \d{4})?|raised)|grew up) in ",
)

AS_FROM: Final = rule(",?(?: originally)? from ")
BASED: Final = rule(",?(?: (?:and|but|now|currently))* (?:(?:based|living|live) in |(?<=now )in )")

_ONES: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TEENS: Final = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_NUMBERS: Final = {
    **{word: n for n, word in enumerate((*_ONES, *_TEENS), 2)},
    **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    **{f"{ten}-{one}": 10 * n + m for n, ten in enumerate(_TENS, 2) for m, one in enumerate(("one", *_ONES), 1)},
}
NUMBER: Final = rf"(\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
"""How old someone is, in digits or in words."""

_AGE: Final = rule(
    rf"(?:{AM}|i(?:'ve)? (?:just |recently )?turned) {NUMBER}(?: years?[- ]old| yo| y/o)?(?: (?:fe)?male)?"
    rf"(?: now| today| yesterday| (?:last|this|since) \w+|,? not \d+)?(?: actually)?"
    rf"(?:{STOP}|(?= (?:so(?! (?:far|much|many))|btw|lol)\b))",
    rf"i(?:'ve)? (?:just |recently )?turned {NUMBER} (?:in|on) \w+{STOP}",
    r"i \((\d\d) ?[mf]\)",
    rf"{AM} an? (\d{{1,3}})[- ]years?[- ]old (?=(?:\w+ )?(?:male|female|man|woman|guy|girl|boy|person)\b)",
)
_BIRTHDAY: Final = rule(
    r"my (?:birthday|bday|b-day)(?: is|'s)(?: on)?(?: the)? ",
    r"i was born on (?:the )?",
    f"i(?: turn| will turn|'ll turn|'m turning| am turning) {NUMBER} on (?:the )?",
)
_ITS_BIRTHDAY: Final = rule(
    r"(?:it's|it is|(?:today )?is) my (?:(\d{1,3})(?:st|nd|rd|th) )?(?:birthday|bday|b-day)"
    r"(?: (?=today|tomorrow|on )|(?=\s*(?:[!.,]|$)))"
)
_NO_DAY: Final = rule(r"\W*(?:this|next|in|the end|later)\b|.*\b(?:week|month)")

LANGUAGES: Final = any_of(
    """English Spanish French German Italian Portuguese Dutch Swedish Norwegian Danish Finnish Polish Czech Russian
    Ukrainian Greek Turkish Arabic Hebrew Hindi Urdu Bengali Tamil Telugu Punjabi Farsi Persian Chinese Mandarin
    Cantonese Japanese Korean Vietnamese Thai Indonesian Malay Tagalog Swahili Hungarian Romanian Bulgarian
    Croatian Serbian Bosnian Slovene Slovenian Slovak Albanian Macedonian Estonian Latvian Lithuanian Icelandic Catalan
    Basque Galician Welsh Irish Afrikaans Zulu Xhosa Yoruba Igbo Hausa Amharic Somali Kurdish Pashto Nepali Marathi
    Gujarati Kannada Malayalam Sinhala Khmer Burmese Mongolian"""
)
LANGUAGE: Final = rule(rf"((?:British |American |Brazilian )?{LANGUAGES})\b")
_SPEAK: Final = rule(
    "i (?:also )?speak (?:fluent |some |a little |basic |both )?",
    "my (?:native|first) language is |my mother tongue is ",
    rf"i(?:'m| am) (?:fluent in |a native speaker of |an? (?:native )?(?={LANGUAGES} speaker\b))",
)
_AND_SPEAK: Final = rule("(?:,? and|,) (?:also )?(?:fluent |some |a little |a bit of |basic )?")


def profile(clause: Clause) -> Iterator[Found]:
    """What a clause says about who the user is."""
    for read in (_places, _age, _speaks):
        yield from (fact for fact in read(clause) if lasts(clause, fact))


def lasts(clause: Clause, fact: Found) -> bool:
    """Whether a place, firm or profession is meant for good, not for "this week" (which may also be when it begins)."""
    end = fact.span[1] - clause.offset
    if fact.ended or fact.key.rpartition(":")[2] not in _LASTING or not (over := _PASSING.match(clause.text, end)):
        return True
    return lower(over[0]).endswith(_NOW) and _BEGUN.match(clause.text[:end]) is not None


def read_after(
    clause: Clause,
    words: re.Pattern[str],
    value: Callable[[str, int], Phrase | None],
    key: str,
    start: int = 0,
    ended: bool = False,
) -> Iterator[Found]:
    """The values of a key that come after certain words."""
    if (match := words.match(clause.text, start)) and (what := value(clause.text, match.end())):
        yield found(clause, PROFILE, key, what.text, what.end, ended=ended)


def _places(clause: Clause) -> Iterator[Found]:
    yield from read_after(clause, _LIVE, place_name, "place")
    if (match := _LEFT_PLACE.match(clause.text)) and (left := name(clause.text, match.end())):
        to = _TO.match(clause.text, left.end)
        now = place_name(clause.text, to.end()) if to else None
        end, then = (now.end, now.text) if now else (left.end, "")
        yield found(clause, PROFILE, "place", left.text, end, ended=True, then=then)
    for home in read_after(clause, _FROM, place_name, "hometown"):
        yield home
        yield from read_after(clause, BASED, place_name, "place", home.span[1] - clause.offset)
    if (match := _MOVED.match(clause.text)) and (where := place_name(clause.text, match.end())):
        if _NOT_FOR_GOOD.match(clause.text, where.end) or (match["old"] and not _known(match["old"], where.text)):
            return
        around = clause.text[where.end : where.end + 60], clause.before[0][-60:]
        since = next(filter(None, (_began(words, clause.at.date()) for words in around)), None)
        yield found(clause, PROFILE, "place", where.text, where.end, since=since)


def _known(*names: str) -> bool:
    """Whether one of these is known to be a place: people also move from firm to firm, and from tool to tool."""
    return any(PLACE.match(name.lower()) for name in names)


def _began(words: str, today: date) -> date | None:
    """The first day of the past period that these words name."""
    days = [first for first, _ in periods(words, today) if 0 < first <= today.toordinal()]
    return date.fromordinal(days[0]) if days else None


def _age(clause: Clause) -> Iterator[Found]:
    if (match := _AGE.match(clause.text)) and 4 < (age := years(match[match.lastindex or 1])) < 116:
        yield found(clause, PROFILE, "age", str(age), len(match[0].rstrip()))
    elif (match := _BIRTHDAY.match(clause.text)) and (day := birthday(clause, match.end())):
        yield found(clause, PROFILE, "birthday", day.text, day.end, 0.95)
    elif match := _ITS_BIRTHDAY.match(clause.text):
        today = Phrase(written(clause.at.date(), year=False), match.end())
        if day := birthday(clause, match.end()) if match[0].endswith(" ") else today:
            yield found(clause, PROFILE, "birthday", day.text, day.end, 0.95)
            if match[1] and day.text == today.text and 4 < int(match[1]) < 116:
                yield found(clause, PROFILE, "age", match[1], day.end)


def years(number: str) -> int:
    """A number that was written in digits or in words."""
    return _NUMBERS.get(lower(number)) or int(number)


def birthday(clause: Clause, start: int) -> Phrase | None:
    """The day of a year a clause names right there: "9 November", "3 March 1988"."""
    words = clause.text[start : start + 40]
    named = ahead(words, clause.at.date())
    if named is None or named[0] > 0 or _NO_DAY.match(words[: named[1]]):
        return None
    with_year = re.search(r"\b\d{4}\b", words[: named[1]]) is not None
    return Phrase(written(named[2], with_year), start + named[1])


def _speaks(clause: Clause) -> Iterator[Found]:
    words = _SPEAK.match(clause.text)
    while words and (language := LANGUAGE.match(clause.text, words.end())):
        what = language[1].capitalize()
        yield found(clause, PROFILE, "speaks", what, language.end(), 0.95)
        words = _AND_SPEAK.match(clause.text, language.end())
