"""Answers that are sent while they are made; what must be done at their end is done even if the caller has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Final

from anyio import CancelScope
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from recollect.server.limits import Streams

HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


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
        with CancelScope() as sending:
            watching = asyncio.create_task(self._until_gone(receive, sending))
            try:
                await self.stream_response(send)
            finally:
                watching.cancel()

    async def _until_gone(self, receive: Receive, sending: CancelScope) -> None:
        await self.listen_for_disconnect(receive)
        sending.cancel()

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
