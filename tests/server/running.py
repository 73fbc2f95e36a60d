"""A real service on a real socket of this machine, for the length of a block."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from recollect.memory import Memory
from recollect.server.app import create_app
from recollect.server.connections import Timely
from recollect.server.options import Options


@dataclass(frozen=True)
class Running:
    """A service that runs: its address, its memory, and a client for it."""

    url: str
    memory: Memory
    http: httpx2.Client


class _Server(uvicorn.Server):
    """A server that tells when it has started, or will not."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(app, http=Timely, log_config=None, access_log=False, timeout_graceful_shutdown=5)
        super().__init__(config)
        self.tried = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.tried.set()


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address at which an ASGI app answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        server = _Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        server.tried.wait()
        try:
            assert server.started, "the service did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def running(memory: Memory | None = None, **options: Any) -> Iterator[Running]:
    """A service over a memory, by default one that is not kept."""
    kept = memory or Memory.open(":memory:", embedder=None)
    app: FastAPI = create_app(Options(**{"model": "recall:", **options}), kept)
    with (
        nullcontext() if memory else kept,
        listening(app) as url,
        httpx2.Client(base_url=url, timeout=30, verify=False) as http,
    ):
        yield Running(url, kept, http)
