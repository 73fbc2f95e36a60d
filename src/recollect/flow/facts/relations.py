"""The user's people: family, friends, pets, the boss; where they live, what they do, how old they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.names import forename
from recollect.flow.facts.people import (
    AT_WORK,
    CALLED,
    COUPLES,
    FEW,
    FRIENDS,
    KEYS,
    MANY,
    ONE,
    PARTNERS,
    PEOPLE,
    PETS,
    PLURALS,
    SEEN,
)
from recollect.flow.facts.phrases import Phrase, given, name, slug
from recollect.flow.facts.profile import NO_NAME, NUMBER, PROFILE, STOP, read_after, years
from recollect.flow.facts.prose import NAMES_THEM, Clause
from recollect.flow.facts.someone import FIRED, GOT, IS_NOT, NO_MORE, STILL, WHEN, YEARS_OLD, about, each_about
from recollect.flow.facts.wording import any_of, lower, rule, small

_PETS: Final = frozenset(PETS.values())
_KIN: Final = PEOPLE - {*FRIENDS.values(), *COUPLES.values(), *SEEN.values()}
WHO: Final = f"({'|'.join(sorted(KEYS, key=len, reverse=True))})"
KIND: Final = (
    rf"(?:\d{{1,2}}{YEARS_OLD})?(?:"
    + r"old (?!boss|manager|supervisor|roommate|flatmate|colleague|co-?worker|neighbou?r)|"
    + any_of(
        "best older younger elder big little oldest youngest eldest only other twin close good dear new rescue baby"
    )
    + " )?"
)
_PARTICULAR: Final = rule(
    rf"(?:my|our) (?:\d{{1,2}}{YEARS_OLD}|"
    + any_of("older younger elder big little oldest youngest eldest other twin")
    + " )"
)
_MY: Final = rule(rf"(?:my|our) {KIND}{WHO}(?:\b|(?=s (?:name|called|birthday)\b))")
_SOME: Final = rf"(?:{any_of('two three four five both')}|\d)"
_MENTIONED: Final = rule(
    rf"\b(?:my|our) (?:(?:{_SOME} )?{KIND}({'|'.join(PLURALS)})|{KIND}{WHO}),? (?=(?-i:[^\W\d_a-z]))"
)
_ALONG: Final = rule(
    r"\b(?:(?P<with>with|visit|visited|visiting|met|meeting)|"
    + any_of(
        """of from by about and than for to see saw seeing meet take took taking
        bring brought bringing love miss called raise raised raising pick_up picked_up drop_off dropped_off invited"""
    )
    + r") \Z"
)
"""Words before several who are named: "with my sons Tom and Ben", but not "I showed my sons Tangled and Frozen"."""
_NAMED_SO: Final = rule(
    r"\s*(?:[.,!;)]|$|"
    + any_of(
        """and at in on to for this last next over from is are was were who while when after before because so but again
        today tonight tomorrow yesterday"""
    )
    + r"\b)"
)
"""What follows the last of several names, but not the name of a thing: "with my friends Netflix and Hulu accounts"."""
_OWN: Final = re.compile("my |our ")
_MAY_TELL: Final = small(
    " (?:is|lives|resides|moved|relocated|works|turns|turned|became|no longer|left|quit|lost|got|was|retired"
    "|isn'?t|doesn'?t|does not)\\b|'s "
)
_WHO_IS: Final = rule(r",? who\b")
_NAMING: Final = rule(r"\b(?:re)?nam(?:e|ed|ing) $")
_NAME_TO: Final = "'s name to "
_LATELY: Final = r"(?: (?:today|yesterday|recently|(?:last|this) \w+))?"
_BY_NAME: Final = "(?: who is| who's|,)? (?:named|called) "
_HAVE: Final = rule(
    f"(?:{GOT}|(?:i|we|my wife|my partner)(?: just)? had(?= a baby )) an?(?:other)? {KIND}{WHO}"
    rf"(?:(?:, an? [\w-]+(?: [\w-]+)?)?{_BY_NAME}"
    rf"|, (?=(?-i:[A-Z])\S+(?: (?:and|who)\b|[.,!;]|$))|{_LATELY}(?:[.!]+|,| and|, and)? {NAMES_THEM} )"
)
_NEW: Final = rule(rf"{GOT} a new ({'|'.join(ONE)})\b")
_WHOSE_NAME: Final = rule(rf"(?:{_BY_NAME}|[.!,]?(?: and)? {NAMES_THEM} |,? (?=(?-i:[A-Z])))")
_AND_HAVE: Final = rule(f"(?:,? and|,) an?(?:other)? {KIND}{WHO}{_BY_NAME}")
_ALL: Final = rule(
    rf"(?:(?:my|our)|{GOT})(?: {_SOME})? {KIND}({'|'.join(PLURALS)})"
    r"(?:,|:|(?P<are> are)|(?:,| are| who are)? (?:named|called))? (?=(?-i:[^\W\d_a-z]))"
)
_AND_ALL: Final = rule("(?:,? and|,| &) ")
_EACH_AGED: Final = rule(
    rf"(?:(?: is| who is|,) | \(){NUMBER}(?: years?[- ]old| yo)?(?:\)|(?= &)|{STOP})(?!,? (?:and|&) {NUMBER}\b)"
)
_NOT: Final = rule(",? (?:and )?not ")
_MARRIED: Final = rule("i(?:'m| am|(?:'ve)?(?: just)? got)(?: now| happily)? (married|engaged) to ")
_NAMED: Final = rule("(?:'s name is|'s called| is called| is named|'s first name is) ")
_NAMES_IN_IAN: Final = any_of(
    """brian adrian julian vivian lillian gillian jillian damian sebastian bastian fabian marian florian kilian killian
    cillian dorian octavian maximilian ian kian jean dean sean"""
)
_IS: Final = rule(
    rf" is (?:now |actually )?(?=(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?(?: now)?{STOP})"
    rf"(?!(?:(?:north|south|east|west|central|latin) )?(?!{_NAMES_IN_IAN}\b)\w+(?:ish|ese|ian|ean)\b)"
    r"(?!(?:north|south|east|west|central|latin) \w+an\b)"
)
_IS_MY: Final = rule(rf" is (?:now )?(?:my|our) {KIND}{WHO}(?: now)?{STOP}")
_IS_NOT_MY: Final = rule(rf"{IS_NOT} (?:my|our) {WHO}{NO_MORE}{STOP}")
_NOT_NAMED: Final = rule(rf"(?:{IS_NOT}(?: called| named)?|'s name (?:isn't|is not)) (?=(?-i:[A-Z]))")
_NO_MORE: Final = rule(rf"{NO_MORE}(?:{STOP}| but\b)")
_BUT: Final = rule(",? (?:it's |it is |(?:s?he is |s?he's )(?:called |named )|but )(?=(?-i:[A-Z]))")
_TITLED: Final = rule(r"(?:dr|mr|mrs|ms|prof)\b")
"""A title, which only a person's name has: "Coffee is my therapist"."""
_NO_NAME: Final = rule(
    any_of(
        """republican democrat conservative liberal labour tory socialist libertarian autistic vegan vegetarian deaf
        blind dyslexic bipolar diabetic gay lesbian straight single married divorced pregnant dead retired love
        aries taurus gemini cancer leo virgo libra scorpio sagittarius capricorn aquarius pisces labrador poodle beagle
        dachshund persian siamese santa batman superman god satan team class student head chief president vice senior
        junior professor doctor captain member queen king"""
    )
    + r"\b",
    r"(?-i:[A-Z]{2})",
)
"""Capitalised words that someone may be but that are not names."""
_NEXT: Final = rule(",? \\(?")
_DOES: Final = rule(
    r"\s*(?:[.,!;)]|$|'s\b|"
    + any_of("is was has had lives works turns turned and who moved just got said loves hates likes visited comes came")
    + r"\b)"
)
"""What follows a whole name: "my son joe is 5", but not "my son joe mama"."""
_TOLD: Final = any_of("movie film book novel story show series episode season finale game play dream")
_DIED: Final = rule(
    rf"{STILL} (?:died|passed away|is dead)\b(?! (?:laughing|inside|of laughter|a little|down|off|out)\b)"
    rf"(?! in (?:\w+ ){{1,2}}{_TOLD}\b)"
)
_QUIT: Final = rule(rf"{STILL} (?:left (?:the|our) (?:company|firm|team)|quit|resigned|retired|{FIRED}){WHEN}")
_MOVED_OUT: Final = rule(rf"{STILL} moved out{WHEN}")
_WE_PARTED: Final = rule(
    rf" and i(?:'ve| have)?(?: {any_of('just recently finally now got are have officially')})*"
    rf" (?:divorced|separated|split up|broke up|broken up){WHEN}"
)
_PARTED: Final = rule(rf"{STILL} (?:left|dumped|divorced|broke up with) me{WHEN}", _WE_PARTED.pattern)
_LOST: Final = rule(_DIED.pattern, _WE_PARTED.pattern)
_PARTING: Final = (
    rf"i(?:'ve| have)?(?: {any_of('just recently finally')})* (?:broke up with|broken up with|split up with"
    "|separated from|divorced|dumped) "
)
_I_PARTED: Final = rule(rf"{_PARTING}my {WHO}\b")
_PARTED_FROM: Final = rule(rf"{_PARTING}(?=(?-i:[^\W\d_a-z]))")
_DIVORCED: Final = rule(
    rf"(?:i'm|i am|we're|we are)(?: {any_of('now newly recently officially')})* divorced(?: now)?{WHEN}",
    rf"(?:i|we)(?:'ve| have)?(?: {any_of('just recently finally officially')})* "
    rf"(?:divorced|(?:got|gotten) (?:a divorce|divorced)){WHEN}",
)
_BROKE_UP: Final = rule(rf"we(?:'ve| have)?(?: {any_of('just recently finally')})* (?:broke|broken) up{WHEN}")
_OF_OTHERS: Final = rule(r"\b(?:ex|band|group|first|college|uni|university|school|dated|had an?|used to)\b")
"""Tells that "we broke up" is not about the present partner."""
_AGAIN: Final = rule(r".*\b(?:back together|made up|together again|remarried)\b")
_FORMER: Final = rule(rf"\b(?:my|our) (?:ex[ -]|late |former |old ){WHO},? (?=(?-i:[^\W\d_a-z]))")
_LONG_AGO: Final = rule(r".*\b(?:when i was|years ago|in (?:19|20)\d\d|as a (?:kid|child|teenager))\b")
_PUT_DOWN: Final = rule(rf"(?:i|we) had to put (?:(?:my|our) {KIND}{WHO},? )?(?=(?-i:[^\W\d_a-z]))")
_DOWN: Final = rule(",? (?:down|to sleep)\\b")
_PET: Final = f"(?:my|our) {KIND}({'|'.join(PETS)})"
_GAVE: Final = rule(
    rf"(?:i|we)(?:'ve| have)?(?: (?:just|recently|sadly))? (?:gave|given|(?:had|have had) to give) "
    rf"(?:{_PET}(?: |,? (?=(?-i:[A-Z])))|(?=(?-i:[A-Z])))"
)
_AWAY: Final = rule(r",? ?(?:away|up for adoption|back to the shelter)(?=\s*(?:[.,!;]|$)|,? (?:because|last|to an?)\b)")


def relations(clause: Clause) -> Iterator[Found]:
    """What a clause says about the user's people and pets."""
    text = clause.text
    if (match := _MARRIED.match(text)) and (who := name(text, match.end(), most=2)):
        yield found(clause, PROFILE, "spouse" if lower(match[1]) == "married" else "fiance", who.text, who.end, 0.95)
    elif match := _NEW.match(text):
        yield from _gone(clause, KEYS[lower(match[1])], match.end())
        yield from read_after(clause, _WHOSE_NAME, name, KEYS[lower(match[1])], match.end())
    elif match := _HAVE.match(text):
        yield from _have(clause, match)
    elif match := _ALL.match(text):
        if not (match["are"] and _is_no_name(text, match.end())):
            yield from _all(clause, PLURALS[lower(match[1])], match.end())
    elif match := _I_PARTED.match(text):
        yield from _gone(clause, KEYS[lower(match[1])], match.end())
    elif match := _DIVORCED.match(text):
        yield from _gone(clause, "spouse", match.end())
    elif match := _BROKE_UP.match(text):
        if not (_LONG_AGO.match(text) or _AGAIN.match(text)) and not any(map(_OF_OTHERS.search, clause.before)):
            yield from (found(clause, PROFILE, who, "", match.end(), ended=True) for who in sorted(PARTNERS))
    elif match := _GAVE.match(text):
        yield from _given_away(clause, match)
    elif match := _MY.match(text):
        yield from _own(clause, lower(match[1]), match.end())
    else:
        yield from in_passing(clause)


def in_passing(clause: Clause) -> Iterator[Found]:
    """Whom a clause says is gone by name only, whom it mentions in passing, or what it says about someone by name."""
    text = clause.text
    who, words = name(text, 0, most=2) if text[:1].isupper() else None, text.casefold()
    if gone := _called(text, who):
        yield found(clause, PROFILE, f"{CALLED}:{slug(gone[0])}", gone[0], gone[1], ended=True)
    elif who and _OWN.search(words) and (match := _IS_NOT_MY.match(text, who.end)):
        yield found(clause, PROFILE, _key(match[1], who), who.text, match.end(), ended=True)
    elif _OWN.search(words):
        match = _IS_MY.match(text, who.end) if who else None
        of_mine = match is not None and (KEYS[lower(match[1])] in _KIN or _TITLED.match(text) is not None)
        if who and match and of_mine and clause.first and not _is_no_name(text, 0):
            yield found(clause, PROFILE, _key(match[1], who), who.text, match.end())
        else:
            yield from _mentioned(clause)
    elif who and _MAY_TELL.search(words, who.end) and clause.first:
        yield from each_about(clause, f"{CALLED}:{slug(who.text)}", who.end)


def _have(clause: Clause, first: re.Match[str]) -> Iterator[Found]:
    """Each person or pet that someone has: "a cat named Misty and a dog named Bo"."""
    had: re.Match[str] | None = first
    while had and (who := given(clause.text, had.end(), most=2)):
        yield found(clause, PROFILE, _key(had[1], who), who.text, who.end, 0.95)
        yield from (about if had is first else each_about)(clause, _key(had[1], who), who.end)
        had = _AND_HAVE.match(clause.text, who.end)


def _all(clause: Clause, kind: str, start: int, most: int = 2) -> list[Found]:
    """Each of several by name, and how old they are: "my sisters Nadia and Ida", "two kids, Max (5) and Lena (8)"."""
    names, facts = set[str](), list[Found]()
    while who := name(clause.text, start, most):
        key, end = f"{kind}:{slug(who.text)}", who.end
        names.add(key)
        facts.append(found(clause, PROFILE, key, who.text, end))
        if aged := _EACH_AGED.match(clause.text, end):
            end = aged.end()
            facts.append(found(clause, PROFILE, f"{key}:age", str(years(aged[1])), end))
        link = _AND_ALL.match(clause.text, end)
        start = link.end() if link else len(clause.text)
    return facts if len(names) > 1 else []


def _called(text: str, first: Phrase | None) -> tuple[str, int] | None:
    """Who died or parted, if only the name is said, and where that ends; earlier messages tell who it is."""
    if parted := _PARTED_FROM.match(text):
        who = name(text, parted.end(), most=2)
        return (who.text, who.end) if who else None
    put = _PUT_DOWN.match(text)
    who = name(text, put.end(), most=2) if put else first
    over = (_DOWN if put else _LOST).match(text, who.end) if who else None
    return (who.text, over.end()) if who and over else None


def _mentioned(clause: Clause) -> Iterator[Found]:
    """Whom a clause names in passing: "I went skiing with my sister Nadia", not a title such as "My Cousin Vinny"."""
    for match in _MENTIONED.finditer(clause.text):
        if match[1]:
            yield from _several(clause, match)
        elif match.start() == 0 or match[0][0].islower():
            yield from _one(clause, match)
    for match in _FORMER.finditer(clause.text):
        if who := name(clause.text, match.end(), most=2):
            yield found(clause, PROFILE, _key(match[1], who), who.text, who.end, ended=True)


def _one(clause: Clause, match: re.Match[str]) -> Iterator[Found]:
    who = name(clause.text, match.end(), most=2)
    naming = _NAMING.search(clause.text, 0, match.start()) or (who and clause.text.startswith(_NAME_TO, who.end))
    if who and not naming and lower(match[2]) not in COUPLES and not _lost(clause.text, match[2], who.end):
        here = replace(clause, offset=clause.offset + match.start(), added=0)
        yield found(here, PROFILE, _key(match[2], who), who.text, who.end - match.start(), 0.8)
        if _WHO_IS.match(clause.text, who.end):
            yield from each_about(clause, _key(match[2], who), who.end)


def _several(clause: Clause, match: re.Match[str]) -> Iterator[Found]:
    kind, along = PLURALS[lower(match[1])], _ALONG.search(clause.text, 0, match.start())
    all_of_them = _all(clause, kind, match.end(), most=1) if along else []
    known = kind in _PETS or any(one.value.casefold() in FORENAMES for one in all_of_them)
    if all_of_them and (known or (along and along["with"] and _NAMED_SO.match(clause.text, _end(clause, all_of_them)))):
        yield from all_of_them


def _end(clause: Clause, facts: list[Found]) -> int:
    """Where the last of some facts ends in a clause."""
    return facts[-1].span[1] - clause.offset


def _own(clause: Clause, word: str, end: int) -> Iterator[Found]:
    text = clause.text
    if match := _NAMED.match(text, end) or (_is_named(text, end) if word not in COUPLES else None):
        if who := given(text, match.end(), most=3):
            yield found(clause, PROFILE, _key(word, who), who.text, who.end, 0.95)
            yield from about(clause, _key(word, who), who.end)
            if (but := _NOT.match(text, who.end)) and (wrong := name(text, but.end(), most=3)):
                yield found(clause, PROFILE, _key(word, wrong), wrong.text, wrong.end, ended=True)
    elif word not in COUPLES and (gone := _not_named(clause, word, end)):
        yield from gone
    elif word not in COUPLES and (match := _NEXT.match(text, end)) and (who := _called_so(text, match.end())):
        if lost := _lost(text, word, who.end):
            yield from _gone(clause, _key(word, who), lost.end())
            return
        yield found(clause, PROFILE, _key(word, who), who.text, who.end)
        yield from about(clause, _key(word, who), who.end)
    elif word not in FRIENDS or KEYS[word] in FEW:
        if lost := _lost(text, word, end):
            if word in ONE or not _LONG_AGO.match(text, lost.end()):
                yield from _gone(clause, KEYS[word], lost.end())
        elif word not in MANY:
            apart = _PARTICULAR.match(text) is not None
            yield from (replace(fact, apart=apart) for fact in about(clause, KEYS[word], end))


def _not_named(clause: Clause, word: str, end: int) -> list[Found]:
    """Who someone is not, and who it is instead: "My boss isn't Tom any more, it's Sarah"."""
    text = clause.text
    match = _NOT_NAMED.match(text, end)
    wrong = name(text, match.end(), most=3) if match and not _is_no_name(text, match.end()) else None
    over = _NO_MORE.match(text, wrong.end) if wrong else None
    if not (wrong and over):
        return []
    gone = found(clause, PROFILE, _key(word, wrong), wrong.text, wrong.end, ended=True)
    but = _BUT.match(text, over.end())
    right = given(text, but.end(), most=3) if but else None
    return [gone, found(clause, PROFILE, _key(word, right), right.text, right.end, 0.95)] if right else [gone]


def _called_so(text: str, start: int) -> Phrase | None:
    """A name, or a common forename in small letters: "my sister mia"."""
    if who := name(text, start, most=2):
        return who
    first = forename(text, start)
    return first if first and _DOES.match(text, first.end) else None


def _is_named(text: str, end: int) -> re.Match[str] | None:
    """The words before a name: "my wife is Eva", but not "my wife is German"."""
    match = _IS.match(text, end)
    return None if match and _is_no_name(text, match.end()) else match


def _is_no_name(text: str, start: int) -> bool:
    return (NO_NAME.match(text, start) or _NO_NAME.match(text, start)) is not None


def _lost(text: str, word: str, end: int) -> re.Match[str] | None:
    """The words that say that someone died or, for a partner, colleague or flatmate, that they parted."""
    who = KEYS[lower(word)]
    parted = _PARTED if who in PARTNERS else _QUIT if who in AT_WORK else _MOVED_OUT if who == "roommate" else _DIED
    return _DIED.match(text, end) or parted.match(text, end)


def _given_away(clause: Clause, gave: re.Match[str]) -> Iterator[Found]:
    """The pet that was given away; if only a name is said, it must be a known pet: brides are given away too."""
    who = name(clause.text, gave.end(), most=2)
    if away := _AWAY.match(clause.text, who.end if who else gave.end()):
        named = f":{slug(who.text)}" if who else ""
        for kind in [PETS[lower(gave[1])]] if gave[1] else sorted(_PETS):
            yield found(clause, PROFILE, f"{kind}{named}", "", away.end(), ended=True)


def _gone(clause: Clause, who: str, end: int) -> Iterator[Found]:
    """The end of everything known about someone, under any word for them: a wife is also a spouse."""
    also = {"wife": ("spouse",), "husband": ("spouse",), "spouse": ("wife", "husband")}.get(who, ())
    for key in (who, *also):
        yield found(clause, PROFILE, key, "", end, ended=True)


def _key(word: str, who: Phrase) -> str:
    """The key of someone: "wife", whatever her name, but "sister:nadia", as there may be several sisters."""
    key = KEYS[lower(word)]
    return key if lower(word) in ONE else f"{key}:{slug(who.text)}"
