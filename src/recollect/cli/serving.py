"""`recollect serve`, its `keys`, and `recollect mcp`: memory for other programs."""

from __future__ import annotations

import errno
import socket
import sys
from typing import Annotated, Final, Literal

import typer

from recollect.cli.shell import Json, User, Where, again, named, opened, remembering, telling_errors
from recollect.cli.terminal import answer, day, err, listed, note
from recollect.errors import ConfigError, NotFound

keys = typer.Typer(help="Keys of the service: who may read, write, erase and administer.", no_args_is_help=True)
_REFUSED: Final = {errno.EADDRINUSE: "is taken", errno.EACCES: "may not be used by this user"}


def serve(
    store: Where = None,
    model: Annotated[
        str | None,
        typer.Option(
            envvar="RECOLLECT_MODEL",
            callback=named,
            help="The model that answers.",
            show_default="recall:, which needs no key",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this machine's need keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="The port to listen on.")] = 8642,
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer.")] = 1,
) -> None:
    """Serve memory over HTTP: a page to look inside, REST, a streaming chat and an OpenAI-compatible proxy.

    Example: recollect serve --store memory.db --model openai:gpt-4o-mini
    """
    with telling_errors():
        _check_free(host, port)
        from recollect.server.app import serve as run
        from recollect.server.options import Options

        if err.is_terminal:
            note(f"Open http://{f'[{host}]' if ':' in host else host}:{port}/ in a browser; Ctrl-C ends it.")
        run(Options.read(store=store, model=model), host, port, workers)


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
            _check_free("127.0.0.1", port)
    with remembering(store, user, session, must_exist=False) as chat:
        from recollect.adapters.mcp import serve as run

        if err.is_terminal and (http or sys.stdin.isatty()):
            where = f"at http://127.0.0.1:{port}/mcp" if http else "on stdin, which a client writes to"
            note(f"Serving the memory of {chat.scope.user} {where}; Ctrl-C ends it.")
        transport: Literal["http", "stdio"] = "http" if http else "stdio"
        run(chat.memory, user=chat.scope.user or "", session=session, erasure=erasure, transport=transport, port=port)


def _check_free(host: str, port: int) -> None:
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


@keys.command("add")
def add(
    may: Annotated[
        list[str] | None, typer.Option(help="read, write, erase or admin; more than once.", show_default="read, write")
    ] = None,
    tenant: Annotated[str, typer.Option(help="Whose memory the key opens.")] = "default",
    name: Annotated[str, typer.Option(help="A name to know it by.")] = "",
    store: Where = None,
    as_json: Json = False,
) -> None:
    """Make a key and show its secret, this once.

    Example: recollect keys add --may read --may write --name app
    """
    from recollect.server.auth import add_key, check_key

    may = may or ["read", "write"]
    with telling_errors():
        check_key(tenant, may)
    with opened(store, must_exist=False) as opened_store:
        key, secret = add_key(opened_store, tenant=tenant, may=may, name=name)
    made = {"id": key.id, "secret": secret, "tenant": key.tenant, "may": sorted(key.may), "name": key.name}
    answer(as_json, made, secret)
    if not as_json:
        note("It is shown this once. Send it as the header Authorization: Bearer KEY")


@keys.command("list")
def list_them(store: Where = None, as_json: Json = False) -> None:
    """Show the keys; their secrets are not kept anywhere.

    Example: recollect keys list
    """
    from recollect.server.auth import list_keys

    with opened(store) as opened_store:
        found = list_keys(opened_store)
    columns = ("id", "tenant", "may", "name", "made")
    value = [dict(zip(columns, (k.id, k.tenant, sorted(k.may), k.name, k.made), strict=True)) for k in found]
    rows = [(k.id, k.tenant, ", ".join(sorted(k.may)), k.name, day(k.made)) for k in found]
    nothing = f"There are no keys: the service answers this machine only. Make one with: {again('keys add')}"
    listed(as_json, value, columns, rows, nothing)


@keys.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(help="The id of a key: recollect keys list")],
    store: Where = None,
    as_json: Json = False,
) -> None:
    """Make a key useless from now on; running services notice within seconds.

    Example: recollect keys revoke 1f2e3d4c
    """
    from recollect.server.auth import revoke_key

    with opened(store) as opened_store:
        try:
            revoke_key(opened_store, id)
        except NotFound:
            raise NotFound(f"no key {id!r}: see them with `{again('keys list')}`") from None
    answer(as_json, {"id": id}, f"Key {id} is revoked.")
