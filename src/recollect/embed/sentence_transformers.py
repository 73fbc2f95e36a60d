"""Vectors from sentence-transformers, if it (and torch) is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from recollect.embed.embedder import Kind, unit
from recollect.embed.style import style_of
from recollect.errors import ModelUnavailable


class SentenceTransformersEmbedder:
    """Any model sentence-transformers can load, by its name or folder."""

    def __init__(self, model: str, device: str | None = None) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelUnavailable(
                f"{model} needs a package that is not installed: pip install sentence-transformers (it brings torch)"
            ) from error
        try:
            self._model = SentenceTransformer(model, device=device)
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"{model}: sentence-transformers can't load it: {error}") from error
        self._style = style_of(model)
        self.name = f"sentence-transformers:{model}"

    @cached_property
    def dimension(self) -> int:
        """The length of each vector."""
        return int(self.embed([""]).shape[1])

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        prefixed = self._style.prefixed(texts, kind)
        return unit(self.name, self._model.encode(prefixed, convert_to_numpy=True, show_progress_bar=False))
