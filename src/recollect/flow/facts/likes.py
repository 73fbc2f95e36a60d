"""What the user says he likes and dislikes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.flow.facts.found import Found, found
from recollect.flow.facts.phrases import Phrase, is_thing, slug, thing, things
from recollect.flow.facts.prose import Clause
from recollect.types import FactType

INTEREST: Final[FactType] = "interest"


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SO: Final = r"(?: (?:really|also|absolutely|always|truly|especially|particularly|do|still|very much|generally|personally|quite|actually|now|both))*"
_AM: Final = r"i(?:'m| am)"
_LIKES: Final = _rule(
    rf"i{_SO} (?:like|love|enjoy|adore) |{_AM}{_SO} (?:an? )?(?:(?:big|huge|massive|great|lifelong|avid) )?fan of "
    rf"|{_AM}{_SO} (?:into|fond of|passionate about|obsessed with|keen on|crazy about) "
    rf"|{_AM}(?: (?:really|very|also|quite|deeply|always))* interested in (?!the\b|[a-z]+ing\b)"
    r"|i(?:'ve| have) (?:recently |lately )?(?:been getting into|gotten into|got into|always loved|fallen in love with) "
    r"|my (?:main |biggest |favou?rite )?hobb(?:y|ies) (?:is|are|includes?) "
)
_DISLIKES: Final = _rule(
    rf"i{_SO} (?:hate|dislike|detest|despise|loathe) |i{_SO} (?:don't|do not)(?: really| particularly)? (?:like|enjoy|care for) "
    rf"|i (?:really )?(?:can't|cannot|can not) stand |{_AM}{_SO} not (?:an? )?(?:(?:big|huge|really an?) )?fan of "
    rf"|{_AM}{_SO} not (?:really )?(?:into|interested in|fond of|keen on) "
)
_LIKES_NO_MORE: Final = _rule(
    r"i no longer (?:like|love|enjoy) |i(?:'ve| have)? (?:stopped|quit) (?:liking|loving|enjoying) "
    rf"|{_AM} no longer (?:into|interested in|an? fan of|fond of) "
)
_ANY_MORE: Final = _rule(r"\s+(?:any ?more|any longer)\b")
_FAVORITE: Final = _rule(r"my (?:all-time )?favou?rite ([\w-]{2,20}(?: [\w-]{2,20})?) (?:is|are|has always been) (?:actually |now |definitely |probably )?")
_VAGUE: Final = frozenset("part thing things one ones idea option version bit way line section example answer point".split())
_NEVER_LIKED: Final = _rule(
    r"(?:to (?:know|see|have|get|be|make|add|use|think|hear|say|start|go|try|do|ask|learn|find|keep|understand)|help|more|less|better)\b"
)
_TALK: Final = frozenset(
    """idea ideas option options suggestion suggestions answer answers approach version plan design question explanation
    example examples code response reply changes result results look sound title layout tone wording format""".split()
)


def likes(clause: Clause) -> Iterator[Found]:
    """What a clause says the user likes, dislikes, likes no more, or likes best."""
    text = clause.text
    if match := _LIKES_NO_MORE.match(text):
        yield from _each(clause, "likes", _objects(text, match.end()), ended=True)
    elif match := _DISLIKES.match(text):
        what = _objects(text, match.end())
        if what and _ANY_MORE.match(text, what[-1].end):
            yield from _each(clause, "likes", what, ended=True)
        else:
            yield from _each(clause, "dislikes", what)
    elif match := _LIKES.match(text):
        yield from _each(clause, "likes", _objects(text, match.end()))
    elif (match := _FAVORITE.match(text)) and (best := _best(text, match)):
        yield found(clause, INTEREST, f"favorite:{slug(match[1])}", best.text, best.end)


def _objects(text: str, start: int) -> list[Phrase]:
    if _NEVER_LIKED.match(text, start):
        return []
    return [what for what in things(text, start) if not _TALK.intersection(what.text.lower().split())]


def _each(clause: Clause, verb: str, what: list[Phrase], ended: bool = False) -> Iterator[Found]:
    for one in what:
        yield found(clause, INTEREST, f"{verb}:{slug(one.text)}", one.text, one.end, 0.85, ended=ended)


def _best(text: str, match: re.Match[str]) -> Phrase | None:
    if _VAGUE.intersection(match[1].lower().split()):
        return None
    found_thing = thing(text, match.end())
    return found_thing if found_thing and is_thing(found_thing.text) else None
