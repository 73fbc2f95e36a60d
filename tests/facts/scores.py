"""How well facts are found: the labelled sets, and precision and recall by type.

A line of a set is an utterance said on SAID, and what it says of its speaker: `[type, key, value]`, and for something
due `[type, key, value, day]`; a value that ended is "ended VALUE". `utterances.jsonl` is what rules may be tuned on;
`held_out.jsonl` was written before the first rule and is only measured. `typed.jsonl` is as people type, in
rounds, and so is `plain.jsonl` in plain English, each measured before its misses were read but for 11 and 13 to 16,
and 9 and 11 as typed, which were written along with their rules.

A line of `dialogues.jsonl` is a conversation, and what is known of its user at the end; these are in rounds as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect.answers import FACT_TYPES, Fact
from recollect.flow.facts import Found, extract
from recollect.flow.facts.people import CALLED
from recollect.layers.semantic import Semantic
from recollect.store import open as open_store
from recollect.types import Message, Role, Scope

HERE = Path(__file__).parent
SAID = datetime(2025, 5, 14, 10, tzinfo=UTC)
SETS = {
    "tuned on": HERE / "utterances.jsonl",
    "held out": HERE / "held_out.jsonl",
    "as typed": HERE / "typed.jsonl",
    "in plain English": HERE / "plain.jsonl",
}
DIALOGUES = HERE / "dialogues.jsonl"
TALK = Scope("acme", "ada", "talk")
Label = tuple[str, ...]


@dataclass(frozen=True)
class Utterance:
    text: str
    facts: frozenset[Label]
    negative: str = ""


@dataclass(frozen=True)
class Dialogue:
    said: tuple[tuple[Role, str], ...]
    facts: frozenset[Label]


@dataclass
class Score:
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)

    def precision(self, type: str | None = None) -> float:
        return _share(_count(self.right, type), _count(self.wrong, type))

    def recall(self, type: str | None = None) -> float:
        return _share(_count(self.right, type), _count(self.missed, type))

    def compare(self, text: str, found: frozenset[Label], meant: frozenset[Label]) -> None:
        for count, facts in (
            (self.right, found & meant),
            (self.wrong, found - meant),
            (self.missed, meant - found),
        ):
            count.update(fact[0] for fact in facts)
        if found != meant:
            self.mistakes.append(f"{text!r}: found {sorted(found)}, meant {sorted(meant)}")


def utterances(path: Path) -> list[Utterance]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Utterance(row["text"], frozenset(map(tuple, row["facts"])), row.get("negative", "")) for row in rows]


def dialogues() -> list[Dialogue]:
    rows = [json.loads(line) for line in DIALOGUES.read_text("utf-8").splitlines()]
    return [Dialogue(tuple(map(tuple, row["said"])), frozenset(map(tuple, row["facts"]))) for row in rows]


def labels(found: Iterable[Found]) -> frozenset[Label]:
    """What is found, but for what is said of someone by name alone: that is no fact of the speaker by itself."""
    return frozenset(_label(one) for one in found if one.ended or not one.key.startswith(f"{CALLED}:"))


def _label(one: Found) -> Label:
    value = f"ended {one.value}".strip() if one.ended else one.value
    due = one.type == "action_item" and one.valid_to
    day = ((one.valid_to - timedelta(days=1)).date().isoformat(),) if due and one.valid_to else ()
    return (one.type, one.key, value, *day)


def score(path: Path) -> Score:
    total = Score()
    for utterance in utterances(path):
        total.compare(utterance.text, labels(extract(utterance.text, SAID)), utterance.facts)
    return total


def score_dialogues() -> Score:
    total = Score()
    for dialogue in dialogues():
        with open_store(":memory:") as store:
            for n, (role, text) in enumerate(dialogue.said):
                store.log.append(TALK, [Message(role, text, at=SAID + timedelta(minutes=n))])
            facts = Semantic(store)
            facts.catch_up(TALK)
            known = frozenset(_known(fact) for fact in facts.facts(TALK) if fact.type != "sentiment")
        total.compare(" | ".join(text for _, text in dialogue.said), known, dialogue.facts)
    return total


def _known(fact: Fact) -> Label:
    return (fact.type, fact.key, fact.value)


def rows(total: Score) -> list[tuple[str, ...]]:
    """The lines of a table: type, how many there are, precision, recall."""
    head = ("", "facts", "found", "precision", "recall")
    return [head, *(_row(total, type) for type in FACT_TYPES), _row(total, None)]


def _row(total: Score, type: str | None) -> tuple[str, ...]:
    right = _count(total.right, type)
    return (
        type or "all",
        str(right + _count(total.missed, type)),
        str(right + _count(total.wrong, type)),
        f"{total.precision(type):.3f}",
        f"{total.recall(type):.3f}",
    )


def _count(counts: Counter[str], type: str | None) -> int:
    return counts.total() if type is None else counts[type]


def _share(right: int, other: int) -> float:
    return right / (right + other) if right + other else 1.0
