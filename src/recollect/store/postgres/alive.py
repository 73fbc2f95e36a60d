"""Settings by which a connection ends when the other side is gone without a word.

A machine that crashed, or a firewall that drops packets, closes nothing: TCP by itself waits for a quarter of an hour,
or for hours where nothing is being sent.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

GONE: Final = 10
"""Seconds without a sign of life, or to connect, after which the other side counts as gone."""

LONGEST: Final = 600.0
"""Seconds a statement may take: a proxy on the way may give signs of life for a server that is gone."""

LEAST: Final = 0.001
"""Seconds that a statement has at least, however long was waited for its turn."""

_NOTICE: Final = (
    "SELECT set_config('tcp_keepalives_idle', %s, false), set_config('tcp_keepalives_interval', %s, false),"
    " set_config('tcp_keepalives_count', '2', false)"
)

CANCEL: Final = 2.0
"""Seconds it may take to have a server cancel a statement."""


def conninfo(url: str) -> str:
    """The address with the settings that it lacks to tell a server that is gone from one that is slow."""
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
    """Have a writer that waited for another see what that one wrote, whatever the database's default is.

    Also has the server notice when this machine is gone: others wait for what its transactions have locked.
    """
    connection.prepare_threshold = None  # the driver would forget our prepared statements along with its own
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(_NOTICE, (str(2 * GONE), str(max(GONE // 2, 1))))
    connection.commit()
