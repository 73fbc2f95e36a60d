"""What memory offered for the last questions, so that one asked again, as in an agent's loop, gets the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

from recollect.answers import Candidate
from recollect.flow.fill import IN_CONVERSATION
from recollect.flow.receipt import Line
from recollect.layers.embedding import CHUNK
from recollect.layers.marks import there
from recollect.recent import Recent
from recollect.store import Store
from recollect.types import Scope

KEPT_QUESTIONS: Final = 256

Offers: TypeAlias = Mapping[str, Sequence[Candidate]]
"""What is offered for a question, by section; `out` says why a context did not take it."""


class Question(NamedTuple):
    """A question in its place: the session, the number of the message, its words, and the budget it was asked with."""

    scope: Scope
    number: int
    text: str
    budget: int


@dataclass(slots=True, eq=False)
class Settled:
    """The receipts of the questions asked last: what was offered for each, and what became of it."""

    store: Store
    _lines: Recent[Question, tuple[Line, ...]] = field(default_factory=lambda: Recent(KEPT_QUESTIONS))
    _lock: Lock = field(default_factory=Lock)

    def keep(self, question: Question, lines: tuple[Line, ...]) -> None:
        """Remember the receipt of the context for a question."""
        with self._lock:
            self._lines[question] = lines

    def offers(self, question: Question) -> Offers:
        """The same offers as before, with what was decided on each; none where something that they quote is gone."""
        with self._lock:
            if lines := self._lines.get(question, ()):
                self._lines[question] = lines
        offers = _decided(lines)
        return offers if offers and self._still_there(question.scope.owner, offers) else {}

    def forget(self, scope: Scope) -> None:
        """Drop the offers that may quote something of a scope."""
        with self._lock:
            for key in [key for key in self._lines if key.scope.owner.covers(scope) or scope.covers(key.scope)]:
                del self._lines[key]

    def _still_there(self, owner: Scope, offers: Offers) -> bool:
        """Whether all that these offers quote is still there, and not erased by this or another process."""
        quoted = [one for offer in offers.values() for one in offer if not one.out]
        chunks = list({id for one in quoted if one.section == "documents" for id in one.sources})
        cited = {place for one in quoted if one.section != "documents" for place in one.cites("")}
        records = list({id for one in quoted for id in one.records})
        if not cited <= there(self.store, owner, cited).keys():
            return False
        if len(self.store.records.get(owner, records)) < len(records):
            return False
        return len(self.store.index.get(owner, CHUNK, chunks)) == len(chunks)


def _decided(lines: Sequence[Line]) -> Offers:
    """The same offers, left out by the same rules, but for what the conversation showed: it may no longer."""
    offers: dict[str, list[Candidate]] = {}
    for line in lines:
        out = "" if line.kept or line.rule == IN_CONVERSATION else line.rule
        offers.setdefault(line.section, []).append(line.offer(out))
    return offers
