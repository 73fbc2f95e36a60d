"""What the user likes and dislikes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.answers import FactType
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import LINKED, Phrase, slug, thing, things
from recollect.flow.facts.profile import NUMBER
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import any_of, lower, rule, word_set

INTEREST: Final[FactType] = "interest"

_AM: Final = "i(?:'m| am)"
_AM_OR_WAS: Final = f"(?:{_AM}|i(?:'ve| have)(?: {any_of('always also long really recently lately')})* been)"
_SO: Final = (
    "(?: "
    + any_of(
        """really also absolutely always truly especially particularly do still very_much generally personally quite
        actually now both"""
    )
    + ")*"
)
_LIKES: Final = rule(
    f"i{_SO} (?:like|love|enjoy|adore) ",
    f"{_AM_OR_WAS}{_SO} (?:an? )?(?:(?:big|huge|massive|great|lifelong|avid) )?fan of ",
    f"{_AM_OR_WAS}{_SO} (?:into|fond of|passionate about|obsessed with|keen on|crazy about) ",
    rf"{_AM}(?: (?:really|very|also|quite|deeply|always))* interested in (?!the\b|[a-z]+ing\b)",
    "i(?:'ve| have) (?:recently |lately )?"
    + any_of("been_getting_into gotten_into got_into always_loved fallen_in_love_with")
    + " ",
    "my (?:main |biggest |favou?rite )?(?:hobb(?:y|ies)|interests)(?: is| are| includes?|:) ",
)
_DISLIKES: Final = rule(
    f"i{_SO} (?:hate|dislike|detest|despise|loathe) ",
    f"i{_SO} (?:don't|do not)(?: really| particularly)? (?:like|enjoy|care for) ",
    "i (?:really )?(?:can't|cannot|can not) stand ",
    "i(?:'ve| have) never (?:really )?(?:liked|enjoyed|cared for) ",
    f"{_AM}{_SO} not (?:an? )?(?:(?:big|huge|really an?) )?fan of ",
    f"{_AM}{_SO} not (?:really )?(?:into|interested in|fond of|keen on) ",
)
_FAN: Final = rule(
    rf"{_AM}{_SO} an? (?:(?:big|huge|massive|lifelong|die-?hard|proud) )*((?-i:[A-Z])[\w'&-]*(?: [\w'&-]+){{0,2}}?) "
    r"(?:fan|supporter)(?=\s*(?:[.,!;)]|$|(?:and|but|so|since)\b))"
)
"""What someone is a fan of: "a huge Liverpool fan"."""
_BORING: Final = rule(
    rf"i find ([\w-]{{2,20}}(?: [\w-]{{2,20}})?){_SO} (?:boring|dull|tedious|disgusting|annoying)"
    r"(?=\s*(?:[.,!;)]|$|and\b))"
)
_OVER_ENDS: Final = r"(?:[.,;!)]|$| (?:and|but|now|lately|these days|at this point)\b)"
_NOT_LIKED: Final = any_of(
    """topic track course script piste road roading duty sick line grid record key budget air menu campus base work
    qualified weight dressed age aged worked halfway half excited time"""
)
"""What one goes off or is over without ever having liked it."""
_LIKES_NO_MORE: Final = rule(
    "i no longer (?:like|love|enjoy) ",
    r"i used to (?:like|love|enjoy) (?=[^.;!?]{2,40} but (?:not|i don't) (?:[^.;!?]{0,20} )?any ?more\b)",
    "i(?:'ve| have)? (?:stopped|quit) (?:liking|loving|enjoying) ",
    f"{_AM} no longer (?:into|interested in|an? fan of|fond of) ",
    "i(?:'ve| have)(?: (?:just|recently|completely|totally))* (?:lost interest in|fallen out of love with|cooled on) ",
)
_GONE_OFF: Final = rule(
    rf"i(?:'ve| have)?{_SO}(?: (?:kind of|rather|just|recently|completely|totally))* (?:gone|went) "
    rf"(?:(?:right|completely|totally) )?off (?!{_NOT_LIKED}\b)",
    rf"{_AM}{_SO}(?: (?:so|kind of|completely|totally))* over (?=(?-i:[a-z])[^.,;!?]{{2,30}}{_OVER_ENDS})"
    rf"(?!(?:{NUMBER}|{_NOT_LIKED})\b)",
    rf"{_AM}{_SO}(?: so)? (?:sick|tired|bored) of (?=(?-i:[a-z]{{3,15}})(?<!ing){_OVER_ENDS})",
)
_OR: Final = rule(",? or ")
_ANY_MORE: Final = rule(r"\s+(?:any ?more|any longer)\b")
_FAVORITE: Final = rule(
    r"my (?:all[- ]time |new |current )?fav(?:e|ou?rite)? ([\w-]{2,20}(?: [\w-]{2,20})?) "
    "(?:is|are|has always been|has to be) (?:actually |now |definitely |probably )?"
)
_IS_FAVORITE: Final = rule(
    r" (?:is|are|has (?:always )?been|have (?:always )?been)(?: (?:still|definitely|by far))? my "
    r"(?:all-time |absolute )?favou?rite ([\w-]{2,20})"
    r"(?=\s*(?:[.,!;)]|$)| (?:and|but|so|for|because|ever|of all time)\b)"
)
_FOR_THIS: Final = rule(r".* for (?:the|this|that) ")
_AS_MUCH: Final = rule(r"(?: about| just)? as much as\b")
_VAGUE: Final = word_set("part thing things one ones idea option version bit way line section example answer point")
_NO_LIKING: Final = rule(
    r"to (?:know|see|have|get|be|make|add|use|think|hear|say|start|go|try|do|ask|learn|find|keep|understand)\b",
    r"(?:help|more|less|better)\b",
)
_TALK: Final = word_set(
    """idea ideas option options suggestion suggestions answer answers approach version plan design question
    explanation example examples code response reply changes result results look sound title layout tone wording
    format chapter page paragraph sentence slide"""
)
"""Things that are only liked in this conversation: "I like your idea"."""


def likes(clause: Clause) -> Iterator[Found]:
    """What a clause says the user likes, dislikes, no longer likes, or likes best."""
    text = clause.text
    if match := _LIKES_NO_MORE.match(text):
        yield from _each(clause, "likes", _objects(text, match.end()), ended=True)
    elif match := _GONE_OFF.match(text):
        what = things(text, match.end())
        one = thing(text, match.end(), stops=LINKED)
        yield from _each(clause, "likes", what if len(what) > 1 else [one] if one else [], ended=True)
    elif match := _DISLIKES.match(text):
        what = _objects(text, match.end())
        if what and (other := _OR.match(text, what[-1].end)):
            what += _objects(text, other.end())
        no_more = bool(what) and _ANY_MORE.match(text, what[-1].end) is not None
        yield from _each(clause, "likes" if no_more else "dislikes", what, ended=no_more)
    elif match := _BORING.match(text):
        yield from _each(clause, "dislikes", _objects(text[: match.end(1)], match.start(1)))
    elif match := _FAN.match(text):
        yield from _each(clause, "likes", [Phrase(match[1], match.end())])
    elif match := _LIKES.match(text):
        yield from _each(clause, "likes", _objects(text, match.end()))
    else:
        yield from _favorite(clause)


def _favorite(clause: Clause) -> Iterator[Found]:
    """What someone likes best, of what: "my favorite band is Muse", "Muse is my favorite band"."""
    text = clause.text
    if match := _FAVORITE.match(text):
        best = thing(text, match.end())
        end = best.end if best else 0
    elif "avo" in text.casefold() and (match := _IS_FAVORITE.search(text)):
        best = thing(text, 0, most=4)
        end = match.end() if best and best.end == match.start() else 0
    if match and best and end and not _VAGUE.intersection(lower(match[1]).split()):
        yield found(clause, INTEREST, f"favorite:{slug(match[1])}", best.text, end)


def _objects(text: str, start: int) -> list[Phrase]:
    if _NO_LIKING.match(text, start):
        return []
    liked = things(text, start)
    if liked and (_AS_MUCH.match(text, liked[-1].end) or _FOR_THIS.match(liked[-1].text)):
        return []
    return [what for what in liked if not _TALK.intersection(what.text.lower().split())]


def _each(clause: Clause, verb: str, what: list[Phrase], ended: bool = False) -> Iterator[Found]:
    for one in what:
        yield found(clause, INTEREST, verb, one.text, one.end, 0.85, ended=ended)
