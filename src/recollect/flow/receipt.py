"""The receipt: what became of every message, by which rule, at what price."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Verdict: TypeAlias = Literal["kept", "shortened", "dropped"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One message's line: its tokens as it came, the tokens it has now, and the rule that decided."""

    index: int
    id: str
    role: str
    tokens: int
    shown: int
    verdict: Verdict
    rule: str

    @property
    def label(self) -> str:
        """The line in a few words, for an error."""
        return f"message {self.index} ({self.role}, {self.shown})"


@dataclass(frozen=True, slots=True)
class Receipt:
    """Every message's line, and how they add up: overhead + shown tokens = tokens <= budget."""

    entries: tuple[Entry, ...]
    tokens: int
    overhead: int
    budget: int | None

    def count(self, verdict: Verdict) -> int:
        """How many messages met that fate."""
        return sum(entry.verdict == verdict for entry in self.entries)

    @property
    def sections(self) -> dict[str, int]:
        """Where the tokens go: overhead (tools and the reply), system, pinned, history, and what is free."""
        sections = {"overhead": self.overhead, "system": 0, "pinned": 0, "history": 0}
        for entry in self.entries:
            section = "system" if entry.role == "system" else "pinned" if entry.rule == "pinned turn" else "history"
            sections[section] += entry.shown
        return sections if self.budget is None else {**sections, "free": self.budget - self.tokens}

    def to_dict(self) -> dict[str, Any]:
        """Stable JSON: the same decisions give the same data."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{'#':>6}  {'role':<9}  {'tokens':>7}  {'shown':>7}  {'verdict':<9}  rule"
        for run in _runs(self.entries):
            first, last = run[0], run[-1]
            place = f"{first.index}" if first is last else f"{first.index}-{last.index}"
            role = first.role if len({entry.role for entry in run}) == 1 else "…"
            tokens, shown = sum(e.tokens for e in run), sum(e.shown for e in run)
            yield f"{place:>6}  {role:<9}  {tokens:>7,}  {shown:>7,}  {first.verdict:<9}  {first.rule}"
        limit = "no budget" if self.budget is None else f"budget {self.budget:,}"
        fates = ", ".join(f"{self.count(v)} {v}" for v in ("kept", "shortened", "dropped"))
        yield f"{self.tokens:,} tokens, {self.overhead:,} of them overhead; {limit}; {fates}"


def _together(one: Entry, next_one: Entry) -> bool:
    return (
        one.verdict == next_one.verdict == "dropped" and one.rule == next_one.rule and next_one.index == one.index + 1
    )


def _runs(entries: tuple[Entry, ...]) -> Iterator[list[Entry]]:
    """Neighbours dropped by one rule share a line; everything else has its own."""
    run: list[Entry] = []
    for entry in entries:
        if run and not _together(run[-1], entry):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run
