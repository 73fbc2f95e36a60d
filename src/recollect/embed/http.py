"""Vectors from any server that speaks OpenAI's `/v1/embeddings`: OpenAI, vLLM, Ollama, llama.cpp, TEI …

The address is `OPENAI_BASE_URL`, the key `OPENAI_API_KEY`, both from the environment; a local server needs no key.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from recollect.embed.embedder import Kind, unit
from recollect.embed.style import style_of
from recollect.errors import BadReply, ConfigError, MissingExtra, ModelError, ModelUnavailable, RateLimited

if TYPE_CHECKING:
    import numpy as np
    from httpx2 import Response
    from numpy.typing import NDArray

OPENAI = "https://api.openai.com/v1"
MAX_BYTES = 8_000
"""Of a text, what is sent: a byte-level tokenizer makes at most one token of a byte, and OpenAI takes 8,191."""
BATCH_TEXTS, BATCH_BYTES = 128, 250_000
ATTEMPTS, LONGEST_WAIT = 4, 30.0


class HttpEmbedder:
    """Vectors by a model behind HTTP: batched, retried a few times, every reply checked."""

    def __init__(
        self, model: str, url: str | None = None, timeout: float = 30, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name = f"openai:{model}"
        self._url = (url or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
        if urlsplit(self._url).scheme not in ("http", "https"):
            raise ConfigError("the address of an embedding server starts with http:// or https://, as OPENAI_BASE_URL")
        self._model, self._style = model, style_of(model)
        self._timeout, self._sleep = timeout, sleep

    @cached_property
    def dimension(self) -> int:
        """The length of each vector, asked of the server once."""
        return int(self._request(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector a text, in order."""
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        prepared = [_cut(self._style.prefixed(text, kind)) or " " for text in texts]
        parts = [self._request(batch) for batch in _batches(prepared)]
        for part in parts:
            if part.shape[1] != self.__dict__.setdefault("dimension", int(part.shape[1])):
                raise BadReply(f"{self.name}: sent vectors of {part.shape[1]} numbers, before of {self.dimension}")
        return unit(self.name, np.concatenate(parts))

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _vectors(self.name, self._post(texts), len(texts))
            except _Retry as failed:
                wait = failed.after if failed.after is not None else 0.5 * 2**attempt
                if attempt == ATTEMPTS or wait > LONGEST_WAIT:
                    raise failed.error from failed.__cause__
                self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _post(self, texts: Sequence[str]) -> Response:
        client = self._client
        import httpx2

        key = os.environ.get("OPENAI_API_KEY", "")
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            reply: Response = client.post(f"{self._url}/embeddings", json=body, headers=headers)
        except httpx2.InvalidURL as error:
            raise ConfigError("the address of the embedding server is not a valid one: see OPENAI_BASE_URL") from error
        except httpx2.RequestError as error:
            problem = f"{type(error).__name__} at {urlsplit(self._url).hostname}: is the server up and reachable?"
            raise _Retry(ModelUnavailable(f"{self.name}: {problem}")) from error
        if not reply.is_success:
            self._refuse(reply, key)
        return reply

    @cached_property
    def _client(self) -> Any:
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra("httpx2", "http", self.name) from error
        client = httpx2.Client(timeout=self._timeout)
        weakref.finalize(self, client.close)
        return client

    def _refuse(self, reply: Response, key: str) -> None:
        said = " ".join(reply.text.split())
        problem = f"answered {reply.status_code}: {(said.replace(key, '***') if key else said)[:300]}"
        after = _seconds(reply.headers.get("retry-after"))
        if reply.status_code == 429:
            raise _Retry(RateLimited(f"{self.name}: {problem}", after), after)
        if reply.status_code in (408, 409) or reply.status_code >= 500:
            raise _Retry(ModelUnavailable(f"{self.name}: {problem}"), after)
        if reply.status_code in (401, 403):
            problem += ". Set OPENAI_API_KEY to a key for this server (OPENAI_BASE_URL)"
        raise ModelUnavailable(f"{self.name}: {problem}")


class _Retry(Exception):
    """Worth another try; `error` is what to raise when there is none left."""

    def __init__(self, error: ModelError, after: float | None = None) -> None:
        self.error, self.after = error, after


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


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def _vectors(name: str, reply: Response, count: int) -> NDArray[np.float32]:
    """The vectors of a reply in the order asked for, or a BadReply that says what is wrong with it."""
    import numpy as np

    try:
        data = reply.json()["data"]
        placed = {item.get("index", place): item["embedding"] for place, item in enumerate(data)}
        received = len(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BadReply(f"{name}: the reply is not an embeddings list: is this an /v1/embeddings server?") from error
    if received != count or set(placed) != set(range(count)):
        raise BadReply(f"{name}: asked for {count} vectors, {received} came, numbered {sorted(map(str, placed))[:5]}…")
    try:
        with np.errstate(over="ignore"):
            rows = np.array([placed[place] for place in range(count)], np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadReply(f"{name}: the vectors are not numbers, or not of one length") from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise BadReply(f"{name}: the vectors are not lists of numbers")
    return rows
