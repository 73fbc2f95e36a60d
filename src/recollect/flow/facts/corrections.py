"""What a writer corrects right away: "My sister is Anna. I mean Hanna", "I work at Acme. Scratch that"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from recollect.flow.days import DAY, MONTH
from recollect.flow.facts.voice import MAX_TEXT
from recollect.flow.facts.wording import rule, small

Cuts = tuple[tuple[int, int], ...]
"""Ranges of a text that are left out, in order: each from the wrong words to the right ones."""

_MAY_CORRECT: Final = small(
    r"\b(?:no|nope|sorry|wait|oops|rather|make that|i meant?|actually|(?:scratch|strike|ignore|forget) (?:that|what)"
    r"|take (?:that|it) back|that'?s (?:wrong|not)|that was|correction)\b"
)
_MEANT: Final = "(?:wait|no|nope|i meant?|make that|or rather|rather|actually)"
_FIRST: Final = "(?:(?:oh|oops|sorry|well),?\\s+)"
_LATER: Final = rf"{_FIRST}{{0,3}}{_MEANT}\b,?\s+(?:(?:sorry|{_MEANT})\b,?\s+){{0,3}}"
_NO_SUCH: Final = r"no (?!\w+day\b)(?-i:[A-Z])"
"""A "no" that corrects nothing: "no Saturdays", "no TV"."""
_BETWEEN: Final = (
    rf"(?:\s*[.!]\s+(?!{_NO_SUCH}){_LATER}"
    rf"|\s*[,;\u2013\u2014-]+\s*(?!{_NO_SUCH})(?:{_LATER}|sorry,?\s+))"
)
_ENDS: Final = r"(?=\s*(?:[.!]|$)| (?:with an?|since|instead|actually|not|now|please)\b)"
_NAMED: Final = r"(?!I\b)(?-i:[A-Z])[\w'&-]{1,30}(?: (?-i:[A-Z])[\w'&-]{0,30}){0,3}"
_COUNTED: Final = r"\d[\w:.-]{0,9}(?:(?: of)? (?-i:[A-Z])[\w-]{2,30})?"
_CORRECTION: Final = r"\s*[.!,;\u2013\u2014-]+\s*correction:?\s+"
_IN_MONTH: Final = rf"\b{MONTH}\.? {DAY}"
_RATHER: Final = rule(
    rf"{_IN_MONTH}(?:{_BETWEEN}|{_CORRECTION})(?={_IN_MONTH}{_ENDS})",
    rf"(?<![\w'-]){_NAMED}(?:{_BETWEEN}|{_CORRECTION})(?={_NAMED}{_ENDS})",
    rf"(?<![\w'.:,-]){_COUNTED}(?: [a-z]{{2,10}}){{0,2}}(?:{_BETWEEN}|{_CORRECTION})(?={_COUNTED}{_ENDS})",
    r"(?<![\w'-])[a-z]{3,20}\s*[,\u2013\u2014-]+\s*(?:make that|or rather|i meant),?\s+"
    r"(?=[a-z]{3,20}\s*(?:[.!]|$))",
)
"""Something, and what was meant instead, of the same kind: a name, a number or day, a word."""
_TAKEN_BACK: Final = rule(
    r"(?<=[.!])\s+(?:(?:oh|no|wait|sorry|actually|oops|hmm),?\s+){0,3}(?:(?:scratch|strike|ignore|forget) that"
    r"|forget what i(?: just)? said|i take (?:that|it) back|that's (?:wrong|not (?:right|true|correct))"
    r"|that was (?:wrong|a typo|a mistake))(?=\s*(?:[.,!;:\u2013\u2014-]|$))"
)
_A_WORD: Final = rf"(?:{_NAMED}|{_COUNTED})"
_PUTS_RIGHT: Final = rule(
    rf"\s*(?:{_FIRST}{{0,3}}(?:i meant?|make that|or rather|correction)\b[,:]?\s+|\*|(?P<sorry>{_FIRST}?sorry,?\s+))"
    rf"(?P<right>{_A_WORD})(?:,? not (?P<wrong>{_A_WORD}))?\s*[.!]?\s*$"
)
_NUMBER: Final = rule(rf"(?<![\w'.:,-]){_COUNTED}")
MOST_PUT_RIGHT: Final = 80
_SENTENCE_ENDS: Final = re.compile(r"[.!?\n](?=\s)")


def corrected(text: str) -> tuple[str, Cuts]:
    """The text as its writer corrected it, without the words that were taken back, and the ranges of those words."""
    head = text[:MAX_TEXT].replace("\u2019", "'")
    if not _MAY_CORRECT.search(head.casefold()):
        return text, ()
    cuts = list[tuple[int, int]]()
    for start, end in sorted([*(match.span() for match in _RATHER.finditer(head)), *_taken_back(head)]):
        if not cuts or start >= cuts[-1][1]:
            cuts.append((start, end))
    kept, place = list[str](), 0
    for start, end in cuts:
        kept.append(text[place:start])
        place = end
    return "".join([*kept, text[place:]]), tuple(cuts)


def _taken_back(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of sentences that were taken back, each with the words that take it back."""
    for match in _TAKEN_BACK.finditer(text):
        before = [end.end() for end in _SENTENCE_ENDS.finditer(text, max(0, match.start() - 600), match.start() - 1)]
        yield (before[-1] if before else max(0, match.start() - 600)), match.end()


def place_in(cuts: Cuts, span: tuple[int, int]) -> tuple[int, int]:
    """The span in the original text of a span of the corrected text, from its first word to its last."""
    first, last = span
    for start, end in cuts:
        first += (end - start) * (first >= start)
        last += (end - start) * (last > start)
    return first, last


class Meant(NamedTuple):
    """The right word that a message gives for one in the message before it, and the wrong word if that is named.

    A name after a mere "sorry" may be that of the person spoken to, so it only corrects the name of a person.
    """

    right: str
    wrong: str
    of_someone: bool

    def wrong_in(self, before: str, names: Iterable[str]) -> str:
        """The only word of the message that may be meant, of its numbers or these names; "" if there isn't just one."""
        may_be = {match[0] for match in _NUMBER.finditer(before)} if self.right[0].isdigit() else set(names)
        fits = {word for word in may_be if self.wrong in ("", word)}
        return fits.pop() if len(fits) == 1 else ""


def meant(text: str) -> Meant | None:
    """What a message corrects, if it does nothing else: "sorry, Tim", "I meant Basel", "*Tim"."""
    match = _PUTS_RIGHT.match(text) if len(text) <= MOST_PUT_RIGHT else None
    return Meant(match["right"], match["wrong"] or "", bool(match["sorry"] and not match["wrong"])) if match else None


def with_word(text: str, wrong: str, right: str) -> str:
    """The text with the right word in place of the wrong one."""
    return re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", lambda _: right, text, flags=re.IGNORECASE)
