"""An embedder around another one, which caches the vectors used last."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.arguments import check_given
from recollect.embed.embedder import Embedder, Kind, readable, unit
from recollect.errors import BadReply, ConfigError, ModelUnavailable, RecollectError
from recollect.recent import that_forgets
from recollect.traces import span

ENTRY_BYTES = 300
"""How many bytes an entry takes besides its numbers: key, array object, dict slot."""


class CachedEmbedder:
    """The vectors of `inner`, cached up to `max_bytes`; the least recently used go first. Thread-safe."""

    def __init__(self, inner: Embedder, max_bytes: int = 64_000_000) -> None:
        if max_bytes < 0:
            raise ConfigError(f"max_bytes must be 0 or more, not {max_bytes}")
        self.inner, self.max_bytes = inner, max_bytes
        self.hits = self.misses = self.bytes = 0
        self._kept: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        that_forgets(self)

    @property
    def name(self) -> str:
        """The inner embedder's name, since these are its vectors."""
        return self.inner.name

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order; the inner embedder makes only those that are not cached."""
        check_given(texts=(texts, not isinstance(texts, str), "a list of texts"))
        if not texts:
            return self._asked([], kind)
        keys = [hashlib.blake2b(f"{kind}\0{readable(text)}".encode(), digest_size=16).digest() for text in texts]
        found = self._look_up(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            with span("embeddings", model=self.name):
                new = self._asked(list(missing.values()), kind)
            found |= dict(zip(missing, new, strict=True))
            self._keep({key: found[key].copy() for key in missing})
        return np.array([found[key] for key in keys])

    def cache_clear(self) -> None:
        """Forget all vectors."""
        with self._lock:
            self._kept.clear()
            self.bytes = 0

    def _asked(self, texts: list[str], kind: Kind) -> NDArray[np.float32]:
        """The inner embedder's vectors. If it fails in any way, raises a ModelError."""
        try:
            found = np.asarray(self.inner.embed(texts, kind), np.float32)
        except RecollectError:
            raise
        except Exception as error:
            raise ModelUnavailable(f"the embedder {self.name} failed: {error!r}") from error
        if not texts:
            return found.reshape(0, self.dimension)
        if found.ndim != 2 or len(found) != len(texts):
            given = f"{len(found)} vectors" if found.ndim == 2 else "no vectors"
            raise BadReply(f"the embedder {self.name} gave {given} for {len(texts)} texts")
        return unit(self.name, found)

    def _look_up(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
            for key in found:
                self._kept.move_to_end(key)
            hits = sum(key in found for key in keys)
            self.hits, self.misses = self.hits + hits, self.misses + len(keys) - hits
            return found

    def _keep(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        with self._lock:
            for key, vector in vectors.items():
                if key not in self._kept:
                    self._kept[key] = vector
                    self.bytes += vector.nbytes + ENTRY_BYTES
            while self.bytes > self.max_bytes:
                self.bytes -= self._kept.popitem(last=False)[1].nbytes + ENTRY_BYTES
