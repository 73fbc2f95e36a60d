"""Facts: how many are found, how many of them are right, by type, and how long a message takes."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from _report import ROOT, Goal, arguments, publish, table

from recollect.flow.facts import extract

sys.path.insert(0, str(ROOT))
from tests.facts.scores import SETS, dialogues, rows, score, score_dialogues, utterances

PAGE = ROOT / "docs" / "facts.md"
SHARED = Path(os.environ.get("RECOLLECT_SHARED") or ROOT.parent / "shared")
AT = datetime(2025, 5, 14, tzinfo=UTC)


def messages() -> list[str]:
    """Real messages of users, where the shared data is there; else the labelled ones."""
    chats = SHARED / "data" / "dev" / "lme.conversations.jsonl"
    if not chats.exists():
        return [one.text for path in SETS.values() for one in utterances(path)]
    talks = [json.loads(line) for line in chats.read_text("utf-8").splitlines()]
    turns = [turn for talk in talks for session in talk["sessions"] for turn in session["turns"]]
    return [turn["text"] for turn in turns if turn["role"] == "user"]


def seconds(texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        extract(text, AT)
    return time.process_time() - start


def main() -> int:
    args = arguments(__doc__ or "")
    scores = {name: score(path) for name, path in SETS.items()}
    talks, quiet = dialogues(), sum(not one.facts for one in dialogues())
    texts = messages()
    each = min(seconds(texts) for _ in range(1 if args.quick else 5)) / len(texts) * 1e6
    large = min(seconds(["I like tea and I live in Oslo, so what? " * 25_000]) for _ in range(3)) * 1e3
    parts = [
        f"{name}: {len(utterances(SETS[name]))} utterances, {sum(not u.facts for u in utterances(SETS[name]))} of them "
        f"say nothing of the speaker.\n\n{table(rows(total))}"
        for name, total in scores.items()
    ]
    scores["in dialogues"] = score_dialogues()
    parts.append(
        f"in dialogues: {len(talks)} dialogues, {quiet} of them say nothing of the user.\n\n"
        f"{table(rows(scores['in dialogues']))}"
    )
    cost = f"{len(texts):,} messages: {each:,.0f} µs of CPU each; one message of 1 MB: {large:,.0f} ms."
    goals = [
        Goal(f"precision, {name}", total.precision(), 0.95, at_least=True, form="{:.3f}")
        for name, total in scores.items()
    ]
    figures = {"µs a message": each, "ms for 1 MB": large, **{name: rows(total) for name, total in scores.items()}}
    return publish("facts", "\n\n".join([*parts, cost]), figures, goals, args, PAGE)


if __name__ == "__main__":
    sys.exit(main())
