"""The window beside its peers: the cost of one more message, and how much of each prompt a cache still knows.

Costs are microseconds of CPU (process time, garbage collection off) for one step: append a message and fit the
conversation to 8,000 tokens, starting from a history of the given length; the median of several runs.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import islice, takewhile
from pathlib import Path
from random import Random
from typing import Any

from _plot import growth
from _pruners import (
    LastItems,
    LlamaBuffer,
    LlamaMemory,
    Pruner,
    Recollect,
    RecollectCheck,
    RecollectCounting,
    Strands,
    StrandsAgent,
    TrimMessages,
    count,
)
from _report import ROOT, Goal, arguments, publish, table
from strands.types.exceptions import ContextWindowOverflowException

from recollect import parse
from recollect.types import Message, Text, ToolCall, ToolResult

BUDGET, STEPS, RUNS, CAP = 8_000, 500, 9, 30.0
SIZES = (1_000, 10_000, 100_000)
BUDGETS = (8_000, 32_000)
SPEED: tuple[type[Pruner], ...] = (
    RecollectCheck, Recollect, RecollectCounting, Pruner, Strands, TrimMessages, LlamaMemory, LlamaBuffer,
)  # fmt: skip
PREFIX: tuple[type[Pruner], ...] = (Recollect, TrimMessages, StrandsAgent, LastItems, LlamaBuffer, LlamaMemory)
PEERS = ("langchain-core", "strands-agents", "llama-index-core")


def conversation(seed: int) -> Iterator[tuple[Message, int]]:
    """A system prompt, then turns of four messages: question, tool call, result, answer; 40 tokens on average."""
    dice = Random(seed)
    yield Message("system", "word " * 40), 40
    for i in itertools.count():
        tokens = dice.randint(10, 70)
        words, call = "word " * tokens, f"call_{i - i % 4}"
        message = (
            Message("user", words),
            Message("assistant", (Text(words), ToolCall(call, "look", "{}"))),
            Message("tool", (ToolResult(call, words),)),
            Message("assistant", words),
        )[i % 4]
        yield message, tokens


def run(kind: type[Pruner], size: int, seconds: float) -> tuple[float, int]:
    """CPU microseconds per step and the steps taken, as many as should take no more than `seconds`.

    A message has just been made when it comes, as it has in an agent's loop.
    """
    pruner = kind(BUDGET)
    natives = (pruner.convert(*each) for each in conversation(size))
    pruner.load(list(islice(natives, size)))
    gc.collect()
    gc.disable()
    spent, taken = timed(pruner, list(islice(natives, 1))), 1
    if spent < seconds:
        steps = list(islice(natives, min(STEPS, max(1, int(seconds / spent)))))
        spent, taken = timed(pruner, steps), len(steps)
    gc.enable()
    return spent / taken * 1e6, taken


def timed(pruner: Pruner, steps: Sequence[Any]) -> float:
    add, prompt = pruner.add, pruner.prompt
    start = time.process_time()
    for native in steps:
        add(native)
        prompt()
    return time.process_time() - start


@dataclass
class Speed:
    """What one step costs at each size, but those left out, how often it was taken, and how the cost grows."""

    kind: type[Pruner]
    cost: dict[int, float] = field(default_factory=dict)
    taken: dict[int, str] = field(default_factory=dict)

    @property
    def exponent(self) -> float:
        points = [(math.log(size), math.log(cost)) for size, cost in self.cost.items()]
        return statistics.linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else math.nan

    @property
    def row(self) -> tuple[str, ...]:
        costs = [_cost(self.cost[size]) if size in self.cost else "not run" for size in self.taken]
        return self.kind.name, *costs, f"{self.exponent:.2f}", " / ".join(self.taken.values()), self.kind.note


def _cost(microseconds: float) -> str:
    return f"{microseconds:,.{1 if microseconds > 100 else 2}f}"


def speed(kind: type[Pruner], quick: bool) -> Speed:
    """Measure one pruner; a size is left out where one step would take longer than the cap, even growing linearly."""
    found, last = Speed(kind), 0.0
    print(f"measuring {kind.name} …", file=sys.stderr)
    run(kind, 200, 0.1)
    for size in SIZES[: 2 if quick else 3]:
        if last * 10 > CAP * 1e6:
            found.taken[size] = "-"
            continue
        costs, begun = list[float](), time.process_time()
        while not costs or (len(costs) < RUNS and time.process_time() - begun < (1 if quick else 20)):
            last, steps = run(kind, size, 0.2 if quick else 1.0)
            costs.append(last)
        last = statistics.median(costs)
        found.cost[size], found.taken[size] = last, f"{len(costs)} x {steps}"
    return found


@dataclass
class Prefix:
    """Over all prompts at one budget: tokens sent, tokens the last prompt began with too, and what went wrong."""

    tokens: int = 0
    cached: int = 0
    prompts: int = 0
    over: int = 0
    lost: int = 0
    refused: int = 0

    @property
    def ratio(self) -> float:
        return self.cached / self.tokens if self.tokens else 0.0

    def add(self, sent: Sequence[tuple[int, int]], before: Sequence[tuple[int, int]], budget: int, newest: int) -> None:
        tokens = sum(each for _, each in sent)
        self.prompts += 1
        self.tokens += tokens
        self.cached += sum(a[1] for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(sent, before, strict=False)))
        self.over += tokens > budget
        self.lost += not sent or sent[-1][0] != newest

    @property
    def cells(self) -> tuple[str, ...]:
        return f"{self.ratio:.1%}", str(self.over), str(self.lost), str(self.refused)


def replay(kind: type[Pruner], transcripts: Sequence[Sequence[Message]], budget: int) -> Prefix:
    """Take the prompt in front of each assistant message and compare it with the prompt before it."""
    found = Prefix()
    print(f"replaying {kind.name} at {budget:,} …", file=sys.stderr)
    for messages in transcripts:
        pruner, before = kind(budget), list[tuple[int, int]]()
        natives = [pruner.convert(message, count(message)) for message in messages]
        for i, message in enumerate(messages):
            if message.role == "assistant" and i:
                try:
                    sent = pruner.sent()
                    found.add(sent, before, budget, id(natives[i - 1]))
                    before = sent
                except (ValueError, ContextWindowOverflowException):
                    found.refused += 1
            pruner.add(natives[i])
    return found


def transcripts(quick: bool) -> list[list[Message]]:
    """The real transcripts, where they are at hand."""
    folder = Path(os.environ.get("RECOLLECT_SHARED", ROOT.parent / "shared")) / "data" / "transcripts"
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    return [parse(json.loads(line)["messages"], "openai") for line in lines[:: 8 if quick else 1]]


def speed_figures(measured: Sequence[Speed]) -> tuple[list[Goal], str]:
    """The goals of the first part and its table."""
    cost = {each.kind: each.cost for each in measured}
    check, view = cost[RecollectCheck], cost[Recollect]
    goals = [
        Goal("trim_messages / ours, 10k messages", cost[TrimMessages][10_000] / check[10_000], 1_000, True, "{:,.0f}x"),
        Goal(f"growth exponent, 1k to {max(check) // 1000}k", measured[0].exponent, 0.05),
        Goal("µs per append + check, worst size", max(check.values()), 3),
        Goal("µs per append + messages, worst size", max(view.values()), 5),
    ]
    ratios = [
        (each.kind.name, *(f"{each.cost[n] / view[n]:,.1f}x" if n in each.cost else "-" for n in each.taken))
        for each in measured
        if not issubclass(each.kind, Recollect)
    ]
    sizes = [f"{size:,}" for size in check]
    return goals, "\n\n".join(
        [
            "How many times the cost of recollect with its view built, by messages in the history:",
            table([("", *sizes), *ratios]),
            "CPU µs per step (append one message, fit to 8,000 tokens):",
            table([("", *sizes, "exponent", "runs x steps", ""), *(each.row for each in measured)]),
        ]
    )


def prefix_figures(found: dict[type[Pruner], list[Prefix]], conversations: int) -> tuple[list[Goal], str]:
    """The goals of the second part and its table."""
    small, large = found[Recollect]
    goals = [
        Goal("cached prefix at 8k", small.ratio, 0.75, True, "{:.1%}"),
        Goal("cached prefix at 32k", large.ratio, 0.88, True, "{:.1%}"),
    ]
    heads = [f"{what}{budget // 1000}k" for budget in BUDGETS for what in ("", "over ", "lost ", "refused ")]
    rows = [(kind.name, *(cell for each in both for cell in each.cells)) for kind, both in found.items()]
    prompts = f"{small.prompts + small.refused:,} prompts of {conversations} real conversations"
    return goals, "\n\n".join(
        [
            f"Cached prefix over {prompts}: the share of prompt tokens that the prompt before began with. Beside it, "
            "the prompts over the budget, those without the newest message (both make a high share cheap), and those "
            "refused with an error.",
            table([("", *heads), *rows]),
        ]
    )


def main() -> int:
    args = arguments(__doc__)
    measured = [speed(kind, args.quick) for kind in SPEED]
    goals, text = speed_figures(measured)
    figures = {
        "python": platform.python_version(),
        "peers": {name: version(name) for name in PEERS},
        "us_per_step": {each.kind.name: each.cost for each in measured},
        "exponent": {each.kind.name: each.exponent for each in measured if each.exponent == each.exponent},
    }
    if real := transcripts(args.quick):
        found = {kind: [replay(kind, real, budget) for budget in BUDGETS] for kind in PREFIX}
        more_goals, more = prefix_figures(found, len(real))
        goals, text = goals + more_goals, f"{text}\n\n{more}"
        figures["prefix"] = {
            kind.name: [asdict(each) | {"ratio": each.ratio} for each in both] for kind, both in found.items()
        }
    else:
        text += (
            "\n\nCached prefix: not measured, the transcripts are not at hand (set RECOLLECT_SHARED to their folder)."
        )
    if args.write:
        costs = {each.kind.name: each.cost for each in measured}
        growth("window", costs, "messages in the history", "CPU µs to add a message and fit")
    peers = ", ".join(f"{name} {version(name)}" for name in PEERS)
    return publish("window", f"{text}\n\nPython {platform.python_version()}; {peers}.", figures, goals, args)


if __name__ == "__main__":
    sys.exit(main())
