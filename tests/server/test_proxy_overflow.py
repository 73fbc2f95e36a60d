"""Budgets of the proxy, and prompts that are too large for the model all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import openai
import pytest

from recollect.memory import Memory
from recollect.server.auth import add_key
from recollect.session import Session
from recollect.testing.provider import Provider
from recollect.tokens import estimate
from tests.server.openai_client import HELLO, ask, client, words
from tests.server.running import Running, running


def test_a_long_conversation_stays_within_the_budget(
    proxy: Running, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = proxy.memory.session("trip", user="ada")
    for turn in range(200):
        chat.add_turn(f"question {turn} " + "word " * 60, "answer " + "word " * 60)
    ask(client(proxy), {"role": "user", "content": "And now?"})
    assert provider.requests[-1].tokens <= 8_000


@contextmanager
def overflowing(
    monkeypatch: pytest.MonkeyPatch, shape: Literal["openai", "anthropic"] = "openai"
) -> Iterator[tuple[Running, Provider]]:
    """A model that takes less than a long conversation has."""
    with Provider(shape, ["fits"], limit=2_000) as provider:
        monkeypatch.setenv(f"{shape.upper()}_BASE_URL", provider.url)
        with running(model=f"{shape}:test-model") as proxy:
            _talk_for_long(proxy.memory.session("trip", user="ada"))
            yield proxy, provider


def _talk_for_long(chat: Session) -> None:
    for turn in range(60):
        chat.add_turn(f"question {turn} " + "word " * 60, "answer " + "word " * 60)


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_context_that_overflows_is_sent_again_smaller(
    monkeypatch: pytest.MonkeyPatch, stream: bool, shape: Any
) -> None:
    with overflowing(monkeypatch, shape) as (proxy, provider):
        answer = ask(client(proxy), {"role": "user", "content": "And now?"}, stream=stream, max_tokens=100)
        assert words(answer, stream) == "fits"
        sizes = [asked.tokens for asked in provider.requests]
        assert sizes == sorted(sizes, reverse=True)
        assert 2 <= len(sizes) <= 4


def test_a_question_that_is_erased_while_it_is_sent_again_is_not_kept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with overflowing(monkeypatch) as (proxy, provider):
        chat = proxy.memory.session("trip", user="ada")

        def counting(text: str) -> int:
            provider.counter = estimate  # once, while the first request is looked at
            chat.forget([one.id for one in chat.history(2) if one.text == "And now?"])
            return estimate(text)

        provider.counter = counting
        edited: Any = [{"role": message.role, "content": message.text} for message in chat.history(60)]
        edited[1]["content"] = "edited " * 60
        client(proxy).chat.completions.create(
            model="test-model", messages=[*edited, {"role": "user", "content": "And now?"}]
        )
        assert [asked.status for asked in provider.requests][:: len(provider.requests) - 1] == [400, 200]
        assert {message.text for message in chat.history(4)}.isdisjoint({"And now?", "fits"})


def test_a_limit_that_was_told_once_is_remembered_for_that_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with overflowing(monkeypatch) as (proxy, provider):
        for question in ("And now?", "And then?"):
            ask(client(proxy), {"role": "user", "content": question})
        assert [asked.status for asked in provider.requests][-2:] == [200, 200]
        before = len(provider.requests)
        said: Any = {"role": "user", "content": "And at last?"}
        client(proxy).chat.completions.create(model="another", messages=[said])
        assert provider.requests[before].status == 400


def test_a_limit_that_one_tenant_was_told_does_not_hold_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(":memory:", embedder=None) as memory, Provider("openai", ["fits"], limit=2_000) as provider:
        secrets = {tenant: add_key(memory.store, tenant=tenant)[1] for tenant in ("acme", "beta")}
        for tenant in secrets:
            _talk_for_long(memory.session("trip", user="ada", tenant=tenant))
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(memory, model="openai:test-model") as proxy:
            for secret in secrets.values():
                before = len(provider.requests)
                ask(client(proxy).with_options(api_key=secret), {"role": "user", "content": "And now?"})
                assert provider.requests[before].status == 400


def test_a_request_that_the_model_counts_for_far_more_takes_nothing_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with overflowing(monkeypatch) as (proxy, provider):
        provider.limit = 7_000
        provider.counter = lambda text: estimate(text) + 5_000 * ("picture" in text)
        ask(client(proxy), {"role": "user", "content": "What is in this picture?"})
        assert provider.requests[0].status == 400 and provider.requests[-1].status == 200
        provider.counter = estimate
        ask(client(proxy), {"role": "user", "content": "And now?"})
        assert provider.requests[-1].status == 200
        assert provider.requests[-1].tokens > 3_500


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_prompt_that_never_fits_takes_nothing_from_the_others(monkeypatch: pytest.MonkeyPatch, shape: Any) -> None:
    with overflowing(monkeypatch, shape) as (proxy, provider):
        provider.limit = 1
        with pytest.raises(openai.APIStatusError):
            ask(client(proxy), HELLO)
        provider.limit = None
        ask(client(proxy), {"role": "user", "content": "And now?"})
        assert provider.requests[-1].tokens > 4_000


def test_a_request_that_is_too_large_is_told_in_the_shape_that_clients_read() -> None:
    with running(max_body=1_000) as proxy, pytest.raises(openai.APIStatusError) as refused:
        ask(client(proxy), {"role": "user", "content": "word " * 1_000})
    assert refused.value.status_code == 413
    assert "the body has more than 1,000 bytes" in str(refused.value)
    assert refused.value.type == "Refused"


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_over_the_budget_is_told_as_openai_tells_it_and_the_conversation_goes_on(stream: bool) -> None:
    with running(model="recall:") as proxy:
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client(proxy), {"role": "user", "content": "word " * 30_000}, stream=stream)
        assert (refused.value.code, refused.value.type) == ("context_length_exceeded", "BudgetTooSmall")
        assert "send it shorter or in parts" in str(refused.value) and "`budget`" not in str(refused.value)
        ask(client(proxy), HELLO)
