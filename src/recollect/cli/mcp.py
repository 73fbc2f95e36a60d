"""`recollect mcp`: the memory as tools of an MCP client."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from recollect.cli.shell import User, Where, remembering
from recollect.errors import MissingExtra


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
    with remembering(store, user, session, must_exist=False) as chat:
        try:
            adapter = import_module("recollect.adapters.mcp")
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "mcp", "mcp", "an MCP server") from error
        transport = "http" if http else "stdio"
        adapter.serve(
            chat.memory, user=chat.scope.user, session=session, erasure=erasure, transport=transport, port=port
        )
