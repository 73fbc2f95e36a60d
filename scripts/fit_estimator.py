"""Fits the estimator's weights anew and writes them, and the table of held-out errors, where they belong.

    scripts/setup --group dev --group fit --all-extras && .venv/bin/python scripts/fit_estimator.py

Half of the pieces of each class of text are fitted on, the other half make the table. The fit is a linear programme:
as little too much as possible, where a token too few costs as much as PENALTY too many.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat

import numpy as np
from fit_corpus import chunks, classes
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye, hstack

from recollect.tokens import estimator as rules
from recollect.tokens import exact

ROOT = Path(__file__).resolve().parent.parent
PENALTY, MARGIN, PIECES = 200, 1.03, 300
FAMILIES = {"any": ("o200k_base", "cl100k_base"), "o200k": ("o200k_base",)}
SCRIPT_BYTES = (
    dict.fromkeys(rules.SCRIPTS[2:], 2) | dict.fromkeys([b"i", b"e", b"p", b"j", b"h", b"k", b"f"], 3) | {b"m": 4}
)
LEADS = {b"\xe0": b"i", b"\xe1": b"e", b"\xf0": b"m"}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """A piece of text of one class with its real counts by encoding."""

    kind: str
    text: str
    real: dict[str, int]


def pieces() -> Iterator[Piece]:
    """Every piece of the corpus, counted by the real encodings."""
    encodings = {name: exact.tiktoken_counter(name) for name in FAMILIES["any"]}
    for kind, make in classes().items():
        for text in chunks(make(), PIECES, kind):
            yield Piece(kind, text, {name: count(text) for name, count in encodings.items()})


def fit(train: list[Piece], names: tuple[str, ...]) -> dict[bytes, int]:
    """Hundredths of a token by pattern."""
    real = np.array([max(piece.real[name] for name in names) for piece in train], float)
    counted = [rules.features(piece.text) for piece in train]
    patterns, counts = list(counted[0]), np.array([list(row.values()) for row in counted], float)
    sizes = Counter(piece.kind for piece in train)
    share = np.array([1 / sizes[piece.kind] for piece in train])
    rows = len(train)
    limits, tops = _block_limits(patterns, 2 * rows)
    solved = linprog(
        np.concatenate([np.zeros(len(patterns)), share, share * PENALTY]),
        A_ub=limits, b_ub=tops, A_eq=hstack([csr_matrix(counts / real[:, None]), -eye(rows), eye(rows)]),
        b_eq=1 - rules.START / real, bounds=[*map(_bounds, patterns, counts.T), *[(0, None)] * (2 * rows)],
    )  # fmt: skip
    return {pattern: round(weight * MARGIN * 100) for pattern, weight in zip(patterns, solved.x, strict=False)}


def _bounds(pattern: bytes, counts: Floats) -> tuple[float, float]:
    """A pattern weighs up to its characters' bytes, and exactly that where the text to fit on has none of it."""
    if pattern[0] >= 0x80:
        return (-4.0, 4.0) if counts.any() else (0.0, 0.0)
    top = float(SCRIPT_BYTES.get(pattern, len(pattern)))
    return (0.0 if counts.any() else top, top)


def _block_limits(patterns: list[bytes], more: int) -> tuple[Floats, Floats]:
    """With its lead byte's weight, a block's weight is neither negative nor more than its characters' bytes."""
    rows, tops = [], []
    for at, pattern in enumerate(patterns):
        if pattern[0] >= 0x80:
            lead = LEADS[pattern[:1]]
            row = np.zeros(len(patterns) + more)
            row[at] = row[patterns.index(lead)] = 1
            rows += [row, -row]
            tops += [SCRIPT_BYTES[lead], 0]
    return np.array(rows), np.array(tops, float)


def table(held: list[Piece]) -> str:
    """The held-out errors by class, as Markdown."""
    lines = [
        "| text | pieces | `estimate`, o200k | `estimate`, cl100k | `estimate:o200k`, o200k | chars/4, o200k |",
        "|---|---|---|---|---|---|",
    ]
    any_, newer = rules.estimator("any"), rules.estimator("o200k")
    columns = [(any_, "o200k_base"), (any_, "cl100k_base"), (newer, "o200k_base"), (_quarter, "o200k_base")]
    for kind in dict.fromkeys(piece.kind for piece in held):
        own = [piece for piece in held if piece.kind == kind]
        cells = [[count(p.text) / p.real[name] - 1 for p in own] for count, name in columns]
        shown = " | ".join(f"{min(cell):+.0%} / {statistics.median(cell):+.0%}" for cell in cells)
        lines.append(f"| {kind} | {len(own)} | {shown} |")
    return "\n".join(lines)


def _quarter(text: str) -> int:
    return len(text) // 4


def _write(path: Path, marker: str, body: str) -> None:
    head, _, rest = path.read_text().partition(f"<!-- {marker} -->\n")
    tail = rest.partition(f"<!-- /{marker} -->")[2]
    path.write_text(f"{head}<!-- {marker} -->\n{body}\n<!-- /{marker} -->{tail}")


def main() -> None:
    """Fit, write the weights, then measure what was written."""
    corpus = list(pieces())
    fitted = {family: fit(corpus[::2], names) for family, names in FAMILIES.items()}
    (ROOT / "src/recollect/tokens/weights.py").write_text(
        '"""Hundredths of a token for each pattern of estimator.py; written by scripts/fit_estimator.py."""\n\n'
        "from typing import Final\n\n# fmt: off\nWEIGHTS: Final[dict[str, dict[bytes, int]]] = (\n"
        f"{pformat(fitted, width=116, compact=True, sort_dicts=False)}\n)\n"
    )
    rules.WEIGHTS.update(fitted)
    _write(ROOT / "docs/tokens.md", "held-out", table(corpus[1::2]))


if __name__ == "__main__":
    main()
