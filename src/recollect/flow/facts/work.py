"""What the user does for a living: firm and profession, and former ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.ahead import ahead
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, firm, place_name, thing
from recollect.flow.facts.profile import AM, AS_FROM, BASED, LATELY, PROFILE, STOP, lasts, read_after
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import any_of, lower, rule

_HOW: Final = r"(?: (?:part-time|full-time|remotely|here|from home|(?:since|for) \w+ (?:years?|months?)))?"
_NO_WORKPLACE: Final = any_of(
    """universit\\w+ uni tu eth college school academy camp festival beach park resort kindergarten disney\\w*
    glastonbury coachella burning_man oxford cambridge harvard hogwarts"""
)
AT_SCHOOL: Final = (
    rf" at (?:(?! {any_of('after out from since when while before during')}\b)[^.,;!?]){{0,40}}\b{_NO_WORKPLACE}\b"
)
"""A school that someone started at; "at Google after college" names none."""
_DAY_AT: Final = (
    "(?:(?:(?:it |today |that )?(?:was|is)|it's|today's|i(?:'ve)?(?: just)? (?:had|finished)) )?(?:my )?(?:very )?"
    rf"{{}} (?:day|week|shift) at (?![^.,;!?]{{{{0,40}}}}\b{_NO_WORKPLACE}\b)"
    r"(?=(?-i:[A-Z])(?:(?!\b(?:was|next|tomorrow|on|in|is)\b)[^.,;!?]){{1,60}}(?:[.,!]|$))"
)
"""A first day at work; schools and festivals have first days too."""
_WORK: Final = rule(
    rf"i{LATELY} (?:work|started(?: working| a new job|(?!{AT_SCHOOL}))|got a (?:new )?job|began working){_HOW}"
    r"(?: in [\w-]+(?: [\w-]+)?)? (?:at|for) ",
    f"{AM} (?:working|employed) (?:at|for|by) ",
    f"(?:i've|i have){LATELY} (?:been working|been employed|started working|started|joined)(?: (?:at|for|by))? ",
    rf"my (?:current |new )?employer is (?=(?-i:[A-Z])[^.,;!]{{1,30}}{STOP})(?!\w+(?:ish|ese|ian|man|can)\b)",
    "i (?:was|got|have been|'ve been) (?:recently |just )?hired by ",
    _DAY_AT.format("(?:first|second|third)"),
    "(?:my|our) (?:start-?up|company|business|agency) is (?:called|named) ",
    rf"i{LATELY} joined (?=[^,.;]{{2,30}} as an?\b)",
    r"(?:i've|i have) been (?:at|with) (?=[^,.;]{2,30} (?:for [\w ]{1,12} years?\b|since \d{4}))",
)
_A_JOB: Final = "(?: (?:new|dream|great|permanent|full-time|part-time))* (?:job|position|role)"
_HIRED: Final = rule(
    rf"i(?:'ve| have)?{LATELY} (?:(?P<sure>(?:got|landed|took|taken|accepted) (?:the|an?|my){_A_JOB} (?:at|with)"
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
_STARTS: Final = rule(r".*?\bstart(?:s|ing)?\b")
_LEFT_WORK: Final = rule(
    "i(?: no longer work|(?:'m| am) no longer) (?:at|for|with) ",
    r"i (?:don't|do not) work (?:at|for) (?=(?-i:[A-Z]))(?![^.,;!?]* (?:as|on)\b)",
    "i(?:'ve)? stopped working (?:at|for) ",
    _DAY_AT.format("last"),
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
"""Work in the words right before "I quit", which on its own may be about a game."""
_WORK_AS: Final = rule(
    rf"i{LATELY} (?:work{_HOW}|earn my living|make a living) as (?:an? |the )?",
    rf"{AM} (?:working|employed){_HOW} as (?:an? |the )?",
)
AS_ROLE: Final = rule(r",?(?: in [\w-]+| (?:last|this) \w+| today| yesterday| recently)? as (?:an? |the )?")
"""What comes between a firm and someone's role there: "at Siemens in Munich as an engineer"."""
_ROLE: Final = rule(
    f"{AM} (?:an? |the )",
    rf"{AM} (?=(?:student|head|director|founder|co-founder|ceo|cto|cfo|vp) (?:of|at)\b)",
    r"as an? (?=(?:(?! i\b)[^,]){3,40},? i\b"
    r"(?! (?:want [^.!?]{3,80} so that|was|had|did|went|used|could|\w+ed)(?:n't)?\b))",
    "i(?:'ve| have)? (?:just |recently )?(?:became|(?:got|was|been) promoted to) (?:an? |the )?",
    r"i(?:'ve| have) been an? (?=[^,.;]{3,60} (?:for|since)\b)",
    "my job is (?:being )?an? ",
    rf"i{LATELY} work (?:at|for|in) (?:the|an?|my|our) [\w' -]{{2,40}}? as (?:an? |the )",
    "my (?:current )?(?:job title|role|position|profession|occupation) is (?:that of )?(?:an? |the )?",
    f"(?:i|i've|i have){LATELY} started(?: working)? as (?:an? |the )",
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
_AT: Final = rule(",? (?:at|for|with) ")


def work(clause: Clause) -> Iterator[Found]:
    """Where a clause says the user works, and as what, or no longer does."""
    for read in (_firm, _role):
        yield from (fact for fact in read(clause) if lasts(clause, fact))


def _firm(clause: Clause) -> Iterator[Found]:
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
    """The firm where someone has a new job, unless that fell through, or begins on a future day and so is a plan."""
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
    quit = _QUIT.match(clause.text)
    return quit if quit and _OF_WORK.search("".join(reversed(clause.before))) else None


def _role(clause: Clause) -> Iterator[Found]:
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
        (BASED, place_name, "place"),
    ):
        for fact in read_after(clause, words, value, key, end):
            yield fact
            end = fact.span[1] - clause.offset
