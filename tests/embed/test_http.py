"""The HTTP embedder against a real server that errs in every way servers do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stamina import instrumentation

from recollect.embed.hashing import HashingEmbedder
from recollect.embed.http import BATCH_TEXTS, HttpEmbedder
from recollect.errors import BadReply, ConfigError, ModelUnavailable, RateLimited
from recollect.http import Retries, secure
from tests.embed.server import DIMENSION, Misbehave, Reply, Server, serving

QUICK = Retries(first=0.001, jitter=0)
ATTEMPTS = QUICK.times + 1
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture
def waits() -> Iterator[list[float]]:
    waited: list[float] = []

    def note(details: instrumentation.RetryDetails) -> None:
        waited.append(details.wait_for)

    instrumentation.set_on_retry_hooks([note])
    yield waited
    instrumentation.set_on_retry_hooks(None)


@pytest.fixture
def embedder(server: Server, waits: list[float]) -> HttpEmbedder:
    return HttpEmbedder("test-model", retries=QUICK)


def status(code: int, message: str = "no", **headers: str) -> Misbehave:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda data: (code, {"error": {"message": message}}, named)


def body(reply: Any) -> Misbehave:
    return lambda data: (200, reply, {})


def hang_up(data: list[dict[str, Any]]) -> Reply | None:
    return None


def test_the_address_and_the_key_come_from_the_environment(server: Server, embedder: HttpEmbedder) -> None:
    embedder.embed(["hello"])
    assert server.keys == [f"Bearer {KEY}"]
    assert server.requests == [{"model": "test-model", "input": ["hello"], "encoding_format": "float"}]


def test_without_a_key_none_is_sent(server: Server, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    embedder.embed(["hello"])
    assert server.keys == [None]


def test_vectors_are_put_in_order_by_their_index_and_scaled_to_length_one(embedder: HttpEmbedder) -> None:
    texts = ["one", "two", "three"]
    assert np.allclose(embedder.embed(texts), HashingEmbedder(DIMENSION).embed(texts), atol=1e-6)


def test_many_texts_go_in_batches(server: Server, embedder: HttpEmbedder) -> None:
    texts = [f"text {n}" for n in range(2 * BATCH_TEXTS + 1)]
    assert np.allclose(embedder.embed(texts), HashingEmbedder(DIMENSION).embed(texts), atol=1e-6)
    assert [len(request["input"]) for request in server.requests] == [BATCH_TEXTS, BATCH_TEXTS, 1]


def test_large_texts_go_in_smaller_batches(server: Server, embedder: HttpEmbedder) -> None:
    embedder.embed(["ж" * 50_000] * 40)
    assert [len(request["input"]) for request in server.requests] == [31, 9]


def test_a_model_known_to_want_prefixes_gets_them(server: Server) -> None:
    embedder = HttpEmbedder("intfloat/e5-small-v2")
    embedder.embed(["hello"], "query")
    embedder.embed(["hello"])
    assert [request["input"] for request in server.requests] == [["query: hello"], ["passage: hello"]]


def test_the_dimension_is_asked_for_once(server: Server, embedder: HttpEmbedder) -> None:
    assert embedder.dimension == embedder.dimension == DIMENSION
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "trouble", [status(500), status(503), status(408), hang_up], ids=["500", "503", "408", "hung up"]
)
def test_a_passing_fault_is_tried_again(
    server: Server, embedder: HttpEmbedder, waits: list[float], trouble: Misbehave
) -> None:
    server.trouble = [trouble, trouble]
    assert embedder.embed(["hello"]).shape == (1, DIMENSION)
    assert waits == [0.001, 0.002]


def test_a_lasting_fault_ends_after_a_few_tries(server: Server, embedder: HttpEmbedder, waits: list[float]) -> None:
    server.trouble = [status(503, "overloaded")] * 99
    with pytest.raises(ModelUnavailable, match=r"503.*overloaded"):
        embedder.embed(["hello"])
    assert len(server.requests) == ATTEMPTS
    assert len(waits) == ATTEMPTS - 1


def test_the_wait_is_what_the_server_asks_for(server: Server, embedder: HttpEmbedder, waits: list[float]) -> None:
    server.trouble = [status(429, retry_after="0.03"), status(429, retry_after="0")]
    assert embedder.embed(["hello"]).shape == (1, DIMENSION)
    assert waits == [0.03, 0]


@pytest.mark.parametrize("header", ["Fri, 31 Dec 1999 23:59:59 GMT", "-3", "nan", "inf", "soon"])
def test_a_wait_that_is_no_number_of_seconds_is_passed_over(
    server: Server, embedder: HttpEmbedder, waits: list[float], header: str
) -> None:
    server.trouble = [status(429, retry_after=header)]
    embedder.embed(["hello"])
    assert waits == [0.001]


@pytest.mark.parametrize("url", ["https://api.example", "HTTPS://api.example", " https://api.example"])
def test_a_certificate_is_checked_however_https_is_written(url: str) -> None:
    assert secure(url)
    assert not secure("http://api.example")
    assert not secure("HTTP://api.example")


def test_a_wait_too_long_is_left_to_the_caller(server: Server, embedder: HttpEmbedder, waits: list[float]) -> None:
    server.trouble = [status(429, "slow down", retry_after="3600")]
    with pytest.raises(RateLimited, match="slow down") as caught:
        embedder.embed(["hello"])
    assert caught.value.retry_after == 3600
    assert waits == []


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_tried_again(server: Server, embedder: HttpEmbedder, code: int) -> None:
    server.trouble = [status(code, "the reason")]
    with pytest.raises(ModelUnavailable, match=f"{code}.*the reason") as caught:
        embedder.embed(["hello"])
    assert len(server.requests) == 1
    assert ("OPENAI_API_KEY" in str(caught.value)) == (code in (401, 403))


@pytest.mark.parametrize("code", [400, 401, 429, 500])
def test_the_key_is_never_in_an_error_or_a_log(
    server: Server, embedder: HttpEmbedder, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.trouble = [status(code, f"wrong key {KEY}")] * 9
    with pytest.raises((ModelUnavailable, RateLimited)) as caught:
        embedder.embed(["hello"])
    shown = [str(caught.value), repr(caught.value), repr(vars(caught.value)), repr(embedder), caplog.text]
    assert not any(KEY in text for text in shown)


def edit(**change: Any) -> Misbehave:
    def misbehave(data: list[dict[str, Any]]) -> Reply:
        data[0] |= change
        return 200, {"data": data}, {}

    return misbehave


@pytest.mark.parametrize(
    "trouble",
    [
        body(b"<html>welcome</html>"),
        body(b"[" * 100_000),
        body(b"\xff\xfe"),
        body([]),
        body({"object": "list"}),
        body({"data": None}),
        body({"data": ["x"]}),
        body({"data": []}),
        lambda data: (200, {"data": data[:1]}, {}),
        lambda data: (200, {"data": [*data, *data]}, {}),
        edit(index=1),
        edit(index=7),
        edit(index="0"),
        edit(index=[0]),
        edit(embedding=None),
        edit(embedding=[]),
        edit(embedding="AAAAPw=="),
        edit(embedding=[0.1, 0.2]),
        edit(embedding=["a"] * DIMENSION),
        edit(embedding=[[1.0]] * DIMENSION),
        edit(embedding=[float("nan")] * DIMENSION),
        edit(embedding=[float("inf")] * DIMENSION),
        edit(embedding=[1e300] * DIMENSION),
        edit(embedding=[10**400] * DIMENSION),
        edit(embedding=[0.0] * DIMENSION),
    ],
)
def test_a_reply_that_is_not_what_was_asked_for_is_thrown_away(
    server: Server, embedder: HttpEmbedder, trouble: Misbehave
) -> None:
    server.trouble = [trouble] * ATTEMPTS
    with pytest.raises(BadReply, match="openai:test-model"):
        embedder.embed(["one", "two"])
    assert len(server.requests) == ATTEMPTS
    assert embedder.embed(["one", "two"]).shape == (2, DIMENSION)


def test_a_model_that_changes_its_dimension_is_caught(server: Server, embedder: HttpEmbedder) -> None:
    embedder.embed(["one"])
    server.trouble = [edit(embedding=[1.0, 2.0])]
    with pytest.raises(BadReply, match="2 numbers, but 64 before"):
        embedder.embed(["one"])


def test_nobody_listening_is_said_so(waits: list[float]) -> None:
    with serving() as server:
        gone = server.url
    with pytest.raises(ModelUnavailable, match="reachable"):
        HttpEmbedder("test-model", gone, retries=QUICK).embed(["hello"])
    assert len(waits) == ATTEMPTS - 1


@pytest.mark.parametrize("url", ["api.example.com/v1", "ftp://example.com", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        HttpEmbedder("test-model", url)
