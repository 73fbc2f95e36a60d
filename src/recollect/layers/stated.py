"""A user's statements, cached: the statements in order, the facts that follow from them, and those facts' words."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from recollect.answers import Fact
from recollect.flow.facts import Known, Statement, known
from recollect.flow.facts.asked import wanted
from recollect.flow.facts.known import Knowing, Voices, order_of
from recollect.flow.facts.tell import Told, asked_by, tell
from recollect.store.words import query_words, words

LEARNED_WITHIN: Final = timedelta(hours=1)
"""Within this time of being said, something is learned, unless it was imported."""
MOST_ASKED: Final = 100
"""How many facts a section may have of those that the question asks for: "What do you know about me?" asks for all."""
_LONG_AGO, _NEVER = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))


@dataclass(slots=True)
class Stated:
    """A user's statements up to a position of the store, and the facts that follow from them."""

    position: int = 0
    stated: list[tuple[Statement, datetime | None]] = field(default_factory=list)  # as stored, and when
    newest: datetime = _LONG_AGO  # when the last of them was said
    statements: list[Statement] = field(default_factory=list)  # in the order in which they count
    voices: Voices = field(default_factory=Voices)
    knowing: Knowing = field(default_factory=Knowing)
    known: Known = field(default_factory=Known)
    words: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)  # of a fact, by its key and value
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, new: Sequence[tuple[Statement, datetime | None]]) -> None:
        """Take in further statements. If they come after all known ones, those are not gone over again."""
        kept_at = min((at for _, at in new if at), default=_NEVER)
        more, in_step = _in_order(new), self.newest <= kept_at  # else a clock was ahead, and known ones may be re-dated
        self.stated += new
        self.newest = max(self.newest, *(said.order[0] for said, _ in new))
        several = self.voices.hear(more)
        if in_step and not several and self.statements and order_of(self.statements[-1]) < order_of(more[0]):
            self.statements = [*self.statements, *more]  # a new list: others may be reading the old one
        else:
            self.knowing, self.statements = Knowing(), _in_order(self.stated)
            more = self.statements
        self.known = self.knowing.with_more(self.voices.own(more))

    def words_of(self, fact: Fact) -> frozenset[str]:
        """The words of the questions that a fact answers."""
        name = fact.key, fact.value
        if name not in self.words:
            self.words[name] = frozenset(words(asked_by(fact)))
        return self.words[name]

    def told(self, question: str, at: datetime, until: int | None, most: int) -> Iterable[Told]:
        """The facts that hold, or held at the position `until`, best first; those after `most` of a section are out."""
        if not (facts := self.known_at(until).standing):
            return ()
        want = wanted(question, facts)
        asked = frozenset(query_words(question))
        return tell(facts, asked, at, self.words_of, want.prefers, lambda one: MOST_ASKED if want.fits(one) else most)

    def known_at(self, until: int | None) -> Known:
        """What is known, or was known at the position `until` of the store."""
        return self.known if until is None else known(one for one in self.statements if one.order[1] <= until)


def _in_order(stated: Sequence[tuple[Statement, datetime | None]]) -> list[Statement]:
    """The statements in the order in which they count. One dated by a clock that was ahead comes before later ones."""
    found, later = list[Statement](), (_NEVER, _NEVER)
    for said, at in reversed(stated):
        found.append(_by(later, said))
        if at:
            later = min(later, (at, min(at, max(said.order[0], at - LEARNED_WITHIN))))
    return sorted(found, key=order_of)


def _by(later: tuple[datetime, datetime], said: Statement) -> Statement:
    """The statement, dated no later than the one that was stored after it: `later` says when, and what that says."""
    kept, at = later
    return said if said.order[0] <= kept else replace(said, order=(at, *said.order[1:]))
