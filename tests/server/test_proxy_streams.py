"""Streams through the proxy: passed on as they come, whole or broken off, and kept."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest
from anyio import CapacityLimiter

from recollect.errors import ModelUnavailable
from recollect.server import openai as server_openai
from recollect.server import streams, upstream
from recollect.server.heard import Heard
from recollect.server.keeping import Kept
from recollect.server.openai import Turn
from recollect.testing.provider import Asked, Provider
from tests.server.openai_client import HELLO, ask, client, leave, said, words
from tests.server.running import Running, running


def test_a_stream_passes_through_with_its_usage(proxy: Running) -> None:
    chunks = list(ask(client(proxy), HELLO, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "answer 1"
    assert chunks[-1].usage.total_tokens > 0
    assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


class Lingering(BaseHTTPRequestHandler):
    """An upstream that says all it has to say, and ends its answer only once it is let go."""

    protocol_version = "HTTP/1.1"
    let_go = threading.Event()
    connections = 0
    end = (b"data: [DONE]\n\n",)
    breaks_off = False

    def setup(self) -> None:
        type(self).connections += 1
        super().setup()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        chunk = {"choices": [{"index": 0, "delta": {"content": "Oslo."}, "finish_reason": "stop"}]}
        for data in (f"data: {json.dumps(chunk)}\n\n".encode(), *self.end):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.let_go.wait(30)
        self.wfile.write(b"" if self.breaks_off else b"0\r\n\r\n")
        self.close_connection = self.breaks_off

    def log_message(self, format: str, *args: object) -> None:
        pass


class Whole(Lingering):
    """An upstream that does not stream, whatever it is asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Oslo."}}]}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body := json.dumps(answer).encode())))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def lingering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(Lingering, "let_go", threading.Event())
    monkeypatch.setattr(Lingering, "connections", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", Lingering)) as upstream:
        threading.Thread(target=upstream.serve_forever).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{upstream.server_port}")
        try:
            with running(model="openai:test-model") as proxy:
                yield proxy
        finally:
            Lingering.let_go.set()
            upstream.shutdown()


@pytest.mark.parametrize("lingering", [Whole], indirect=True)
def test_an_answer_that_is_not_streamed_though_it_was_to_be_is_passed_on_and_kept(lingering: Running) -> None:
    body = {"model": "test-model", "messages": [HELLO], "stream": True}
    headers = {"X-Recollect-User": "ada", "X-Recollect-Session": "trip"}
    answer = lingering.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["choices"][0]["message"]["content"] == "Oslo."
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


@pytest.mark.parametrize("end", [(b"data: [DONE]\n\n",), (b"data: [DO", b"NE]", b"\n\n")])
def test_a_stream_ends_with_its_last_event(
    lingering: Running, monkeypatch: pytest.MonkeyPatch, end: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(Lingering, "end", end)
    body = {"model": "recollect", "messages": [HELLO], "stream": True, "user": "ada"}
    headers = {"X-Recollect-Session": "trip"}
    answer = lingering.http.post("/v1/chat/completions", json=body, headers=headers, timeout=10)
    assert answer.text.endswith("data: [DONE]\n\n")
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


@pytest.mark.parametrize("end", [(), (b'data: {"choices": []}\n',)])
def test_a_stream_that_breaks_off_says_so_to_the_caller(
    lingering: Running, monkeypatch: pytest.MonkeyPatch, end: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(Lingering, "end", end)
    monkeypatch.setattr(Lingering, "breaks_off", True)
    Lingering.let_go.set()
    keep = Turn._add

    def slowly(turn: Turn, heard: Heard, asked: Kept) -> None:
        time.sleep(0.2)
        keep(turn, heard, asked)

    monkeypatch.setattr(Turn, "_add", slowly)
    with pytest.raises(openai.APIError, match=r"broke off .*: your message is kept"):
        list(ask(client(lingering), HELLO, stream=True))
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


@pytest.mark.parametrize(("end", "waiting"), [((), True), ((b'data: {"choices": []}\n',), False)])
def test_a_silent_stream_is_kept_open_by_comments_between_its_events(
    lingering: Running, monkeypatch: pytest.MonkeyPatch, end: tuple[bytes, ...], waiting: bool
) -> None:
    monkeypatch.setattr(streams, "SILENT_SECONDS", 0.02)
    monkeypatch.setattr(Lingering, "end", end)
    with ask(client(lingering), HELLO, stream=True) as answer:
        passed = answer.response.iter_raw()
        seen = b""
        while b"Oslo." not in seen or not seen.endswith(end or (b": waiting\n\n",)):
            seen += next(passed)
        threading.Timer(0.1, Lingering.let_go.set).start()
        rest = b"".join(passed)
        assert (seen.endswith(b": waiting\n\n") or b": waiting" in rest) == waiting


def test_openais_client_reads_a_stream_with_comments(lingering: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SILENT_SECONDS", 0.02)
    threading.Timer(0.2, Lingering.let_go.set).start()
    monkeypatch.setattr(Lingering, "end", ())
    assert words(ask(client(lingering), HELLO, stream=True), stream=True) == "Oslo."


def test_a_connection_to_the_model_is_used_again(lingering: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_openai, "REST_SECONDS", 30.0)
    Lingering.let_go.set()
    for question in ("Where does Nadia live?", "Since when?"):
        assert words(ask(client(lingering), {"role": "user", "content": question}, stream=True), stream=True) == "Oslo."
        while "recollect_http_streams 0.0" not in lingering.http.get("/metrics").text:
            time.sleep(0.01)
    assert Lingering.connections == 1


def test_a_stream_that_breaks_off_amid_an_event_is_cut_and_the_words_so_far_are_kept(
    proxy: Running, provider: Provider
) -> None:
    provider.fail("disconnect")
    with pytest.raises(openai.APIConnectionError):
        list(ask(client(proxy), HELLO, stream=True))
    (_, question), *rest = said(proxy)
    assert question == HELLO["content"]
    assert all("answer 1".startswith(text) for _, text in rest)
    assert words(ask(client(proxy), HELLO, stream=True), stream=True)


def test_a_stream_that_ends_before_the_answer_does_is_an_error(proxy: Running, provider: Provider) -> None:
    provider.fail("no_end")
    with pytest.raises(openai.APIError, match="ended the stream before the answer did: your message is kept"):
        list(ask(client(proxy), HELLO, stream=True))
    assert [dict(m.metadata) for m in proxy.memory.session("trip", user="ada").history()][1:] == [{"partial": True}]


@pytest.mark.parametrize("stream", [True, False])
def test_the_answer_to_a_question_asked_again_after_one_that_broke_off_is_kept(
    proxy: Running, provider: Provider, stream: bool
) -> None:
    first = words(ask(client(proxy), HELLO), stream=False)
    history: Any = [HELLO, {"role": "assistant", "content": first}, {"role": "user", "content": "Since when?"}]
    provider.fail("no_end")
    with pytest.raises(openai.APIError):
        list(ask(client(proxy), *history, stream=True))
    whole = words(ask(client(proxy), *history, stream=stream), stream)
    assert said(proxy)[-1] == ("assistant", whole)
    ask(client(proxy), *history)
    assert len(said(proxy)) == 5


def test_fields_that_are_not_as_openai_has_them_fail_no_stream(service: Running) -> None:
    chunks = ask(client(service), HELLO, stream=True, extra_body={"stream_options": "usage", "max_tokens": "many"})
    assert words(chunks, True)


def test_a_caller_that_goes_while_the_model_is_silent_leaves_its_place(provider: Provider) -> None:
    provider.fail("timeout")
    with running(model="openai:test-model", max_streams=1) as proxy:
        leave(proxy, lambda: provider.requests, HELLO, stream=True)
        assert words(ask(client(proxy), HELLO, stream=True), stream=True) == "answer 1"
        assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


@pytest.mark.parametrize(("fault", "stream"), [("timeout", False), ("timeout", True), ("stall", False)])
def test_a_server_that_stays_silent_is_given_up(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, fault: str, stream: bool
) -> None:
    monkeypatch.setattr(upstream, "SILENCE_SECONDS", 0.5)
    provider.fail(fault)
    with running(model="openai:test-model") as proxy, pytest.raises(openai.APIError, match=r"was silent for 0\.5 s"):
        words(ask(client(proxy), HELLO, stream=stream), stream)


def test_an_answer_whose_caller_has_gone_is_not_kept_beside_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, answered = threading.Event(), list[str]()

    def answer(asked: Asked) -> str:
        answered.append(f"answer {len(answered)}")
        return answered[-1] if len(answered) > 1 or gone.wait(30) else ""

    with Provider("openai", answer) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            leave(proxy, lambda: answered, HELLO)
            gone.set()
            assert words(ask(client(proxy), HELLO), stream=False) == "answer 1"
            assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


def test_a_stream_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "MOST_BYTES", 3_000)
    with Provider("openai", ["word " * 1_000]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            with pytest.raises(openai.APIError, match="over 3,000 bytes"):
                list(ask(client(proxy), HELLO, stream=True))
            assert said(proxy)[-1][1].startswith("word word")


def test_who_reads_slowly_is_not_run_away_from() -> None:
    """What a model says without end waits in the thread that asks it, not in the memory of the service."""
    made = list[int]()

    def items() -> Iterator[int]:
        for number in range(100_000):
            made.append(number)
            yield number

    async def read() -> list[int]:
        async with aclosing(upstream.from_thread(items, CapacityLimiter(1))) as coming:
            first = await anext(coming)
            await asyncio.sleep(0.2)
            return [*first, *await anext(coming)]

    read_so_far = asyncio.run(read())
    assert read_so_far == [*range(len(read_so_far))]
    assert len(made) <= len(read_so_far) + upstream.AHEAD + 1


def test_what_came_while_the_reader_was_busy_comes_at_once_and_before_the_error() -> None:
    go_on, done = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 0
        go_on.wait(30)
        yield from (1, 2, 3)
        done.set()
        raise ModelUnavailable("gone")

    async def read() -> list[list[int]]:
        found = list[list[int]]()
        with pytest.raises(ModelUnavailable, match="gone"):
            async for together in upstream.from_thread(items, CapacityLimiter(1)):
                found.append(together)
                go_on.set()
                done.wait(30)
        return found

    assert asyncio.run(read()) == [[0], [1, 2, 3]]
