"""Recall: does the evidence reach the context, what is each signal worth, and how long does a search take?

`factory(count_tokens, workdir)` is what the evaluator wants: `evaluate.py --system recall:factory`. As a script it runs
the evaluator over both sets, by `recall` and by `context`, then again without each signal, then measures latency.
Vectors are kept between runs, and every conversation is fed once for all evaluations with the same embedder.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from _report import ROOT, Goal, arguments, publish, table
from _searches import latency
from _unrelated import UNRELATED

from recollect import Memory, Message, Session, Settings, counter, embed
from recollect.data_folder import data_dir
from recollect.embed import Kind
from recollect.flow import rank
from recollect.settings import DEFAULTS
from recollect.types import Scope

USER = "someone"
SHARED = Path(os.environ.get("RECOLLECT_SHARED") or ROOT.parent / "shared")
BUDGETS = (400, 800, 2_000, 4_000)
GOALS = {"locomo": (0.74, 0.82, 0.89, 0.93), "lme": (0.75, 0.85, 0.92, 0.95)}
OPEN = Settings(
    memory_tokens=None, episodic_tokens=None, documents_tokens=0, episodic_top_k=None, episodic_recency_weight=0.0
)
"""A context without a cap on what is recalled."""
ALONE = replace(OPEN, profile_tokens=0, facts_tokens=0, hints_tokens=0)
"""One that recalls and nothing else."""
WITHOUT = {
    "meaning": {"MEANING": 0.0, "NEIGHBOURS_MEANING": 0.0},
    "neighbours' meaning": {"NEIGHBOURS_MEANING": 0.0},
    "keywords": {"KEYWORDS": 0.0},
    "neighbours' words": {"LENT": 0.0},
    "speaker": {"SPEAKER": 0.0},
    "user's own words": {"OWN_WORDS": 0.0},
    "dates": {"DATE": 0.0},
    "mark on questions": {"ASKS": 0.0},
    "not said yet": {"NOT_YET": 0.0},
    "length": {"LENGTH": 0.0},
    "session": {"SESSION": 0.0},
    "answers": {"ANSWER": 0.0},
}


class System:
    """The evaluator's turns in, hits out; the public API alone."""

    relevances: list[float] | None = None

    def __init__(self, count_tokens: Callable[[str], int], workdir: str, embedder: Any = "auto") -> None:
        file = Path(workdir) / "memory.db"
        self.memory = Memory.open(file, counter=count_tokens, durability="normal", embedder=embedder)

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
        if self.relevances is not None:
            self.relevances.append(hits.relevance)
        return [hit.message_ids[0] for hit in hits]

    def close(self) -> None:
        self.memory.close()

    def _asking(self) -> Session:
        self.memory.drain()
        return self.memory.session("question", user=USER)


factory = System


class Fed(System):
    """A system that finds a conversation which was fed before as it was left then; asked for a context by settings."""

    kept: ClassVar[dict[tuple[object, ...], tuple[Memory, str]]] = {}

    def __init__(self, count_tokens: Callable[[str], int], embedder: Any, settings: Settings | None) -> None:
        self.count, self.embedder, self.settings = count_tokens, embedder, settings

    def add(self, turns: Sequence[dict[str, Any]]) -> None:
        key = (self.embedder, *(turn["turn_id"] for turn in turns))
        if key not in self.kept:
            folder = tempfile.mkdtemp(prefix="recall-benchmark-")
            self.memory = Memory.open(
                Path(folder) / "memory.db",
                counter=self.count,
                durability="normal",
                embedder=self.embedder,
            )
            super().add(turns)
            self.kept[key] = self.memory, folder
        self.memory, _ = self.kept[key]

    def retrieve(self, question: str, budget: int | None, asked_at: str) -> list[tuple[list[str], str]]:
        if budget is None or self.settings is None:
            return super().retrieve(question, budget, asked_at)
        self.memory.controller.settings = self.settings
        lines = self._asking().context(question, budget, at=datetime.fromisoformat(asked_at)).offered
        return [(list(line.sources), line.text) for line in lines if line.kept]

    def close(self) -> None: ...

    @classmethod
    def forget_ranking(cls) -> None:
        """Have every turn weighed anew."""
        for memory, _ in cls.kept.values():
            memory.layers.episodic.forget(Scope("default", USER))

    @classmethod
    def drop(cls) -> None:
        """Close and remove what was fed."""
        for memory, folder in cls.kept.values():
            memory.close()
            shutil.rmtree(folder)
        cls.kept.clear()


class Kept:
    """An embedder that keeps every vector in a file, so that only the first run pays for them."""

    def __init__(self, file: Path) -> None:
        inner = embed.open("auto")
        if inner is None:
            raise SystemExit("the local model is not here: recollect models pull e5-small-v2")
        self.file, self.inner = file, inner
        self.name, self.dimension = inner.name, inner.dimension
        self.vectors: dict[str, Any] = {}
        if file.exists():
            with np.load(file) as kept:
                self.vectors = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
        for text in dict.fromkeys(texts):
            if f"{kind} {text}" not in self.vectors:
                self.vectors[f"{kind} {text}"] = self.inner.embed([text], kind=kind)[0]
        rows = [self.vectors[f"{kind} {text}"] for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.dimension)

    def save(self) -> None:
        np.savez(self.file, texts=list(self.vectors), vectors=np.array(list(self.vectors.values())))


@contextmanager
def changed(weights: dict[str, float]) -> Iterator[None]:
    before = {name: getattr(rank, name) for name in weights}
    for name, value in weights.items():
        setattr(rank, name, value)
    Fed.forget_ranking()
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(rank, name, value)
        Fed.forget_ranking()


def run(
    name: str, make: Callable[[Callable[[str], int], str], Any], quick: bool, rows: Path | None = None
) -> dict[str, Any]:
    """What the evaluator says of a system; in the file, if there is one, a line for each question."""
    sys.path.insert(0, str(SHARED / "eval"))
    import evaluate

    evaluate.counters = lambda: {"cl100k": cached(counter("tiktoken:cl100k_base"))}
    data, conversations = str(SHARED / "data" / "dev"), 1 if quick else None
    result: dict[str, Any] = evaluate.evaluate(
        make, data, name, BUDGETS, limit_conv=conversations, feed="all", per_question=rows and str(rows)
    )
    return result


def evaluated(name: str, embedder: Any, quick: bool, settings: Settings | None = None) -> dict[str, Any]:
    System.relevances = []
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        result = run(name, lambda count, _: Fed(count, embedder, settings), quick, rows)
        answerable = [json.loads(line)["answerable"] for line in rows.read_text("utf-8").splitlines()]
    result["auc"] = auc(answerable, System.relevances)
    return result


def floored(name: str, embedder: Any, quick: bool) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    """What the floor leaves out: of whole conversations, and of stores that hold one session alone."""
    import evaluate

    count = cached(counter("tiktoken:cl100k_base"))
    found: dict[str, list[tuple[bool, bool, bool]]] = {"whole conversations": [], "single sessions": []}
    conversations, questions = evaluate.load(str(SHARED / "data" / "dev"), name)
    for id, conversation in list(conversations.items())[: 1 if quick else None]:
        turns, fed = evaluate.turns_of(conversation), Fed(count, embedder, ALONE)
        asked = [(q, q["evidence_sessions"]) for q in questions[id] if q["answerable"] and q["evidence"]]
        fed.add(turns)
        found["whole conversations"] += _asked(fed.memory, [q for q, _ in asked])
        for session in dict.fromkeys(turn["session_id"] for turn in turns):
            if about := [q for q, sessions in asked if sessions == [session]]:
                with tempfile.TemporaryDirectory() as folder, closing(System(count, folder, embedder)) as one:
                    one.add([turn for turn in turns if turn["session_id"] == session])
                    one.memory.drain()
                    found["single sessions"] += _asked(one.memory, about)
    rows, lost = list[tuple[str, ...]](), dict[str, float]()
    for what, answers in found.items():
        free = [with_floor for unrelated, _, with_floor in answers if unrelated]
        before = [without for unrelated, without, _ in answers if unrelated]
        nothing = [without and not with_floor for unrelated, without, with_floor in answers if not unrelated]
        lost[what] = 100 * sum(nothing) / len(nothing)
        told = (f"{sum(before) / len(before):.1%}", f"{sum(free) / len(free):.1%}", f"{lost[what]:.2f}")
        rows.append((f"{name}, {what}", *told))
    return rows, lost


def _asked(memory: Memory, questions: Sequence[dict[str, Any]]) -> list[tuple[bool, bool, bool]]:
    """For each question whether it is an unrelated one, and whether anything is recalled without and with the floor."""
    memory.controller.settings = ALONE
    now = datetime(2025, 1, 1, tzinfo=UTC)
    asked = [(False, q["question"], datetime.fromisoformat(q["asked_at"])) for q in questions]
    asked += [(True, text, now) for text in UNRELATED]
    layer, told = memory.layers.episodic, {}
    for floor in (1.0, DEFAULTS.episodic_floor):
        layer.floor = floor
        contexts = (memory.session("question", user=USER).context(text, 800, at=at) for _, text, at in asked)
        told[floor] = [bool(context.memory) for context in contexts]
    return [(one[0], *both) for one, both in zip(asked, zip(*told.values(), strict=True), strict=True)]


def auc(answerable: Sequence[bool], relevances: Sequence[float]) -> float:
    """How often a question with an answer gets a higher relevance than one without."""
    yes = [r for a, r in zip(answerable, relevances, strict=True) if a]
    no = [r for a, r in zip(answerable, relevances, strict=True) if not a]
    won = sum((y > n) + 0.5 * (y == n) for y in yes for n in no)
    return won / max(1, len(yes) * len(no))


def cached(count: Callable[[str], int]) -> Callable[[str], int]:
    known: dict[str, int] = {}
    return lambda text: known[text] if text in known else known.setdefault(text, count(text))


def full(result: dict[str, Any], rows: str = "overall") -> list[float]:
    found = result["overall"] if rows == "overall" else result["by_category"][rows]
    return [found[f"full@{budget}"] for budget in BUDGETS]


def shares(values: Sequence[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]


def quality(quick: bool) -> tuple[str, list[Goal], dict[str, Any]]:
    embedder = Kept(data_dir() / "benchmark-vectors.npz")
    results: dict[str, Any] = {}
    for name in GOALS:
        results[name] = evaluated(name, embedder, quick)
        embedder.save()
    heads = [f"full@{budget}" for budget in BUDGETS]
    rows = [("", *heads, "sessions all@5", "relevance AUC", "over budget")]
    for name, result in results.items():
        sessions = f"{result['overall']['s_all@5']:.3f}"
        over = str(sum(result["over_budget_calls"].values()))
        rows.append((name, *shares(full(result)), sessions, f"{result['auc']:.3f}", over))
        rows.extend((f"{name}: {c}", *shares(full(result, c)), "", "", "") for c in result["by_category"])
    contexts = {name: evaluated(name, embedder, quick, ALONE) for name in GOALS}
    everything = {name: evaluated(name, embedder, quick, OPEN) for name in GOALS}
    for name in GOALS:
        for what, result in (("`context`", contexts[name]), ("`context` with facts", everything[name])):
            over = str(sum(result["over_budget_calls"].values()))
            rows.append((f"{name}, by {what}", *shares(full(result)), "", "", over))
    worth = [("without", *(f"{name} {head}" for name in GOALS for head in heads))]
    for what, weights in {} if quick else WITHOUT.items():
        with changed(weights):
            less = {name: evaluated(name, embedder, quick) for name in GOALS}
        worth.append(
            (
                what,
                *(f"{(a - b) * 100:+.1f}" for n in GOALS for a, b in zip(full(less[n]), full(results[n]), strict=True)),
            )
        )
    goals = [
        Goal(f"{name} full@{budget}", value, bound, at_least=True, form="{:.3f}")
        for name, bounds in GOALS.items()
        for budget, value, bound in zip(BUDGETS, full(results[name]), bounds, strict=True)
    ]
    for what, found in (("recall alone", contexts), ("facts too", everything)):
        lost = max(a - b for n in GOALS for a, b in zip(full(results[n])[1:], full(found[n])[1:], strict=True))
        name = f"most points of full@B that `context` loses, 800 to 4,000, {what}"
        goals.append(Goal(name, lost * 100, 2.0, form="{:.1f}"))
    floors: list[tuple[str, ...]] = [
        ("", "recalled without a floor", "with it", "points of questions that lose their answer")
    ]
    for name in GOALS:
        told, gone = floored(name, embedder, quick)
        floors += told
        goals += [Goal(f"{name}, {what}: points the floor loses", points, 0.3) for what, points in gone.items()]
    embedder.save()
    goals.append(Goal("lme sessions all@5", results["lme"]["overall"]["s_all@5"], 0.94, at_least=True, form="{:.3f}"))
    Fed.drop()
    words = {name: evaluated(name, None, quick) for name in GOALS}
    rows.extend((f"{name}, no model", *shares(full(result)), "", "", "") for name, result in words.items())
    Fed.drop()
    text = f"{table(rows)}\n\nWhat is lost, in points of `full@B`, without each signal:\n\n{table(worth)}"
    text += f"\n\nHow often a context recalls anything for {len(UNRELATED)} unrelated questions:\n\n{table(floors)}"
    return text, goals, {"results": results, "contexts": contexts, "words": words}


def at_hand() -> bool:
    """Whether the evaluator is here, else says where it should be; keeps warnings of ours from between the figures."""
    if not (SHARED / "eval").exists():
        print(f"skipped: the evaluator is not in {SHARED}; set RECOLLECT_SHARED", file=sys.stderr)
        return False
    logging.getLogger("recollect").setLevel(logging.ERROR)
    return True


def main() -> int:
    args = arguments(__doc__ or "")
    if not at_hand():
        return 0
    speed, speed_goals = latency(args.quick)
    text, goals, figures = quality(args.quick)
    text += "\n\nA search into 800 tokens, ms of wall time, one thread, made-up words; `recall` re-ranks nothing."
    text += " The question's vector is the local model's, timed by itself and added to the rest"
    return publish("recall", f"{text}:\n\n{speed}", figures, [*goals, *speed_goals], args)


if __name__ == "__main__":
    sys.exit(main())
