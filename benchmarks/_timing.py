"""What benchmarks of the store measure with: costs, a folder that goes away, texts."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from recollect.store.words import COMMON


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        yield Path(folder)


def sentences(seed: int) -> Iterator[str]:
    """Texts of about twenty words, some far more common than others, the commonest those of English."""
    dice, letters = Random(seed), "bdfgklmnprstvz"
    words = sorted(COMMON)
    words += [dice.choice(letters) + "aeiou"[i % 5] + dice.choice(letters) + f"{i:x}" for i in range(30_000)]
    weights = [1 / (i + 3) for i in range(len(words))]
    while True:
        drawn = iter(dice.choices(words, weights, k=50_000))
        while text := list(islice(drawn, dice.randint(10, 30))):
            yield " ".join(text)


@dataclass(frozen=True)
class Cost:
    """Microseconds a call, by the clock and of the processor; of many calls their medians."""

    wall: float
    cpu: float


def timed(call: Callable[[], object]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return Cost((time.perf_counter() - wall) * 1e6, (time.process_time() - cpu) * 1e6)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs))
