"""Closes connections that send no request or do not read their answer, and refuses new ones during a stop.

A connection that is open when a stop begins is given a moment: a proxy may just be sending a request by it.

Keys and limits of callers can't do that: who a caller is, is known only once the headers are there.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from recollect.http import KEEP_SECONDS
from recollect.server.problems import MEDIA, problem
from recollect.server.replies import to_json

HEAD_SECONDS: Final = 30.0
"""How long the first line and the headers of a request may take to come."""
HEAD_BYTES: Final = 2**17
"""How large they may be together, give or take what one read brings."""
READ_SECONDS: Final = 60.0
"""How long a caller may read nothing of an answer that is ready."""
LAST_SECONDS: Final = 0.5
"""How long an idle connection may still bring a request once a stop has begun, or where it has no place."""

NO_REQUEST: Final = f"send HTTP/1.1, names in the address percent-encoded, and at most {HEAD_BYTES:,} bytes of headers"

MOST: Final = 10_000
"""How many connections one process has at most; idle ones take about 16 kB each."""
SPARE: Final = 512
"""How many more files it may open then: the store, the model's server and what is loaded late need some."""


@cache
def places() -> int:
    """How many connections there is room for, once the system was asked for as many files as that takes."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
    except ModuleNotFoundError:  # on Windows
        return MOST
    (files, allowed), wanted = getrlimit(RLIMIT_NOFILE), MOST + SPARE
    if files != RLIM_INFINITY and files < wanted:
        with suppress(OSError, ValueError):  # a system may allow less than it says
            setrlimit(RLIMIT_NOFILE, (wanted if allowed == RLIM_INFINITY else min(wanted, allowed), allowed))
        files = getrlimit(RLIMIT_NOFILE)[0]
    if files == RLIM_INFINITY:
        return MOST
    return min(MOST, max(files - SPARE, files // 2))


class Processes(Multiprocess):
    """Processes that share a port. Once they are told to stop, whoever connects to it is refused, and need not wait."""

    def terminate_all(self) -> None:
        """Listen no longer, and tell the processes, which do the same, to stop."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


class Timely(HttpToolsProtocol):
    """A connection of uvicorn that is closed when the other side sends no request, or does not read its answer."""

    _head = 0
    _begins = _has_place = True
    _head_timer: TimerHandle | None = None
    _read_timer: TimerHandle | None = None
    _last_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Give the first request its time to come; it is refused where all places are taken."""
        super().connection_made(transport)
        self._has_place = len(self.connections) <= places()
        transport.set_write_buffer_limits(high=0)
        self.timeout_keep_alive = KEEP_SECONDS
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._got_head()
        self.resume_writing()
        if self._last_timer is not None:
            self._last_timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection with the request at hand, or with one that comes in a moment."""
        if self._is_answered:
            self._last_timer = self.loop.call_later(LAST_SECONDS, super().shutdown)
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        """Take in what came, and refuse headers that are too large."""
        if not self._has_place:
            detail = f"as many connections are open as one process takes: {places():,}"
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, detail, "try again in a moment")
            return
        super().data_received(data)
        if self._begins:
            self._head += len(data)
        if self._head > HEAD_BYTES:
            self.send_400_response(f"the headers have more than {HEAD_BYTES:,} bytes")
        elif self._head_timer is None and (self._begins or self._is_answered):
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg, NO_REQUEST)

    def _refuse(self, status: HTTPStatus, detail: str, next: str) -> None:
        """Close the connection with an answer in the form of every other refusal."""
        body = to_json(problem(status, "Refused", detail, next))
        head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: {MEDIA}\r\ncontent-length: {len(body)}"
        self.transport.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Count the bytes of a new request's headers."""
        self._begins, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop waiting for the headers; a request that comes during a stop is the last of its connection."""
        self._got_head()
        super().on_headers_complete()
        if self._last_timer is not None:
            self.cycle.keep_alive = False

    def _wait_for_head(self) -> None:
        def too_late() -> None:
            if self._is_answered:
                self.transport.close()
            else:  # an earlier request is still being answered
                self._wait_for_head()

        self._head_timer = self.loop.call_later(HEAD_SECONDS if self._has_place else LAST_SECONDS, too_late)

    @property
    def _is_answered(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _got_head(self) -> None:
        self._begins, self._head = False, 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def pause_writing(self) -> None:
        """Give the caller time to read what waits."""
        super().pause_writing()
        self._wait_for_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop waiting for the caller, who has read it."""
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
        super().resume_writing()

    def _wait_for_reader(self, before: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left < before:
                self._wait_for_reader(left)
            else:
                self.transport.abort()

        self._read_timer = self.loop.call_later(READ_SECONDS, look)
