"""How much one caller may ask for: bytes, nesting, time to send them, requests a second, answers at once."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from anyio import CapacityLimiter
from prometheus_client import Gauge
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.recent import Recent
from recollect.server.problems import Refused, reply

CALLERS: Final = 10_000
"""How many callers' rates are remembered; the ones not seen for longest are dropped first."""
STREAMED: Final = ("/import",)
"""Paths whose body is read line by line, so that only a line is limited."""
SILENT_SECONDS: Final = 30.0
"""How long a caller may send nothing of a body that has not ended."""
PACE: Final = 1_000
"""The fewest bytes a second, on average, that a body may come at; `SILENT_SECONDS` are granted on top."""
ENDS: Final = 2
"""How many answers are kept at once: the others wait, so that they do not take all threads from other requests."""
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")
_OTHERS: Final = bytes(set(range(256)).difference(b"[]{}"))


def too_deep(body: bytes, most: int) -> bool:
    """Whether JSON is nested deeper than `most` levels: whether brackets are left after taking off `most` layers."""
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    outside = body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2]
    left = b"".join(outside).translate(_ALIKE, _OTHERS)
    if b"[" * (most + 1) in left:
        return True
    for _ in range(most):
        left = left.replace(b"[]", b"")
    return b"[]" in left or left.count(b"[") > most


def timely(receive: Receive) -> Receive:
    """`receive`, but a body that comes too slowly is refused. Only the time spent waiting for the caller counts."""
    clock = asyncio.get_running_loop().time
    waited, came, ended = 0.0, 0, False

    async def timed() -> Message:
        nonlocal waited, came, ended
        if ended:
            return await receive()
        began = clock()
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                message = await receive()
        except TimeoutError:
            raise _too_slow() from None
        waited += clock() - began
        came += len(message.get("body", b""))
        ended = not message.get("more_body", False)
        if not ended and waited > SILENT_SECONDS + came / PACE:
            raise _too_slow()
        return message

    return timed


def _check_plain(headers: Headers) -> None:
    """Raises for a body that is compressed."""
    coded = headers.get("content-encoding", "identity")
    if coded.lower() != "identity":
        detail = f"the body is sent with Content-Encoding: {coded}, which this service does not read"
        raise Refused(415, detail, "send it as it is, without Content-Encoding", {"Accept-Encoding": "identity"})


def _too_slow() -> Refused:
    detail = f"the body comes too slowly: {SILENT_SECONDS:g} seconds passed without a byte, or with hardly any"
    return Refused(408, detail, "send it again, in smaller parts over a slow line", {"Connection": "close"})


@dataclass(frozen=True, slots=True)
class Bodies:
    """An app whose requests come in time, no larger than `max_body` bytes, their JSON no deeper than `max_depth`.

    Nothing is read of the body of a request that `admit` refuses.
    """

    app: ASGIApp
    max_body: int
    max_depth: int
    admit: Callable[[Request], Awaitable[object]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it before the app sees it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        receive, headers = timely(receive), Headers(scope=scope)
        whole = scope["path"] not in STREAMED
        try:
            _check_plain(headers)
            if whole:
                self._check_size(int(headers.get("content-length") or 0))
        except (Refused, ValueError) as error:
            return await reply(error, scope["path"])(scope, receive, send)
        return await self.app(scope, self._checked(Request(scope), receive) if whole else receive, send)

    def _check_size(self, size: int) -> None:
        if size > self.max_body:
            detail = f"the body has more than {self.max_body:,} bytes"
            parts = "send it in parts, such as the new messages alone"
            raise Refused(413, detail, f"{parts}, or have the service set RECOLLECT_MAX_BODY higher")

    def _checked(self, request: Request, receive: Receive) -> Receive:
        """`receive`, but the caller is checked before the first byte is read, and the body as it comes."""
        begun: Receive | None = None

        async def checked() -> Message:
            nonlocal begun
            if begun is None:
                await self.admit(request)
                begun = self._counted(receive)
                if "json" in request.headers.get("content-type", "").lower():
                    begun = await self._whole(begun, receive)
            return await begun()

        return checked

    def _counted(self, receive: Receive) -> Receive:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            self._check_size(seen)
            return message

        return counted

    async def _whole(self, counted: Receive, receive: Receive) -> Receive:
        """Read the body to its end and check how deep it is; returns a `receive` that gives it once more."""
        parts, more = [], True
        while more:
            message = await counted()
            if message["type"] == "http.disconnect":
                return counted
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if too_deep(body, self.max_depth):
            raise Refused(422, f"the JSON has more than {self.max_depth} levels", "nest it less deeply")
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        return again


@dataclass(slots=True, eq=False)
class Rate:
    """How often each caller may come: `per_second`, or after a rest that many requests at once."""

    per_second: float
    clock: Callable[[], float] = time.monotonic
    _seen: Recent[str, tuple[float, float]] = field(default_factory=lambda: Recent(CALLERS))

    def check(self, caller: str) -> None:
        """Count a request, or refuse it."""
        now, most = self.clock(), max(1.0, self.per_second)
        left, at = self._seen.get(caller, (most, now))
        left = min(most, left + (now - at) * self.per_second)
        self._seen[caller] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            wait = math.ceil((1 - left) / self.per_second)
            raise Refused(
                429,
                f"more than {self.per_second:g} requests a second",
                "wait as long as Retry-After says",
                {"Retry-After": str(wait)},
            )


class Streams:
    """Counts the answers that are being streamed, of which there may be `most`; each is made on a thread."""

    def __init__(self, most: int, shown: Gauge) -> None:
        self.most, self.open, self._shown = most, 0, shown
        self.threads, self.ends = CapacityLimiter(2 * most), CapacityLimiter(ENDS)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place for one more answer, kept until `leave` unless the block fails; refused where all are taken."""
        if self.open >= self.most:
            problem = f"{self.most} answers are being streamed"
            raise Refused(429, problem, "try again in a moment", {"Retry-After": "1"})
        self.open += 1
        self._shown.inc()
        try:
            yield
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Give the place of an answer back."""
        self.open -= 1
        self._shown.dec()
