"""How the user wants to be answered as a rule, and what he prefers and works with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, name, slug, thing
from recollect.flow.facts.profile import LANGUAGE
from recollect.flow.facts.prose import Clause
from recollect.types import FactType

PREFERENCE: Final[FactType] = "preference"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ANSWERS: Final = r"(?:answers|replies|responses|explanations|messages|outputs)"
_WANT: Final = (
    r"(?:i (?:prefer|like|want|always want|need)|i(?:'d| would) (?:prefer|rather have|rather get|like)|i (?:don't|do not) (?:want|like|need)"
    r"|(?:always |never |please |don't |do not |stop )*(?:keep|give|make|use|using|write|answer|reply|respond|be|avoid|include|including|format|speak|talk|send))\b"
)
_ABOUT_ANSWERS: Final = _rule(rf"{_WANT}[^.!?\x00]{{0,80}}\b{_ANSWERS}\b")
_AS_A_RULE: Final = _rule(r"\b(?:always|never|from now on|in (?:the )?future|going forward|from here on|every time|by default)\b")
_COMMAND: Final = _rule(rf"{_WANT}")
_NOT: Final = _rule(r"\b(?:don't|do not|never|no|without|avoid|stop|less|fewer)\b")
_SHORT: Final = _rule(r"\b(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|succinct(?:ly)?|terse|to the point|crisp)\b")
_LONG: Final = _rule(r"\b(?:long(?:er)?|detailed|thorough|in-depth|comprehensive|elaborate|more detail)\b")
_STYLES: Final = (
    ("bullet points", _rule(r"\bbullet(?: |-)?(?:points|ed lists?|s)\b")),
    ("emojis", _rule(r"\bemojis?\b")),
    ("markdown", _rule(r"\bmarkdown\b")),
    ("tables", _rule(r"\btables\b")),
    ("informal", _rule(r"\b(?:informal|casual|friendly|relaxed)\b")),
    ("formal", _rule(r"\bformal(?:ly)?\b")),
    ("simple", _rule(r"\b(?:simple|plain|non-technical) (?:language|english|words|terms|answers|explanations)\b")),
    ("step by step", _rule(r"\bstep[- ]by[- ]step\b")),
    ("jargon", _rule(r"\bjargon\b")),
)
_UNITS: Final = _rule(r"\b(metric|imperial|celsius|fahrenheit|kilomet(?:er|re)s|miles)\b(?! (?:away|per|from|long|of))")
_UNIT_NAMES: Final = {"kilometers": "metric", "kilometres": "metric", "miles": "imperial"}
_UNITS_WANTED: Final = _rule(r"i prefer (?:the )?(?:metric|imperial|celsius|fahrenheit|kilomet\w+|miles)\b|i (?:always )?use (?:the )?(?:metric|imperial)\b")
_IN_LANGUAGE: Final = _rule(r"\b(?:answer|reply|respond|write|speak|talk)(?: to me| back)?(?: only)? in ")
_PREFER: Final = _rule(r"i (?:really |generally |usually |much |always |strongly |definitely )?prefer ")
_OVER: Final = frozenset({"to", "rather"})
_USE: Final = _rule(r"i(?:'m| am)?(?: (?:currently|now|still))? (?:use|using) (?!it\b)")
_MOSTLY_USE: Final = _rule(r"i (?:mostly|always|usually|mainly|primarily|normally|typically|generally) use (?=[^.!?]{2,40} (?:for|to)\b|(?-i:[A-Z]))")
_SWITCHED: Final = _rule(r"i(?:'ve| have)?(?: just| recently)? switched (?:over )?(from )?")
_TO: Final = _rule(r" to ")


def preferences(clause: Clause) -> Iterator[Found]:
    """What a clause says the user wants as a rule, prefers, or works with."""
    text = clause.text
    if _ABOUT_ANSWERS.match(text) or (_COMMAND.match(text) and _AS_A_RULE.search(text)) or _UNITS_WANTED.match(text):
        yield from _manner(clause)
    elif (match := _PREFER.match(text)) and (what := thing(text, match.end(), stops=_OVER)):
        yield found(clause, PREFERENCE, f"prefers:{slug(what.text)}", what.text, what.end, 0.85)
    yield from _tools(clause)


def _manner(clause: Clause) -> Iterator[Found]:
    text = clause.text
    unwanted = _NOT.search(text)
    if long := _LONG.search(text):
        yield found(clause, PREFERENCE, "answer_length", "short" if unwanted else "long", long.end())
    elif (short := _SHORT.search(text)) and not unwanted:
        yield found(clause, PREFERENCE, "answer_length", "short", short.end())
    for style, rule in _STYLES:
        if match := rule.search(text):
            yield found(clause, PREFERENCE, "answer_style", f"no {style}" if unwanted else style, match.end())
            break
    if (match := _UNITS.search(text)) and not unwanted:
        unit = match[1].lower()
        yield found(clause, PREFERENCE, "units", _UNIT_NAMES.get(unit, unit), match.end(), 0.95)
    if (match := _IN_LANGUAGE.search(text)) and not unwanted and (language := LANGUAGE.match(text, match.end())):
        yield found(clause, PREFERENCE, "language", language[1].capitalize(), language.end(), 0.95)


def _tools(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _SWITCHED.match(text):
        old = name(text, match.end()) if match[1] else None
        to = _TO.match(text, old.end) if old else re.compile("to ").match(text, match.end())
        new = name(text, to.end()) if to else None
        if old and new:
            yield found(clause, PREFERENCE, f"uses:{slug(old.text)}", old.text, old.end, ended=True)
        if new:
            yield found(clause, PREFERENCE, f"uses:{slug(new.text)}", new.text, new.end)
    elif match := _MOSTLY_USE.match(text):
        if tool := thing(text, match.end(), most=2, stops=LINKED):
            yield found(clause, PREFERENCE, f"uses:{slug(tool.text)}", tool.text, tool.end, 0.85)
    elif (match := _USE.match(text)) and (tool := name(text, match.end(), most=3)):
        yield found(clause, PREFERENCE, f"uses:{slug(tool.text)}", tool.text, tool.end, 0.85)
