"""Callers who send what is hard to read: none keeps the others waiting, and none gets more back than helps."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from recollect.server import openai, rest
from recollect.server.limits import too_deep
from tests.server.rest import ADA, HELLO, add
from tests.server.running import Running

MADE = {"/messages": (rest, "message_of"), "/v1/chat/completions": (openai, "parse")}


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 3_000_000 + b"[]]",
        b"[" + b"[]," * 70 + b'"",' * 3_000_000 + b"1]",
        b"[" * 5_000_000 + b"]" * 5_000_000,
    ],
    ids=["pairs", "strings", "levels"],
)
def test_the_largest_body_is_judged_in_a_moment(body: bytes) -> None:
    started = time.thread_time()
    too_deep(body, 64)
    assert time.thread_time() - started < 2


@pytest.mark.parametrize("path", MADE)
def test_others_are_answered_while_a_large_body_is_taken_in(
    service: Running, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, answered, waited = threading.Event(), threading.Event(), []
    module, name = MADE[path]
    make = getattr(module, name)

    def slow(*given: Any) -> Any:
        begun.set()
        waited.append(answered.wait(30))
        return make(*given)

    monkeypatch.setattr(module, name, slow)
    user = {"X-Recollect-User": "ada"} if path.startswith("/v1") else {}
    body = {"messages": [HELLO], **({"metadata": {"note": "x" * openai.LARGE}} if user else {})}
    with ThreadPoolExecutor() as beside:
        large = beside.submit(service.http.post, path, params=None if user else ADA, json=body, headers=user)
        assert begun.wait(30)
        assert service.http.get("/healthz").status_code == 200
        answered.set()
        assert large.result().is_success
    assert waited == [True]


def test_of_many_mistakes_the_first_are_named(service: Running) -> None:
    wrong = add(service, *[{"role": "user", "content": [{"type": "text", "txt": 1}] * 100}] * 100)
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["where"] == "body.messages.0.content.0.text"
    assert len(wrong.content) < 50_000
    long = add(service, {"role": "x" * 1_000_000, "content": "hi"})
    assert (long.status_code, len(long.content) < 5_000) == (422, True)


def test_a_name_whose_escapes_are_no_utf8_is_refused(service: Running) -> None:
    """Else all of them would be one user."""
    for header in ("X-Recollect-User", "X-Recollect-Session"):
        named = {"X-Recollect-User": "ada", header: "%FF"}
        refused = service.http.post("/v1/chat/completions", json={"messages": [HELLO]}, headers=named)
        assert (refused.status_code, "is not UTF-8" in refused.text) == (400, True)


@pytest.mark.parametrize("line", [b"GET /v1/models/\xc3\xa9?user=ada HTTP/1.1\r\nHost: 127.0.0.1", b"no request"])
def test_what_is_no_http_is_refused_as_anything_else_is(service: Running, line: bytes) -> None:
    with socket.create_connection(("127.0.0.1", httpx2.URL(service.url).port)) as caller:
        caller.sendall(line + b"\r\n\r\n")
        head, _, body = b"".join(iter(lambda: caller.recv(2**16), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"application/problem+json" in head
    assert "percent-encoded" in json.loads(body)["next"]


def test_nobody_is_sent_elsewhere(service: Running) -> None:
    """A redirect would be to the name that the caller says, and over http:// behind a proxy that ends TLS."""
    sent = service.http.post("/messages/", params=ADA, json={"messages": [HELLO]}, headers={"Host": "127.0.0.1:1"})
    assert (sent.status_code, "location" in sent.headers) == (404, False)


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/mesages", 404, "there is no /mesages: perhaps '/messages' or '/message' is meant"),
        ("GET", "/messages/", 404, "there is no /messages/: perhaps '/messages' or '/messages/search' is meant"),
        ("GET", "/zzzzzz", 404, "there is no /zzzzzz"),
        ("DELETE", "/messages", 405, "/messages has no method DELETE"),
        ("POST", "/v1/embeddings", 404, "there is no /v1/embeddings"),
    ],
)
def test_an_address_that_is_not_there_is_named(
    service: Running, method: str, path: str, status: int, says: str
) -> None:
    refused = service.http.request(method, path)
    assert refused.status_code == status
    told = refused.json()
    assert (told["error"]["message"] if "error" in told else told["detail"]).startswith(says)


@pytest.mark.parametrize("path", ["/messages", "/v1/chat/completions"])
@pytest.mark.parametrize(
    ("body", "says"),
    [(b'{"a": "\xff"}', "the body is not UTF-8"), (b'{"a": ' + b"9" * 5000 + b"}", "a number with too many digits")],
)
def test_a_body_that_can_not_be_read_is_told_as_such(service: Running, path: str, body: bytes, says: str) -> None:
    json = {"Content-Type": "application/json"}
    refused = service.http.post(path, params=ADA if path == "/messages" else {}, content=body, headers=json)
    assert (refused.status_code, says in refused.text) == (400, True)


@pytest.mark.parametrize(("path", "body"), [("/messages", {"messages": [HELLO]}), ("/chat", {"message": "Hi."})])
def test_two_keys_of_one_request_are_refused(service: Running, path: str, body: Any) -> None:
    keys = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    refused = service.http.post(path, params=ADA, json=body, headers=keys)
    assert (refused.status_code, refused.json()["detail"]) == (400, "there is more than one Idempotency-Key")
    assert service.http.get("/sessions").json()["items"] == []
