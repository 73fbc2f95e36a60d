"""Does the evidence reach the prompt? Beside mem0, LangGraph's store, Chroma and a window, with the same embedder.

Each is given every turn, with its speaker in front as ours embeds it, and gives back what it finds for a question, best
first. What is too large for the rest of the budget is left out, and the next is tried.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import turn
from _report import Goal, arguments, publish, table
from _timing import say
from recall import BUDGETS, GOALS, Fed, Kept, at_hand, full, run, shares

from recollect.data_folder import data_dir
from recollect.embed import Embedder, Kind

MOST = 200
"""How many of the nearest are asked for: more than the largest budget holds."""


class Rival(Protocol):
    """A memory that keeps texts by their ids and finds the ids of those that are nearest to a question."""

    def keep(self, texts: Mapping[str, str]) -> None: ...
    def find(self, question: str) -> list[str]: ...
    def close(self) -> None: ...


class Window:
    """The newest messages, whatever is asked."""

    name = "the newest messages"

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.ids: list[str] = []

    def keep(self, texts: Mapping[str, str]) -> None:
        self.ids += texts

    def find(self, question: str) -> list[str]:
        return self.ids[::-1]

    def close(self) -> None: ...


class LangGraph(turn.LangGraph):
    def keep(self, texts: Mapping[str, str]) -> None:
        from langgraph.store.base import PutOp

        self.store.batch([PutOp((turn.ME,), id, {"text": text}) for id, text in texts.items()])

    def find(self, question: str) -> list[str]:
        return [item.key for item in self.store.search((turn.ME,), query=question, limit=MOST)]


class Chroma(turn.Chroma):
    def keep(self, texts: Mapping[str, str]) -> None:
        vectors = self.embedder.embed([*texts.values()], kind="passage").tolist()
        self.collection.add(ids=[*texts], embeddings=vectors, documents=[*texts.values()])

    def find(self, question: str) -> list[str]:
        vector = self.embedder.embed([question], kind="query").tolist()
        found: list[str] = self.collection.query(query_embeddings=vector, n_results=MOST)["ids"][0]
        return found


class ByAction:
    """The embedder as mem0 asks for vectors; its own way to those of LangChain makes a question of every text."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed(self, text: str, memory_action: str) -> list[float]:
        kind: Kind = "query" if memory_action == "search" else "passage"
        vector: list[float] = self.embedder.embed([text], kind=kind)[0].tolist()
        return vector


class Mem0(turn.Mem0):
    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        self.memory.embedding_model = ByAction(embedder)

    def keep(self, texts: Mapping[str, str]) -> None:
        for id, text in texts.items():
            self.memory.add(text, user_id=turn.ME, metadata={"turn": id}, infer=False)

    def find(self, question: str) -> list[str]:
        found = self.memory.search(question, filters={"user_id": turn.ME}, top_k=MOST, threshold=0.0)
        return [item["metadata"]["turn"] for item in found["results"]]


RIVALS: tuple[Any, ...] = (Window, LangGraph, Chroma, Mem0)


class System:
    """One of them, as the evaluator wants it."""

    def __init__(self, count: Callable[[str], int], rival: Rival) -> None:
        self.count, self.rival = count, rival
        self.texts: dict[str, str] = {}
        self.found: dict[str, list[str]] = {}

    def add(self, turns: Sequence[dict[str, Any]]) -> None:
        texts = {turn["turn_id"]: f"{turn['speaker']}: {turn['text']}" for turn in turns}
        self.texts |= texts
        self.rival.keep(texts)

    def rank(self, question: str, k: int, asked_at: str) -> list[str]:
        if question not in self.found:
            self.found[question] = self.rival.find(question)
        return self.found[question][:k]

    def retrieve(self, question: str, budget: int, asked_at: str) -> list[tuple[str, str]]:
        kept = []
        for id in self.rank(question, MOST, asked_at):
            if (size := self.count(self.texts[id]) + 1) <= budget:
                kept.append((id, self.texts[id]))
                budget -= size
        return kept

    def close(self) -> None:
        self.rival.close()


def against(
    rival: Callable[[Path, Embedder], Rival], embedder: Embedder
) -> Callable[[Callable[[str], int], str], System]:
    return lambda count, folder: System(count, rival(Path(folder), embedder))


def main() -> int:
    args = arguments(__doc__ or "")
    if not at_hand():
        return 0
    embedder = Kept(data_dir() / "benchmark-vectors.npz")
    makers: dict[str, Callable[[Callable[[str], int], str], Any]] = {
        "recollect": lambda count, _: Fed(count, embedder, None),
        "recollect, no model": lambda count, _: Fed(count, None, None),
    }
    makers |= {rival.name: against(rival, embedder) for rival in RIVALS}
    found: dict[str, dict[str, list[float]]] = {}
    for who, make in makers.items():
        say(f"{who} …")
        found[who] = {name: full(run(name, make, args.quick)) for name in GOALS}
        Fed.drop()
        embedder.save()
    rows = [("", *(f"{name} {budget:,}" for name in GOALS for budget in BUDGETS))]
    rows += [(who, *(cell for name in GOALS for cell in shares(by[name]))) for who, by in found.items()]
    ours, *others = (found[who] for who in found if who != "recollect, no model")
    goals = [
        Goal(
            f"{name} full@{budget:,}, beside the best of them",
            ours[name][n],
            max(other[name][n] for other in others),
            at_least=True,
            form="{:.3f}",
        )
        for name in GOALS
        for n, budget in enumerate(BUDGETS)
    ]
    peers = ", ".join(f"{name} {version(name)}" for name in ("langgraph-checkpoint-sqlite", "chromadb", "mem0ai"))
    return publish("evidence", f"{table(rows)}\n\n{peers}.", {"full": found}, goals, args)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        raise SystemExit(main())
