"""Answers that are sent while they are made; what must be done at their end is done even if the caller has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Final

from anyio import CancelScope
from fastapi.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from recollect.server.limits import Streams

HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
SILENT_SECONDS: Final = 15.0
"""How long a stream may be silent before a comment line is sent: proxies cut silent streams off."""
WAITING: Final[Message] = {"type": "http.response.body", "body": b": waiting\n\n", "more_body": True}
BETWEEN: Final = (b"\n\n", b"\r\n\r\n")
"""What ends an event; a comment may stand only after that."""


@contextmanager
def while_there(receive: Receive) -> Iterator[CancelScope]:
    """Cancel the block as soon as the caller goes away."""
    with CancelScope() as work:
        watching = asyncio.create_task(_until_gone(receive, work))
        try:
            yield work
        finally:
            watching.cancel()


async def _until_gone(receive: Receive, work: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


@contextmanager
def never_silent(send: Send) -> Iterator[Send]:
    """`send` for an event stream; where it is silent for long between two events, comment lines are sent."""
    clock, sending = asyncio.get_running_loop().time, asyncio.Lock()
    last, tail = clock(), b""

    async def noted(message: Message) -> None:
        nonlocal last, tail
        async with sending:
            await send(message)
            goes_on = message["type"] == "http.response.start" or message.get("more_body", False)
            last, tail = clock(), (tail + message.get("body", b"\n\n"))[-4:] if goes_on else b""

    async def beat() -> None:
        nonlocal last
        while True:
            await asyncio.sleep(last + SILENT_SECONDS - clock())
            async with sending:
                if clock() - last >= SILENT_SECONDS:
                    last = clock()
                    if tail.endswith(BETWEEN):
                        with suppress(OSError):
                            await send(WAITING)

    beating = asyncio.create_task(beat())
    try:
        yield noted
    finally:
        beating.cancel()


class Stream(StreamingResponse):
    """An event stream. Its generator is closed as soon as the caller goes away, and before the request ends.

    Then `after` is closed, and the stream gives back its place in `streams`.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        streams: Streams,
        headers: Mapping[str, str] | None = None,
        after: AsyncExitStack | None = None,
    ) -> None:
        super().__init__(pieces, headers={**HEADERS, **(headers or {})})
        self._pieces, self._streams, self._after = pieces, streams, after or AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer until it ends or the caller goes away."""
        with while_there(receive):
            await self.stream_response(send)

    async def stream_response(self, send: Send) -> None:
        """Send the pieces; the generator may clean up in peace even where sending is cancelled."""
        try:
            with never_silent(send) as noted:
                await super().stream_response(noted)
        finally:
            try:
                with CancelScope(shield=True):
                    async with self._after:
                        await self._pieces.aclose()
            finally:
                self._streams.leave()
