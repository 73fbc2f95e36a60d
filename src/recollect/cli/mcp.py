"""`recollect mcp`: the memory as tools of an MCP client."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from recollect.cli.ports import address, check_free
from recollect.cli.shell import User, Where, named, remembering, telling_errors
from recollect.cli.terminal import err, note


def mcp(
    *,
    http: Annotated[bool, typer.Option("--http", help="Over streamable HTTP instead of stdio.")] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen on, with --http; others than this machine's need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on, with --http.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="RECOLLECT_MCP_TOKEN",
            callback=named,
            help="What a client must send as Authorization: Bearer TOKEN, with --http.",
            show_default=False,
        ),
    ] = None,
    erasure: Annotated[bool, typer.Option("--erasure", help="Offer the tools that forget, too.")] = False,
    store: Where = None,
    user: User = None,
    session: Annotated[
        str, typer.Option("--session", help="The conversation that is meant where none is named.")
    ] = "mcp",
) -> None:
    """Serve a user's memory to an MCP client, until it is stopped.

    Example: recollect mcp --user ada

    Example: recollect mcp --http --port 8765

    Example: RECOLLECT_MCP_TOKEN=secret recollect mcp --http --host 0.0.0.0
    """
    if http:
        with telling_errors():
            check_free(host, port)
    with remembering(store, user, session, must_exist=False) as chat:
        from recollect.adapters.mcp import serve

        if err.is_terminal and (http or sys.stdin.isatty()):
            where = f"at {address(host, port)}mcp" if http else "on stdin, which a client writes to"
            note(f"Serving the memory of {chat.scope.user} {where}; Ctrl-C ends it.")
        serve(
            chat.memory,
            user=chat.scope.user or "",
            session=session,
            erasure=erasure,
            transport="http" if http else "stdio",
            host=host,
            port=port,
            token=token,
        )
