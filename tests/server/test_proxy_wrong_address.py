"""A model's server that is something else: a page to log in, a redirect, nothing at all, more than fits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recollect.server import upstream
from recollect.server.heard import LARGE, Heard
from tests.server.openai_client import HELLO, said
from tests.server.running import Running, running

PAGE = b"<html>log in</html>"
ANSWERS = {
    "a page": (200, "text/html", PAGE),
    "a page that claims to be JSON": (200, "application/json", PAGE),
    "a redirect": (302, "text/html", b""),
    "nothing": (204, "", b""),
    "nothing new": (304, "", b""),
    "a status that there is not": (999, "application/json", b"{}"),
    "too much": (200, "application/json", b"{}" + b" " * 2_000),
}


class Other(BaseHTTPRequestHandler):
    answer = (200, "", b"")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, kind, body = self.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if body or status == 200:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def astray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        try:
            with running(model="openai:test-model") as proxy:
                yield proxy
        finally:
            server.shutdown()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_is_no_answer_of_a_model_is_told_and_the_message_is_kept(
    astray: Running, answer: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Other, "answer", ANSWERS[answer])
    monkeypatch.setattr(upstream, "MOST_BYTES", 1_000)
    headers = {"X-Recollect-User": "ada", "X-Recollect-Session": "trip"}
    body = {"messages": [HELLO], "stream": stream}
    told = astray.http.post("/v1/chat/completions", json=body, headers=headers)
    assert (told.status_code, told.json()["error"]["type"]) == (502, "BadReply")
    assert said(astray) == [("user", HELLO["content"])]


@pytest.mark.parametrize("name", ["%2E", "%2E%2E"])
def test_a_model_is_not_looked_for_elsewhere(proxy: Running, name: str) -> None:
    found = proxy.http.get(f"/v1/models/{name}")
    assert (found.status_code, "no model is named" in found.text) == (404, True)


def test_a_line_without_an_end_is_heard_in_a_moment() -> None:
    heard, started = Heard(), time.thread_time()
    for _ in range(1_000):
        heard.feed(b"a" * LARGE)
    assert time.thread_time() - started < 5
