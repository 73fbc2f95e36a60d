"""Receipts: what became of everything, by which rule, for how many tokens.

A window's `Receipt` has an entry for every message. A context's `ContextReceipt` has a line for every message of the
conversation and for everything that memory offered beside it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from recollect.answers import Candidate
from recollect.flow.fence import TITLES

CONVERSATION: Final = ("system", "working", "question")
"""The sections of a context that memory has no part in."""
Verdict: TypeAlias = Literal["kept", "shortened", "dropped"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one message: its original tokens, the tokens that are shown, and the rule that decided."""

    index: int
    id: str
    role: str
    tokens: int
    shown: int
    verdict: Verdict
    rule: str

    @property
    def label(self) -> str:
        """Which message it is, for an error: by its id, else by its number from 1."""
        return f"{self.role} message {self.id or self.index + 1}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a window: an entry for every message, with overhead + shown tokens = tokens <= budget."""

    entries: tuple[Entry, ...]
    tokens: int
    overhead: int
    budget: int | None

    def count(self, verdict: Verdict) -> int:
        """How many messages have that verdict."""
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


def _runs(entries: tuple[Entry, ...]) -> list[list[Entry]]:
    """The entries by lines of the printed receipt: neighbours dropped by the same rule share one."""

    def line(numbered: tuple[int, Entry]) -> object:
        n, entry = numbered
        return (entry.rule, entry.index - n) if entry.verdict == "dropped" else n

    return [[entry for _, entry in run] for _, run in groupby(enumerate(entries), line)]


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one candidate: its tokens, the tokens it has in the prompt, and the rule that decided.

    `sessions` has the session of each of its sources; it is empty if those are the conversation's own, or chunks of
    documents. `records` are the ids of the records that it was read from.
    """

    section: str
    text: str
    tokens: int
    shown: int
    rule: str
    score: float = 0.0
    sources: tuple[str, ...] = ()
    origin: str = ""
    at: datetime | None = None
    sessions: tuple[str, ...] = ()
    records: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, candidate: Candidate, tokens: int, shown: int, rule: str) -> Line:
        """The line of something a layer offered."""
        return cls(
            candidate.section,
            candidate.text,
            tokens,
            shown,
            rule,
            candidate.score,
            candidate.sources,
            candidate.origin,
            candidate.at,
            candidate.sessions,
            candidate.records,
        )

    def offer(self, out: str) -> Candidate:
        """The candidate that the layer offered, to be left out by the rule `out` unless that is empty."""
        return Candidate(
            self.section, self.text, self.score, self.origin, self.sources, self.at, out, self.sessions, self.records
        )

    @property
    def kept(self) -> bool:
        """Whether it is in the prompt."""
        return self.shown > 0

    @property
    def label(self) -> str:
        """What it belongs to, for an error: a message of the conversation by its id, or the section."""
        return f"message {self.sources[0]}" if self.section in CONVERSATION and self.sources else self.section

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "section": self.section,
            "text": self.text,
            "tokens": self.tokens,
            "shown": self.shown,
            "kept": self.kept,
            "rule": self.rule,
            "score": round(self.score, 6),
            "sources": list(self.sources),
            "sessions": list(self.sessions),
            "origin": self.origin,
            "at": self.at.isoformat() if self.at else None,
        }


@dataclass(frozen=True, slots=True)
class ContextReceipt:
    """The receipt of a context: shown tokens and overhead (tools, fences, the reply's start) add up to `tokens`.

    The overhead can be negative, because many short lines count for more one by one than all together.
    """

    lines: tuple[Line, ...]
    tokens: int
    overhead: int
    budget: int

    @property
    def sections(self) -> dict[str, int]:
        """Where the tokens go, by section, and what is free."""
        spent: Counter[str] = Counter()
        for line in self.lines:
            spent[line.section] += line.shown
        order = ("system", *TITLES, "working", "question")
        return {
            "overhead": self.overhead,
            **{name: spent[name] for name in order if name in spent},
            "free": self.budget - self.tokens,
        }

    def to_dict(self) -> dict[str, Any]:
        """Stable JSON: the same decisions give the same data."""
        return {
            "tokens": self.tokens,
            "overhead": self.overhead,
            "budget": self.budget,
            "sections": self.sections,
            "lines": [line.to_dict() for line in self.lines],
        }

    def __str__(self) -> str:
        return "\n".join(self._table())

    def _table(self) -> Iterator[str]:
        yield f"{'section':<9}  {'tokens':>7}  {'shown':>7}  {'score':>6}  {'why':<26}  what"
        for line in self.lines:
            what = " ".join(line.text.split())
            what = what if len(what) <= 60 else f"{what[:59]}…"
            score = f"{line.score:6.2f}" if line.section not in CONVERSATION else " " * 6
            yield f"{line.section:<9}  {line.tokens:>7,}  {line.shown:>7,}  {score}  {line.rule:<26}  {what}".rstrip()
        apart = f", {self.overhead:,} of them overhead" if self.overhead > 0 else ""
        yield f"{self.tokens:,} of {self.budget:,} tokens{apart}"
