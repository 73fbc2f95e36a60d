"""Answers that are sent while they are made; what must be done at their end is done even if the caller has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from anyio import CancelScope
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect.server.limits import Streams

HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@contextmanager
def while_there(receive: Receive) -> Iterator[CancelScope]:
    """The block ends where it is once the caller goes away."""
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


class Stream(StreamingResponse):
    """An event stream. Its generator is closed as soon as the caller goes away, and before the request ends.

    Then what is done `after` it is done, and it leaves its place among the streams.
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
        """Send the answer until it ends or the caller goes."""
        with while_there(receive):
            await self.stream_response(send)

    async def stream_response(self, send: Send) -> None:
        """Send the pieces; a generator's own cleaning up is not cancelled."""
        try:
            await super().stream_response(send)
        finally:
            try:
                with CancelScope(shield=True):
                    async with self._after:
                        await self._pieces.aclose()
            finally:
                self._streams.leave()
