"""Which texts a model can read: one trained on English can't make sense of other scripts."""

from __future__ import annotations

import re
from typing import Final

ENGLISH: Final = frozenset({"onnx:e5-small-v2", "onnx:bge-small-en-v1.5"})
"""The names of embedders that were trained on English only."""
LOOKED_AT: Final = 2_000
"""How many characters of a text decide its script: about as many as such a model reads."""
_NO_LETTER: Final = bytes(byte for byte in range(128) if not chr(byte).isalpha())
_LETTER: Final = re.compile(r"[^\W\d_]")
_OTHER: Final = re.compile(r"[^\W\d_\0-\u024f]")
"""A letter of another script than Latin."""


def reads(name: str, text: str) -> bool:
    """Whether the embedder of that name can read the text."""
    return name not in ENGLISH or is_latin(text)


def is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin."""
    start = text[:LOOKED_AT]
    ascii = start.encode("ascii", "ignore")
    if len(start) - len(ascii) <= len(ascii.translate(None, _NO_LETTER)):
        return True  # the letters of ASCII are as many as all that others may be
    return 2 * len(_OTHER.findall(start)) <= len(_LETTER.findall(start))
