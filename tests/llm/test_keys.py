"""Names, addresses and keys of models: found, missing, and never shown."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from recollect import llm
from recollect.errors import ConfigError, ContextOverflow, ModelUnavailable, RateLimited
from recollect.testing import Provider
from tests.llm.asked import ASKED
from tests.llm.conftest import Serve
from tests.wrong import wrong

KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    ("style", "variable"), [("openai", "OPENAI"), ("anthropic", "ANTHROPIC"), ("ollama", "OLLAMA")]
)
def test_the_address_and_the_key_come_from_the_environment(
    style: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider(style) as provider:
        monkeypatch.setenv("OLLAMA_HOST" if style == "ollama" else f"{variable}_BASE_URL", provider.url)
        monkeypatch.setenv(f"{variable}_API_KEY", KEY)
        llm.open(f"{style}:test-model").complete(ASKED)
        headers = provider.requests[0].headers
    key = {"openai": f"Bearer {KEY}", "anthropic": KEY, "ollama": None}[style]
    assert headers.get("x-api-key" if style == "anthropic" else "authorization") == key
    assert ("anthropic-version" in headers) == (style == "anthropic")


def test_ollama_is_found_by_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("ollama") as provider:
        monkeypatch.setenv("OLLAMA_HOST", provider.url.removeprefix("http://"))
        assert llm.open("ollama:test-model").complete(ASKED).text


@pytest.mark.parametrize("fault", ["unauthorized", "bad_request", "rate_limit", "server_error"])
def test_the_key_is_in_no_error_and_no_log(
    serve: Serve, fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _, model = serve("openai", faults=[fault] * 9)
    with pytest.raises((ModelUnavailable, RateLimited)) as caught:
        model.complete(ASKED)
    assert KEY not in str(caught.value) + repr(caught.value) + caplog.text
    assert ("Set OPENAI_API_KEY" in str(caught.value)) == (fault == "unauthorized")


@pytest.mark.parametrize("placeholder", ["x", "1", "context"])
def test_a_placeholder_in_the_place_of_a_key_garbles_no_words(
    serve: Serve, placeholder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", placeholder)
    _, model = serve("openai", faults=["overflow"])
    with pytest.raises(ContextOverflow, match="maximum context length is 1000 tokens") as caught:
        model.complete(ASKED)
    assert caught.value.limit == 1_000


def test_an_error_is_told_in_the_servers_words_not_as_json(serve: Serve) -> None:
    _, model = serve("openai", faults=["bad_request"])
    with pytest.raises(ModelUnavailable, match=r"answered 400: Invalid value for 'temperature'\.$"):
        model.complete(ASKED)


def test_a_key_with_a_line_break_is_refused_without_showing_it(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\n")
    _, model = serve("openai")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        model.complete(ASKED)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_key_that_is_missing_is_named_and_nobody_asked(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable, address = f"{provider.upper()}_API_KEY", f"{provider.upper()}_BASE_URL"
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv(address, raising=False)
    with pytest.raises(ModelUnavailable, match=f"set {variable} to one, or {address}") as caught:
        llm.open(f"{provider}:test-model").complete(ASKED)
    assert not caught.value.passing and caught.value.tries <= 1
    with pytest.raises(ModelUnavailable, match=variable):
        llm.check(f"{provider}:test-model")
    monkeypatch.setenv(address, "http://127.0.0.1:1")
    llm.check(f"{provider}:test-model")


@pytest.mark.parametrize("name", ["", "gpt-4o", "openai:", "nobody:gpt", "anthropic", "local:", wrong(None)])
def test_a_name_that_is_none_is_answered_with_examples(name: str) -> None:
    with pytest.raises(ConfigError, match="openai:gpt-4o-mini"):
        llm.open(name)


@pytest.mark.parametrize("url", ["ftp://example.com", "http://[::1", "https://[host]"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        llm.open("openai:m", url=url)
