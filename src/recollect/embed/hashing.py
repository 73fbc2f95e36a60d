"""Vectors without a model: hashed words and three-letter pieces. For tests and first steps; they carry no meaning."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.embed.embedder import Kind, unit
from recollect.embed.style import Style
from recollect.errors import ConfigError

WORD, PIECE = 1.0, 0.3
_PLAIN = Style()


class HashingEmbedder:
    """Gives the same vector for the same text on every machine; texts that share words are close."""

    def __init__(self, dimension: int = 256) -> None:
        if not 8 <= dimension <= 65_536:
            raise ConfigError(f"'hash:{dimension}' can't be used: give 8 to 65536 dimensions, as in 'hash:256'")
        self.dimension = dimension
        self.name = f"hash:{dimension}"

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order; `kind` makes no difference."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, _PLAIN.prefixed(texts, kind), strict=True):
            for (feature, weight), count in Counter(_features(text)).items():
                code = zlib.crc32(feature.encode())
                row[code % self.dimension] += weight * count**0.5 * (1 if code >> 31 else -1)
        rows[~rows.any(axis=1), 0] = 1
        return unit(self.name, rows)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()):
        yield word, WORD
        padded = f"<{word}>"
        yield from ((padded[i : i + 3], PIECE) for i in range(len(padded) - 2))
