"""A TCP proxy that can turn bad: it takes bytes and passes none on, or lets no packet through at all."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

ATTACH_FILTER, DETACH_FILTER = 26, 27
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)
"""A packet filter of the kernel that lets nothing pass: no byte comes, and none that came is acknowledged."""


class Proxy:
    """What comes to its port goes to the target, and back."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        self._target, self._takes = target, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self.port = int(self._listener.getsockname()[1])
        self._takes.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
                there.connect(self._target)
                self._sockets += [here, there]
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                self._takes.wait()
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Take what comes, and keep it."""
        self._takes.clear()

    def drop(self) -> None:
        """Let no packet through, as a firewall would, or a machine that is gone."""
        if sys.platform != "linux":
            pytest.skip("packets can only be dropped on Linux")
        code = ctypes.create_string_buffer(DROP_ALL, len(DROP_ALL))
        program = struct.pack("HL", 1, ctypes.addressof(code))
        for one in self._every():
            one.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)

    def go_on(self) -> None:
        """All is well again."""
        self._takes.set()
        for one in self._every():
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, DETACH_FILTER, 0)

    def _every(self) -> list[socket.socket]:
        open_ones = [one for one in self._sockets if one.fileno() >= 0]
        return [self._listener, *(one for one in open_ones if one.family != socket.AF_UNIX)]

    def close(self) -> None:
        """No one gets through any more."""
        self._takes.set()
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def proxy(target: str | tuple[str, int]) -> Iterator[Proxy]:
    """A proxy to a target: a port, or the path of a socket."""
    made = Proxy(target)
    try:
        yield made
    finally:
        made.close()


def own_loopback() -> str:
    """An address of this machine that no other process has a server at."""
    pid = os.getpid()
    return f"127.{pid >> 16 & 127 | 64}.{pid >> 8 & 255}.{pid & 255}"
