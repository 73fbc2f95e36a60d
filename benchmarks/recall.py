"""Recall as the evaluator measures it: does the evidence reach the context? Public API alone.

`factory(count_tokens, workdir)` is what the evaluator wants. Run as a script with the evaluator's folder:
    python benchmarks/recall.py --shared ../shared [--write]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect import Memory, Message

USER = "someone"


class System:
    """The evaluator's turns in, hits out."""

    def __init__(self, count_tokens: Callable[[str], int], workdir: str) -> None:
        self.memory = Memory.open(Path(workdir) / "memory.db", counter=count_tokens, durability="normal")

    def add(self, turns: Sequence[dict[str, Any]]) -> None:
        for turn in turns:
            at = datetime.fromisoformat(turn["date"])
            message = Message(turn["role"], turn["text"], id=turn["turn_id"], name=turn["speaker"], at=at)
            self.memory.session(turn["session_id"], user=USER).add(message)

    def retrieve(self, question: str, budget: int | None, asked_at: str) -> list[tuple[list[str], str]]:
        if budget is None:
            return [([id], "") for id in self.rank(question, 50, asked_at)]
        hits = self._asking().recall(question, budget, at=datetime.fromisoformat(asked_at))
        return [(list(hit.message_ids), hit.text) for hit in hits]

    def rank(self, question: str, k: int, asked_at: str) -> list[str]:
        hits = self._asking().search(question, k, at=datetime.fromisoformat(asked_at))
        return [hit.message_ids[0] for hit in hits]

    def close(self) -> None:
        self.memory.close()

    def _asking(self) -> Any:
        self.memory.drain()
        return self.memory.session("question", user=USER)


factory = System
