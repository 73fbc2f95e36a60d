"""`recollect mcp`: the memory as tools of an MCP client."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from recollect.cli.ports import check_free
from recollect.cli.shell import User, Where, remembering, telling_errors
from recollect.cli.terminal import err, note


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Over streamable HTTP instead of stdio.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port on this machine, with --http.")] = 8765,
    erasure: Annotated[bool, typer.Option("--erasure", help="Offer the tool that forgets, too.")] = False,
    store: Where = None,
    user: User = None,
    session: Annotated[
        str, typer.Option("--session", help="The conversation that is meant where none is named.")
    ] = "mcp",
) -> None:
    """Serve a user's memory to an MCP client, until it is stopped.

    Example: recollect mcp --user ada

    Example: recollect mcp --http --port 8765
    """
    if http:
        with telling_errors():
            check_free("127.0.0.1", port)
    with remembering(store, user, session, must_exist=False) as chat:
        from recollect.adapters.mcp import serve

        if err.is_terminal and (http or sys.stdin.isatty()):
            where = f"at http://127.0.0.1:{port}/mcp" if http else "on stdin, which a client writes to"
            note(f"Serving the memory of {chat.scope.user} {where}; Ctrl-C ends it.")
        transport: Literal["http", "stdio"] = "http" if http else "stdio"
        serve(chat.memory, user=chat.scope.user or "", session=session, erasure=erasure, transport=transport, port=port)
