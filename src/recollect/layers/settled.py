"""What memory said to a question, kept for a while: asked again, as in an agent's loop, it says the same."""

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
"""What was offered for a question, by section, and of it what the context took."""


class Question(NamedTuple):
    """A question in its place: the session, the number of the message, its words, and the budget it was asked with."""

    scope: Scope
    number: int
    text: str
    budget: int


@dataclass(slots=True, eq=False)
class Settled:
    """What became of each offer for the questions asked last."""

    store: Store
    _lines: Recent[Question, tuple[Line, ...]] = field(default_factory=lambda: Recent(KEPT_QUESTIONS))
    _lock: Lock = field(default_factory=Lock)

    def keep(self, question: Question, lines: tuple[Line, ...]) -> None:
        """Remember what the context for a question was offered and what it took."""
        with self._lock:
            self._lines[question] = lines

    def offers(self, question: Question) -> Offers:
        """The same offers again, with what was decided on each; none where something is gone that they quote."""
        with self._lock:
            if lines := self._lines.get(question, ()):
                self._lines[question] = lines
        offers = _decided(lines)
        return offers if offers and self._still_there(question.scope.owner, offers) else {}

    def forget(self, scope: Scope) -> None:
        """Drop the answers that may quote something of a scope."""
        with self._lock:
            for key in [key for key in self._lines if key.scope.owner.covers(scope) or scope.covers(key.scope)]:
                del self._lines[key]

    def _still_there(self, owner: Scope, offers: Offers) -> bool:
        """Whether nothing was erased, here or elsewhere, that these offers quote."""
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
    """What was offered, left out by the same rules; but the conversation may no longer show what it showed."""
    offers: dict[str, list[Candidate]] = {}
    for line in lines:
        out = "" if line.kept or line.rule == IN_CONVERSATION else line.rule
        offers.setdefault(line.section, []).append(line.offer(out))
    return offers
