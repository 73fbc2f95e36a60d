"""What a user tells over some days, and the facts of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.answers import Candidate, Fact
from recollect.flow.facts import Found, as_statement, stated
from recollect.layers.semantic import JOB, Semantic
from recollect.store import Store
from recollect.types import Message, Scope

START = datetime(2025, 5, 12, 9, tzinfo=UTC)
ADA = Scope("acme", "ada")
TRIP, WORK = Scope("acme", "ada", "trip"), Scope("acme", "ada", "work")


def day(n: float) -> datetime:
    return START + timedelta(days=n)


def say(store: Store, text: str, on: float = 0, scope: Scope = TRIP, **fields: Any) -> str:
    """The id of a turn's first message."""
    turn = [Message("user", text, at=day(on), **fields), Message("assistant", "I live in a data centre.", at=day(on))]
    return store.log.append(scope, turn, jobs=[JOB])[0].message.id


def work(layer: Semantic, store: Store) -> int:
    """Do the jobs that are due."""
    learned = 0
    while jobs := store.jobs.claim(("facts",), worker="w"):
        learned += layer.learn(jobs[0])
    return learned


def values(facts: list[Fact]) -> dict[str, str]:
    return {fact.key: fact.value for fact in facts}


def lines(offered: list[Candidate]) -> list[str]:
    return [candidate.text for candidate in offered if not candidate.out]


def answered(before: str, question: str, text: str, at: datetime) -> list[Found]:
    """What a short answer says with the question that it answers; `before` is the user's message before that."""
    return stated(as_statement(question, text, before), text, at)
