"""What a client of the proxy is told when the model's server refuses, and how often that is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import openai
import pytest

from recollect.server.keeping import Kept
from recollect.server.openai import Turn
from recollect.testing.provider import Asked, Provider
from recollect.testing.provider.values import Refused
from recollect.types import Message, Text, Thinking
from tests.server.openai_client import HELLO, ask, client, said, words
from tests.server.running import Running, running

Style: TypeAlias = Literal["openai", "anthropic", "ollama"]
ADDRESS = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}
STYLES: list[Style] = ["openai", "anthropic", "ollama"]
SHOWN: Any = {"type": "image_url", "image_url": {"url": "https://example.org/broken.png"}}
CAT: Any = {"role": "user", "content": [{"type": "text", "text": "Whose cat?"}, SHOWN]}


@contextmanager
def served(
    monkeypatch: pytest.MonkeyPatch, style: Style, replies: Any = (), faults: Iterable[str] = ()
) -> Iterator[tuple[Running, Provider]]:
    """A service, and the provider of its model."""
    with Provider(style, replies, faults=faults) as provider:
        monkeypatch.setenv(ADDRESS[style], provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-service")
        with running(model=f"{style}:test-model") as proxy:
            yield proxy, provider


def told(proxy: Running, stream: bool, retries: int = 2) -> openai.APIStatusError:
    with pytest.raises(openai.APIStatusError) as refused:
        words(ask(client(proxy).with_options(max_retries=retries), HELLO, stream=stream), stream)
    assert said(proxy) == [("user", HELLO["content"])]
    return refused.value


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_a_request_that_the_models_server_refuses_is_the_callers_to_change(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    with served(monkeypatch, style, faults=["bad_request"]) as (proxy, provider):
        error = told(proxy, stream)
    assert isinstance(error, openai.BadRequestError) and error.status_code == 400
    assert "Invalid value for 'temperature'." in error.message
    assert len(provider.requests) == 1


THOUGHT = Message("assistant", (Thinking("Hm."), Text("In Oslo.")), extra={"reasoning_details": [{"text": "Hm."}]})


def thoughtless(asked: Asked) -> str | Message:
    """A server with several models: one thinks, another takes no thoughts, not even those of before."""
    if asked.body["model"] == "thinks":
        return THOUGHT
    if "Hm." in str(asked.body):
        raise Refused(422, "messages.1.assistant.reasoning_content: Extra inputs are not permitted", asked=asked)
    return "Fine."


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_takes_no_thoughts_of_another_goes_on_from_its_words(
    monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with served(monkeypatch, "openai", thoughtless) as (proxy, provider):
        client(proxy).chat.completions.create(model="thinks", messages=[HELLO])
        assert words(ask(client(proxy), {"role": "user", "content": "Well?"}, stream=stream), stream) == "Fine."
        assert said(proxy)[1:] == [("assistant", "In Oslo."), ("user", "Well?"), ("assistant", "Fine.")]
    assert provider.requests[1].body["messages"][1]["reasoning_content"] == "Hm."
    assert provider.requests[2].body["messages"][1] == {"role": "assistant", "content": "In Oslo."}


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_refused_with_and_without_thoughts_is_told_as_it_was_at_first(
    monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    def demanding(asked: Asked) -> str | Message:
        if len(asked.messages) == 1:
            return THOUGHT
        said = "Invalid 'temperature'." if "Hm." in str(asked.body) else "The reasoning_content must be passed back."
        raise Refused(400, said, asked=asked)

    with served(monkeypatch, "openai", demanding) as (proxy, provider):
        ask(client(proxy), HELLO)
        with pytest.raises(openai.BadRequestError, match="Invalid 'temperature'"):
            ask(client(proxy), {"role": "user", "content": "Well?"}, stream=stream)
    assert len(provider.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["unauthorized", "forbidden"])
@pytest.mark.parametrize("style", STYLES)
def test_a_key_that_the_models_server_does_not_take_is_the_services_and_not_asked_with_again(
    monkeypatch: pytest.MonkeyPatch, style: Style, fault: str, stream: bool
) -> None:
    with served(monkeypatch, style, faults=[fault]) as (proxy, provider):
        error = told(proxy, stream)
    assert error.status_code == 502
    assert provider.requests[0].problem in error.message
    assert "check the service's key and model" in error.message
    assert len(provider.requests) == 1


def test_a_list_of_models_that_the_server_does_not_give_says_nothing_of_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        served(monkeypatch, "openai", faults=["unauthorized"]) as (proxy, _),
        pytest.raises(openai.APIStatusError) as refused,
    ):
        client(proxy).models.list()
    assert refused.value.status_code == 502
    assert "Set OPENAI_API_KEY" in refused.value.message and ".." not in refused.value.message
    assert "message is kept" not in refused.value.message


@pytest.mark.parametrize("before", ["", "Sorry. " * 68])
def test_the_services_own_key_is_not_shown_to_a_caller(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    def refusing(asked: Asked) -> str:
        key = asked.headers["authorization"].removeprefix("Bearer ")
        raise Refused(401, f"{before}No such key: {key}.", asked=asked)

    with served(monkeypatch, "openai", refusing) as (proxy, _):
        error = told(proxy, stream=False)
    assert "No such key" in error.message and "sk-of" not in str(error.body)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["anthropic", "ollama"])
def test_a_model_that_the_server_does_not_know_is_the_services_as_the_caller_names_none(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    with served(monkeypatch, style, faults=["not_found"]) as (proxy, provider):
        error = told(proxy, stream)
    assert error.status_code == 502 and "does not exist" in error.message
    assert len(provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_a_prompt_that_is_too_long_for_the_model_is_told_as_openai_tells_it(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    with served(monkeypatch, style, faults=["overflow"] * 4) as (proxy, _):
        error = told(proxy, stream)
    assert isinstance(error, openai.BadRequestError) and error.code == "context_length_exceeded"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_a_limit_of_the_models_server_is_passed_on_with_its_wait(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    with served(monkeypatch, style, faults=["rate_limit_long"]) as (proxy, _):
        error = told(proxy, stream, retries=0)
    assert isinstance(error, openai.RateLimitError)
    assert error.response.headers["retry-after"] == "3600"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_withheld_without_a_word_is_told_as_openai_tells_it(
    monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    with served(monkeypatch, "anthropic", faults=["content_filter"]) as (proxy, _):
        answer = ask(client(proxy), HELLO, stream=stream)
        choice = list(answer)[-1].choices[0] if stream else answer.choices[0]
        assert choice.finish_reason == "content_filter"
        assert said(proxy) == [("user", HELLO["content"])]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_request_without_pictures_that_is_refused_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, style: Style
) -> None:
    made, fitted = list[int](), Turn._fitted

    def counted(turn: Turn, budget: int, kept: Kept) -> tuple[list[Message], int]:
        made.append(budget)
        return fitted(turn, budget, kept)

    monkeypatch.setattr(Turn, "_fitted", counted)
    with served(monkeypatch, style, faults=["bad_request"]) as (proxy, provider):
        told(proxy, stream=False)
    assert len(made) == len(provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_pictures_that_were_left_out_stay_out_when_the_context_overflows(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    def refusing(asked: Asked) -> str:
        if "broken.png" in str(asked.body):
            raise Refused(400, "Failed to download image.", asked=asked)
        if asked.tokens > 2_000:
            raise Refused(400, "prompt is too long: 4000 tokens > 2000 maximum", asked=asked)
        return "Fine."

    with served(monkeypatch, style, refusing) as (proxy, provider):
        chat = proxy.memory.session("trip", user="ada")
        for turn in range(30):
            chat.add_turn(f"question {turn} " + "word " * 60, "answer " + "word " * 60)
        with pytest.raises(openai.BadRequestError, match="Failed to download"):
            ask(client(proxy), CAT)
        before = len(provider.requests)
        question = {"role": "user", "content": "Are you there?"}
        assert words(ask(client(proxy), question, stream=stream), stream) == "Fine."
    shown = ["broken.png" in str(asked.body) for asked in provider.requests[before:]]
    assert shown == [True, *[False] * (len(shown) - 1)] and 3 <= len(shown) <= 5


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_prompt_that_is_too_long_without_its_pictures_too_is_told_as_too_long(
    monkeypatch: pytest.MonkeyPatch, style: Style, stream: bool
) -> None:
    def refusing(asked: Asked) -> str:
        shown = "broken.png" in str(asked.body)
        raise Refused(400, "Failed to download image." if shown else "prompt is too long", asked=asked)

    with served(monkeypatch, style, refusing) as (proxy, _):
        for message, problem in ((CAT, "Failed to download"), (HELLO, "prompt is too long")):
            with pytest.raises(openai.BadRequestError, match=problem):
                ask(client(proxy), message, stream=stream)
