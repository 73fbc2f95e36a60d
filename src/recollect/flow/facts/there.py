"""Where "there" is in a message that ends something: "She doesn't live there any more", "I no longer work there"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from recollect.flow.facts.found import Found
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.wording import any_of, lower, rule

_NOT: Final = "(?:doesn't|does not|don't|do not)"
THERE: Final = rule(
    rf"\W*(?:[a-z]+(?: [a-z]+)?[,.:!]+\s+){{0,3}}(?:actually |but |and |well |no )?"
    r"(?:(?P<same>i|we|s?he) [^,.;!?]{2,30}[,;.] (?=(?P=same) ))?"
    r"(?:i|we|s?he|(?:my|our) [\w' -]{3,40}?|(?-i:[A-Z])[\w'-]+)(?: actually| sadly)?"
    rf"(?: {_NOT} (?P<does>live|work)| no longer (?P<no>live|work)s?) (?P<there>there)(?P<more> any ?more)?"
    r"(?=\s*(?:[.,!;)]|$|" + any_of("and but so since because tbh though btw now lol sadly") + r"\b))"
)
_NAMED: Final = r"(?:the )?((?-i:[A-Z])[\w'&-]*(?: (?-i:[A-Z])[\w'&-]*){0,3})"
_IN, _AT = rule(rf"\b(?:in|to|from) {_NAMED}"), rule(rf"\b(?:at|for) {_NAMED}")


def with_place(text: str, told: Iterable[Found], heard: str) -> str:
    """The message with the place or the firm for its "there"; as it is if it has none, or may mean several.

    `told` is what the user's message before it says, `heard` that message with the reply to it.
    """
    match = THERE.match(text)
    if not match or not (match["no"] or match["more"]):
        return text
    lives = lower(match["does"] or match["no"]) == "live"
    about, link = ("place", "in") if lives else ("company", "at")
    known = {one.value.casefold(): one.value for one in told if one.key.split(":")[-1] == about and not one.ended}
    named = {one[1].casefold(): one[1] for one in (_IN if lives else _AT).finditer(heard)}
    also = {*named, *(one[1] for one in PLACE.finditer(heard.casefold()))} if lives else {*named}
    meant = known or named
    if len(meant) != 1 or also - meant.keys():
        return text
    return f"{text[: match.start('there')]}{link} {next(iter(meant.values()))}{text[match.end('there') :]}"
