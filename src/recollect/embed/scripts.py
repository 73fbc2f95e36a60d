"""Which texts a model can read: one made for English makes nothing of other scripts."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = frozenset({"onnx:e5-small-v2", "onnx:bge-small-en-v1.5"})
"""Embedders, by name, that were trained on English alone."""
LATIN: Final = "\u0250"
"""The first character after the letters of Latin script."""


def reads(name: str, text: str) -> bool:
    """Whether the embedder of that name can tell what a text is about."""
    if name not in ENGLISH or text.isascii():
        return True
    letters = [char < LATIN for char in text if char.isalpha()]
    return 2 * sum(letters) >= len(letters)
