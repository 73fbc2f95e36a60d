"""Counters over HTTP, against a server on this machine that checks what it is sent."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from recollect.errors import BadReply, ConfigError, ModelUnavailable, RateLimited
from recollect.testing.provider.server import Server as Sockets
from recollect.testing.provider.values import Sending
from recollect.tokens import counter, endpoint
from tests.ports import free_port

ERRORS = {
    401: {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}},
    404: {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x"}},
    429: {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "This request would exceed your rate limit"},
    },
    529: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
}
AROUND = 7


@dataclass
class Server:
    """What the server answers, and what it was asked."""

    url: str = ""
    status: int = 200
    raw: bytes | None = None
    around: int = AROUND
    asked: list[dict[str, Any]] = field(default_factory=list)

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Sending:
        body = json.loads(raw or b"{}")
        self.asked.append(body)
        status, answer = self.answer(path, headers.get("x-api-key"), body)
        if self.raw == b"redirect":
            status = 302
        data = json.dumps(answer).encode() if self.raw is None else self.raw
        return Sending(status, (data,), {"location": f"{self.url}/elsewhere"}, len(data))

    def answer(self, path: str, key: str | None, body: dict[str, Any]) -> tuple[int, Any]:
        if self.status != 200:
            return self.status, ERRORS[self.status]
        if path == "/tokenize" and "content" in body:
            return 200, {"tokens": list(range(len(body["content"].split())))}
        if path == "/tokenize":
            assert body["add_special_tokens"] is False
            return 200, {"count": len(body["prompt"].split()), "max_model_len": 4096, "tokens": []}
        assert path == "/v1/messages/count_tokens"
        if key != "secret-key":
            return 401, ERRORS[401]
        (message,) = body["messages"]
        if body["model"] != "claude-test" or message["role"] != "user" or not message["content"].strip():
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "bad request"}}
        return 200, {"input_tokens": self.around + len(message["content"].split())}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server()
    with closing(Sockets(state.handle)) as sockets:
        state.url = f"http://127.0.0.1:{sockets.server_port}"
        monkeypatch.setenv("ANTHROPIC_BASE_URL", state.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-key")
        yield state


@pytest.mark.parametrize("around", [0, AROUND])
def test_anthropics_endpoint_counts_the_text_without_what_is_around_it(around: int, server: Server) -> None:
    server.around = around
    assert counter("anthropic:claude-test")("one two three") == 3


def test_a_text_is_asked_for_once(server: Server) -> None:
    count = counter("anthropic:claude-test")
    assert [count("one two"), count("one two"), count("one")] == [2, 2, 1]
    assert len(server.asked) == 3  # two texts, and what is around them


def test_empty_and_blank_text_is_never_sent_to_anthropic(server: Server) -> None:
    count = counter("anthropic:claude-test")
    assert (count(""), count(" \n ")) == (0, 3)
    assert server.asked == []


@pytest.mark.parametrize("kind", ["llamacpp", "vllm"])
def test_a_server_of_ones_own_counts_by_its_tokenizer(kind: str, server: Server) -> None:
    count = counter(f"{kind}:{server.url}/")
    assert (count(""), count("one two"), count(" ")) == (0, 2, 0)
    assert len(server.asked) == 2


@pytest.mark.parametrize("kind", ["anthropic:claude-test", "llamacpp:{url}", "vllm:{url}"])
def test_lone_surrogates_and_nul_are_sent_as_valid_text(kind: str, server: Server) -> None:
    assert counter(kind.format(url=server.url))("one \ud800 \0") == 3


@pytest.mark.parametrize(
    "status, error, said",
    [
        (401, ModelUnavailable, "invalid x-api-key"), (404, ModelUnavailable, "model: claude-x"),
        (429, RateLimited, "rate limit"), (529, ModelUnavailable, "Overloaded"),
    ],
)  # fmt: skip
def test_a_refusal_is_typed_and_in_the_providers_words(
    status: int, error: type[Exception], said: str, server: Server
) -> None:
    server.status = status
    with pytest.raises(error, match=said) as caught:
        counter("anthropic:claude-test")("one")
    assert "secret-key" not in str(caught.value)
    assert len(server.asked) == 1  # a count is wanted at once, so nothing is asked for again


def test_a_refusal_is_not_remembered(server: Server) -> None:
    count = counter("anthropic:claude-test")
    server.status = 529
    with pytest.raises(ModelUnavailable):
        count("one")
    server.status = 200
    assert count("one") == 1


@pytest.mark.parametrize(
    "raw", [b"", b"<html>", b"[]", b"{}", b'{"input_tokens":-1}', b'{"input_tokens":"3"}', b"\xff"]
)
@pytest.mark.parametrize("kind", ["anthropic:claude-test", "llamacpp:{url}", "vllm:{url}"])
def test_nonsense_is_a_bad_reply(kind: str, raw: bytes, server: Server) -> None:
    server.raw = raw
    with pytest.raises(BadReply):
        counter(kind.format(url=server.url))("one")


def test_a_redirect_does_not_carry_the_key_elsewhere(server: Server) -> None:
    server.raw = b"redirect"
    with pytest.raises(ModelUnavailable, match="302"):
        counter("anthropic:claude-test")("one")
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(ModelUnavailable, match="is the server up and reachable"):
        counter(f"llamacpp:http://127.0.0.1:{free_port()}")("one")


def test_a_server_that_never_answers_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "TIMEOUT", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ModelUnavailable, match="no answer from 127"),
    ):
        counter(f"vllm:http://127.0.0.1:{silent.getsockname()[1]}")("one")


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="set ANTHROPIC_API_KEY"):
        counter("anthropic:claude-test")


@pytest.mark.parametrize("address", ["file:///etc/passwd", "localhost:8080", "http://", "nonsense", "http://[::1"])
def test_only_a_web_address_is_a_server(address: str) -> None:
    with pytest.raises(ConfigError, match="its address is not one like"):
        counter(f"llamacpp:{address}")
