"""What contexts of the last questions held, so that a question asked again, as in an agent's loop, gets the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from recollect.answers import Candidate
from recollect.flow.assemble import Shown
from recollect.flow.context import Context
from recollect.flow.fill import IN_CONVERSATION, RECALLED
from recollect.flow.receipt import Line
from recollect.flow.turns import answerable, turns
from recollect.layers.embedding import CHUNK
from recollect.layers.marks import there
from recollect.recent import Recent
from recollect.store import Store
from recollect.types import Message, Scope

KEPT_QUESTIONS: Final = 256

Offers: TypeAlias = Mapping[str, Sequence[Candidate]]
"""What is offered for a question, by section. A candidate's `out` says why a context did not take it."""
Kept: TypeAlias = tuple[tuple[Line, ...], frozenset[str]]
"""What was offered to a context, with what became of it, and the ids of the messages that it showed."""


class Question(NamedTuple):
    """A question in its place: the session, the number of the message, its words, and the budget it was asked with.

    `beside` is the length of the system text and the tools sent with it, in characters: their tokens change as
    a counter learns.
    """

    scope: Scope
    number: int
    text: str
    budget: int
    beside: int


class Before(NamedTuple):
    """What was offered when a question was asked before, and the ids of the messages shown then."""

    offers: Offers
    ids: frozenset[str]

    def shown(self, now: Shown, count: Callable[[Message], int]) -> Shown:
        """The conversation now, without the turns that had to make room then, unless they were pinned since."""
        before = turns(answerable(now.messages))[:-1]
        unpinned = (turn for turn in before if not any(message.pinned for message in turn))
        gone = {message.id for turn in unpinned for message in turn} - self.ids
        kept = tuple(message for message in now.messages if message.id not in gone)
        return replace(
            now,
            messages=kept,
            tokens=now.tokens - sum(count(message) for message in now.messages if message.id in gone),
            left_out=now.left_out + len(now.messages) - len(kept),
        )


@dataclass(slots=True, eq=False)
class Settled:
    """The contexts of the questions asked last: what was offered, what became of it, and which messages were shown."""

    store: Store
    _kept: Recent[Question, Kept] = field(default_factory=lambda: Recent(KEPT_QUESTIONS))
    _lock: Lock = field(default_factory=Lock)

    def keep(self, question: Question, context: Context) -> None:
        """Remember the context for a question."""
        with self._lock:
            self._kept[question] = context.offered, frozenset(message.id for message in context.conversation)

    def before(self, question: Question) -> Before | None:
        """What was offered when this question was asked before, with what was decided on each candidate.

        None if it was not asked, or something that would be quoted is gone.
        """
        with self._lock:
            if (kept := self._kept.get(question)) is None:
                return None
            self._kept[question] = kept
        offers = _decided(kept[0])
        return Before(offers, kept[1]) if offers and self._still_there(question.scope.owner, offers) else None

    def forget(self, scope: Scope) -> None:
        """Drop the offers that may quote something of a scope."""
        with self._lock:
            for key in [key for key in self._kept if key.scope.owner.covers(scope) or scope.covers(key.scope)]:
                del self._kept[key]

    def _still_there(self, owner: Scope, offers: Offers) -> bool:
        """Whether all that these offers quote still exists: another process may have erased some.

        That is so of what was left out, too, since the receipt quotes it.
        """
        quoted = [one for offer in offers.values() for one in offer]
        chunks = list({id for one in quoted if one.section == "documents" for id in one.sources})
        cited = {place for one in quoted if one.section != "documents" for place in one.cites("")}
        records = list({id for one in quoted for id in one.records})
        if not cited <= there(self.store, owner, cited).keys():
            return False
        if len(self.store.records.get(owner, records)) < len(records):
            return False
        return len(self.store.index.get(owner, CHUNK, chunks)) == len(chunks)


def _decided(lines: Sequence[Line]) -> Offers:
    """The same offers, left out by the same rules, except where the conversation or recall already had the words: it
    may no longer.
    """
    offers: dict[str, list[Candidate]] = {}
    for line in lines:
        out = "" if line.kept or line.rule in (IN_CONVERSATION, RECALLED) else line.rule
        offers.setdefault(line.section, []).append(line.offer(out))
    return offers
