"""What notes of another memory say, read by the rules: a note's key does not tell what it is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from recollect.answers import Fact
from recollect.flow.facts import noted
from recollect.flow.facts.found import Found

_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""What a note is about doesn't depend on its day."""


def read_note(note: str) -> list[Found]:
    """What the rules find in a note, which may lack a subject: "Lives in Oslo", "Name is Ada"."""
    start = note[:1].lower() + note[1:]
    said = note, f"The user {start}", f"The user's {start}"
    return next((found for text in said if (found := noted(text, _ANY_DAY))), [])


def readings(fact: Fact) -> tuple[tuple[str, str], ...]:
    """The key and value of a fact; for a note, also those of what it says."""
    return ((fact.key, fact.value), *fact.says)
