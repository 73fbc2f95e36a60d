"""Estimates tokens without a tokenizer: text is cut much as the encodings cut it, and each known piece is one token.

known.txt lists words, runs of signs and characters that are one token in both o200k and cl100k. A word or sign includes
the blank in front of it; three digits are a token, and so are other blanks and newlines in a row. Unknown words and
signs are weighed by their bytes, with weights fitted so that the estimate is seldom too low, and a row of mixed signs
by how often they change.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import filterfalse
from operator import mul, ne
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from recollect.errors import ConfigError
from recollect.recent import remembered, that_forgets
from recollect.tokens.weights import WEIGHTS

UNIT: Final = 64
"""Weights are in units of 1/64 of a token."""
KEPT, MAX_KEPT, KEPT_LONG = 512, 10_000, 2
"""How many counts are remembered, of texts up to how many characters, and of how many longer ones.

While a context is built, its question is counted again and again: as it came and with memory in front of it.
"""
LINES, MAX_LINE = 4_096, 1_000
"""How many lines are remembered, of up to how many bytes: memory in a prompt is lines that were counted before."""
FEW: Final = 4
"""Up to this many new lines of a text are weighed one by one and remembered; more are weighed together, faster."""
CALM, CHANGE = 8, 40
"""From how many changes of sign on a run that is not known is cut into short tokens, and the weight of each change.

Rows of one sign are a few long tokens; `!@#$%^&*` over and over is not, nor is a picture made of signs.
"""
START: Final = 2
"""Tokens added to every text."""
BLOCKS: Final = {
    b"\xe0": tuple(bytes([0xE0, c]) for c in b"\xa4\xa5\xb6\xb7\xb8\xb9\xba\xbb\xbd\xbe"),
    b"\xe1": tuple(bytes([0xE1, c]) for c in b"\x80\x82\x83\x9e\x9f\xba\xbb"),
    b"\xe3": tuple(bytes([0xE3, c]) for c in b"\x80\x81\x82\x83"),
    b"\xf0": (b"\xf0\x9f",),
}
"""Blocks unlike others of their lead byte: Devanagari, Sinhala, Thai, Lao, Tibetan; Burmese, Georgian, Khmer,
Vietnamese; Japanese; emoji. Their weights come on top of the lead byte's."""


class TokenCounter(Protocol):
    """Any function from text to a number of tokens."""

    def __call__(self, text: str, /) -> int:
        """How many tokens the text has."""


class Cut(NamedTuple):
    """A text cut up: the number of known tokens, without blanks, and the words and signs that are not known."""

    tokens: int
    words: list[bytes]
    signs: list[bytes]


def _only(kept: bytes) -> bytes:
    return bytes(byte if byte in kept else 0x20 for byte in range(256))


_DIGITS: Final = b"0123456789"
_WORDS: Final = bytes([*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0x80, 0x100)])
_SIGNS: Final = bytes(byte for byte in range(0x80) if byte not in _WORDS + _DIGITS + b" \t\n\v\f\r")
ONLY_WORDS, ONLY_SIGNS, ONLY_DIGITS = _only(_WORDS), _only(_SIGNS), _only(_DIGITS)
KINDS: Final = bytes.maketrans(
    _WORDS + _SIGNS + _DIGITS + b"\v\f", b"x" * len(_WORDS) + b"." * len(_SIGNS) + b"0" * len(_DIGITS) + b"\r\r"
)
BREAKS: Final = (b"x\n", b"0\n", b" \n", b"....\n", b"\n" * 8, b"\r")
BLANKS: Final = (b"x  ", b"0  ", b".  ", b"\n  ", b" " * 64)
"""Where blanks and newlines are a token: `x` stands for any letter, `0` for a digit, `.` for a sign.

A newline is one with the few signs in front of it, a single blank with what follows unless that is a digit.
"""
humps: Final = re.compile(rb"[A-Z]?[a-z\x80-\xff]+|[A-Z]+(?![a-z])").findall
has_single: Final = re.compile(rb"[\xe2-\xef]").search


@cache
def known() -> tuple[frozenset[bytes], dict[int, str]]:
    """The words and signs that are one token, and a table that replaces single characters that are one by `-`."""
    words, signs, characters = Path(__file__).with_name("known.txt").read_bytes().split(b"\n\n")
    single = characters.decode().replace("\n", "")
    return frozenset([*words.split(), *words.title().split(), *signs.split()]), dict.fromkeys(map(ord, single), "-")


def cut(raw: bytes) -> Cut:
    """A text's bytes without the known tokens; no word or sign continues on the next line."""
    held, single = known()
    words, signs = raw.translate(ONLY_WORDS).split(), raw.translate(ONLY_SIGNS).split()
    new_words, new_signs = [*filterfalse(held.__contains__, words)], [*filterfalse(held.__contains__, signs)]
    left = b" ".join(new_words)
    if has_single(left):
        wide = b" ".join(filter(has_single, new_words)).decode("utf-8", "surrogatepass")
        left = b" ".join([encode(wide.translate(single)), *filterfalse(has_single, new_words)])
    inner = humps(left)
    rest = [*filterfalse(held.__contains__, inner)]
    digits = sum([(size + 2) // 3 for size in map(len, raw.translate(ONLY_DIGITS).split())])
    sure = len(words) + len(signs) - len(new_words) - len(new_signs) + len(inner) - len(rest) + left.count(b"-")
    return Cut(sure + digits, rest, new_signs)


def blanks(raw: bytes) -> int:
    """How many tokens the blanks and newlines are; most lines have only single blanks."""
    kinds = raw.replace(b"\t", b"  ").translate(KINDS)
    tokens = kinds.count(b" 0")
    if b"\n" in kinds or b"\r" in kinds:
        tokens += sum(map(kinds.count, BREAKS))
    if b"  " in kinds:
        tokens += sum(map(kinds.count, BLANKS)) + raw.count(b"\t\t")
    return tokens


def encode(text: str) -> bytes:
    """The UTF-8 bytes of any text, even with half surrogate pairs."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class _Lines(dict[bytes, tuple[int, int]]):
    """The weights of lines."""

    cache_clear = dict.clear


def estimator(family: str = "any") -> TokenCounter:
    """An estimator for one family of encodings; `any` is safe for each of them.

    It never counts more than the text has bytes: no byte-level encoding can.
    """
    if family not in WEIGHTS:
        raise ConfigError(f"no estimator for {family!r}: use one of {', '.join(WEIGHTS)}")
    of_word, of_sign, of_byte, of_block = WEIGHTS[family]
    blocks = [(lead, own, tuple(of_block[block] for block in own)) for lead, own in BLOCKS.items()]
    lines = that_forgets(_Lines())

    def weighed(new: list[bytes]) -> tuple[int, int]:
        """The known tokens of some lines, and the weight of the rest. For a single line both are remembered."""
        tokens, words, signs = cut(b"\n".join(new))
        raw = b"".join(words + signs)
        mixed = sum(max(0, sum(map(ne, run, run[1:])) - CALM) for run in signs if len(run) > CALM)
        weight = of_word * len(words) + of_sign * len(signs) + sum(raw.translate(of_byte)) + mixed * CHANGE
        for lead, own, weights in () if raw.isascii() else blocks:
            if lead in raw:
                weight += sum(map(mul, map(raw.count, own), weights))
        if len(new) == 1 and len(new[0]) <= MAX_LINE:
            if len(lines) >= LINES:
                lines.clear()
            lines[new[0]] = tokens, weight
        return tokens, weight

    def counted(text: str) -> int:
        raw = encode(text)
        tokens, weight, new = blanks(raw), 0, list[bytes]()
        for line in raw.split(b"\n"):
            if found := lines.get(line):
                tokens, weight = tokens + found[0], weight + found[1]
            else:
                new.append(line)
        for part in [[line] for line in new] if len(new) <= FEW else [new]:
            more, heavier = weighed(part)
            tokens, weight = tokens + more, weight + heavier
        return min(START + tokens - -weight // UNIT, len(raw))

    kept, kept_long = remembered(KEPT)(counted), remembered(KEPT_LONG)(counted)

    def estimate(text: str) -> int:
        """An estimate of the tokens that is seldom too low; it is remembered for texts that come again."""
        return kept(text) if len(text) <= MAX_KEPT else kept_long(text)

    return estimate


estimate: Final = estimator()
