"""A place to listen at."""

from __future__ import annotations

import errno
import socket
from typing import Final

from recollect.errors import ConfigError

_REFUSED: Final = {errno.EADDRINUSE: "is taken", errno.EACCES: "may not be used by this user"}


def check_free(host: str, port: int) -> None:
    """Raise, before anything heavy is loaded, where the port is taken or not allowed to this user."""
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise ConfigError(f"{host} is not an address of this machine: choose another with --host") from None
    for family, kind, protocol, _, place in places:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(place)
        except OSError as error:
            if why := _REFUSED.get(error.errno or 0):
                raise ConfigError(f"port {port} of {host} {why}: choose another with --port") from None


def address(host: str, port: int) -> str:
    """Where a server that listens there is found."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
