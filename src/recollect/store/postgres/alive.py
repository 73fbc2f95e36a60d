"""Settings that end a connection when the other side disappears without closing it.

After a crash of the machine, or behind a firewall that drops packets, TCP by itself waits for a quarter of an hour, or
for hours if nothing is being sent.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

GONE: Final = 10
"""After this many seconds without a sign of life, or while connecting, the other side counts as gone."""

LONGEST: Final = 600.0
"""Seconds a statement may take. Needed because a proxy may still answer for a server that is gone."""

LEAST: Final = 0.001
"""Seconds a statement has at least, however long it waited for its turn."""

_NOTICE: Final = (
    "SELECT set_config('tcp_keepalives_idle', %s, false), set_config('tcp_keepalives_interval', %s, false),"
    " set_config('tcp_keepalives_count', '2', false)"
)

CANCEL: Final = 2.0
"""Seconds that cancelling a statement on the server may take."""


def conninfo(url: str) -> str:
    """The address, with the settings it lacks for telling a server that is gone from one that is slow."""
    given = psycopg.conninfo.conninfo_to_dict(url)
    ours = {
        "connect_timeout": GONE,
        "tcp_user_timeout": GONE * 1_000,
        "keepalives_idle": GONE,
        "keepalives_interval": max(GONE // 2, 1),
        "keepalives_count": 2,
    }
    missing = {name: value for name, value in ours.items() if name not in given}
    return psycopg.conninfo.make_conninfo(url, **missing, client_encoding="UTF8")


def configure(connection: psycopg.Connection[Any]) -> None:
    """Set up a new connection.

    READ COMMITTED, whatever the database's default is, lets a writer that waited for another see what that one wrote.
    With the keepalives the server notices if this machine is gone, since others wait for what its transactions locked.
    """
    connection.prepare_threshold = None  # or the driver would drop our prepared statements along with its own
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(_NOTICE, (str(2 * GONE), str(max(GONE // 2, 1))))
    connection.commit()
