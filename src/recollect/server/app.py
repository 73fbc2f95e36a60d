"""The app: `create_app()` makes it, from the environment or with given options and memory; `serve` runs it."""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from recollect import embed, llm, settings
from recollect.environment import here, misspelt
from recollect.errors import ConfigError, MissingExtra, RecollectError
from recollect.http import loopback
from recollect.llm import ChatModel
from recollect.memory import Memory

try:
    from anyio import CapacityLimiter, move_on_after, to_thread
    from fastapi import FastAPI

    from recollect.server import chat, learned, logs, metrics, openai, page, problems, rest, shown, upkeep
    from recollect.server.auth import Ring, list_keys
    from recollect.server.limits import Bodies, Rate, Streams
    from recollect.server.lines import BY_KIND
    from recollect.server.logs import Watched
    from recollect.server.metrics import SHARED, Metrics
    from recollect.server.options import Options
    from recollect.server.replies import Heads
    from recollect.server.service import Service, caller
    from recollect.server.translated import Translated
    from recollect.server.upstream import Passthrough
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "fastapi", "server", "the service") from error

THREADS: Final = 40
START_SECONDS: Final = 60
"""How long one of several processes may be silent, such as while it loads a model, before it is replaced."""
CLOSE_SECONDS: Final = 5.0
"""How long a stop waits for the job at hand: its model may not answer at all."""
SWITCH_SECONDS: Final = 0.001
"""How long a thread may compute while others wait; short, or background learning would hold up requests."""


def create_app(options: Options | None = None, memory: Memory | None = None, model: ChatModel | None = None) -> FastAPI:
    """The service as an ASGI app. A `memory` or `model` of your own replaces the options'; the memory stays open."""
    options = options or Options.read()
    counted = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for line in misspelt(here()):
            logs.log.warning(line)
        sys.setswitchinterval(min(SWITCH_SECONDS, sys.getswitchinterval()))
        app.state.service = service = _started(options, memory, model, counted)
        async with counted.watching(service.memory):
            yield
            await _stopped(service, memory is None)

    app = _routed(lifespan=lifespan)
    vars(app)["openapi"] = document
    problems.install(app)
    app.add_middleware(Bodies, max_body=options.max_body, max_depth=options.max_depth, admit=caller)
    app.add_middleware(Watched, metrics=counted)
    app.add_middleware(Heads)
    return app


def app_alone() -> FastAPI:
    """The app by the environment, for a process that runs nothing else: the garbage collector skips what is loaded.

    That is a hundred thousand objects; looking through them takes as long as several requests.
    """
    app = create_app()
    gc.freeze()
    return app


def _routed(**more: Any) -> FastAPI:
    """The app with its routes in one list; by `include_router`, each request would be matched against them twice."""
    parts = (openai, chat, rest, learned, upkeep, metrics, page)
    return FastAPI(
        routes=[route for part in parts for route in part.routes.routes],
        title="Recollect",
        version=version("recollect"),
        summary="The memory of LLM agents.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        **more,
    )


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of the service; it has errors as problem+json, which is how they are sent."""
    found = _routed().openapi()
    schemas, lines = found["components"]["schemas"], []
    for line in BY_KIND.values():
        schema = line.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs") | {line.__name__: schema}
        lines.append({"$ref": f"#/components/schemas/{line.__name__}"})
    schemas["Line"] = {"oneOf": lines}
    _say_defaults(schemas)
    for operations in (of for path, of in found["paths"].items() if not path.startswith(openai.routes.prefix)):
        for operation in operations.values():
            for status in shown.ERRORS:
                content = operation["responses"][status]["content"]
                content[problems.MEDIA] = content.pop("application/json")
    return found


def _say_defaults(schemas: dict[str, Any]) -> None:
    """Put each field's default into words: generators of TypeScript take a field that has one for always there."""
    for field in (field for schema in schemas.values() for field in schema.get("properties", {}).values()):
        if default := field.pop("default", None):
            field["description"] = f"Without it: {json.dumps(default)}."


@cache
def _parameters() -> dict[tuple[str, str], frozenset[str]]:
    """The names of the query parameters that each operation takes, by its method and path."""
    return {
        (method.upper(), path): frozenset(p["name"] for p in operation.get("parameters", ()) if p["in"] == "query")
        for path, operations in document()["paths"].items()
        for method, operation in operations.items()
    }


def opened(options: Options) -> Memory:
    """The memory that the options name."""
    return Memory.open(
        options.store,
        embedder=options.embedder,
        index=options.index,
        settings=settings.load(),
        model=options.background_model,
        reranker=embed.open_reranker(options.reranker) if options.reranker else None,
    )


def _started(options: Options, memory: Memory | None, model: ChatModel | None, counted: Metrics) -> Service:
    memory = memory or opened(options)
    ring = Ring(memory.store)
    ring.read()
    rate, streams = Rate(options.rate), Streams(options.max_streams, counted.streams)
    answers = model or llm.open(options.model)
    provider, _, name = options.model.partition(":")
    passes = model is None and provider == "openai"
    upstream = Passthrough.open(name) if passes else Translated(answers, streams.threads)
    threads = CapacityLimiter(THREADS)
    return Service(memory, options, ring, rate, streams, counted, answers, upstream, threads, _parameters())


async def _stopped(service: Service, ours: bool) -> None:
    """Give background work its time, then close the store; what still waits is done after the next start."""
    try:
        with move_on_after(service.options.drain_seconds):
            await to_thread.run_sync(service.memory.drain, abandon_on_cancel=True)
    except RecollectError as error:
        logs.log.warning("background work stopped and will be tried again: %s", error)
    await service.upstream.close()
    if ours:
        await service.run(service.memory.close, CLOSE_SECONDS)


def serve(
    options: Options,
    host: str = "127.0.0.1",
    port: int = 8642,
    workers: int = 1,
    begin: Callable[[], object] = bool,
) -> None:
    """Run the service until it is told to stop; refuses an address others can reach while there are no keys.

    `begin` is called once nothing speaks against it.
    """
    import uvicorn

    from recollect.server.connections import Processes, Timely

    _check(options, host, workers)
    begin()
    _end_with_the_terminal(workers)
    for name, value in options.model_dump(exclude_unset=True, exclude_none=True).items():
        os.environ[f"RECOLLECT_{name.upper()}"] = value if isinstance(value, str) else json.dumps(value)
    chosen: dict[str, Any] = {
        "app": "recollect.server.app:app_alone",
        "factory": True,
        "host": host,
        "port": port,
        "workers": workers,
        "http": Timely,
        "access_log": False,
        "log_config": logs.CONFIG,
        "server_header": False,
        "timeout_graceful_shutdown": math.ceil(options.drain_seconds),
        "timeout_worker_healthcheck": START_SECONDS,
    }
    if workers == 1:
        uvicorn.run(**chosen)
        return
    with _counting_together():
        config = uvicorn.Config(**chosen)
        Processes(config, [config.bind_socket()]).run()


def _end_with_the_terminal(workers: int) -> None:
    """Have a terminal that is closed end the service as SIGTERM does; uvicorn restarts several processes instead."""
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)
    alone = workers == 1 and threading.current_thread() is threading.main_thread()
    if hangup and alone and signal.getsignal(hangup) == signal.SIG_DFL:
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))


def _check(options: Options, host: str, workers: int) -> None:
    """Raise for what can't be served before processes start for it; models are looked up, but not loaded."""
    if options.store == ":memory:" and workers > 1:
        raise ConfigError("several processes can't share a :memory: store: name a file, or serve with one process")
    for model in filter(None, (options.model, options.background_model)):
        llm.check(model)
    embed.check(options.embedder)
    if options.reranker:
        embed.check(f"onnx:{options.reranker}")
    with Memory.open(options.store, embedder=None, index=options.index) as memory:
        if not loopback(host) and not list_keys(memory.store):
            raise ConfigError(
                f"{host} can be reached by others, and this store has no keys: add one (recollect keys add), "
                "or serve on 127.0.0.1"
            )


@contextmanager
def _counting_together() -> Iterator[None]:
    """Give the processes of a service one folder to count in, so that `/metrics` is about all of them."""
    if os.environ.get(SHARED):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ[SHARED] = folder
        yield
