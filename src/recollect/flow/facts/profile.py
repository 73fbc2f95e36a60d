"""Who the user is in their own words: work, place, age, birthday, languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final

from recollect.answers import FactType
from recollect.flow.ahead import ahead
from recollect.flow.days import written
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, firm, name, place_name, thing
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import EMOJI, any_of, lower, rule
from recollect.flow.when import periods

PROFILE: Final[FactType] = "user_profile"
STOP: Final = rf"(?=\s*(?:[.,!;:(){EMOJI}]|$|and\b(?! (?:over|under|up|above))|but\b))"

_LATELY: Final = (
    f"(?: {any_of('just recently now finally since already currently also still actually usually mostly later then')})*"
)
AM: Final = f"i(?:'m| am)(?: {any_of('now currently still also actually originally just already')})*"
_HAVE: Final = f"(?:i|we)(?:'ve| have)?{_LATELY}"

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
    rf"(?:i|we){_LATELY} (?:live|reside){_HOME} in (?:an? (?:[\w-]+ ){{1,3}}in )?",
    f"(?:i'm|i am|we're|we are){_LATELY} (?:living|based|settled|located|residing) (?:in|at) ",
    r"(?:i've|i have|we've|we have) lived in (?=[^,.;]{2,40} (?:since|for|all my life)\b)",
    r"(?:i|we) live at \d[^,.;!?]{2,40}?,? in ",
    "as someone (?:who lives|living) in ",
    "(?:my|our) (?:home|house|flat|apartment) is in ",
    "(?:i've|i have|we've|we have) been living in ",
)
_MOVED: Final = rule(
    f"{_HAVE} (?:moved|relocated)(?: (?:back|over|here|away|down|up))? to ",
    rf"{_HAVE} moved into (?:an?|my|our|the) (?:[\w-]+ ){{0,2}}(?:flat|apartment|house|home|place|studio|condo) in ",
    f"i(?:'ve| have)?{_LATELY} (?:moved|relocated)(?: (?:back|over|here))? from [^,.;]{{2,40}}? to ",
)
_A_WHILE: Final = (
    r"for (?:the|(?:just |only |about )?(?:an?|one|two|three|four|five|six|\d+|several|a few|a couple of)) "
    r"(?:days?|nights?|weeks?|weekend|months?|years?|summer|winter|spring|autumn|semester|term|season|while|bit|time)"
)
_SEASON: Final = any_of("week weekend month summer winter spring autumn fall semester term season")
_WITHIN: Final = r"(?:(?! (?:and|but|so|because|since|as of|which|where|who|to)\b)[^,.;!?\x00]){0,40}?"
_PASSING: Final = rule(
    rf"{_WITHIN} (?:this {_SEASON}|for the {_SEASON}|during the {_SEASON}|today|tonight|until|till|unless|when(?:ever)?"
    r"|half (?:of )?the (?:time|year)|in (?:training|spirit|the shower|my dreams|another life)|at heart)\b",
    r"[^.;!?\x00]{0,40} (?:and|but) (?:then )?(?:left|retired|quit|came back|moved back)\b"
    r"(?=\s*[.,!;]|$| (?:in|after|again|there|it)\b)",
)
"""What says after a place, a firm or a profession that it is not for good: "this week", "until May"."""
_BEGUN: Final = rule(r".*\b(?:moved|relocated|started|joined|became|promoted|got|began)\b")
_NOT_FOR_GOOD: Final = rule(
    rf"\s*(?:when|as an? (?:kid|child|teen\w*|student)|until|before|{_A_WHILE}|,? ?but (?:then )?(?:moved|came|went))\b"
)
_LEFT_PLACE: Final = rule(
    "(?:i|we) no longer live in ",
    r"(?:i|we) (?:don't|do not) live in (?=.{1,60}\bany ?more\b)",
    "(?:i|we)(?:'ve)? moved (?:out of|away from) ",
    rf"{_HAVE} (?:moved|relocated) from (?=.{{2,60}}? to\b)",
)
_LASTING: Final = frozenset({"place", "company", "role"})
_TO: Final = rule(" to ")
_FROM: Final = rule(
    f"{AM} from ", "i (?:originally )?come from ", "i (?:was (?:born and raised|born|raised)|grew up) in "
)

_HOW: Final = "(?: (?:part-time|full-time|remotely|here|from home))?"
_WORK: Final = rule(
    rf"i{_LATELY} (?:work|started(?: working| a new job)?|got a (?:new )?job|began working){_HOW}"
    r"(?: in [\w-]+(?: [\w-]+)?)? (?:at|for) ",
    f"{AM} (?:working|employed) (?:at|for|by) ",
    f"(?:i've|i have){_LATELY} (?:been working|been employed|started working|started|joined)(?: (?:at|for|by))? ",
    rf"my (?:current |new )?employer is (?=(?-i:[A-Z])[^.,;!]{{1,30}}{STOP})(?!\w+(?:ish|ese|ian|man|can)\b)",
    "i (?:was|got|have been|'ve been) (?:recently |just )?hired by ",
    rf"i{_LATELY} joined (?=[^,.;]{{2,30}} as an?\b)",
    r"(?:i've|i have) been (?:at|with) (?=[^,.;]{2,30} (?:for [\w ]{1,12} years?\b|since \d{4}))",
)
_A_JOB: Final = "(?: (?:new|dream|great|permanent|full-time|part-time))* (?:job|position|role)"
_HIRED: Final = rule(
    rf"i(?:'ve| have)?{_LATELY} (?:(?P<sure>(?:got|landed|took|taken|accepted) (?:the|an?|my){_A_JOB} (?:at|with)"
    "|signed (?:the|my|an?) (?:(?:job )?offer(?: letter)?|(?:employment|work|job) contract) (?:at|from|with))"
    rf"|(?P<offer>(?:took|taken|accepted) (?:the|an?|my)(?:{_A_JOB})? offer (?:at|from)(?! the \w+s\b))"
    "|signed(?: on)? with) ",
    rf"(?P<joining>{AM} joining) ",
)
"""A new job. One may sign with a landlord, too, or join a club: it is work where one does it as an engineer."""
_NO_MORE_SAID: Final = rule(
    rf"{STOP}| to (?:be|work|join)\b| in (?-i:[A-Z])"
    r"| (?:today|yesterday|last|this|on|start\w*|through|via|thanks|now|lol)\b"
)
_FOR_SALE: Final = rule(r"\b(?:house|home|flat|apartment|condo|car|boat|land|sell|selling|sold|listing|market|bids?)\b")
_LONG_AGO: Final = rule(r"\W*(?:after|during|back in|in (?:\d{4}|my))\b")
_FELL_THROUGH: Final = rule(
    r"[^.!?]*\b(?:turn(?:ed|ing) (?:it|them) down|fell through|declined|backed out|rescinded|withdrew|changed my mind"
    r"|didn't (?:go|take|start|happen|work))\b"
)
_STARTS: Final = rule(r"[^.!?]*?\bstart(?:s|ing)?\b")
_LEFT_WORK: Final = rule(
    "i(?: no longer work|(?:'m| am) no longer) (?:at|for|with) ",
    r"i (?:don't|do not) work (?:at|for) (?=.{1,60}\bany ?more\b)",
    "i(?:'ve)? stopped working (?:at|for) ",
    r"i(?:'ve| have)? (?:left|quit|resigned from) (?:my job at )?"
    r"(?=[\w']+(?:(?: &)? [\w']+)?\s*(?:[.!]|$|last (?:week|month|year)|in (?:\d{4}|(?-i:[A-Z]))|to join\b"
    r"|after \w+ years?\b|, (?:and |but |so )?(?:now )?(?:i'm|i work|i am)\b|and joined (?-i:[A-Z])))",
)
_NOW_AT: Final = rule(
    r"(?: any ?more| (?:in|last) \w+| after \w+ years?)?,? (?:and |but |so )?(?:now )?"
    "(?:i(?:'m| am)(?: now)? (?:at|with)|joined|to join) "
)
_JOBLESS: Final = rule(
    r"i(?:'ve)?(?: just)? (?:quit|lost|left) my (?:old )?job\b(?! at (?-i:[A-Z])[^,.;!?]+ (?:and|to join)\b)",
    r"i (?:just )?(?:got|was|have been) (?:laid off|fired|let go|made redundant)\b",
    r"i(?:'ve| have)?(?: just| finally)? (?:resigned|handed in my (?:notice|resignation))"
    rf"(?: at (?-i:[A-Z])[^,.;!?]{{1,40}}?)?{STOP}",
)
_QUIT: Final = rule(r"i(?:'ve| have)?(?: just| finally)? quit(?: today| yesterday| this \w+| last \w+)?\.?$")
_OF_WORK: Final = rule(
    r"\b(?:my|this|that|stupid) (?:\w+ )?(?:job|boss|manager|office)\b|\b(?:at|from|my|hate|i) work\b"
)
"""What "I quit" is about, where that is said right before; alone it may be about a game as well."""
_WORK_AS: Final = rule(
    rf"i{_LATELY} (?:work{_HOW}|earn my living|make a living) as (?:an? |the )?",
    rf"{AM} (?:working|employed){_HOW} as (?:an? |the )?",
)
AS_ROLE: Final = rule(r",?(?: in [\w-]+| (?:last|this) \w+)? as (?:an? |the )?")
"""What stands between a firm and what someone is there: "at Siemens in Munich as an engineer"."""
_ROLE: Final = rule(
    f"{AM} (?:an? |the )",
    rf"{AM} (?=(?:student|head|director|founder|co-founder|ceo|cto|cfo|vp) (?:of|at)\b)",
    r"as an? (?=(?:(?! i\b)[^,]){3,40},? i\b"
    r"(?! (?:want [^.!?]{3,80} so that|was|had|did|went|used|could|\w+ed)(?:n't)?\b))",
    "i (?:just |recently )?(?:became|got promoted to|was promoted to) (?:an? |the )?",
    r"i(?:'ve| have) been an? (?=[^,.;]{3,60} (?:for|since)\b)",
    "my job is (?:being )?an? ",
    rf"i{_LATELY} work (?:at|for|in) (?:the|an?|my|our) [\w' -]{{2,40}}? as (?:an? |the )",
    "my (?:current )?(?:job title|role|position|profession|occupation) is (?:that of )?(?:an? |the )?",
    f"(?:i|i've|i have){_LATELY} started(?: working)? as (?:an? |the )",
)
_NOT_ROLE: Final = rule("i(?:'m| am) (?:not|no longer) an? ")
_NOT_AS: Final = rule(
    "i(?: no longer work|(?:'ve)? stopped working) as (?:an? |the )?",
    r"i (?:don't|do not) work as (?:an? |the )?(?=.{1,60}\bany ?more\b)",
)
_NO_ROLE: Final = rule(
    rf"{AM} (retired|unemployed|self-employed)\b(?! (?:from|and|but))",
    r"i(?:'ve| have)?(?: (?:just|finally|recently))? (retired)"
    rf"(?: (?:last|this) \w+| in (?:\d{{4}}|(?-i:[A-Z])\w+)| (?:\w+ )?\w+ (?:years?|months?|weeks?) ago)?{STOP}"
    r"(?![^.!?]*\b(?:hurt|back|again|return\w*|consult\w*|race|match|lap|set)\b)",
)
_OLD: Final = rule(r"(\d{1,3})[- ]years?[- ]old(?=,? )")
_AT, AS_FROM = rule(",? (?:at|for|with) "), rule(",?(?: originally)? from ")
_BASED: Final = rule(",?(?: (?:and|but|now|currently))* (?:(?:based|living|live) in |(?<=now )in )")

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
    rf"(?:{AM}|i(?:'ve)? (?:just |recently )?turned) {NUMBER}(?: years?[- ]old| yo| y/o)?"
    rf"(?: now| today| yesterday| (?:last|this|since) \w+|,? not \d+)?(?: actually)?{STOP}",
    rf"i(?:'ve)? (?:just |recently )?turned {NUMBER} (?:in|on) \w+{STOP}",
    rf"{AM} an? (\d{{1,3}})[- ]years?[- ]old (?=(?:\w+ )?(?:male|female|man|woman|guy|girl|boy|person)\b)",
)
_BIRTHDAY: Final = rule(
    r"my (?:birthday|bday|b-day)(?: is|'s)(?: on)?(?: the)? ",
    r"i was born on (?:the )?",
    f"i(?: turn| will turn|'ll turn|'m turning| am turning) {NUMBER} on (?:the )?",
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
    "i(?:'m| am) (?:fluent in|a native speaker of) ",
)
_AND_SPEAK: Final = rule("(?:,? and|,) (?:also )?(?:fluent |some |a little |a bit of |basic )?")


def profile(clause: Clause) -> Iterator[Found]:
    """What a clause says about who the user is."""
    for read in (_places, _work, _roles, _age, _speaks):
        yield from (fact for fact in read(clause) if lasts(clause, fact))


def lasts(clause: Clause, fact: Found) -> bool:
    """Whether a place, a firm or a profession is told for more than "this week", which is when one may begin."""
    end = fact.span[1] - clause.offset
    if fact.ended or fact.key.rpartition(":")[2] not in _LASTING or not (over := _PASSING.match(clause.text, end)):
        return True
    return " this " in lower(over[0]) and _BEGUN.match(clause.text[:end]) is not None


def read_after(
    clause: Clause,
    words: re.Pattern[str],
    value: Callable[[str, int], Phrase | None],
    key: str,
    start: int = 0,
    ended: bool = False,
) -> Iterator[Found]:
    """What stands under a key after certain words."""
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
        yield from read_after(clause, _BASED, place_name, "place", home.span[1] - clause.offset)
    if (match := _MOVED.match(clause.text)) and (where := place_name(clause.text, match.end())):
        if _NOT_FOR_GOOD.match(clause.text, where.end):
            return
        since = _began(clause.text[where.end : where.end + 60], clause.at.date())
        yield found(clause, PROFILE, "place", where.text, where.end, since=since)


def _began(words: str, today: date) -> date | None:
    """The first day of the past period that some words name."""
    days = [first for first, _ in periods(words, today) if 0 < first <= today.toordinal()]
    return date.fromordinal(days[0]) if days else None


def _work(clause: Clause) -> Iterator[Found]:
    if jobless := _JOBLESS.match(clause.text) or _quit(clause):
        for key in ("company", "role"):
            yield found(clause, PROFILE, key, "", jobless.end(), ended=True)
        return
    if (match := _LEFT_WORK.match(clause.text)) and (left := firm(clause.text, match.end())):
        yield found(clause, PROFILE, "company", left.text, left.end, ended=True)
        yield from read_after(clause, _NOW_AT, firm, "company", left.end)
    if (match := _WORK.match(clause.text)) and (now := firm(clause.text, match.end())):
        yield found(clause, PROFILE, "company", now.text, now.end)
        yield from read_after(clause, AS_ROLE, role, "role", now.end)
    elif hired := _hired(clause):
        yield found(clause, PROFILE, "company", hired.text, hired.end)
        yield from read_after(clause, AS_ROLE, role, "role", hired.end)


def _hired(clause: Clause) -> Phrase | None:
    """The firm where someone has a new job, unless that fell through or begins on a day ahead: then it is a plan."""
    text, today = clause.text, clause.at.date()
    match = _HIRED.match(text)
    where = firm(text, match.end()) if match else None
    if match is None or where is None or where.text.lower() in FORENAMES:
        return None
    if _LONG_AGO.match(clause.before[0]) or _FELL_THROUGH.match(text, where.end):
        return None
    as_one = AS_ROLE.match(text, where.end)
    if not (as_one and role(text, as_one.end())):
        offer = match["offer"] and not any(map(_FOR_SALE.search, clause.before))
        if not (match["sure"] or offer) or not _NO_MORE_SAID.match(text, where.end):
            return None
    starts = as_one if match["joining"] else _STARTS.match(text, where.end)
    begins = ahead(text[starts.end() :], today) if starts else None
    return None if begins and begins[2] > today else where


def _quit(clause: Clause) -> re.Match[str] | None:
    return _QUIT.match(clause.text) if _OF_WORK.search("".join(reversed(clause.before))) else None


def _roles(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _NO_ROLE.match(text):
        status = lower(match[match.lastindex or 1])
        if status != "self-employed":
            yield found(clause, PROFILE, "company", "", match.end(), ended=True)
        yield found(clause, PROFILE, "role", status, match.end())
    elif _NOT_ROLE.match(text):
        yield from read_after(clause, _NOT_ROLE, role, "role", ended=True)
    elif (match := _NOT_AS.match(text)) and (what := thing(text, match.end(), stops=LINKED)):
        yield found(clause, PROFILE, "role", what.text, what.end, ended=True)
    elif (match := _WORK_AS.match(text)) and (what := thing(text, match.end(), stops=LINKED)):
        yield found(clause, PROFILE, "role", what.text, what.end)
        yield from around_role(clause, what.end)
    elif match := _ROLE.match(text):
        old = _OLD.match(text, match.end())
        if what := role(text, text.index(" ", old.end()) + 1 if old else match.end()):
            if old:
                yield found(clause, PROFILE, "age", old[1], old.end())
            yield found(clause, PROFILE, "role", what.text, what.end, 0.85)
            yield from around_role(clause, what.end)


def around_role(clause: Clause, end: int) -> Iterator[Found]:
    """What is told along with a profession: "a nurse at Lakeside, from Pune, now living in Leeds"."""
    for words, value, key in (
        (_AT, firm, "company"),
        (AS_FROM, place_name, "hometown"),
        (_BASED, place_name, "place"),
    ):
        for fact in read_after(clause, words, value, key, end):
            yield fact
            end = fact.span[1] - clause.offset


def _age(clause: Clause) -> Iterator[Found]:
    if (match := _AGE.match(clause.text)) and 4 < (age := years(match[match.lastindex or 1])) < 116:
        yield found(clause, PROFILE, "age", str(age), len(match[0].rstrip()))
    elif (match := _BIRTHDAY.match(clause.text)) and (day := birthday(clause, match.end())):
        yield found(clause, PROFILE, "birthday", day.text, day.end, 0.95)


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
