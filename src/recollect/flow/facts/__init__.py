"""Facts from what a user says of themselves, by rules: no model, no network, and rather nothing than something wrong.

text ──► prose: own words only, clause by clause ──► profile, food, relations, likes, preferences, plans, mood ──► Found
Statements of all messages ──► known: what stands, what is past
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from recollect.flow.facts.food import food
from recollect.flow.facts.found import Found
from recollect.flow.facts.known import Known, Statement, known
from recollect.flow.facts.likes import likes
from recollect.flow.facts.mood import mood
from recollect.flow.facts.notes import in_first_person
from recollect.flow.facts.plans import plans
from recollect.flow.facts.preferences import preferences
from recollect.flow.facts.profile import profile
from recollect.flow.facts.prose import Clause, clauses
from recollect.flow.facts.relations import relations
from recollect.types import with_zone

__all__ = ["Found", "Known", "Statement", "extract", "known", "noted"]

_RULES: Final[tuple[Callable[[Clause], Iterable[Found]], ...]] = (
    profile,
    food,
    relations,
    lambda clause: list(preferences(clause)) or likes(clause),
    plans,
    mood,
)


def extract(text: str, at: datetime) -> list[Found]:
    """What one message of a user says of him, in order; days count from `at`, when it was said.

    Of two statements about the same key the later stands. Quotes, code, pasted text, questions, what-ifs, and what
    others do, say nothing of the user.
    """
    said = [one for clause in clauses(text, with_zone(at)) for rule in _RULES for one in rule(clause)]
    return sorted({(one.key, one.ended): one for one in said}.values(), key=lambda one: (one.span, one.key))


def noted(text: str, at: datetime) -> list[Found]:
    """What a note that someone else took says of a user: "The user lives in Oslo", "User's name is Ada", or "I …"."""
    said = in_first_person(text)
    return extract(text, at) if said == text else [replace(one, span=(0, len(text))) for one in extract(said, at)]
