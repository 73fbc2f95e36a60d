"""The sockets of the test provider: requests in, replies out byte by byte, as well or as badly as told."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from recollect.testing.provider.values import HangUp, Sending, Wait

Handle = Callable[[str, str, Mapping[str, str], bytes], Sending]


class Server(ThreadingHTTPServer):
    """A server on a free port of this machine; closing it ends every connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._open = set[socket.socket]()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and remember it."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that ended."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that leaves is no error here."""

    def close(self) -> None:
        """Stop listening and end all connections, also those that are kept waiting."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._lock:
            for connection in self._open:
                _end(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _answer(self, raw: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.handle(self.command, self.path, headers, raw))

    def _send(self, sending: Sending) -> None:
        begun = False
        for piece in sending.pieces:
            match piece:
                case Wait(seconds=None):
                    self.connection.recv(1)
                    self.close_connection = True
                    return
                case Wait(seconds=float(seconds)):
                    time.sleep(seconds)
                case HangUp(reset=reset):
                    self._hang_up(reset)
                    return
                case bytes() as data:
                    if not begun:
                        self._begin(sending)
                    begun = True
                    self._write(data, sending)
        if sending.length is None:
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, sending: Sending) -> None:
        self.send_response(sending.status)
        for name, value in sending.headers.items():
            self.send_header(name, value)
        if sending.length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(sending.length))
        self.end_headers()

    def _write(self, data: bytes, sending: Sending) -> None:
        if sending.length is not None:
            self.wfile.write(data)
        elif data:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _hang_up(self, reset: bool) -> None:
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            _end(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _end(connection: socket.socket) -> None:
    with suppress(OSError):  # it may have ended already
        connection.shutdown(socket.SHUT_RDWR)
