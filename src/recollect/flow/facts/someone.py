"""What is said about someone: where they live and work, how old they are, what they eat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from recollect.flow.facts.food import ALLERGIC, DIETS, EATS
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import firm, place_name, things
from recollect.flow.facts.profile import NUMBER, PROFILE, STOP, birthday, lasts, read_after, years
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import EMOJI, any_of, lower, rule
from recollect.flow.facts.work import AS_ROLE, AT_SCHOOL

YEARS_OLD: Final = "(?:[- ]years?[- ]old| ?yo) "
STILL: Final = (
    "(?:(?:,| and)(?: he| she| they| who)?| who)?"
    f"(?: {any_of('now still currently just recently also has both already')})*"
)
GOT: Final = f"(?:i|we)(?:'ve| have)?(?: {any_of('also just recently')})* (?:have|got|adopted)"
_OLD: Final = rule(rf"(?:my|our|{GOT} an?) (\d{{1,2}}){YEARS_OLD}")
_BORN: Final = rule(
    "(?:'s birthday is|'s birthday's)(?: on)?(?: the)? ", f"(?: turns| will turn| is turning) {NUMBER} on (?:the )?"
)
_LIVES: Final = rule(
    f"{STILL} (?:lives?|resides?|(?:is|are) living|(?:is|are) based)(?: alone)? in ",
    f"{STILL} (?:moved|relocated)(?: (?:back|over))?(?: from [^,.;]{{2,40}}?)? to ",
)
_LEFT: Final = rule(
    rf"{STILL} no longer lives in ",
    rf"{STILL} (?:doesn't|does not) live in (?=(?-i:[A-Z]))",
    rf"{STILL} (?:isn't|is not|is no longer) living in ",
)
WHEN: Final = (
    rf"(?=\s*(?:[.,!;:()\u2026{EMOJI}]|$|"
    + any_of("and but in on last this yesterday recently after because since so two three for_good a_few a_couple")
    + r"\b|(?:a|one|\d+) (?:day|week|month|year)))"
)
FIRED: Final = "(?:got|was|has been) (?:fired|sacked|laid off|let go|made redundant)"
IS_NOT: Final = "(?: isn't| is not| is no longer|'s not|'s no longer)"
NO_MORE: Final = f"(?: {any_of('any_more anymore now after_all at_all actually')})?"
_IS: Final = "(?: is|'s)(?: now| actually)?"
_AND_IS: Final = f"(?:{STILL}{_IS}|,? and)"
_EATS: Final = rule(rf"{_AND_IS} (?:an? )?(?:strict |lifelong )?{DIETS}{EATS}")
_EATS_NOT: Final = rule(rf"{IS_NOT} (?:an? )?(?:strict )?{DIETS}(?={NO_MORE}{EATS})")
_ALLERGIC: Final = rule(rf"{_AND_IS}{ALLERGIC}", "'s allergy is to ")
_NOT_ALLERGIC: Final = rule(rf"{IS_NOT}{ALLERGIC}")
_WORKS: Final = rule(
    rf"{STILL} (?:works|is working|started working|started(?!{AT_SCHOOL}))"
    r"(?: (?:nights|days|shifts|weekends|part[ -]time|full[ -]time))? (?:at|for) "
)
_WORKS_NO_MORE: Final = rule(
    rf"{STILL} no longer works (?:at|for) ",
    rf"{STILL} (?:doesn't|does not) work (?:at|for) (?=.{{1,60}}\bany ?more\b)",
    rf"{STILL} (?:left|quit)(?: (?:his|her|their) job at)? (?=(?-i:[A-Z][\w'-]*(?: [A-Z&][\w'-]*)*){WHEN})",
)
_JOBLESS: Final = rule(
    rf"{STILL} (?:(?:quit|lost|left) (?:his|her|their) job|{FIRED}|retired){WHEN}",
    rf"{STILL}(?: is|'s)(?: now)? (?:retired|unemployed|out of work){WHEN}",
)
_IS_A: Final = rule(f"{STILL}(?: works as|{_IS}| became) (?:an? |the )", ", (?:an? |the )")
_IS_NOT_A: Final = rule(rf"{IS_NOT} (?:an? |the )")
_AT: Final = rule(" (?:at|for) ")
_AGED: Final = rule(
    rf"(?:(?:[.!]+ (?:he|she))?{STILL}(?: is(?! \S+ on )|'s(?! \S+ on )| turned)|,) {NUMBER}(?: years?[- ]old)?"
    rf"(?: now| today| yesterday| last \w+| this \w+| (?:in|on) \w+)?{STOP}"
)
_NOT_AGED: Final = rule(rf"{IS_NOT} {NUMBER}(?: years?[- ]old)?{NO_MORE}{STOP}")


_LATER: Final = rule(
    r"(?:(?!\b(?:my|our|his|her|their|an?|with|and|that|who|if|when)\b)"
    r"(?!(?<!from )(?<!in )(?<!on )(?<!at )(?<!to )(?-i:\b[A-Z]))[^.!?;,]){1,70}(?=(?:,| and|, and) s?he\b)"
)
"""Words that may come before more about the same person: "Mila starts school in May, she's 6"."""
_IN_BRACKETS: Final = rule(r" \((\d{1,2}) ?[mf]?\)")


def about(clause: Clause, who: str, end: int) -> Iterator[Found]:
    """What a clause says about someone, one thing after another: "my 8 year old son", "is 80 and lives in Kent"."""
    if old := _OLD.match(clause.text):
        yield found(clause, PROFILE, f"{who}:age", old[1], end)
    if aged := _IN_BRACKETS.match(clause.text, end):
        end = aged.end()
        yield found(clause, PROFILE, f"{who}:age", aged[1], end)
    later = _LATER.match(clause.text, end)
    yield from each_about(clause, who, end)
    if later:
        yield from each_about(clause, who, later.end())


def each_about(clause: Clause, who: str, end: int) -> Iterator[Found]:
    """What a clause says about someone from a place on, one thing after another, and at the end how old they are."""
    while fact := _next_about(clause, who, end):
        if lasts(clause, fact):
            yield fact
        end = fact.span[1] - clause.offset
        if fact.key == f"{who}:company" and not fact.value:
            yield replace(fact, key=f"{who}:role")
        elif fact.key == f"{who}:company":
            yield from read_after(clause, AS_ROLE, role, f"{who}:role", end)
        if fact.key == f"{who}:role" and not fact.ended:
            yield from read_after(clause, _AT, firm, f"{who}:company", end)


def _next_about(clause: Clause, who: str, end: int) -> Found | None:
    text = clause.text
    left = _LEFT.match(text, end)
    if (match := left or _LIVES.match(text, end)) and (where := place_name(text, match.end())):
        return found(clause, PROFILE, f"{who}:place", where.text, where.end, ended=left is not None)
    over = _IS_NOT_A.match(text, end)
    if (match := over or _IS_A.match(text, end)) and (what := role(text, match.end())):
        return found(clause, PROFILE, f"{who}:role", what.text, what.end, ended=over is not None)
    over = _NOT_AGED.match(text, end)
    if (match := over or _AGED.match(text, end)) and 0 < (age := years(match[1])) < 116:
        return found(clause, PROFILE, f"{who}:age", str(age), match.end(), ended=over is not None)
    if (match := _BORN.match(text, end)) and (day := birthday(clause, match.end())):
        return found(clause, PROFILE, f"{who}:birthday", day.text, day.end)
    return _job(clause, who, end) or _food(clause, who, end)


def _job(clause: Clause, who: str, end: int) -> Found | None:
    """Where someone works, or no longer does; without a value if they have no job."""
    over = _WORKS_NO_MORE.match(clause.text, end)
    if (match := over or _WORKS.match(clause.text, end)) and (where := firm(clause.text, match.end())):
        return found(clause, PROFILE, f"{who}:company", where.text, where.end, ended=over is not None)
    match = _JOBLESS.match(clause.text, end)
    return found(clause, PROFILE, f"{who}:company", "", match.end(), ended=True) if match else None


def _food(clause: Clause, who: str, end: int) -> Found | None:
    over = _EATS_NOT.match(clause.text, end)
    if match := over or _EATS.match(clause.text, end):
        return found(clause, PROFILE, f"{who}:diet", lower(match[1]), match.end(), ended=over is not None)
    over = _NOT_ALLERGIC.match(clause.text, end)
    if (match := over or _ALLERGIC.match(clause.text, end)) and (what := things(clause.text, match.end())):
        all_of_it = ", ".join(one.text for one in what)
        return found(clause, PROFILE, f"{who}:allergy", all_of_it, what[-1].end, 0.95, ended=over is not None)
    return None
