"""What an embedder is: a batch of texts in, one float32 unit vector each out."""

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
        """What is stored beside each vector: two embedders of one name give comparable vectors."""

    @property
    def dimension(self) -> int:
        """The length of each vector."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector a text, in order: an array of shape (len(texts), dimension)."""


def readable(text: str) -> str:
    """The text with lone surrogates replaced, so that any tokenizer and any encoder takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def unit(name: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length one; a row with no direction is the model's fault."""
    import numpy as np

    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise BadReply(f"{name}: a vector is all zero, or has numbers that are not finite")
    return np.asarray(rows / norms, np.float32)
