"""The model behind the service: an OpenAI-compatible server that requests are passed on to, or any model of ours."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx2
from anyio import CapacityLimiter, to_thread
from pydantic_core import PydanticSerializationError, to_json

from recollect.errors import BadReply, ModelUnavailable
from recollect.http import MOST_BYTES, OPENAI, encoded, secure, without_key
from recollect.llm.dialect import failure
from recollect.llm.overflow import detect

T = TypeVar("T")
CONNECT_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 600.0
"""What OpenAI's own client waits for: a model may think for minutes over an answer that is not streamed."""
CONNECTIONS: Final = httpx2.Limits(max_connections=1_000, max_keepalive_connections=256)
KEY: Final = "OPENAI_API_KEY"
OURS: Final = "recollect"
"""The name of a model that stands for the one the service was started with."""
AHEAD: Final = 16
"""How many pieces a model may be ahead of the reader: an answer without an end would hold up all other requests."""
PASSED: Final = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "openai-processing-ms")
"""Headers of a reply that are passed on to the caller."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the upstream answered, as it answered it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The body as JSON; empty where it is none."""
        try:
            data = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}


class Declined(Exception):
    """What the upstream answered where it did not answer the prompt; `overflow` where that was too long."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.overflow = reply, detect(reply.status, reply.body.decode("utf-8", "replace"))
        super().__init__(reply.status)


@dataclass(frozen=True, slots=True, eq=False)
class Passthrough:
    """A server that speaks OpenAI's wire format: requests go to it as they are, so that no field is lost."""

    model: str
    listing: httpx2.URL
    chats: httpx2.URL
    client: httpx2.AsyncClient

    @classmethod
    def open(cls, model: str) -> Passthrough:
        """The server that OPENAI_BASE_URL names in the environment, else OpenAI's."""
        url = (os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
        timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        client = httpx2.AsyncClient(timeout=timeout, limits=CONNECTIONS, verify=secure(url))
        return cls(model, httpx2.URL(f"{url}/models"), httpx2.URL(f"{url}/chat/completions"), client)

    def named(self, model: str) -> str:
        """The model that a caller means."""
        return model if model not in ("", OURS) else self.model

    async def models(self) -> Reply:
        """The models there are."""
        async with self._sent("GET", self.listing, None) as response:
            return await _whole(response)

    async def retrieve(self, model: str) -> Reply:
        """The model that a caller means, as the list has it."""
        url = httpx2.URL(f"{self.listing}/{quote(self.named(model), safe='')}")
        async with self._sent("GET", url, None) as response:
            return await _whole(response)

    def check(self, body: Mapping[str, Any]) -> None:
        """Do nothing: the server itself refuses what it does not take."""

    def prepared(self, body: Mapping[str, Any]) -> bytes:
        """The body as it is sent, in JSON; call it on a thread.

        Half a surrogate pair, which no server takes, becomes a question mark.
        """
        try:
            return to_json(body)
        except PydanticSerializationError:
            return encoded(body)

    async def complete(self, request: bytes) -> Reply:
        """The whole answer."""
        async with self._sent("POST", self.chats, request) as response:
            return await _answered(response)

    @asynccontextmanager
    async def stream(self, request: bytes) -> AsyncIterator[Reply | AsyncIterator[bytes]]:
        """The event stream of the answer; a whole Reply from a server that does not stream."""
        async with self._sent("POST", self.chats, request) as response:
            if response.is_success and "json" not in response.headers.get("content-type", ""):
                yield _pieces(response)
            else:
                yield await _answered(response)

    async def close(self) -> None:
        """Let go of the connections."""
        await self.client.aclose()

    @asynccontextmanager
    async def _sent(self, method: str, url: httpx2.URL, content: bytes | None) -> AsyncIterator[httpx2.Response]:
        key = os.environ.get(KEY, "")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        if content:
            headers["content-type"] = "application/json"
        with _told("does not answer"):
            async with self.client.stream(method, url, content=content, headers=headers) as response:
                _check(response)
                yield response


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Raise ModelUnavailable for an error of the connection."""
    try:
        yield
    except httpx2.ReadTimeout as error:
        raise ModelUnavailable(f"the model's server was silent for {SILENCE_SECONDS:g} seconds") from error
    except httpx2.RequestError as error:
        raise ModelUnavailable(f"the model's server {what} ({type(error).__name__})") from error


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    left = MOST_BYTES
    with _told("broke off"):
        async for piece in response.aiter_bytes():
            left -= len(piece)
            if left < 0:
                raise BadReply(f"the reply of the model's server has over {MOST_BYTES:,} bytes")
            yield piece


def _check(response: httpx2.Response) -> None:
    """Raise BadReply for what no server of OpenAI's API answers: a redirect, nothing, a page to log in."""
    status, kind = response.status_code, response.headers.get("content-type", "")
    if not ((status == 200 and "html" not in kind) or 400 <= status < 600):
        what = f"the model's server answered {status} with {kind or 'nothing'}"
        raise BadReply(f"{what}, which is not OpenAI's API: is OPENAI_BASE_URL its address?")


async def _whole(response: httpx2.Response) -> Reply:
    kept = {name: value for name, value in response.headers.items() if name in PASSED}
    body = b"".join([piece async for piece in _pieces(response)])
    if response.is_success and not body.lstrip().startswith(b"{"):
        raise BadReply("the model's server answered what is not OpenAI's API: is OPENAI_BASE_URL its address?")
    reply = Reply(response.status_code, body, kept)
    if reply.status in (401, 403):
        raise _not_let_in(reply)
    return reply


async def _answered(response: httpx2.Response) -> Reply:
    """The answer to a prompt; raises Declined where there is none."""
    reply = await _whole(response)
    if reply.status >= 400:
        raise Declined(reply)
    return reply


def _not_let_in(reply: Reply) -> ModelUnavailable:
    """The error for a refusal of the service's own key, which the caller would else take for one of its own."""
    body = without_key(reply.body.decode("utf-8", "replace"), os.environ.get(KEY, ""))
    said = str(failure(replace(reply, body=body.encode()).data) or "said nothing").removesuffix(".")
    problem = (
        f"the model's server answered {reply.status} and {said}. Set {KEY} of the service to a key for this server"
    )
    error = ModelUnavailable(problem, passing=False)
    error.status = reply.status
    return error


async def from_thread(start: Callable[[], Iterator[T]], threads: CapacityLimiter) -> AsyncGenerator[list[T]]:
    """The items of a generator that runs on a thread, in lists of all that came while the reader was busy.

    The thread is up to `AHEAD` items ahead; the generator is closed once no one wants more.
    """
    loop, stop, ahead = asyncio.get_running_loop(), threading.Event(), threading.Semaphore(AHEAD)
    came, there = deque[T](), asyncio.Event()

    def work() -> None:
        items = start()
        for item in items:
            ahead.acquire()
            if stop.is_set():
                getattr(items, "close", lambda: None)()
                return
            came.append(item)
            if len(came) <= 1:  # else the reader was told, and has not looked yet
                loop.call_soon_threadsafe(there.set)

    def over(task: asyncio.Task[None]) -> None:
        there.set()
        _ = task.cancelled() or task.exception()  # raised below, unless the reader is gone

    task = asyncio.create_task(to_thread.run_sync(work, limiter=threads, abandon_on_cancel=True))
    task.add_done_callback(over)
    try:
        while True:
            await there.wait()
            there.clear()
            is_over, batch = task.done(), list[T]()
            while came:
                batch.append(came.popleft())
            if batch:
                ahead.release(len(batch))
                yield batch
            if is_over:
                task.result()
                return
    finally:
        stop.set()
        ahead.release()
        task.cancel()
