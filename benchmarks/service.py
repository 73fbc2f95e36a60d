"""The service: what the proxy adds to a bare upstream, and what a request costs beside a bare endpoint of that stack.

Each server is a process of its own, on this machine. The upstream is `recollect.testing.Provider`, which answers at
once, so that what is left is what stands between. A paced chat says something every second; flat out it goes on at
once. No embedder: model and embedding are measured elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx2
import psutil
from _report import Goal, arguments, publish, table
from _timing import say, scratch, sentences

from recollect import Memory, Message

CHATS = 16
SCOPE = 1_000
WARM_UP = 2
"""Turns of a chat before its latency counts: they open connections."""
OWN = (("search", "bare endpoint"), ("context", "bare endpoint"), ("proxied chat turn", "bare forwarding"))
Body = Callable[[str], dict[str, Any]]
UPSTREAM = """
import sys
from recollect.testing import Provider
with Provider("openai", ["A short answer that ends soon."]) as provider:
    print(provider.url, flush=True)
    sys.stdin.read()
"""
BARE = """
import sys, os
import httpx2, uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
app, client = FastAPI(), httpx2.AsyncClient(timeout=60, verify=False)

@app.post("/echo")
async def echo(body: dict) -> dict:
    return {"ok": True}

@app.post("/v1/chat/completions")
async def forward(request: Request) -> Response:
    body = await request.body()
    sent = client.build_request("POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", content=body,
                                headers={"content-type": "application/json"})
    answer = await client.send(sent, stream=True)
    return StreamingResponse(answer.aiter_bytes(), media_type="text/event-stream")

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


@dataclass(frozen=True)
class Server:
    """A process that answers at an address."""

    url: str
    process: psutil.Process

    def cpu(self) -> float:
        """Seconds of CPU it has taken so far."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(command: list[str], port: int, **environment: str) -> Iterator[Server]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    ) as process:
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.1)
            yield Server(f"http://127.0.0.1:{port}", psutil.Process(process.pid))
        finally:
            process.terminate()


@contextmanager
def upstream() -> Iterator[str]:
    command = [sys.executable, "-c", UPSTREAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


@contextmanager
def service(path: Path, provider: str) -> Iterator[Server]:
    port = free_port()
    recollect = str(Path(sys.executable).with_name("recollect"))
    command = [recollect, "serve", "--store", str(path), "--port", str(port), "--model", "openai:test-model"]
    with started(command, port, OPENAI_BASE_URL=provider, RECOLLECT_EMBEDDER="none", RECOLLECT_RATE="100000") as found:
        yield found


def fill(path: Path, turns: int, users: int) -> None:
    """A store of so many turns, the same number for each of the users that chat."""
    texts = sentences(1)
    with Memory.open(path, embedder=None, durability="normal") as memory:
        for n in range(users):
            for start in range(0, turns // users, 100):
                chat = memory.session(f"before {start}", user=f"user {n}")
                some = min(100, turns // users - start)
                chat.add_many([Message(role, next(texts)) for _ in range(some) for role in ("user", "assistant")])
        memory.drain()


async def ask(http: httpx2.AsyncClient, url: str, chat: int, text: str) -> float:
    """How long an answer takes from the question to its end, in ms."""
    headers = {"X-Recollect-User": f"user%20{chat}", "X-Recollect-Session": "now"}
    body = {"model": "test-model", "messages": [{"role": "user", "content": text}], "stream": True}
    begun = time.perf_counter()
    async with http.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for _ in answer.aiter_bytes():
            pass
    return (time.perf_counter() - begun) * 1_000


async def talk(url: str, turns: int, pause: float) -> tuple[list[float], float]:
    """The latencies of sixteen chats of so many turns each, and how many requests a second there were."""
    latencies: list[float] = []
    async with httpx2.AsyncClient(timeout=60, verify=False) as http:

        async def chat(number: int) -> None:
            await asyncio.sleep(pause * number / CHATS)
            texts = sentences(100 + number)
            for turn in range(turns + WARM_UP):
                begun = time.perf_counter()
                latency = await ask(http, url, number, next(texts))
                if turn >= WARM_UP:
                    latencies.append(latency)
                await asyncio.sleep(max(0.0, pause - (time.perf_counter() - begun)))

        begun = time.perf_counter()
        await asyncio.gather(*map(chat, range(CHATS)))
        return latencies, CHATS * (turns + WARM_UP) / (time.perf_counter() - begun)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def added_latency(
    folder: Path, provider: str, turns: int, quick: bool
) -> tuple[list[list[str]], dict[str, Any], float]:
    fill(folder / "large.db", turns, CHATS)
    rows = [["", "p50", "p95", "p99", "requests/s"]]
    figures: dict[str, Any] = {}
    with service(folder / "large.db", provider) as served:
        asyncio.run(talk(f"{served.url}/v1", 2, 0.0))
        for name, pause, count in (
            ("a turn a second", 1.0, 5 if quick else 30),
            ("flat out", 0.0, 10 if quick else 60),
        ):
            for where, url in (("bare upstream", provider), ("through the proxy", f"{served.url}/v1")):
                latencies, rate = asyncio.run(talk(url, count, pause))
                shown = [quantile(latencies, share) for share in (0.5, 0.95, 0.99)]
                rows.append([f"{name}: {where}", *(f"{value:.1f}" for value in shown), f"{rate:,.0f}"])
                figures[f"{name}: {where}"] = {"p50": shown[0], "p95": shown[1], "p99": shown[2], "per_second": rate}
    return (
        rows,
        figures,
        figures["a turn a second: through the proxy"]["p50"] - figures["a turn a second: bare upstream"]["p50"],
    )


def cpu_each(server: Server, path: str, body: Body, runs: int, params: dict[str, str] | None) -> tuple[float, float]:
    """Milliseconds of the server's CPU for a request, and requests a second of one caller."""
    headers = {"X-Recollect-User": "user%200", "X-Recollect-Session": "now"}
    texts = sentences(7)
    with httpx2.Client(timeout=60, verify=False) as http:

        def send(times: int) -> None:
            for _ in range(times):
                answer = http.post(f"{server.url}{path}", json=body(next(texts)), params=params, headers=headers)
                assert answer.status_code < 300, answer.text

        send(50)
        before, begun = server.cpu(), time.perf_counter()
        send(runs)
        seconds = time.perf_counter() - begun
        return (server.cpu() - before) / runs * 1_000, runs / seconds


def spoken(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def completion(text: str) -> dict[str, Any]:
    return {"model": "test-model", "stream": True, "messages": spoken(text)}


def cpu_share(folder: Path, provider: str, quick: bool) -> tuple[list[list[str]], dict[str, Any]]:
    fill(folder / "small.db", SCOPE, 1)
    runs, who, port = 100 if quick else 500, {"user": "user 0", "session": "now"}, free_port()
    figures: dict[str, Any] = {}
    with (
        service(folder / "small.db", provider) as served,
        started([sys.executable, "-c", BARE, str(port)], port, OPENAI_BASE_URL=provider) as bare,
    ):
        plan: list[tuple[str, Server, str, Body, dict[str, str] | None]] = [
            ("bare endpoint", bare, "/echo", lambda text: {"text": text}, None),
            ("search", served, "/search", lambda text: {"question": text}, who),
            ("context", served, "/context", lambda text: {"question": text}, who),
            ("add a message", served, "/messages", lambda text: {"messages": spoken(text)}, who),
            ("bare forwarding", bare, "/v1/chat/completions", completion, None),
            ("proxied chat turn", served, "/v1/chat/completions", completion, None),
        ]
        for name, server, path, body, params in plan:
            cpu, rate = cpu_each(server, path, body, runs, params)
            figures[name] = {"cpu_ms": cpu, "per_second": rate}
    rows = [["", "server CPU ms", "requests/s of one caller"]]
    rows += [[name, f"{of['cpu_ms']:.2f}", f"{of['per_second']:,.0f}"] for name, of in figures.items()]
    return rows, figures


def main() -> int:
    args = arguments(__doc__ or "")
    turns = 2_000 if args.quick else 50_000
    with scratch() as folder, upstream() as provider:
        say("latency")
        latency, shown, added = added_latency(folder, provider, turns, args.quick)
        say("CPU")
        cpu, costs = cpu_share(folder, provider, args.quick)

    def own(name: str, beside: str) -> float:
        return float(costs[name]["cpu_ms"] - costs[beside]["cpu_ms"])

    goals = [
        Goal(f"ms the proxy adds, p50, {CHATS} chats, {turns:,} turns stored", added, 10.0),
        *(
            Goal(f"ms of CPU of a {name}, 1,000 turns in scope, beside {beside}", own(name, beside), 1.0)
            for name, beside in OWN
        ),
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "httpx2"))
    text = f"Latency in ms, from the question to the end of the streamed answer:\n\n{table(latency)}\n\n"
    text += f"One caller, {SCOPE:,} turns of the user stored:\n\n{table(cpu)}\n\n{versions}."
    return publish("service", text, {"latency": shown, "cpu": costs}, goals, args)


if __name__ == "__main__":
    sys.exit(main())
