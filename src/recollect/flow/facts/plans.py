"""What the user asks to be reminded of, and what they have to do or plan to do by a certain day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final

from recollect.answers import FactType
from recollect.flow.ahead import ahead
from recollect.flow.days import DAY, MONTH, WEEKDAY
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.people import KEYS, SEEN
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.voice import GAP
from recollect.flow.facts.wording import HOUR, any_of, lower, rule

ACTION: Final[FactType] = "action_item"
MAX_WORDS: Final = 15

_WE: Final = "(?:i|we)(?: (?:really|still|also))?"
_ALSO: Final = "(?: (?:also|actually|currently|now|still|already|just))*"
_WE_ARE: Final = f"(?:i'm|i am|we're|we are){_ALSO}"
_REMIND: Final = rule(
    "(?:(?:can|could|will|would) you )?(?:please )?remind me "
    r"(?:to |about |that i (?:have|need) to |(?=(?:on|tomorrow|today|tonight|next|in|this)\b[^.!?,]{0,30}\bto\b))",
    "(?:please )?(?:don't let me forget|i must not forget|i mustn't forget|i can't forget|help me remember) to ",
    r"(?:please )?(?:add|put) (?=[^.!?\n]{3,80} (?:to|on) my (?:to-?do(?: list)?|list)\W*$)",
    "(?:add|put) (?:to|on) my (?:to-?do(?: list)?|list)[:,]? ",
)
_DID: Final = {
    "called": "call", "phoned": "phone", "emailed": "email", "texted": "text", "bought": "buy", "ordered": "order",
    "booked": "book", "paid": "pay", "sent": "send", "mailed": "mail", "posted": "post", "returned": "return",
    "finished": "finish", "completed": "complete", "submitted": "submit", "handed in": "hand in", "filed": "file",
    "signed": "sign", "renewed": "renew", "updated": "update", "fixed": "fix", "repaired": "repair", "cleaned": "clean",
    "washed": "wash", "watered": "water", "picked up": "pick up", "dropped off": "drop off", "wrote": "write",
    "written": "write", "made": "make", "packed": "pack", "registered": "register", "read": "read", "done": "do",
}  # fmt: skip
_ERRANDS: Final = sorted({*_DID.values()} - {"do", "make", "read", "write"})
_MUST: Final = rule(
    f"{_WE} (?:need to|have to|must|plan to|intend to|promised to|have got to|gotta) |(?:i|we)'ve (?:got )?to |gotta ",
    rf"{_WE_ARE} (?:planning to|planning on|going to|supposed to|scheduled to) (?!(?:be|an?|the|my)\b)(?=(?-i:[a-z]))",
    f"{_WE_ARE} planning ",
    rf"(?:i'll|i will|we'll|we will) (?=(?:{'|'.join(_ERRANDS)})\b(?! you\b))",
)
_NO_DEED: Final = rule(
    any_of(
        """say admit be_honest ask know think go_now understand agree disagree see clarify figure decide learn
        find_out mention warn confess tell_you be calculate compute count"""
    )
    + r"\b",
    r"(?:change|modify|reschedule|cancel|find|get|make sure|check)\b(?!.*\b(?:by|before)\b)",
)
_EVENT: Final = any_of(
    """appointment meeting interview exam test flight call deadline party wedding class lesson presentation conference
    trip checkup check-up surgery operation date concert game match race marathon reservation booking dinner lunch
    breakfast webinar workshop hearing viewing viva audition rehearsal recital reunion vacation holiday session demo
    visit course lecture tour (?:first|last)_day"""
)
_EXPIRES: Final = (
    any_of(
        "visa passport contract lease subscription licen[cs]e insurance warranty membership permit trial certificate"
    )
    + " (?:expires|ends|runs out|renews|is up for renewal)"
)
_WHERE: Final = r"(?: (?:at|with|in|to)(?: [\w'.-]+){1,3}?)?"
_EVENT_ALONE: Final = rule(
    r"(?:(?:(?:job|driving|final|dentist|doctor'?s) )?"
    + any_of("appointment interview exam test viva meeting surgery deadline (?:first|last)_day")
    + rf"{_WHERE}|(dentist|doctor))"
    + rf" (?=(?:on |this |next )?(?:the \d|tomorrow|tmrw|{WEEKDAY}|{MONTH} \d|\d+(?:st|nd|rd|th)? {MONTH}))"
)
_NO_MORE_SAID: Final = rule(r",?(?: at)?(?: \d[\d:.]*(?: ?[ap]m)?)?\s*(?:[.,!;]|$)")
"""Nothing more after an event and its day, so that it is a plan: "Exam on Monday"."""
_HANDED_IN: Final = any_of("thesis dissertation essay paper report assignment homework project application")
_BEGINS: Final = any_of("leaves starts begins takes_place")
_HAVE_EVENT: Final = rule(
    rf"(?:i|we)(?:{_ALSO} have|(?:'ve| have){_ALSO} got) (?:an? |my |our )?(?!no )(?=(?:[\w'-]+ ){{0,3}}{_EVENT}\b)",
    rf"(?:my|our) (?:next )?(?=(?:[\w'-]+ ){{0,3}}{_EVENT}\b{_WHERE} (?:is|{_BEGINS})\b)",
    rf"(?:my|our) (?=(?:[\w'-]+ ){{0,2}}{_EXPIRES}\b)",
    rf"{_WE_ARE} (?:training|preparing|studying|revising) for (?:an? |my |our |the )?(?=(?:[\w'-]+ ){{0,3}}{_EVENT}\b)",
    rf"(?:my|our) (?=(?:[\w'-]+ ){{0,2}}{_HANDED_IN} is due\b)",
)
_BOOKED: Final = rule(
    rf"(?:i|we)(?:'ve| have){_ALSO} (?:booked|scheduled|arranged|set up|made) "
    rf"(?:an? |my |our )?(?=(?:[\w'-]+ ){{0,3}}{_EVENT}\b)",
    rf"(?:i|we)(?: just)? (?:booked|scheduled|arranged) (?:an? |my |our )?"
    rf"(?=(?:[\w'-]+ ){{0,3}}{_EVENT}\b[^.,;!?]{{0,40}} for (?:\d|{MONTH}|next|tomorrow))",
)
_OURS: Final = "(?:my|our|the) "
_MAYBE: Final = any_of("might may could should would will won't not isn't wasn't never")
_ANY_EVENT: Final = rf"(?:[\w'-]+ ){{0,3}}{_EVENT}\b(?: (?!{_MAYBE}\b)[\w'-]+\.?){{0,6}}?"
_AND_OVER: Final = r"(?=\s*(?:[.,!;]|$))"
_NOT_FOR_NOW: Final = r"(?![^.!?]*\b(?:today|tonight|tomorrow|yet|now|until|till|before|this|next|on)\b)"
"""Excludes "no need to call today": it will still be done another day."""
_CANCEL: Final = rule(
    "(?:please )?(?:cancel|drop|delete|remove|forget(?: about)?) (?:the|my|that) reminder (?:to|about) ",
    rf"(?:please )?(?:never ?mind|forget)(?: about)? {_OURS}"
    rf"(?=(?:[\w'-]+ ){{0,3}}{_EVENT}(?: (?:with|at|to) (?:the |my )?[\w'-]+)?{_AND_OVER})",
    rf"(?:(?:there(?:'s| is) )?no need to|(?:i|we) (?:don't|do not) (?:need|have) to) {_NOT_FOR_NOW}"
    r"(?:remind me to |(?=[\w'-]+ [^.!?]{3,80} (?:any ?more|any longer|after all)\b))",
    rf"(?:i|we) no longer (?:need|have) to {_NOT_FOR_NOW}(?=[\w'-]+ \w)",
)
_BEEN: Final = r"(?:'s| is| was| has| got)?(?: been)?(?: (?:now|just|already))*"
_THEY: Final = "(?:i|we|they)(?:'ve| have)?(?: (?:now|just|already|also))*(?: had to)?"
_TO_ANOTHER: Final = any_of("moved? postponed? rescheduled? pushed(?:_back)? brought_forward shifted changed")
_IS_NOW: Final = "(?: is|'s)(?: now| actually)*"
_HAS: Final = "(?:'s| has| have)?(?: (?:now|just|already))*(?: had to)?"
_HOSTS: Final = any_of(
    "airline clinic practice hospital office company school restaurant hotel venue organi[sz]ers? receptionist"
)
_SOMEONE: Final = rule(rf"{_OURS}(?:{_HOSTS}|([\w-]+)){_HAS} {_TO_ANOTHER} {_OURS}(?={_EVENT} (?:to|until|till|for)\b)")
"""Someone who moved a plan that has no words of its own: the appointment that the dentist moved is with the dentist."""
_MOVED: Final = rule(
    _SOMEONE.pattern,
    rf"{_OURS}[\w-]+{_HAS} {_TO_ANOTHER} {_OURS}(?={_ANY_EVENT} (?:to|until|till|for)\b)",
    rf"{_OURS}(?={_ANY_EVENT}{_BEEN} {_TO_ANOTHER} (?:to|until|till|for)\b)",
    rf"{_THEY} {_TO_ANOTHER} {_OURS}(?={_ANY_EVENT} (?:to|until|till|for)\b)",
    rf"the (?={_ANY_EVENT}{_IS_NOW} on\b)",
)
_OFF: Final = rule(
    rf"{_OURS}({_ANY_EVENT}){_BEEN} (?:cancell?ed|called off|off){_AND_OVER}",
    rf"{_THEY} (?:cancel(?:l?ed)?|call(?:ed)? off) {_OURS}({_ANY_EVENT})(?=\s*(?:[.,!;]|$)|,? (?:because|since|as)\b)",
)
_DONE: Final = rule(
    rf"(?:i|we)(?:'ve| have)(?: (?:already|just|finally|now|also))* ({'|'.join(_DID)}) ",
    rf"(?:i|we)(?: (?:just|also))? (?:already|finally) ({'|'.join(_DID)}) ",
    rf"(?:i|we)(?: just)? ({'|'.join(_DID)}) (?=[\w' -]{{1,60}} already\b)",
    "(?:i|we)(?: just)? (finished|completed) ",
    rf"(?:i|we)(?: just)? ({'|'.join(did for did, do in _DID.items() if do in _ERRANDS)}) "
    rf"(?={_OURS}(?!(?:{'|'.join(KEYS.keys() - SEEN.keys())})\b)[a-z]+(?: [a-z]+)?(?: today)?{_AND_OVER})",
)
"""What is done for good once it is done: an errand, but not calling one's mother."""
_IS_DONE: Final = rule(
    rf"{_OURS}([\w' -]{{2,40}}?)(?:'s| is| was| has been| are| have been)(?: (?:already|finally|now))* "
    rf"({'|'.join(_DID)}){_AND_OVER}"
)
_IS_NOW_ON: Final = rule(rf"(?:my|our) [\w' -]{{3,60}}?(?: is (?:now|actually)\b| is on [\w ]{{3,20}} now{_AND_OVER})")
_WAS_MOVED: Final = rule(rf"{_BEEN} {_TO_ANOTHER}$")
_TO_DAY: Final = rule(rf"(?: (?:to|until|till|for)|{_IS_NOW} on) (?:the )?")
_IS: Final = rule(rf"\s+(?:is|{_BEGINS})(?: now| actually)?(?: due| scheduled)?(?: for| on)?\s*$")
_VERBS: Final = {
    "flying": "fly", "going": "go", "moving": "move", "traveling": "travel", "travelling": "travel",
    "visiting": "visit", "leaving": "leave", "driving": "drive", "starting": "start", "meeting": "meet",
    "picking up": "pick up", "hosting": "host", "attending": "attend", "seeing": "see", "taking": "take",
    "heading": "head", "running": "run", "presenting": "present", "having": "have", "giving": "give",
    "throwing": "throw", "getting married": "get married", "joining": "join",
    "retiring": "retire",
}  # fmt: skip
_WHOLE: Final = ("fly", "move", "travel", "leave", "drive", "start", "present", "get married", "retire")
"""Verbs that make a plan without an object."""
_NO_PLAN: Final = (
    r"(?! to (?:be|have|get|do|feel|think|see|like)\b| (?:up|late|low|behind)\b| out of\b"
    r"| (?:an? |some )?(?:\w+ )?(?:troubles?|problems?|issues?|errors?|difficult\w+|fun)\b"
    r"| (?:such )?an? (?:\w+ (?:day|time)(?! off)|break)\b| you\b)"
)
"""Excludes what happens by itself or right now: "I'm running late today", "I'm having trouble today"."""
_GOING_ON: Final = frozenset({"see", "take", "run", "present", "have", "give", "throw", "join"})
_TODAY: Final = rule(r"\btoday\b")
"""What someone has or sees today is mostly not a plan: they have it already."""
_DOING: Final = rule(rf"(?:{_WE_ARE}|(?:i|we)(?:'ll| will) be) ({'|'.join(_VERBS)})\b{_NO_PLAN}")
_OFF_TO: Final = rule(rf"{_WE_ARE} off to (?!(?:bed|sleep|work|school|the races)\b|an? (?:[\w-]+ )?start\b)")
_DO: Final = rule(
    "(?:i|we) (fly|leave|travel) (?:to|for) ",
    r"i(?:'ll| will)? (start) "
    rf"(?=(?:work(?:ing)? )?at (?!{WEEKDAY})(?-i:[A-Z])|(?:my|a|the) (?:new )?(?:job|position|role)\b|work\b)",
    r"i(?:'ll| will) (join) (?=(?-i:[A-Z]))",
)
_START: Final = rule(
    rf"i(?:'ll| will)? start (?=(?:on|in|next|tomorrow|{WEEKDAY})\b)",
    "i(?:'ve| have)?(?: just| finally)? (?:got|landed|took|taken|accepted|signed) (?:the|an?|my) "
    r"(?:[\w-]+ )?(?:job|position|role|offer|contract) (?:at|from|with) "
    r"(?P<firm>(?-i:[A-Z])[^.,;!?]{1,24}?)[.,!]* (?:starting|to start) "
    rf"(?=(?:on|in|next|tomorrow|{WEEKDAY}|{MONTH})\b)",
)
_HIRED_BY: Final = rule(
    r"\b(?:signed (?:on )?with|joining|(?:offer|letter|contract) (?:from|with)|(?:job|position|role) (?:at|with)) "
    r"(?:the )?((?-i:[A-Z])[^.,;!?]{1,24}?)(?: as an? [\w -]{3,24})?[^\w?]+(?:and )?$"
)
_AS_ONE: Final = rule(r" (?:as an? |at (?-i:[A-Z]))")
"""Says that what someone starts is a job: "I start on Monday as a nurse"."""
_SOON: Final = rule(r"(?:on|by|in|next|this|tomorrow|tonight|\w+day)\b")
_ON: Final = rule("(?:on |by |in )?(?:the )?$")
_I_DO: Final = rule(r"(?: morning| afternoon| evening| night)?(?: at [\d:]+(?: ?[ap]m)?)?,? (?=(?:i|i'm|we)\b)")
_ENDS: Final = rule(
    rf"[!?;\n{GAP}(]|,(?! \d)|\s[\u2013\u2014-]{{1,2}}\s",
    r"\s" + any_of("because since so_that so_i so_we and_i and_we but before_i if when which where who") + r"\b",
)
_BEFORE: Final = rule(r"^(?:\W|(?:please|also|then)\b)+")
_ARTICLE: Final = rule(r"^(?:to|an?) ")
_AFTER: Final = rule(
    r"(?:[^\w)]|\b(?:to|on) my (?:to-?do(?: list)?|list)\b|\b"
    + any_of(
        """that's_due which_is_due due please by on at for in of and the around again ok okay thanks already yesterday
        later coming_up now any_?more any_longer after_all"""
    )
    + ")+$"
)
_OR: Final = rule(r"\s+or\b")
_SO_FAR: Final = rule(r"\b(?:before|so far|in the past|(?:many|several|a few) times)$")
"""Says that someone did something already, which they may still plan to do again."""
_EVERY: Final = rule(r"\b(?:every|each)(?: (?:other|second|third|single))? $")
_POINTS: Final = rule(r"\b(?:it|this|that|there|here|him|her|them|these|those|one|every|each)\b")
_ONE_DAY: Final = (
    rf"(?:{WEEKDAY}|(?:{WEEKDAY},? )?(?:the )?{DAY}(?:(?: of)? {MONTH})?|{MONTH}\.? {DAY})\b(?:,? \d{{4}}\b)?"
)
_FROM_TO: Final = rule(
    rf"\b(?:{_ONE_DAY}(?:[\u2013\u2014-]| (?:to|until|till|through|or) )|between {_ONE_DAY} and )(?P<last>{_ONE_DAY})"
)
"""A range of days, or one of two: "4 to 11 December", "4 or 5 December"."""
_NOT_THEN: Final = rule(r",? (?:and )?not (?:on )?(?:the )?")
_TAIL: Final = rule(r"\s*(?:at|with|to|from|in|for|on|about|after|before|as an?(?! (?:result|rule)\b))\b")


def plans(clause: Clause) -> Iterator[Found]:
    """What a clause asks to be reminded of, or says is to be done by a day; without a day it is not a plan.

    If it says that something is done, cancelled or moved to another day, that is about an earlier plan.
    """
    text = clause.text
    if begins := _after_day(clause):
        yield from _dated(clause, *begins)
        return
    if match := _BOOKED.match(text):
        yield from _item(clause, match.end(), dated=True)
    if match := _CANCEL.match(text):
        yield from _item(clause, match.end(), ended=True)
    elif match := _MOVED.match(text):
        yield from _moved(clause, match.end(), match[1])
    elif match := _OFF.match(text):
        yield from _item(clause, *match.span(match.lastindex or 0), ended=True)
    elif match := _DONE.match(text):
        yield from _item(clause, match.end(), verb=_DID[lower(match[match.lastindex or 0])], ended=True)
    elif match := _IS_DONE.match(text):
        yield from _item(clause, *match.span(1), verb=_DID[lower(match[2])], ended=True)
    elif match := _REMIND.match(text):
        yield from _item(clause, match.end(), confidence=0.95)
    else:
        moved = _IS_NOW_ON.match(text)
        yield from (replace(one, then=one.value) if moved else one for one in _dated(clause))


def _after_day(clause: Clause) -> tuple[int, date] | None:
    """For a clause that begins with a day, where it continues, and that day: "On Friday I have to …"."""
    days = _days(clause.text[:40], clause.at.date()) if _SOON.match(clause.text) else None
    if days and _ON.match(clause.text[: days[0]]) and (begins := _I_DO.match(clause.text, days[1])):
        return begins.end(), days[2]
    return None


def _dated(clause: Clause, start: int = 0, day: date | None = None) -> Iterator[Found]:
    """What someone does on a day, which is named after it or was named before."""
    text = clause.text
    if match := _HAVE_EVENT.match(text, start):
        yield from _item(clause, match.end(), dated=True, day=day)
    elif (match := _MUST.match(text, start)) and not PLACE.match(text, match.end()):
        if not _NO_DEED.match(text, match.end()):
            yield from _item(clause, match.end(), dated=True, day=day)
    elif (match := _DOING.match(text, start)) and not (_VERBS[lower(match[1])] in _GOING_ON and _TODAY.search(text)):
        yield from _item(clause, match.end(), dated=True, verb=_VERBS[lower(match[1])], day=day)
    elif match := _OFF_TO.match(text, start):
        yield from _item(clause, match.end(), dated=True, verb="go to", day=day)
    elif match := _DO.match(text, start):
        yield from _item(clause, match.start(match.lastindex or 1), dated=True, day=day)
    elif " start" in text and (match := _START.match(text, start)):
        yield from _start(clause, match)
    elif clause.first and (match := _EVENT_ALONE.match(text)):
        when = _days(text[match.end() :], clause.at.date())
        if when and when[0] == 0 and _NO_MORE_SAID.match(text, match.end() + when[1]):
            yield from _item(
                clause, match.end(1) if match[1] else 0, dated=True, verb=f"{match[1]} appointment" if match[1] else ""
            )


def _start(clause: Clause, match: re.Match[str]) -> Iterator[Found]:
    """The day on which a job begins, if the words around it say that it is a job: "I start on Monday as a nurse"."""
    rest = clause.text[match.end() :]
    firm = match["firm"] or ((by := _HIRED_BY.search("".join(reversed(clause.before)))) and by[1])
    when = _days(rest, clause.at.date())
    if when and _ON.match(rest[: when[0]]) and (firm or _AS_ONE.match(rest, when[1])):
        yield from _item(clause, match.end(), dated=True, verb=f"start at {firm}" if firm else "start")


def _item(
    clause: Clause,
    start: int,
    stop: int | None = None,
    confidence: float = 0.85,
    *,
    dated: bool = False,
    verb: str = "",
    ended: bool = False,
    day: date | None = None,
) -> Iterator[Found]:
    """What is to be done, in the words from one place to another."""
    over = _ENDS.search(clause.text, start, len(clause.text) if stop is None else stop)
    words = clause.text[start : over.start() if over else stop]
    what, due, end = _without_day(words, clause.at.date())
    due = due or day
    if dated and (due is None or due < clause.at.date()):
        return
    if (dated or ended) and _POINTS.search(what):
        return
    if ended and (_SO_FAR.search(what) or (over and over[0] == GAP)):
        return
    if (what or (dated and verb.startswith(_WHOLE))) and len(what.split()) <= MAX_WORDS:
        what = f"{verb} {what}".strip() if verb else _ARTICLE.sub("", what)
        due = None if ended and verb else due  # the day on which it was done, not that of the plan
        yield found(clause, ACTION, "todo", what, start + end, confidence, due=due, ended=ended)
        if dated and (but := _NOT_THEN.match(clause.text, start + end)):
            wrong = ahead(clause.text[but.end() :], clause.at.date())
            if wrong and wrong[0] == 0:
                end = but.end() + wrong[1]
                yield found(clause, ACTION, "todo", what, end, due=wrong[2], ended=True)


def _moved(clause: Clause, start: int, who: str | None) -> Iterator[Found]:
    """The plan whose words begin there, and whom it is with, and the day and hour that it was moved to."""
    text, today = clause.text, clause.at.date()
    for link in _TO_DAY.finditer(text, start):
        on = "on the " if link[0].endswith("the ") else ""
        day = ahead(on + text[link.end() :], today)
        if day and day[0] == 0 and day[2] >= today:
            what = _without_day(_WAS_MOVED.sub("", text[start : link.start()]), today)[0]
            if what and not _POINTS.search(what):
                end = link.end() + day[1] - len(on)
                what = f"{who} {what}" if who else what
                hour = HOUR.match(text, end)
                then, end = (f"{what}{hour[0]}", hour.end()) if hour else (what, end)
                yield found(clause, ACTION, "todo", what, end, due=day[2], ended=True, then=then)
            return


def _days(words: str, said: date) -> tuple[int, int, date, bool] | None:
    """Where some words name a day or a range of days, the last of these, and whether there are several."""
    if not (named := ahead(words, said)):
        return None
    first, last, day = named
    days = next((one for one in _FROM_TO.finditer(words) if one.start() <= last and first < one.end()), None)
    if not days or first < days.start() < days.end() <= last:  # part of the day itself: 2025-06-10
        return first, last, day, False
    over = ahead(days["last"], day)
    return days.start(), days.end(), over[2] if over else day, True


def _without_day(words: str, said: date) -> tuple[str, date | None, int]:
    """What is to be done, by which day, and where that ends."""
    named, end = _days(words, said), len(words.rstrip(" ."))
    if named and _EVERY.search(words[: named[0]]):
        named = None  # a habit, which has no day on which it is done
    day = named[2] if named else None
    if named:
        first, last, _, several = named
        before, after = words[: last if several else first], words[last:]
        if _OR.match(after):
            return "", None, end
        if before.strip() and not _TAIL.match(after):
            after, end = "", last
        words = f"{_IS.sub('', before)} {after}"
    return " ".join(_AFTER.sub("", _BEFORE.sub("", words)).split()), day, end
