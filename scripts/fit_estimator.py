"""Fits the estimator's weights anew and writes them, and the table of held-out errors, where they belong.

    scripts/setup --group dev --group fit --all-extras && .venv/bin/python scripts/fit_estimator.py

Half of the pieces of each class of text are fitted on, the other half make the table. The fit is a linear programme:
as little too much as possible, where a token too few costs as much as PENALTY too many.
"""

from __future__ import annotations

import statistics
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fit_corpus import chunks, classes
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye, hstack

from recollect.tokens import estimator as rules
from recollect.tokens import exact

ROOT = Path(__file__).resolve().parent.parent
PENALTY, MARGIN, PIECES = 200, 1.05, 400
LETTER, SIGN = 0.1, 0.3
"""The least that a letter and any other byte may weigh, whatever the fit would make of them."""
FAMILIES = {"any": ("o200k_base", "cl100k_base"), "o200k": ("o200k_base",)}
Floats = NDArray[np.float64]

# Bytes that share a weight, with the most tokens one can stand for: letters and punctuation alone, capitals, digits,
# white space and control bytes together, and the lead bytes of other scripts by group. Inner bytes weigh nothing.
GROUPS: dict[bytes, float] = {
    **{bytes([byte]): 1.0 for byte in range(0x20, 0x7F) if not chr(byte).isdigit() and not chr(byte).isupper()},
    string.ascii_uppercase.encode(): 1.0,
    string.digits.encode(): 1.0,
    b"\t\n\v\f\r": 1.0,
    bytes([*range(9), *range(14, 32), 127]): 1.0,
    **{bytes(range(first, last + 1)): 2.0 for first, last in
       ((0xC0, 0xCD), (0xCE, 0xCF), (0xD0, 0xD3), (0xD4, 0xD6), (0xD7, 0xD7), (0xD8, 0xDB), (0xDC, 0xDF))},
    **{bytes(range(first, last + 1)): 3.0 for first, last in
       ((0xE0, 0xE0), (0xE1, 0xE1), (0xE2, 0xE2), (0xE3, 0xE3), (0xE4, 0xE9), (0xEA, 0xED), (0xEE, 0xEF))},
    bytes(range(0xF0, 0x100)): 4.0,
}  # fmt: skip
PAIRS = rules.PAIRS + rules.WIDE_PAIRS
BLOCKS = tuple(block for blocks in rules.BLOCKS.values() for block in blocks)
LEADS = {group[:1]: at for at, group in enumerate(GROUPS)}


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


def features(text: str) -> list[int]:
    """How often the bytes of each group, each pair and each block occur."""
    raw = rules.encode(text)
    classes = raw.translate(rules.CLASS_OF)
    groups = [len(raw) - len(raw.translate(None, group)) for group in GROUPS]
    return [*groups, *map(classes.count, PAIRS), *map(raw.count, BLOCKS)]


def fit(train: list[Piece], names: tuple[str, ...]) -> tuple[bytes, dict[bytes, int]]:
    """The weight of every byte, and of every pair and block."""
    real = np.array([max(piece.real[name] for name in names) for piece in train], float)
    counts = np.array([features(piece.text) for piece in train], float)
    sizes = Counter(piece.kind for piece in train)
    share = np.array([1 / sizes[piece.kind] for piece in train])
    rows, width = counts.shape
    limits, tops = _block_limits(width + 2 * rows)
    solved = linprog(
        np.concatenate([np.zeros(width), share, share * PENALTY]),
        A_ub=limits, b_ub=tops, A_eq=hstack([csr_matrix(counts / real[:, None]), -eye(rows), eye(rows)]),
        b_eq=1 - rules.START / real, bounds=[*_bounds(counts.any(axis=0)), *[(0, None)] * (2 * rows)],
    )  # fmt: skip
    weights = [round(weight * MARGIN * rules.UNIT) for weight in solved.x[:width]]
    of_byte = bytearray(256)
    for group, weight in zip(GROUPS, weights, strict=False):
        for byte in group:
            of_byte[byte] = min(weight, 255)
    return bytes(of_byte), dict(zip(PAIRS + BLOCKS, weights[len(GROUPS) :], strict=True))


def _bounds(seen: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """A group weighs from its least to its top, and the top where the text to fit on has none of it."""
    groups = []
    for (group, top), known in zip(GROUPS.items(), seen, strict=False):
        least = LETTER if group.isalpha() or group == b" " else SIGN
        groups.append((least if known else top, top))
    return groups + [(0.0, 2.0)] * len(PAIRS) + [(-4.0, 4.0)] * len(BLOCKS)


def _block_limits(width: int) -> tuple[Floats, Floats]:
    """With its lead byte's weight, a block's weight is neither negative nor more than its characters' bytes."""
    rows, tops = [], []
    for at, block in enumerate(BLOCKS, len(GROUPS) + len(PAIRS)):
        row = np.zeros(width)
        row[at] = row[LEADS[block[:1]]] = 1
        rows += [row, -row]
        tops += [list(GROUPS.values())[LEADS[block[:1]]], 0]
    return np.array(rows), np.array(tops)


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


def _module(fitted: dict[str, tuple[bytes, dict[bytes, int]]]) -> str:
    lines = [
        '"""The weights of estimator.py: of each byte, pair and block, by family; from scripts/fit_estimator.py."""',
        "\nfrom typing import Final\n\n# fmt: off\nWEIGHTS: Final[dict[str, tuple[bytes, dict[bytes, int]]]] = {",
    ]
    for family, (of_byte, of_pattern) in fitted.items():
        lines += [f'    "{family}": (', "        bytes.fromhex("]
        lines += [f'            "{of_byte[at : at + 32].hex()}"' for at in range(0, 256, 32)]
        shown = [f"{pattern!r}: {weight}" for pattern, weight in of_pattern.items()]
        lines += ["        ),", "        {"]
        lines += ["            " + ", ".join(shown[at : at + 5]) + "," for at in range(0, len(shown), 5)]
        lines += ["        },", "    ),"]
    return "\n".join([*lines, "}", ""])


def _write(path: Path, marker: str, body: str) -> None:
    head, _, rest = path.read_text().partition(f"<!-- {marker} -->\n")
    tail = rest.partition(f"<!-- /{marker} -->")[2]
    path.write_text(f"{head}<!-- {marker} -->\n{body}\n<!-- /{marker} -->{tail}")


def main() -> None:
    """Fit, write the weights, then measure what was written."""
    corpus = list(pieces())
    fitted = {family: fit(corpus[::2], names) for family, names in FAMILIES.items()}
    (ROOT / "src/recollect/tokens/weights.py").write_text(_module(fitted))
    rules.WEIGHTS.update(fitted)
    _write(ROOT / "docs/tokens.md", "held-out", table(corpus[1::2]))


if __name__ == "__main__":
    main()
