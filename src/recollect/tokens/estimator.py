"""Estimates tokens with no tokenizer: every byte has a weight, fitted so that the sum seldom comes out too low.

On top come the places where an encoding starts a new token: a capital after a small letter, a digit after a blank, and
so on. They are counted as pairs of byte classes: `a` lower case, `A` upper case, `0` digit, blank, newline, `.` other
ASCII, `~` the last byte of any other character. All of it runs inside `bytes.translate`, `bytes.count` and `adler32`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import Final
from zlib import adler32

from recollect.errors import ConfigError
from recollect.tokens.weights import WEIGHTS

UNIT: Final = 64
"""Weights are whole numbers of this part of a token."""
START: Final = 2
"""Tokens every text is given on top, for what starts at its first byte."""
CLASSES: Final = (
    (b"a", 0x61, 0x7A), (b"A", 0x41, 0x5A), (b"0", 0x30, 0x39), (b" ", 0x20, 0x20), (b"\n", 0x09, 0x0D),
    (b"~", 0x80, 0xFF),
)  # fmt: skip
"""Each class with its first and last byte; `.` is the rest."""
PAIRS: Final = (b" A", b"0A", b"0a", b"aA", b" 0", b"0.", b"A.")
"""Pairs of classes that are counted in every text."""
WIDE_PAIRS: Final = (b"~a", b"~ ")
"""Pairs that only text beyond ASCII can hold."""
BLOCKS: Final = {
    b"\xe0": tuple(bytes([0xE0, c]) for c in b"\xa4\xa5\xb6\xb7\xb8\xb9\xba\xbb\xbd\xbe"),
    b"\xe1": tuple(bytes([0xE1, c]) for c in b"\x80\x82\x83\x9e\x9f\xba\xbb"),
    b"\xf0": (b"\xf0\x9f",),
}
"""Blocks unlike others of their lead byte: Devanagari, Sinhala, Thai, Lao, Tibetan; Burmese, Georgian, Khmer,
Vietnamese; emoji. Their weights come on top of the lead byte's."""


def _class_table() -> bytes:
    table = bytearray(b"." * 256)
    for letter, first, last in CLASSES:
        table[first : last + 1] = letter * (last + 1 - first)
    return bytes(table)


CLASS_OF: Final = _class_table()


def encode(text: str) -> bytes:
    """The UTF-8 bytes of any text, half surrogate pairs included."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _sum(values: bytes) -> int:
    """The sum of the bytes: adler32 holds it, plus one, in its low half for as many as 256 of them."""
    if len(values) <= 256:
        return (adler32(values) & 0xFFFF) - 1
    return sum((adler32(values[at : at + 256]) & 0xFFFF) - 1 for at in range(0, len(values), 256))


def estimator(family: str = "any") -> Callable[[str], int]:
    """An estimator for one family of encodings; `any` is safe for each of them.

    It never counts more than the text has bytes: no byte-level encoding can.
    """
    if family not in WEIGHTS:
        raise ConfigError(f"no estimator for {family!r}: use one of {', '.join(WEIGHTS)}")
    of_byte, of_pattern = WEIGHTS[family]
    pairs = tuple(of_pattern.get(pair, 0) for pair in PAIRS)
    wide_pairs = tuple(of_pattern.get(pair, 0) for pair in WIDE_PAIRS)
    blocks = [(lead, own, tuple(of_pattern.get(block, 0) for block in own)) for lead, own in BLOCKS.items()]

    def estimate(text: str) -> int:
        """A number of tokens that is seldom too low."""
        raw = encode(text)
        count = raw.translate(CLASS_OF).count
        weight: int = sum(map(mul, map(count, PAIRS), pairs), _sum(raw.translate(of_byte)))
        if not text.isascii():
            weight += sum(map(mul, map(count, WIDE_PAIRS), wide_pairs))
            for lead, own, weights in blocks:
                if lead in raw:
                    weight += sum(map(mul, map(raw.count, own), weights))
        return min(START - -weight // UNIT, len(raw))

    return estimate


estimate: Final = estimator()
