"""`recollect serve` and `recollect keys`."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.ports import address, check_free
from recollect.cli.shell import Json, Where, again, named, opened, telling_errors
from recollect.cli.terminal import answer, day, err, listed, note
from recollect.errors import NotFound

keys = typer.Typer(help="Keys of the service: who may read, write, erase and administer.", no_args_is_help=True)


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
        check_free(host, port)
        from recollect.server.app import serve as run
        from recollect.server.options import Options

        def begin() -> None:
            if err.is_terminal:
                note(f"Open {address(host, port)} in a browser; Ctrl-C ends it.")

        run(Options.read(store=store, model=model), host, port, workers, begin)


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
