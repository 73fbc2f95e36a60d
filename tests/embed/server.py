"""A real HTTP server that speaks OpenAI's embeddings, checks what it is asked, and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from recollect.embed.hashing import HashingEmbedder
from recollect.testing.provider.server import Server as Sockets
from recollect.testing.provider.values import HangUp, Sending

Reply = tuple[int, Any, dict[str, str]]
Misbehave = Callable[[list[dict[str, Any]]], Reply | None]
"""Takes the vectors a good reply would have; None means: hang up without a word."""
DIMENSION = 64


class Server:
    """What came in, and what goes wrong next: each item of `trouble` spoils one reply."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.trouble: list[Misbehave] = []
        self.lock = threading.Lock()

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Sending:
        reply = self.answer(path, headers.get("authorization"), raw)
        if reply is None:
            return Sending(200, (HangUp(),))
        status, body, more = reply
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Sending(status, (payload,), more, len(payload))

    def answer(self, path: str, key: str | None, raw: bytes) -> Reply | None:
        body = json.loads(raw)
        with self.lock:
            self.requests.append(body)
            self.keys.append(key)
            trouble = self.trouble.pop(0) if self.trouble else None
        if problem := _problem(path, body):
            return 400, {"error": {"message": problem, "type": "invalid_request_error"}}, {}
        vectors = HashingEmbedder(DIMENSION).embed(body["input"]) * 3
        data = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]
        if trouble:
            return trouble(data)
        return 200, {"object": "list", "data": data[::-1], "model": body["model"]}, {}


def _problem(path: str, body: dict[str, Any]) -> str:
    texts = body.get("input")
    if path != "/v1/embeddings" or set(body) != {"model", "input", "encoding_format"}:
        return f"unknown request {path} {sorted(body)}"
    if not isinstance(texts, list) or not 1 <= len(texts) <= 2048:
        return "input must be an array of 1 to 2048 texts"
    if any(text == "" or len(text.encode()) > 8191 for text in texts):
        return "input cannot be an empty string, nor longer than 8191 tokens"
    return ""


@contextmanager
def serving() -> Iterator[Server]:
    """A server on a free port of this machine, until the block ends."""
    state = Server()
    with closing(Sockets(state.handle)) as sockets:
        state.url = f"http://127.0.0.1:{sockets.server_port}/v1"
        yield state
