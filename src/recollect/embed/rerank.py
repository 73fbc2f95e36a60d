"""Rerankers: models that read a question and a text together, and score how well the text answers the question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.embed.embedder import readable
from recollect.embed.onnx import OnnxModel
from recollect.embed.style import style_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against a query. Safe to call from many threads."""

    @property
    def name(self) -> str:
        """The model's name."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score per text, in order; the higher, the better the text answers the query."""


class OnnxReranker:
    """A cross-encoder in an ONNX folder. Its scores are logits; each is independent of the other texts."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, style_in(folder).max_tokens)
        self.name = f"onnx:{folder.resolve().name}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One logit per text, in order."""
        import numpy as np

        asked = readable(query)
        return np.array([self._model.run(asked, readable(text))[0] for text in texts], np.float32)
