"""What an embedder is, which gives a unit vector for each text, and a reranker, which scores texts for a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from recollect.errors import BadReply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["query", "passage"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Safe to call from many threads; the same text always gives the same vector."""

    @property
    def name(self) -> str:
        """The name that is stored with each vector: embedders with the same name must give comparable vectors."""

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order: an array of shape (len(texts), dimension)."""


@runtime_checkable
class Reranker(Protocol):
    """Reads a query and a text together, and scores how well the text answers it. Safe to call from many threads."""

    @property
    def name(self) -> str:
        """The model's name."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One score per text, in order; the higher, the better the text answers the query."""


def readable(text: str) -> str:
    """The text with lone surrogates replaced, so that every tokenizer and encoder accepts it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit(name: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length one. Raises BadReply if the model gave a row without a direction."""
    import numpy as np

    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise BadReply(f"{name}: a vector is all zero, or has numbers that are not finite")
    return np.asarray(rows / norms, np.float32)
