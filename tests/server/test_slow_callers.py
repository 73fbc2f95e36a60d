"""Callers who are slow to ask or to read, or never do: each is let go of, and holds nothing then."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.types import Message

from recollect.memory import Memory
from recollect.server import chat as server_chat
from recollect.server import connections, limits
from recollect.server.app import THREADS, create_app
from recollect.server.keeping import keep_answer
from recollect.server.options import Options
from recollect.testing.provider import Provider
from tests.server.rest import ADA, HELLO, add
from tests.server.running import Running, listening, running
from tests.server.test_chat import Scripted

LONG = ("word" * 5_000 + " ") * 400
HI = {"message": "Hi"}
GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def connected(service: Running, sent: bytes = b"", most: int | None = None) -> Iterator[socket.socket]:
    """A connection by which something was sent; it takes no more bytes at once than `most`."""
    with socket.socket() as found:
        if most:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, most)
        found.settimeout(30)
        found.connect(("127.0.0.1", int(service.url.rpartition(":")[2])))
        found.sendall(sent)
        yield found


@pytest.mark.parametrize("last", [b"\r\n", b"x"])
def test_who_sends_bytes_of_no_request_after_an_answer_is_not_waited_for(
    service: Running, monkeypatch: pytest.MonkeyPatch, last: bytes
) -> None:
    """What ends nothing and begins nothing, or the body of a request that was refused."""
    asked = GET + b"\r\n" if last == b"\r\n" else b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
    with connected(service, asked) as caller:
        assert caller.recv(2**16).startswith(b"HTTP/1.1")
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
        caller.sendall(last)
        while caller.recv(2**16):
            pass


def test_a_short_answer_that_nobody_reads_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        assert add(service, {**HELLO, "content": "word " * 2_000}).status_code == 201
        asked = b"GET /messages?user=ada&session=trip HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        with connected(service, most=2_048) as caller, pytest.raises(ConnectionError):
            for _ in range(500):
                caller.sendall(asked * 20)
                time.sleep(0.02)


@pytest.mark.parametrize("sent", [b"", b"GET /heal", GET])
def test_a_request_that_does_not_begin_is_not_waited_for(
    service: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with connected(service) as caller, suppress(ConnectionError):  # a slow machine may send this too late
        caller.sendall(sent)
        assert caller.recv(1) == b""


def test_a_request_that_does_not_begin_behind_another_is_not_waited_for(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(service, GET + b"\r\n") as caller:
        assert answered(caller)
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
        caller.sendall(GET + b"\r\n" + GET)
        heard = b"".join(iter(lambda: caller.recv(2**16), b""))
    assert heard.startswith(b"HTTP/1.1 200 OK") and heard.count(b"HTTP/1.1") == 1


def answered(caller: socket.socket) -> bytes:
    """The answer to a question about health, whose head and body may come one after the other."""
    heard = b""
    while not heard.endswith(b"}"):
        heard += (piece := caller.recv(2**16))
        assert piece, heard
    return heard


def test_a_connection_is_kept_for_longer_than_callers_keep_theirs(service: Running) -> None:
    """Clients in Python let go of one after five seconds: closed before, it would lose the request that they send."""
    with connected(service) as caller:
        for pause in (6, 0):
            caller.sendall(GET + b"\r\n")
            assert answered(caller).startswith(b"HTTP/1.1 200")
            time.sleep(pause)


HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/{kind}\r\nContent-Length: {length}\r\n\r\n"
BODIES = {"/messages?user=ada&session=trip": "json", "/import": "jsonl", "/documents/search?user=ada": "json"}
LINE = b'{"user": "ada", "session": "trip", "message": {"role": "user", "content": "Hello", "id": "1"}}\n'


@pytest.mark.parametrize("silent", [True, False], ids=["silence", "byte by byte"])
@pytest.mark.parametrize("path", BODIES)
def test_a_body_that_does_not_come_is_not_waited_for(
    service: Running, monkeypatch: pytest.MonkeyPatch, path: str, silent: bool
) -> None:
    monkeypatch.setattr(limits, "SILENT_SECONDS", 0.3)
    head = HEAD.format(path=path, kind=BODIES[path], length=5_000).encode()
    with connected(service, head + LINE) as caller:
        with suppress(ConnectionError):
            for _ in range(0 if silent else 500):
                caller.sendall(b" ")
                time.sleep(0.01)
        heard = b""
        with suppress(ConnectionResetError):
            while piece := caller.recv(2**16):
                heard += piece
    assert heard.startswith(b"HTTP/1.1 408") and b"connection: close" in heard.lower()
    assert b"the body comes too slowly" in heard


def test_headers_that_are_larger_than_any_request_needs_are_refused(service: Running) -> None:
    with connected(service, GET + b"X: ") as caller:
        caller.sendall(b"a" * connections.HEAD_BYTES)
        refused = caller.recv(2**16)
        assert refused.startswith(b"HTTP/1.1 400") and b"the headers have more than 131,072 bytes" in refused
    large = {"X-Some": "a" * (connections.HEAD_BYTES // 2)}
    assert service.http.get("/healthz", headers=large).status_code == 200


def test_who_finds_all_places_taken_is_told_and_the_others_are_served(
    service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle connections would else take all files that the process may open, and no request could open another."""
    assert service.http.get("/healthz").status_code == 200
    monkeypatch.setattr(connections, "places", lambda: 3)
    monkeypatch.setattr(connections, "LAST_SECONDS", 30.0)
    with connected(service, b""), connected(service, b"") as idle, connected(service, GET) as refused:
        told = b"".join(iter(lambda: refused.recv(2**16), b""))
        assert told.startswith(b"HTTP/1.1 503 Service Unavailable") and b"takes: 3" in told
        assert service.http.get("/healthz").status_code == 200
        monkeypatch.setattr(connections, "LAST_SECONDS", 0.2)
        with connected(service) as silent:
            assert silent.recv(1) == b""
        idle.close()
        deadline = time.monotonic() + 30
        while not (answer := httpx2.get(f"{service.url}/healthz", verify=False)).is_success:
            assert time.monotonic() < deadline, answer.text


@pytest.mark.parametrize(
    ("soft", "hard", "most", "found"),
    [
        (1_024, -1, 20_000, 10_000),
        (1_024, -1, 10_240, 512),
        (1_024, 4_096, 4_096, 3_584),
        (256, 256, 256, 128),
        (-1, -1, 0, 10_000),
    ],
)
def test_there_are_files_left_where_all_places_are_taken(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int, found: int
) -> None:
    resource = pytest.importorskip("resource")
    limits = [(soft, hard)]

    def change(_: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > most:
            raise ValueError("not so many")
        limits.append(wanted)

    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", change)
    assert connections.places.__wrapped__() == found


def test_an_answer_that_nobody_reads_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What had come of it is kept."""
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    body = b'{"message": "Tell me everything."}'
    head = b"POST /chat?user=ada&session=trip HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with Provider("openai", lambda asked: LONG if "everything" in str(asked.messages[-1]) else "Hi!") as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test", max_streams=1) as service:
            with connected(service, head + b"Content-Length: %d\r\n\r\n" % len(body) + body, most=4_096):
                deadline = time.monotonic() + 30
                while len(kept := service.memory.session("trip", user="ada").history()) < 2:
                    assert time.monotonic() < deadline, "the answer waits for its reader"
                    time.sleep(0.05)
            assert kept[1].text.startswith("wordword")
            while (other := service.http.post("/chat", params={**ADA, "user": "bob"}, json=HI)).status_code == 429:
                assert time.monotonic() < deadline, "the answer holds its place"
            assert other.is_success


def test_many_answers_that_end_at_once_leave_threads_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """To keep a long one takes a while: as many as there are threads would hold up every other request."""
    let_go = threading.Event()

    def slow(*given: Any) -> Any:
        let_go.wait(30)
        return keep_answer(*given)

    monkeypatch.setattr(server_chat, "keep_answer", slow)
    model = Scripted("Hello!")
    with (
        Memory.open(":memory:", embedder=None) as memory,
        listening(create_app(Options(), memory, model)) as url,
        ThreadPoolExecutor(THREADS) as pool,
        httpx2.Client(base_url=url, timeout=30, verify=False) as http,
    ):
        asked = [{"user": f"user {number}", "session": "trip"} for number in range(THREADS)]
        answers = [pool.submit(http.post, "/chat", params=params, json=HI) for params in asked]
        while len(memory.sessions()) < THREADS:
            time.sleep(0.05)
        time.sleep(0.5)
        try:
            assert http.get("/sessions", timeout=5).is_success
        finally:
            let_go.set()
        assert all("event: done" in answer.result().text for answer in answers)


async def chat_and_go(app: FastAPI, model: Scripted) -> None:
    """A caller that reads nothing, and goes once the model has said all."""
    body = b'{"message": "Hello?"}'
    gone, read, sent = asyncio.Event(), asyncio.Event(), iter([{"type": "http.request", "body": body}])

    async def receive() -> Message:
        if (first := next(sent, None)) is None:
            await gone.wait()
        return first or {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await read.wait()

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/chat",
        "query_string": b"user=ada&session=trip",
        "headers": [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")],
    }
    async with app.router.lifespan_context(app):
        answering = asyncio.create_task(app(scope, receive, send))
        await asyncio.to_thread(model.closed.wait, 30)
        await asyncio.sleep(0.1)
        gone.set()
        read.set()
        await answering


def test_an_answer_that_is_whole_is_kept_though_its_caller_goes_then() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        model = Scripted("Once ", "upon ", "a ", "time")
        asyncio.run(chat_and_go(create_app(Options(), memory, model), model))
        history = memory.session("trip", user="ada").history()
        assert [message.text for message in history] == ["Hello?", "Once upon a time"]


def test_who_reads_ever_so_slowly_is_waited_for_and_who_stops_is_not() -> None:
    left, looks, aborted = iter([9, 2, 2]), list[Callable[[], None]](), list[bool]()
    connection: Any = object.__new__(connections.Timely)
    connection.loop = SimpleNamespace(call_later=lambda _, look: looks.append(look))
    connection.transport = SimpleNamespace(get_write_buffer_size=lambda: next(left), abort=lambda: aborted.append(True))
    connection._wait_for_reader(10)
    for waits, ends in ((2, []), (3, []), (3, [True])):
        looks[-1]()
        assert (len(looks), aborted) == (waits, ends)


def test_a_slow_reader_gets_all_of_an_answer() -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        assert add(service, {**HELLO, "content": "word " * 400_000}).status_code == 201
        asked = b"GET /messages?user=ada&session=trip HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with connected(service, asked, most=4_096) as caller:
            heard = 0
            while piece := caller.recv(200_000):
                heard += len(piece)
                if heard < 1_000_000:
                    time.sleep(0.01)
    assert heard > 2_000_000
