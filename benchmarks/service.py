"""The service: what the proxy adds to a bare upstream, and what a request costs beside a bare endpoint of that stack.

Each server is a process of its own, on this machine. The upstream is `recollect.testing.Provider`, which answers at
once, so that what is left is what stands between. A paced chat says something every second; flat out it goes on at
once. No embedder: model and embedding are measured elsewhere. A chat without the proxy sends the prompt that the proxy
would, and its own turns as they come: the upstream has the same to read. So does a chat through bare forwarding.

A bare endpoint takes the same parameters and body, checks them, and sends JSON as large as the answer it stands beside;
bare forwarding sends as many bytes upstream. What is learned from a turn is the work of a thread of its own, after the
answer: it is told apart from what the request costs. Both servers are asked by turns, a few requests of each kind in a
round: a machine that is slow for a while is slow for all of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import httpx2
from _report import Goal, arguments, publish, table
from _timing import say, scratch, sentences

from recollect import Memory, Message

CHATS = 16
SCOPE = 1_000
RUNS = 40
"""Requests of a kind in a round."""
OF_PROCESS = 2
"""With the number of a process, this names the clock of its processor time."""
WARM_UP = 2
"""Turns of a chat before its latency counts: they open connections."""
TRIVIAL = "trivial endpoint"
TRIVIAL_THEN = 0.141
"""Milliseconds of CPU that a trivial endpoint of FastAPI took where the goals were set."""
BESIDE = {"search": "bare search", "context": "bare context", "proxied chat turn": "bare forwarding"}
ANSWER = "A short answer that ends soon."
READS, TALKS = 0, 1
"""Whose memory is only read, and who talks."""
Body = Callable[[str], dict[str, Any]]
Prompts = list[list[dict[str, str]]]
UPSTREAM = f"""
import sys
from recollect.testing import Provider
with Provider("openai", [{ANSWER!r}]) as provider:
    print(provider.url, flush=True)
    sys.stdin.read()
"""
BARE = """
import json, os, sys
import httpx2, uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
app, client = FastAPI(), httpx2.AsyncClient(timeout=60, verify=False)
like = json.load(sys.stdin)

class Question(BaseModel):
    question: str

@app.post("/trivial")
async def trivial() -> dict[str, bool]:
    return {"ok": True}

@app.post("/search")
async def search(user: str, session: str, body: Question) -> Response:
    return Response(json.dumps(like["search"]), media_type="application/json")

@app.post("/context")
async def context(user: str, session: str, body: Question) -> Response:
    return Response(json.dumps(like["context"]), media_type="application/json")

@app.post("/v1/chat/completions")
async def forward(request: Request) -> Response:
    body = (await request.body()).ljust(like["prompt"])
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
    pid: int
    learning: frozenset[str]
    """The threads that were there before the first request, but for the one that takes requests."""

    def cpu(self) -> tuple[float, float]:
        """Milliseconds of CPU it has taken so far, and how many of them to learn."""
        times = [Path(f"/proc/{self.pid}/task/{thread}/schedstat").read_text().split()[0] for thread in self.learning]
        return time.clock_gettime(~self.pid << 3 | OF_PROCESS) * 1e3, sum(map(int, times)) / 1e6


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(command: list[str], port: int, given: Any = None, **environment: str) -> Iterator[Server]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    ) as process:
        assert process.stdin
        process.stdin.write(json.dumps(given).encode())
        process.stdin.close()
        try:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.1)
            threads = {task.name for task in Path(f"/proc/{process.pid}/task").iterdir()}
            yield Server(f"http://127.0.0.1:{port}", process.pid, frozenset(threads - {str(process.pid)}))
        finally:
            process.terminate()


@contextmanager
def bare_stack(provider: str, like: dict[str, Any]) -> Iterator[Server]:
    port = free_port()
    with started([sys.executable, "-c", BARE, str(port)], port, like, OPENAI_BASE_URL=provider) as found:
        yield found


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


def who(chat: int) -> dict[str, str]:
    return {"user": f"user {chat}", "session": "now"}


async def ask(http: httpx2.AsyncClient, url: str, chat: int, messages: list[dict[str, str]]) -> float:
    """How long an answer takes from the question to its end, in ms."""
    headers = {"X-Recollect-User": f"user%20{chat}", "X-Recollect-Session": "now"}
    body = {"model": "test-model", "messages": messages, "stream": True}
    begun = time.perf_counter()
    async with http.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for _ in answer.aiter_bytes():
            pass
    return (time.perf_counter() - begun) * 1_000


async def talk(url: str, turns: int, pause: float, prompts: Prompts | None = None) -> tuple[list[float], float]:
    """The latencies of sixteen chats of so many turns each, and how many requests a second there were.

    With `prompts` each chat sends its own, and its turns since.
    """
    latencies: list[float] = []
    async with httpx2.AsyncClient(timeout=60, verify=False) as http:

        async def chat(number: int) -> None:
            texts, history = sentences(100 + number), list(prompts[number]) if prompts else []
            pauses = random.Random(number)
            for turn in range(turns + WARM_UP):
                await asyncio.sleep(pauses.uniform(0, 2 * pause))
                history += spoken(next(texts))
                latency = await ask(http, url, number, history if prompts else history[-1:])
                history.append({"role": "assistant", "content": ANSWER})
                if turn >= WARM_UP:
                    latencies.append(latency)

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
    with service(folder / "large.db", provider) as served, bare_stack(provider, {"prompt": 0}) as bare:
        asyncio.run(talk(f"{served.url}/v1", 2, 0.0))
        for name, pause, count in (
            ("a turn a second", 1.0, 5 if quick else 30),
            ("flat out", 0.0, 10 if quick else 60),
        ):
            sent = [answers(served, n)["context"]["messages"] for n in range(CHATS)]
            for where, url, prompts in (
                ("bare upstream", provider, sent),
                ("through bare forwarding", f"{bare.url}/v1", sent),
                ("through the proxy", f"{served.url}/v1", None),
            ):
                latencies, rate = asyncio.run(talk(url, count, pause, prompts))
                shown = [quantile(latencies, share) for share in (0.5, 0.95, 0.99)]
                rows.append([f"{name}: {where}", *(f"{value:.1f}" for value in shown), f"{rate:,.0f}"])
                figures[f"{name}: {where}"] = {"p50": shown[0], "p95": shown[1], "p99": shown[2], "per_second": rate}
    return (
        rows,
        figures,
        figures["a turn a second: through the proxy"]["p50"] - figures["a turn a second: bare upstream"]["p50"],
    )


@dataclass(frozen=True)
class Cost:
    """Milliseconds of CPU that a request takes, and those taken to learn from it; requests a second of one caller."""

    request: float
    learning: float
    per_second: float


def cost(server: Server, path: str, body: Body, chat: int | None = None, *, seed: int, runs: int = RUNS) -> Cost:
    """What a request costs; `chat` says who is named in its address, `seed` what is asked."""
    headers = {"X-Recollect-User": f"user%20{TALKS}", "X-Recollect-Session": "now"}
    texts, params = sentences(seed), None if chat is None else who(chat)
    with httpx2.Client(timeout=60, verify=False) as http:

        def send(times: int) -> None:
            for _ in range(times):
                answer = http.post(f"{server.url}{path}", json=body(next(texts)), params=params, headers=headers)
                assert answer.status_code < 300, answer.text

        send(WARM_UP)
        before, begun = server.cpu(), time.perf_counter()
        send(runs)
        seconds = time.perf_counter() - begun
        whole, learning = ((now - then) / runs for now, then in zip(server.cpu(), before, strict=True))
        return Cost(whole - learning, learning, runs / seconds)


def spoken(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def completion(text: str) -> dict[str, Any]:
    return {"model": "test-model", "stream": True, "messages": spoken(text)}


def asking(text: str) -> dict[str, Any]:
    return {"question": text}


def answers(server: Server, chat: int) -> dict[str, Any]:
    """Answers like those of the service, for the bare endpoints to send, and the bytes of a prompt."""
    text = next(sentences(8))
    with httpx2.Client(base_url=server.url, timeout=60, params=who(chat)) as http:
        found = {path: http.post(f"/{path}", json=asking(text)).json() for path in ("search", "context")}
    return {**found, "prompt": len(json.dumps(found["context"]["messages"]))}


def cpu_share(folder: Path, provider: str, quick: bool) -> dict[str, Cost]:
    """The median cost of each kind of request: those that read are about one user, those that write about another."""
    fill(folder / "small.db", 2 * SCOPE, 2)
    with service(folder / "small.db", provider) as served:
        cost(served, "/v1/chat/completions", completion, seed=99, runs=200)  # until the window is full
        like = {**answers(served, READS), "prompt": answers(served, TALKS)["prompt"]}
        with bare_stack(provider, like) as bare:
            kinds: dict[str, tuple[Server, str, Body, int | None]] = {
                TRIVIAL: (bare, "/trivial", asking, None),
                "bare search": (bare, "/search", asking, READS),
                "search": (served, "/search", asking, READS),
                "bare context": (bare, "/context", asking, READS),
                "context": (served, "/context", asking, READS),
                "bare forwarding": (bare, "/v1/chat/completions", completion, None),
                "proxied chat turn": (served, "/v1/chat/completions", completion, None),
                "add a message": (served, "/messages", lambda text: {"messages": spoken(text)}, TALKS),
            }
            rounds = [{name: cost(*kind, seed=n) for name, kind in kinds.items()} for n in range(3 if quick else 15)]
    return {
        name: Cost(*(statistics.median(getattr(one[name], part) for one in rounds) for part in Cost.__annotations__))
        for name in kinds
    }


def shares(costs: dict[str, Cost]) -> Iterator[tuple[Goal, Goal]]:
    """What is Recollect's own of a request: in ms, and beside a trivial endpoint, which holds on other machines too."""
    for name, beside in BESIDE.items():
        own = costs[name].request - costs[beside].request
        yield (
            Goal(f"ms of CPU of a {name}, {SCOPE:,} turns in scope, beside {beside}", own, 1.0),
            Goal("the same / a trivial endpoint of FastAPI", own / costs[TRIVIAL].request, 1.0 / TRIVIAL_THEN),
        )


def main() -> int:
    args = arguments(__doc__ or "")
    turns = 2_000 if args.quick else 50_000
    with scratch() as folder, upstream() as provider:
        say("latency")
        latency, shown, added = added_latency(folder, provider, turns, args.quick)
        say("CPU")
        costs = cpu_share(folder, provider, args.quick)

    goals = [
        Goal(f"ms the proxy adds, p50, {CHATS} chats, {turns:,} turns stored", added, 10.0),
        *chain.from_iterable(shares(costs)),
    ]
    rows = [["", "server CPU ms", "to learn from it", "requests/s of one caller"]]
    rows += [
        [name, f"{of.request:.2f}", f"{of.learning:.2f}", f"{of.per_second:,.0f}"] for name, of in sorted(costs.items())
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "httpx2"))
    text = f"Latency in ms, from the question to the end of the streamed answer:\n\n{table(latency)}\n\n"
    text += f"One caller, {SCOPE:,} turns of the user stored:\n\n{table(rows)}\n\n{versions}."
    cpu = {name: asdict(of) for name, of in costs.items()}
    return publish("service", text, {"latency": shown, "cpu": cpu}, goals, args)


if __name__ == "__main__":
    sys.exit(main())
