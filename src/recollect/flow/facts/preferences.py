"""How the user wants to be answered as a rule, and what they prefer and work with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, name, thing
from recollect.flow.facts.profile import LANGUAGE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wishes import CAN_YOU, PREFERENCE, TOOLS, wishes
from recollect.flow.facts.wording import any_of, lower, rule

_WANT: Final = (
    rf"(?:{CAN_YOU})?"
    r"(?:i (?:prefer|like|want|always want|need)|i(?:'d| would) (?:prefer|rather have|rather get|like)"
    r"|i (?:don't|do not) (?:want|like|need)|(?:always |never |please |don't |do not |stop )*"
    + any_of(
        """keep give make use using write answer reply respond be avoid include including adding format speak talk send
        explain show"""
    )
    + r")\b"
)
_COMMAND: Final = rule(rf"(?!i \w+ to (?!get|have|see|receive)){_WANT}")
_ANSWERS: Final = any_of("answers replies responses explanations messages outputs")
_SOME: Final = any_of("two three four five six ten some several a_few a_list a_table a_set")
_TO_A_LENGTH: Final = r"to (?:me\b|the point|an?\b|one\b|two\b|three\b|\d)"
_ABOUT_ANSWERS: Final = rule(
    rf"{_WANT}(?! (?:me )?(?:\d+|{_SOME}) )(?:(?!\bwho\b)[^.!?\x00]){{0,80}}\b{_ANSWERS}\b"
    rf"(?! (?:for|of|from|about|between|on|(?!{_TO_A_LENGTH})to|in (?:the|my|our|this))\b)"
    r"(?![^.!?]* for (?:the|my|our|an?|this|these)\b)"
)
"""Asks about answers in general; "three short replies to this mail" are asked for once."""
_AS_A_RULE: Final = rule(
    r"\b(?:from now on|in (?:the )?future|going forward|from here on|every time|by default|always(?=\W*$|,))\b",
    rf"^(?:{CAN_YOU}|please )?(?:always|never) |^i always want ",
    r"^(?:please )?(?:always )?explain (?:things|everything)\b",
    r"^(?:please )?(?:answer|reply|respond) (?:only in \w+|in \w+ only)\b",
    r"^(?:please )?(?:write|talk|speak|reply|respond) to me in\b",
    r"\bwhen (?:you )?(?:answer|reply|respond|speak|talk|write|writ)(?:ing)?(?: (?:to|with))? me\b",
    rf"^(?:{CAN_YOU})?(?:please )?stop [a-z]+ing\b",
)
_NOT: Final = rule(r"\b(?:don't|do not|never|no|not|without|avoid|stop|less|fewer|rather than|instead of|over)\b")
_ELSE: Final = rule(r"[,;] (?=(?:i|i'm|my|it|it's|she|he|they)\b)")
"""Where another statement begins: "always use metric, I don't understand Fahrenheit"."""
_SHORT: Final = rule(r"\b(?:short(?:er)?|brief(?:er|ly)?|concise(?:ly)?|succinct(?:ly)?|terse|to the point|crisp)\b")
_AT_MOST: Final = rule(r"\b((?:one|two|three|[1-5]) (?:sentences?|paragraphs?|lines?))\b")
_TOO: Final = rule(rf"(?:your|these|the) {_ANSWERS} are (?:\w+ )?too (long|short|wordy|brief)\b")
_LONG: Final = rule(r"\b(?:long(?:er)?|detailed|thorough|in-depth|comprehensive|elaborate|more detail)\b")
_STYLES: Final = {
    "bullet points": rule(r"\bbullet(?: |-)?(?:points|ed lists?|s)\b"),
    "emojis": rule(r"\bemojis?\b"),
    "markdown": rule(r"\bmarkdown\b"),
    "tables": rule(r"\btables\b"),
    "informal": rule(r"\b(?:informal|casual|friendly|relaxed)\b"),
    "formal": rule(r"\bformal(?:ly)?\b"),
    "simple": rule(
        r"\b(?:simple|plain|non-technical) (?:language|english|words|terms|answers|explanations)\b"
        r"|\blike i(?:'m| am) (?:an? beginner|five|5)\b"
    ),
    "step by step": rule(r"\bstep[- ]by[- ]step\b"),
    "jargon": rule(r"\bjargon\b"),
    "sources": rule(r"\b(?:sources|citations)\b"),
    "direct": rule(r"\b(?:blunt|direct|straightforward)\b"),
}
_UNITS: Final = rule(r"\b(metric|imperial|celsius|fahrenheit)\b")
_TONE: Final = rule(r"(?:i prefer|(?:please )?use) an? [\w-]+ tone(?: (?:with|to) me)?\W*$")
_A_UNIT: Final = "(?:the )?(?:metric|imperial|celsius|fahrenheit)"
_MY_UNITS: Final = rule(
    rf"(?:please )?use {_A_UNIT}(?: units| system)?(?:,? please)?\W*(?:$|(?<=, )(?:i|i'm)\b)",
    rf"i prefer {_A_UNIT}\b",
    r"i (?:always )?use (?:the )?(?:metric|imperial)\b",
)
_FOR_ALL: Final = rule(_TONE.pattern, _MY_UNITS.pattern)
_IN: Final = rule(
    r"\b(?:answer|reply|respond|write|speak|talk)(?: (?:to )?me| back)?(?: only)? in ",
    r"\b(?:answers|replies|responses|explanations)\b[^.!?\x00]{0,30}? in ",
)
_PREFER: Final = rule(
    f"i (?:{any_of('really generally usually much always strongly definitely now actually still also')} )?prefer "
)
_OVER: Final = frozenset({"to", "over"})
_RATHER_THAN: Final = rule(" (?:over|to|rather than|instead of) ")
_IF: Final = rule(r",? if\b")
_LANGUAGES: Final = any_of(
    "TypeScript JavaScript Python Rust Go Java Kotlin Swift Ruby PHP Elixir Haskell Scala Clojure"
)
_AT_WORK: Final = "(?:(?:for|at) work )?"
_USE: Final = rule(
    f"{_AT_WORK}i(?:'m| am)?(?: (?:currently|now|still))? (?:use|using) (?!the )",
    "(?:my|our) (?:team|company|office) (?:mostly |mainly )?uses (?!the )",
    "i(?: mostly| mainly| usually)? (?:code|program|write (?:most of )?(?:my )?code)(?: mostly| mainly)? in ",
    "i(?:'ve been|'m| am)(?: mostly| mainly)? (?:coding|programming|developing) in ",
    rf"i (?:mostly|mainly|usually) write (?=(?-i:{_LANGUAGES})\b)",
    rf"i(?:'m| am) (?:on|running) (?={any_of('Windows Linux Ubuntu Debian Fedora Arch macOS Android iOS')}\b)",
)
_AND_USE: Final = rule("(?:,? and|,| &) (?:a (?:bit|little) of )?")
_MOSTLY_USE: Final = rule(
    "i (?:mostly|always|usually|mainly|primarily|normally|typically|generally) use "
    r"(?=[^.!?]{2,40} (?:for|to)\b|(?-i:[A-Z]))"
)
_RUN_ON: Final = any_of("windows linux ubuntu arch macos chrome firefox safari android python node postgres")
"""Systems that one is "on" as a rule, unlike Zoom."""
_USE_SMALL: Final = rule(
    f"{_AT_WORK}(?:(?:i|we)(?: (?:mostly|mainly|currently|now|still|also))*|i(?:'m| am)) (?:use|using) (?:both )?",
    rf"i(?:'m| am)(?: still| currently)* on (?={_RUN_ON}\b)",
    "(?:the )?tools (?:that )?(?:i|we) use(?: \\w+)?(?::| are) ",
)
_STACK: Final = rule(
    "(?:my|our) (?:(?:tech|current|work) )*stack(?: at work| right now)?"
    "(?:(?: is| includes| consists of):?|:) (?:mostly |mainly )?"
)
_LISTED: Final = rule(r"\s*(?:[.,!;)&]|$|(?:and|with|on|plus|for|at)\b)")
_SMALL_TOOL: Final = rule(
    rf"(?:an )?({TOOLS}(?: v?\d(?:[\d.]*\d)?)?)"
    r"(?=\s*(?:[.,!;)]|$|(?:and|but|btw|for|on|at|w/|with|every|daily|mostly|now|as|because|so|here|not|to|last)\b|w/))"
    r"(?! (?:for|to) (?:this|that|the)\b)"
)
_USED: Final = rule(
    r"(?!'s)(?=\W|$)(?! (?:hooks?|update|functions?|components?|key)\b)"
    r"(?! (?!always|sometimes|plus|across|this|these|as|besides)[a-z]+s\b)"
    r"(?![^.!?]{0,40} and (?:it|nothing)\b)"
)
"""What may follow a tool that is used as a rule; not "React hooks in this file" or "Windows Update and it hangs"."""
_USES_NO_MORE: Final = rule(
    "(?:i|we)(?: no longer use|(?:'ve| have)? stopped using) ",
    r"(?:i|we) (?:don't|do not) use (?=[^.,;!?]{2,40} any ?more\b)",
)
_SWITCHED: Final = rule(
    "(?:i|we)(?:'ve| have)?(?: just| recently)? (?:switched (?:over )?(?=from |to )|migrated (?=from ))"
)
_REPLACED: Final = rule(
    "(?:i|we)(?:'ve| have)?(?: (?:just|recently|now|finally))? (?:dropped|ditched|replaced|swapped) "
)
_FOR: Final = rule(" (?:for|with) ")
_FROM, _TO = rule("from "), rule(" ?to ")


def preferences(clause: Clause) -> Iterator[Found]:
    """What a clause says the user wants as a rule, prefers, or works with."""
    text = clause.text
    told, of_answers = list[Found](), _ABOUT_ANSWERS.match(text)
    if of_answers or (_COMMAND.match(text) and _as_a_rule(clause)) or _FOR_ALL.match(text):
        told += _manner(clause)
        yield from told
    elif match := _TOO.match(text):
        length = "short" if lower(match[1]) in ("long", "wordy") else "long"
        yield found(clause, PREFERENCE, "answer_length", length, match.end())
    elif (match := _PREFER.match(text)) and (what := thing(text, match.end(), stops=_OVER)):
        if not _IF.match(text, what.end):
            yield found(clause, PREFERENCE, "prefers", what.text, what.end, 0.85)
        if (over := _RATHER_THAN.match(text, what.end)) and (less := thing(text, over.end())):
            yield found(clause, PREFERENCE, "prefers", less.text, less.end, ended=True)
    yield from wishes(clause, again=not (told or of_answers))
    yield from _tools(clause)


def _as_a_rule(clause: Clause) -> bool:
    return clause.always or _AS_A_RULE.search(clause.text) is not None


def _manner(clause: Clause) -> Iterator[Found]:
    text = _ELSE.split(clause.text)[0]
    denial = _NOT.search(text)
    wanted = text[: denial.start()] if denial else text
    if match := _LONG.search(text):
        yield found(clause, PREFERENCE, "answer_length", "long" if match.end() <= len(wanted) else "short", match.end())
    elif match := _SHORT.search(wanted):
        yield found(clause, PREFERENCE, "answer_length", "short", match.end())
    elif match := _AT_MOST.search(wanted):
        yield found(clause, PREFERENCE, "answer_length", lower(match[1]), match.end())
    for style, words in _STYLES.items():
        if match := words.search(text):
            manner = style if match.end() <= len(wanted) else f"no {style}"
            yield found(clause, PREFERENCE, "answer_style", manner, match.end())
            break
    if match := _UNITS.search(wanted):
        yield found(clause, PREFERENCE, "units", lower(match[1]), match.end(), 0.95)
    if (match := _IN.search(wanted)) and (language := LANGUAGE.match(wanted, match.end())):
        yield found(clause, PREFERENCE, "language", language[1].title(), language.end(), 0.95)


def _tools(clause: Clause) -> Iterator[Found]:
    text = clause.text
    if match := _SWITCHED.match(text):
        yield from _switched(clause, match.end())
    elif match := _REPLACED.match(text):
        yield from _replaced(clause, match.end())
    elif (match := _USES_NO_MORE.match(text)) and (tool := name(text, match.end(), most=3)):
        yield found(clause, PREFERENCE, "uses", tool.text, tool.end, ended=True)
    elif match := _MOSTLY_USE.match(text):
        if tool := thing(text, match.end(), most=2, stops=LINKED):
            yield found(clause, PREFERENCE, "uses", tool.text, tool.end, 0.85)
    elif (words := _USE.match(text)) and name(text, words.end()):
        while words and (tool := name(text, words.end(), most=3)) and _USED.match(text, tool.end):
            yield found(clause, PREFERENCE, "uses", tool.text, tool.end, 0.85)
            words = _AND_USE.match(text, tool.end)
    elif words := _USE_SMALL.match(text) or _STACK.match(text):
        named = _in_stack if _STACK.match(text) else _small_tool
        while words and (tool := named(text, words.end())):
            yield found(clause, PREFERENCE, "uses", tool.text, tool.end, 0.85)
            words = _AND_USE.match(text, tool.end)


def _small_tool(text: str, start: int) -> Phrase | None:
    """A tool that is known by name, in small letters or with a capital."""
    known = _SMALL_TOOL.match(text, start)
    return Phrase(known[1], known.end()) if known else None


def _in_stack(text: str, start: int) -> Phrase | None:
    """A tool in a list of tools, whatever its name."""
    tool = _tool(text, start)
    return tool if tool and _LISTED.match(text, tool.end) else None


def _tool(text: str, start: int) -> Phrase | None:
    return _small_tool(text, start) or name(text, start)


def _switched(clause: Clause, start: int) -> Iterator[Found]:
    text = clause.text
    old = _tool(text, match.end()) if (match := _FROM.match(text, start)) else None
    to = _TO.match(text, old.end if old else start)
    new = _tool(text, to.end()) if to else None
    known = any(one and _SMALL_TOOL.match(one.text) for one in (old, new))
    if new and (known or "migrated" not in text[:start]):
        if old:
            yield found(clause, PREFERENCE, "uses", old.text, old.end, ended=True)
        yield found(clause, PREFERENCE, "uses", new.text, new.end)


def _replaced(clause: Clause, start: int) -> Iterator[Found]:
    """What replaced what, if one of the two is known to be a tool, not a person."""
    old = name(clause.text, start)
    link = _FOR.match(clause.text, old.end) if old else None
    new = name(clause.text, link.end()) if link else None
    if old and new and any(_SMALL_TOOL.match(one.text) for one in (old, new)) and _USED.match(clause.text, new.end):
        yield found(clause, PREFERENCE, "uses", old.text, old.end, ended=True)
        yield found(clause, PREFERENCE, "uses", new.text, new.end)
