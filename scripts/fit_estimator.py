"""Fits the estimator anew: writes the pieces it knows, its weights, and the table of held-out errors.

    scripts/setup --group dev --group fit --all-extras && .venv/bin/python scripts/fit_estimator.py

The known pieces come from the encodings themselves, the commonest of what both hold. Half of the chunks of each class
of text are fitted on, the other half make the table. The fit is a linear programme: as little too much as possible,
where a token too few costs as much as PENALTY too many.
"""

from __future__ import annotations

import re
import statistics
import string
import textwrap
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
TOKENS = ROOT / "src" / "recollect" / "tokens"
PENALTY, MARGIN = 200, 1.05
LONG, SHORT = ((200, 600, 2000), 400), ((40, 80), 100)
"""Lengths of chunks in characters, and how many of each class: the long ones make the table."""
WORDS, SIGNS = 10_000, 1_000
"""How many of the commonest words and runs of signs of the encodings are looked at."""
SLACK = 2
"""Tokens that a short chunk may come out too low by, as far as the fit is concerned."""
LETTER, SIGN, RUN = 0.1, 0.2, 1.4
"""The least that a letter, any other byte and a run of signs may weigh, whatever the fit would make of them."""
FAMILIES = {"any": ("o200k_base", "cl100k_base"), "o200k": ("o200k_base",)}
Floats = NDArray[np.float64]
Weights = tuple[int, int, bytes, dict[bytes, int]]

# Bytes that share a weight, with the most tokens one can stand for: letters and signs alone, capitals, white space and
# control bytes together, and the lead bytes of other scripts by group. Inner bytes weigh nothing, digits are known.
GROUPS: dict[bytes, float] = {
    **{bytes([byte]): 1.0 for byte in range(0x21, 0x7F) if not chr(byte).isdigit() and not chr(byte).isupper()},
    string.ascii_uppercase.encode(): 1.0,
    bytes([*range(9), *range(14, 32), 127]): 1.0,
    **{bytes(range(first, last + 1)): 2.0 for first, last in
       ((0xC0, 0xCD), (0xCE, 0xCF), (0xD0, 0xD3), (0xD4, 0xD6), (0xD7, 0xD7), (0xD8, 0xDB), (0xDC, 0xDF))},
    **{bytes(range(first, last + 1)): 3.0 for first, last in
       ((0xE0, 0xE0), (0xE1, 0xE1), (0xE2, 0xE2), (0xE3, 0xE3), (0xE4, 0xE9), (0xEA, 0xED), (0xEE, 0xEF))},
    bytes(range(0xF0, 0x100)): 4.0,
}  # fmt: skip
BLOCKS = tuple(block for blocks in rules.BLOCKS.values() for block in blocks)
LEADS = {group[:1]: at for at, group in enumerate(GROUPS)}


def known_pieces() -> str:
    """The words, the signs and the single characters that are one token in every encoding, commonest first."""
    ranks = [exact._ranks(name) for name in FAMILIES["any"]]
    both = sorted(ranks[0].keys() & ranks[1].keys(), key=lambda token: ranks[1][token])
    words = [token[1:] for token in both if re.fullmatch(rb" ([A-Z]*[a-z]+|[A-Z]+)", token)][:WORDS]
    small = {word for word in words if word.islower()}
    own = [word for word in words if not word.istitle() or word.lower() not in small]
    signs = [sign for sign in both if re.fullmatch(rb"[!-/:-@[-`{-~]+", sign)][:SIGNS]
    texts = [token.decode("utf-8", "ignore") for token in both]
    single = "".join(text for text in texts if len(text) == 1 and text > "\u2000")
    parts = b" ".join(own).decode(), b" ".join(signs).decode(), single
    return "\n\n".join(textwrap.fill(part, 119, break_on_hyphens=False) for part in parts)


@dataclass(frozen=True)
class Chunk:
    """A chunk of text of one class with its real counts by encoding."""

    kind: str
    long: bool
    text: str
    real: dict[str, int]


def corpus() -> Iterator[Chunk]:
    """Every chunk of every class, counted by the real encodings."""
    encodings = {name: exact.tiktoken_counter(name) for name in FAMILIES["any"]}
    for kind, make in classes().items():
        whole = make()
        for lengths, limit in (LONG, SHORT):
            for text in chunks(whole, lengths, limit, kind):
                real = {name: count(text) for name, count in encodings.items()}
                yield Chunk(kind, lengths is LONG[0], text, real)


def features(cut: rules.Cut) -> list[int]:
    """Of what is not known: how many words and runs of signs, how many bytes of each group, how many of each block."""
    raw = b"".join(cut.words + cut.signs)
    groups = [len(raw) - len(raw.translate(None, group)) for group in GROUPS]
    return [len(cut.words), len(cut.signs), *groups, *map(raw.count, BLOCKS)]


def fit(train: list[Chunk], names: tuple[str, ...]) -> Weights:
    """The weight of a word, of a run of signs, of every byte, and of every block."""
    real = np.array([max(chunk.real[name] for name in names) for chunk in train], float)
    texts = [rules.encode(chunk.text) for chunk in train]
    cuts = [rules.cut(text) for text in texts]
    known = [cut.tokens + rules.blanks(text) for cut, text in zip(cuts, texts, strict=True)]
    given = [rules.START + tokens + (0 if chunk.long else SLACK) for tokens, chunk in zip(known, train, strict=True)]
    left = 1 - np.array(given) / real
    counts = np.array([features(cut) for cut in cuts], float)
    sizes = Counter(chunk.kind for chunk in train)
    share = np.array([1 / sizes[chunk.kind] for chunk in train])
    rows, width = counts.shape
    limits, tops = _block_limits(width + 2 * rows)
    solved = linprog(
        np.concatenate([np.zeros(width), share, share * PENALTY]),
        A_ub=limits, b_ub=tops, A_eq=hstack([csr_matrix(counts / real[:, None]), -eye(rows), eye(rows)]),
        b_eq=left, bounds=[*_bounds(counts.any(axis=0)), *[(0, None)] * (2 * rows)],
    )  # fmt: skip
    weights = [round(weight * MARGIN * rules.UNIT) for weight in solved.x[:width]]
    of_byte = bytearray(256)
    for group, weight in zip(GROUPS, weights[2:], strict=False):
        for byte in group:
            of_byte[byte] = min(weight, 255)
    return weights[0], weights[1], bytes(of_byte), dict(zip(BLOCKS, weights[2 + len(GROUPS) :], strict=True))


def _bounds(seen: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """A group weighs from its least to its top, and the top where the text to fit on has none of it."""
    groups = []
    for (group, top), known in zip(GROUPS.items(), seen[2:], strict=False):
        least = LETTER if group.isalpha() else SIGN
        groups.append((least if known else top, top))
    return [(0.0, 3.0), (RUN, 3.0), *groups, *[(-4.0, 4.0)] * len(BLOCKS)]


def _block_limits(width: int) -> tuple[Floats, Floats]:
    """With its lead byte's weight, a block's weight is neither negative nor more than its characters' bytes."""
    rows, tops = [], []
    for at, block in enumerate(BLOCKS, 2 + len(GROUPS)):
        row = np.zeros(width)
        row[at] = row[2 + LEADS[block[:1]]] = 1
        rows += [row, -row]
        tops += [list(GROUPS.values())[LEADS[block[:1]]], 0]
    return np.array(rows), np.array(tops)


def table(held: list[Chunk]) -> str:
    """The held-out errors by class, as Markdown."""
    lines = [
        "| text | chunks | `estimate`, o200k | `estimate`, cl100k | `estimate:o200k`, o200k | chars/4, o200k |",
        "|---|---|---|---|---|---|",
    ]
    any_, newer = rules.estimator("any"), rules.estimator("o200k")
    columns = [(any_, "o200k_base"), (any_, "cl100k_base"), (newer, "o200k_base"), (_quarter, "o200k_base")]
    for kind in dict.fromkeys(chunk.kind for chunk in held):
        own = [chunk for chunk in held if chunk.kind == kind and chunk.long]
        cells = [[count(p.text) / p.real[name] - 1 for p in own] for count, name in columns]
        shown = " | ".join(f"{min(cell):+.0%} / {statistics.median(cell):+.0%}" for cell in cells)
        lines.append(f"| {kind} | {len(own)} | {shown} |")
    return "\n".join(lines)


def _quarter(text: str) -> int:
    return len(text) // 4


def _module(fitted: dict[str, Weights]) -> str:
    lines = [
        '"""The weights of estimator.py: of a word, a run of signs, each byte, each block; from fit_estimator.py."""',
        "",
        "from typing import Final",
        "",
        "# fmt: off",
        "WEIGHTS: Final[dict[str, tuple[int, int, bytes, dict[bytes, int]]]] = {",
    ]
    for family, (of_word, of_sign, of_byte, of_block) in fitted.items():
        lines += [f'    "{family}": (', f"        {of_word}, {of_sign},", "        bytes.fromhex("]
        lines += [f'            "{of_byte[at : at + 32].hex()}"' for at in range(0, 256, 32)]
        shown = [f"{block!r}: {weight}" for block, weight in of_block.items()]
        lines += ["        ),", "        {"]
        lines += ["            " + ", ".join(shown[at : at + 5]) + "," for at in range(0, len(shown), 5)]
        lines += ["        },", "    ),"]
    return "\n".join([*lines, "}", ""])


def _write(path: Path, marker: str, body: str) -> None:
    head, _, rest = path.read_text().partition(f"<!-- {marker} -->\n")
    tail = rest.partition(f"<!-- /{marker} -->")[2]
    path.write_text(f"{head}<!-- {marker} -->\n{body}\n<!-- /{marker} -->{tail}")


def main() -> None:
    """Choose what is known, fit the rest, then measure what was written."""
    (TOKENS / "known.txt").write_text(known_pieces() + "\n", "utf-8")
    rules.known.cache_clear()
    counted = list(corpus())
    fitted = {family: fit(counted[::2], names) for family, names in FAMILIES.items()}
    (TOKENS / "weights.py").write_text(_module(fitted))
    rules.WEIGHTS.update(fitted)
    _write(ROOT / "docs/tokens.md", "held-out", table(counted[1::2]))


if __name__ == "__main__":
    main()
