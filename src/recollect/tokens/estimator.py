"""Estimates tokens with no tokenizer: byte classes are counted and weighed so as not to come out too low.

Each UTF-8 byte is mapped to its class (`a` lower case, `A` upper case, `0` digit, blank, newline, `.` other ASCII,
`~` inner byte, and a letter for each group of scripts). Then the places are counted where a tokenizer starts a new
token: a word after a blank, a capital after a small letter, four letters in a row, and so on. All of it is
`bytes.translate` and `bytes.count`, ten times as fast as a regular expression.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import Final

from recollect.errors import ConfigError
from recollect.tokens.weights import WEIGHTS

_CLASSES: Final = (
    ("a", 0x61, 0x7A), ("A", 0x41, 0x5A), ("0", 0x30, 0x39), (" ", 0x20, 0x20), ("\n", 0x09, 0x0D),
    ("~", 0x80, 0xBF), ("l", 0xC0, 0xCD), ("g", 0xCE, 0xCF), ("c", 0xD0, 0xD3), ("r", 0xD4, 0xD6), ("w", 0xD7, 0xD7),
    ("s", 0xD8, 0xDB), ("t", 0xDC, 0xDF), ("i", 0xE0, 0xE0), ("e", 0xE1, 0xE1), ("p", 0xE2, 0xE2), ("j", 0xE3, 0xE3),
    ("h", 0xE4, 0xE9), ("k", 0xEA, 0xED), ("f", 0xEE, 0xEF), ("m", 0xF0, 0xFF),
)  # fmt: skip


def _table() -> bytes:
    table = bytearray(b"." * 256)
    for letter, low, high in _CLASSES:
        table[low : high + 1] = letter.encode() * (high + 1 - low)
    return bytes(table)


_TABLE: Final = _table()
ASCII: Final = tuple(b" a|\na| A|0A|aA|aaaa|AA|000| 0|a0|A0|.| .|a.|0.|A.".split(b"|"))
"""Patterns of classes that are counted in every text."""
SCRIPTS: Final = (b"~a", b"~ ", *(bytes([c]) for c in b"lgcrwstiepjhkfm"))
"""Patterns of classes that only text beyond ASCII can hold: a letter or blank after one, and each lead byte."""
BLOCKS: Final = {
    b"\xe0": tuple(bytes([0xE0, c]) for c in b"\xa4\xa5\xb6\xb7\xb8\xb9\xba\xbb\xbd\xbe"),
    b"\xe1": tuple(bytes([0xE1, c]) for c in b"\x80\x82\x83\x9e\x9f\xba\xbb"),
    b"\xf0": (b"\xf0\x9f",),
}
"""Blocks unlike others of their lead byte: Devanagari, Sinhala, Thai, Lao, Tibetan; Burmese, Georgian, Khmer,
Vietnamese; emoji. Their weights come on top of the lead byte's."""
START: Final = 2
"""Tokens every text is given on top, for what starts at its first byte."""


def encode(text: str) -> bytes:
    """The UTF-8 bytes of any text, half surrogate pairs included."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def features(text: str) -> dict[bytes, int]:
    """How often each pattern occurs in the text; the weights are fitted on these."""
    raw = encode(text)
    classes = raw.translate(_TABLE)
    blocks = [block for lead in BLOCKS.values() for block in lead]
    return {p: classes.count(p) for p in ASCII + SCRIPTS} | {p: raw.count(p) for p in blocks}


def _weigh(family: str, patterns: tuple[bytes, ...]) -> tuple[int, ...]:
    return tuple(WEIGHTS[family].get(pattern, 100) for pattern in patterns)


def estimator(family: str = "any") -> Callable[[str], int]:
    """An estimator for one family of encodings; `any` is safe for each of them.

    It never counts more than the text has bytes: no byte-level encoding can.
    """
    if family not in WEIGHTS:
        raise ConfigError(f"no estimator for {family!r}: use one of {', '.join(WEIGHTS)}")
    plain, scripts = _weigh(family, ASCII), _weigh(family, SCRIPTS)
    blocks = [(lead, patterns, _weigh(family, patterns)) for lead, patterns in BLOCKS.items()]

    def estimate(text: str) -> int:
        """A number of tokens that is seldom too low."""
        raw = encode(text)
        count = raw.translate(_TABLE).count
        hundredths: int = sum(map(mul, map(count, ASCII), plain), START * 100 + 99)
        if not text.isascii():
            hundredths += sum(map(mul, map(count, SCRIPTS), scripts))
            for lead, patterns, weights in blocks:
                if lead in raw:
                    hundredths += sum(map(mul, map(raw.count, patterns), weights))
        return min(hundredths // 100, len(raw))

    return estimate


estimate: Final = estimator()
