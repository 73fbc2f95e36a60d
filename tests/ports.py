"""Ports for programs that a test starts."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from itertools import count

_ports = count(10_000 + os.getpid() % 200 * 100)


def free_port() -> int:
    """A port where nobody listens, nor will before the program does: it is below those that systems give out."""
    while True:
        port = next(_ports)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
