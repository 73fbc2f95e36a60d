"""Vectors from any server that speaks OpenAI's `/v1/embeddings`: OpenAI, vLLM, Ollama, llama.cpp, TEI …

The environment has the address in `OPENAI_BASE_URL` and the key in `OPENAI_API_KEY`; a local server needs no key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.embedder import Kind, unit
from recollect.embed.style import style_of
from recollect.errors import BadReply
from recollect.http import OPENAI, RETRIES, Endpoint, Retries

MAX_BYTES = 8_000
"""Only this much of a text is sent: tokenizers make at most one token of a byte, and OpenAI takes 8,191 tokens."""
BATCH_TEXTS, BATCH_BYTES = 128, 250_000


class HttpEmbedder:
    """Vectors from a model behind HTTP: in batches, with a few retries, and every reply checked."""

    def __init__(self, model: str, url: str | None = None, timeout: float = 30, retries: Retries = RETRIES) -> None:
        self.name = f"openai:{model}"
        self._model, self._style, self._timeout = model, style_of(model), timeout
        self._dimension = 0
        url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._endpoint = Endpoint(self.name, url, "OPENAI_BASE_URL", "OPENAI_API_KEY", retries=retries)

    @property
    def dimension(self) -> int:
        """The length of each vector; the server is asked once."""
        if not self._dimension:
            self._request(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        prepared = [_cut(text) or " " for text in self._style.prefixed(texts, kind)]
        return np.concatenate([self._request(batch) for batch in _batches(prepared)])

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        def read(data: Any) -> NDArray[np.float32]:
            return unit(self.name, _vectors(self.name, data, len(texts)))

        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        rows, _ = self._endpoint.post("/embeddings", body, self._timeout, read)
        length = rows.shape[1]
        self._dimension = self._dimension or length
        if length != self._dimension:
            raise BadReply(f"{self.name}: sent vectors of {length} numbers, but {self._dimension} before")
        return rows


def _cut(text: str) -> str:
    return text.encode()[:MAX_BYTES].decode("utf-8", "ignore")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch, size = list[str](), 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == BATCH_TEXTS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    yield batch


def _vectors(name: str, reply: Any, count: int) -> NDArray[np.float32]:
    """The vectors in a reply, in the order of the texts; BadReply if something is wrong with it."""
    try:
        data = reply["data"]
        placed = {item.get("index", place): item["embedding"] for place, item in enumerate(data)}
        received = len(data)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadReply(f"{name}: the reply is not an embeddings list: is this a /v1/embeddings server?") from error
    if received != count or set(placed) != set(range(count)):
        raise BadReply(f"{name}: asked for {count} vectors, got {received}, numbered {sorted(map(str, placed))[:5]}…")
    try:
        with np.errstate(over="ignore"):
            rows = np.array([placed[place] for place in range(count)], np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadReply(f"{name}: the vectors are not numbers, or differ in length") from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise BadReply(f"{name}: the vectors are not lists of numbers")
    return rows
