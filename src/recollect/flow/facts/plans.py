"""What the user asks to be reminded of, and what he has to do or plans to do by a day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import slug
from recollect.flow.facts.prose import GAP, Clause
from recollect.flow.when import ahead
from recollect.types import FactType

ACTION: Final[FactType] = "action_item"
MAX_WORDS: Final = 15


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_REMIND: Final = _rule(
    r"(?:(?:can|could|will|would) you )?(?:please )?remind me (?:to|about|that i (?:have|need) to|(?=(?:on|tomorrow|next|in|this) [^.!?,]{0,30}\bto\b)) ?"
    r"|(?:please )?(?:don't let me forget|i must not forget|i mustn't forget|i can't forget|help me remember) to "
    r"|(?:add|put) (?:to|on) my (?:to-?do(?: list)?|list)[:,]? "
)
_CANCEL: Final = _rule(r"(?:please )?(?:cancel|drop|delete|remove|forget(?: about)?) (?:the|my|that) reminder (?:to|about) ")
_MUST: Final = _rule(
    r"(?:i|we)(?: (?:really|still|also))? (?:need to|have to|must|plan to|intend to|'ve got to|have got to) "
    r"|(?:i'm|i am|we're|we are) (?:planning to|planning on|going to|supposed to|scheduled to) (?!be\b|an?\b|the\b|my\b)(?=(?-i:[a-z]))"
    r"|(?:i'm|i am|we're|we are) planning "
)
_EVENT_WORDS: Final = (
    r"(?:appointment|meeting|interview|exam|test|flight|call|deadline|party|wedding|class|lesson|presentation|"
    r"conference|trip|checkup|check-up|surgery|operation|date|concert|game|match|race|marathon|reservation|booking|dinner|lunch|"
    r"breakfast|webinar|workshop|hearing|viewing|audition|rehearsal|recital|reunion|vacation|holiday|session|demo|visit)"
)
_HAVE_EVENT: Final = _rule(rf"(?:i|we)(?: also)?(?: have|'ve got| have got) (?:an? |my |our )?(?=(?:[\w'-]+ ){{0,3}}{_EVENT_WORDS}\b)")
_EVENT_IS: Final = _rule(rf"(?:my|our) (?=(?:[\w'-]+ ){{0,3}}{_EVENT_WORDS}\b(?: (?:at|with|in|to) [\w'-]+)? is\b)")
_IS: Final = _rule(r"\s+is(?: due| scheduled)?(?: for| on)?\s*$")
_BASES: Final = {
    "flying": "fly", "going": "go", "moving": "move", "traveling": "travel", "travelling": "travel", "visiting": "visit",
    "leaving": "leave", "driving": "drive", "starting": "start", "meeting": "meet", "hosting": "host",
    "attending": "attend", "seeing": "see", "taking": "take", "heading": "head", "running": "run", "presenting": "present",
    "having": "have", "giving": "give", "throwing": "throw", "getting married": "get married",
}  # fmt: skip
_DOING: Final = _rule(rf"(?:i'm|i am|we're|we are) (?:also |now )?({'|'.join(_BASES)})\b(?! to (?:be|have|get|do)\b)")
_ENDS: Final = re.compile(rf"[.!?;\n{GAP}(]|,(?! \d)|\s(?:because|since|so that|so i|so we|and i|and we|but|before i|if|when|which|where|who)\b", re.I)  # fmt: skip
_TRIM: Final = re.compile(r"^(?:\W|(?:please|also|then|an?)\b)+|(?:[^\w)]|\b(?:that's due|which is due|due|please|by|on|at|for|in|and|the|around|again|ok|okay|thanks))+$", re.I)  # fmt: skip
_NO_DEED: Final = _rule(
    r"(?:say|admit|be honest|ask|know|think|go now|understand|agree|disagree|see|clarify|figure|decide|learn|find out|mention|warn|confess|tell you|be)\b"
    r"|(?:change|modify|reschedule|cancel|find|get|make sure|check)\b(?!.*\b(?:by|before)\b)"
)
_POINTS: Final = _rule(r"\b(?:it|this|that|there|here|them|these|those|one)\b")
_TAIL: Final = _rule(r"\s*(?:at|with|to|from|in|for|on|about|after|before)\b")


def plans(clause: Clause) -> Iterator[Found]:
    """What a clause asks to be reminded of, or says is to be done by a day; what has no day is a plan to no one."""
    text = clause.text
    if match := _CANCEL.match(text):
        yield from _item(clause, match.end(), ended=True)
    elif match := _REMIND.match(text):
        yield from _item(clause, match.end(), confidence=0.95)
    elif (match := _HAVE_EVENT.match(text)) or (match := _EVENT_IS.match(text)):
        yield from _item(clause, match.end(), dated=True)
    elif match := _MUST.match(text):
        if not _NO_DEED.match(text, match.end()):
            yield from _item(clause, match.end(), dated=True)
    elif match := _DOING.match(text):
        yield from _item(clause, match.end(), dated=True, verb=_BASES[match[1].lower()])


def _item(
    clause: Clause, start: int, confidence: float = 0.85, dated: bool = False, verb: str = "", ended: bool = False
) -> Iterator[Found]:
    stop = _ENDS.search(clause.text, start)
    words = clause.text[start : stop.start() if stop else None]
    what, due, end = _without_day(words, clause.at.date())
    if dated and (due is None or due < clause.at.date() or _POINTS.search(what)):
        return
    if what and len(what.split()) <= MAX_WORDS:
        what = f"{verb} {what}" if verb else what.removeprefix("to ")
        yield found(clause, ACTION, f"todo:{slug(what)}", what, start + end, confidence, due=due, ended=ended)


def _without_day(words: str, said: date) -> tuple[str, date | None, int]:
    """What is to be done, by which day, and where that ends."""
    named, end = ahead(words, said), len(words.rstrip())
    if named:
        before, after = words[: named[0]], words[named[1] :]
        if before.strip() and not _TAIL.match(after):
            after, end = "", named[1]
        words = f"{_IS.sub('', before)} {after}"
    return " ".join(_TRIM.sub("", _TRIM.sub("", words)).split()), named[2] if named else None, end
