"""The summary: how many of the names, numbers and wanted messages of a conversation do 400 tokens of it hold?

Beside it, the first sentences, the last ones and random ones, as many as fit the same tokens. A name is a capitalised
word inside a sentence, but for those of the speakers, whom every line shows anyway; names and numbers are found by
other rules than the summary's own. A wanted message is one that a question of the data set needs.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from _report import ROOT, Goal, arguments, publish, table

from recollect.flow.days import written
from recollect.flow.summarise import Said, Sentence, fold, render, score
from recollect.layers.summary import telling
from recollect.tokens import estimate

DATA = Path(os.environ.get("RECOLLECT_SHARED") or ROOT.parent / "shared") / "data" / "dev"
TOKENS, EVERY = 400, 12
NAME = re.compile(r"(?<=[a-z0-9,] )[A-Z][a-z]{2,}\b")
NUMBER = re.compile(r"\d[\d.,]*\d|\d")
LIST_MARK = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
HOW = ("summary", "first sentences", "last sentences", "random sentences")
Talk = list[Said]


def talks(name: str, whole: bool) -> Iterator[tuple[Talk, set[str]]]:
    """Sessions, or whole conversations, with the ids of the messages that questions need."""
    wanted: dict[str, set[str]] = {}
    for line in (DATA / f"{name}.questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        wanted.setdefault(question["conversation_id"], set()).update(question["evidence"])
    for line in (DATA / f"{name}.conversations.jsonl").read_text("utf-8").splitlines():
        conversation = json.loads(line)
        sessions = [
            [{**turn, "day": _day(session)} for turn in session["turns"]] for session in conversation["sessions"]
        ]
        for turns in [list(chain(*sessions))] if whole else sessions:
            yield _talk(turns, peers=name == "locomo"), wanted.get(conversation["conversation_id"], set())


def _talk(turns: list[dict[str, str]], peers: bool) -> Talk:
    return [
        Said(turn["turn_id"], n, "user" if peers else turn["role"], turn["speaker"], turn["text"], turn["day"])
        for n, turn in enumerate(turns, 1)
    ]


def _day(session: dict[str, str]) -> str:
    return written(datetime.fromisoformat(session["date"]))


def chosen(talk: Talk) -> dict[str, list[Sentence]]:
    """The sentences that each way of choosing gives."""
    rolling: list[Sentence] = []
    for start in range(0, len(talk), EVERY):
        rolling = fold(rolling, talk[start : start + EVERY], TOKENS, estimate, telling)
    found = score(talk)
    shuffled = Random(len(talk)).sample(found, len(found))
    return dict(zip(HOW, (rolling, _fill(found), _fill(found[::-1]), _fill(shuffled)), strict=True))


def _fill(found: Sequence[Sentence]) -> list[Sentence]:
    taken: list[Sentence] = []
    for sentence in found:
        if estimate(render(sorted([*taken, sentence], key=lambda one: one.seq))) > TOKENS:
            break
        taken.append(sentence)
    return taken


def told(text: str) -> tuple[set[str], set[str]]:
    plain = LIST_MARK.sub("", text)
    return set(NAME.findall(plain)), set(NUMBER.findall(plain))


def measure(name: str, whole: bool, every: int) -> dict[str, list[float]]:
    """Shares of names, numbers and wanted messages by way of choosing."""
    held = {how: [0, 0, 0] for how in HOW}
    there = [0, 0, 0]
    for talk, wanted in list(talks(name, whole))[::every]:
        names, numbers = told("\n".join(message.text for message in talk))
        names -= {message.speaker for message in talk}
        ids = {message.id for message in talk} & wanted
        for n, group in enumerate((names, numbers, ids)):
            there[n] += len(group)
        for how, sentences in chosen(talk).items():
            in_names, in_numbers = told("\n".join(sentence.text for sentence in sentences))
            for n, group in enumerate((names & in_names, numbers & in_numbers, ids & {s.id for s in sentences})):
                held[how][n] += len(group)
    return {how: [part / max(1, all_) for part, all_ in zip(held[how], there, strict=True)] for how in HOW}


def main() -> int:
    args = arguments(__doc__ or "")
    if not DATA.exists():
        print(f"skipped: the conversations are not in {DATA}; set RECOLLECT_SHARED", file=sys.stderr)
        return 0
    rows: list[tuple[str, ...]] = [("", "names", "numbers", "wanted messages")]
    figures, goals = dict[str, Any](), list[Goal]()
    for name in ("locomo", "lme"):
        for whole in (False, True):
            label = f"{name}, {'whole conversations' if whole else 'sessions'}"
            shares = measure(name, whole, 4 if args.quick else 1)
            figures[label] = shares
            rows += [(f"{label}: {how}", *(f"{share:.1%}" for share in shares[how])) for how in HOW]
            best = [max(shares[how][n] for how in HOW[1:]) for n in range(2)]
            goals += [
                Goal(f"{label}, {what}, beside the best baseline", shares["summary"][n], best[n], True, "{:.1%}")
                for n, what in enumerate(("names", "numbers"))
            ]
    return publish("summary", table(rows), figures, goals, args)


if __name__ == "__main__":
    sys.exit(main())
