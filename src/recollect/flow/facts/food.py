"""What the user must not eat, or does not eat and drink: allergies, diets, what they avoid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, slug, things
from recollect.flow.facts.profile import AM, PROFILE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import EMOJI, any_of, lower, rule, word_set

_I_AM: Final = f"(?:{AM}|,? and(?: also)?)"
ALLERGIC: Final = f"(?: {any_of('very severely deathly highly a_bit slightly really also')})* all?ergic to "
_ALLERGIC: Final = rule(f"{_I_AM}{ALLERGIC}")
_NOT_ALLERGIC: Final = rule("i(?:'m| am) (?:not|no longer) all?ergic to ")
_DIAGNOSED: Final = (
    r"i(?:'ve| have)?(?: (?:just|recently|finally|officially|was|got|been))+ diagnosed"
    r"(?![^.!?]*\b(?:mistake|error|wrong|wrongly|but|misdiagnos\w+)\b)"
)
_ALLERGY: Final = rule(
    rf"(?:i (?:have|suffer from|have got)|{_DIAGNOSED} with) an? (?:severe |bad |serious |mild )?"
    r"(?!(?:rare|weird|strange|new|food|skin)\b)([\w-]{3,20}(?: [\w-]{3,20})?) allergy\b"
)
_JOKES: Final = word_set("mornings mondays bs work exercise people idiots stupidity bullshit nonsense drama commitment")
DIETS: Final = r"(vegan|vegetarian|pescatarian|coeliac|celiac|keto)\b"
EATS: Final = (
    rf"(?=\s*(?:[.,!;:){EMOJI}]|$|(?:and|but|so|now|btw|since|for|too|because|except|apart from|aside from"
    r"|at the moment|last|in \d{4}|\w+ \w+ ago)\b))"
)
_TURNED: Final = r"i(?:'ve| have)?(?: (?:just|recently|now))* (?:gone|went|turned|become|became)"
_HAVE_BEEN: Final = r"i(?:'ve| have) been(?=[^.,;!?]{0,30} (?:since|for \w+ years|all my life)\b)"
_DIET: Final = rule(
    rf"(?:{_I_AM}|{_TURNED}|{_HAVE_BEEN}) (?:an? )?(?:strict |lifelong |committed )?{DIETS}{EATS}",
    rf"(?:i have|,? and|{_DIAGNOSED} with) (coeliac|celiac)(?: disease\b|{EATS})",
    rf"(?:as an?|being) {DIETS}(?=,? i\b)",
    rf"(?:i (?:only |always )?eat|(?:i|we) keep) (halal|kosher)(?: at home)?{EATS}",
    r"i(?:'m on| am on| follow| eat) an? (?:strict )?(vegan|vegetarian|keto|kosher|halal|paleo) diet\b",
)
_EXCEPT: Final = rule(",? (?:except(?: for)?|apart from|aside from) ")
_NO_DIET: Final = rule(rf"i(?:'m| am) (?:not|no longer) (?:an? )?{DIETS}")
_INTOLERANT: Final = r"([\w-]{3,15})[- ](?:intolerant|free)\b"
_CANT_HAVE: Final = rule(rf"{_I_AM} (?:very |slightly )?{_INTOLERANT}{EATS}")
_CAN_HAVE: Final = rule(rf"i(?:'m| am) (?:not|no longer) {_INTOLERANT}")
_FREE_OF: Final = word_set(
    "gluten dairy lactose sugar nut soy wheat egg fructose histamine alcohol meat caffeine coffee"
)
_CANT: Final = "i (?:can't|cannot|can not)"
_CANT_HAVE_ANY: Final = rule(rf"(?:{_CANT} have|i(?:'ve| have)? (?:gave|given) up) (?:any |all )?([\w-]{{3,15}})\b")
_AGAIN: Final = r"[^.,;!?]{2,40} again\b"
_DRINKS_NOT: Final = rule(
    rf"(?:i (?:don't|do not|never) drink(?: alcohol| at all| any ?more)?|{AM} teetotal)"
    r"(?=\s*(?:[.,!;)]|$|(?:and|but|so)\b(?! drive)))"
)
_DRINKS_AGAIN: Final = rule(
    r"i(?:(?:'ve| have)?(?: just| recently)? started drinking|'m drinking| am drinking|(?: now)? drink)"
    r"(?: alcohol)? again\b"
)
_FOODS: Final = any_of(
    """dairy gluten (?:red_)?meat fish seafood shellfish sugar carbs alcohol caffeine coffee pork beef chicken lamb eggs
    cheese milk wheat soy nuts bread lactose sweets chocolate (?:fast|spicy|junk|fried)_food"""
)
_EATS_NOT: Final = rule(
    f"(?:{_CANT}|i (?:don't|do not|never))(?: {any_of('really usually ever')})* (?:eat|drink) ",
    rf"i (?:don't|do not)(?: really)? do (?={_FOODS}"
    r"(?:\s*(?:[.,!;)]|$)| (?:and|or|any ?more|at all|because|since|so)\b))",
    "i(?:'ve| have)? (?:stopped|quit|given up|gave up|decided to stop) (?:eating|drinking) ",
)
_EATS_AGAIN: Final = rule(
    "i (?:can|do)(?: now| finally)? (?:eat|drink) (?![^.;!?]* but (?:i )?(?:don't|do not|won't|never|choose|prefer))",
    rf"(?:i(?:'ve| have)?(?: just| recently)? started|{AM}(?: back to)?) (?:eating|drinking) (?={_AGAIN})",
    f"i(?: now)? (?:eat|drink) (?={_AGAIN})",
    f"(?:i(?:'ve| have)?(?: just| recently)? (?:gone|went)|{AM}) back to (?:eating|drinking) (?!no |less |more )",
)
_NO_FOOD: Final = word_set(
    "enough much many lots out breakfast lunch dinner supper well late early fast healthy alone together meals"
)
_OR: Final = rule(",? or ")
_EATEN: Final = rule(
    r"\s*(?:[.,!;:)]|$|(?:and|but|or|so|now|because|since|any ?more|again|at all|it|(?:last|this) \w+)\b"
    r"|for (?:religious|health|medical|ethical)\b)"
)


def food(clause: Clause) -> Iterator[Found]:
    """What a clause says the user can't or does not eat or drink: "I'm vegan and lactose intolerant"."""
    if match := _DRINKS_NOT.match(clause.text):
        yield found(clause, PROFILE, "avoids", "alcohol", match.end())
    elif match := _DRINKS_AGAIN.match(clause.text):
        yield found(clause, PROFILE, "avoids", "alcohol", match.end(), ended=True)
    end, more = 0, True
    while more:
        more = False
        for fact in _food(clause, end):
            end, more = fact.span[1] - clause.offset, not fact.ended
            yield fact


def _food(clause: Clause, start: int) -> Iterator[Found]:
    text = clause.text
    if match := _ALLERGIC.match(text, start):
        for what in _all_of(text, match.end()):
            if slug(what.text) not in _JOKES:
                yield found(clause, PROFILE, "allergy", what.text, what.end, 0.95)
    elif match := _NOT_ALLERGIC.match(text, start):
        for what in things(text, match.end()):
            yield found(clause, PROFILE, "allergy", what.text, what.end, ended=True)
    elif match := _ALLERGY.match(text, start):
        yield found(clause, PROFILE, "allergy", match[1], match.end())
    elif match := _NO_DIET.match(text, start):
        yield found(clause, PROFILE, "diet", lower(match[1]), match.end(), ended=True)
    elif match := _DIET.match(text, start):
        diet = match.lastindex or 1
        but = _EXCEPT.match(text, match.end())
        eaten = things(text, but.end()) if but and match.end() == match.end(diet) else []
        end = eaten[-1].end if eaten else match.end()
        yield found(clause, PROFILE, "diet", lower(match[diet]) + (text[match.end() : end]), end, 0.95)
    elif (match := _CANT_HAVE.match(text, start) or _CANT_HAVE_ANY.match(text, start)) and lower(match[1]) in _FREE_OF:
        yield found(clause, PROFILE, "avoids", lower(match[1]), match.end(), 0.95)
    elif match := _CAN_HAVE.match(text, start):
        yield found(clause, PROFILE, "avoids", lower(match[1]), match.end(), ended=True)
    elif match := _EATS_NOT.match(text, start):
        yield from _avoids(clause, match.end())
    elif match := _EATS_AGAIN.match(text, start):
        yield from _avoids(clause, match.end(), ended=True)


def _all_of(text: str, start: int) -> list[Phrase]:
    """A list of things. Two that share a noun stay together; "penicillin and bee stings" do not."""
    found = things(text, start)
    half = len(found) == 1 and not text.startswith(found[0].text, start)
    return [Phrase(text[start : found[0].end], found[0].end)] if half else found


def _avoids(clause: Clause, start: int, ended: bool = False) -> Iterator[Found]:
    """What someone does not eat or drink, if nothing more is said about it."""
    food = things(clause.text, start)
    if food and (other := _OR.match(clause.text, food[-1].end)):
        food += things(clause.text, other.end())
    if not food or not _EATEN.match(clause.text, food[-1].end):
        return
    for what in food:
        words = what.text.lower().split()
        if not _NO_FOOD.union(LINKED).intersection(words) and not words[0].endswith("ly"):
            yield found(clause, PROFILE, "avoids", what.text, what.end, ended=ended)
