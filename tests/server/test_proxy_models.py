"""The models that the proxy lists, and any of ours behind it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import openai
import pytest

from recollect.testing.provider import Provider
from tests.server.openai_client import HELLO, ask, client, said, words
from tests.server.running import Running, running


@pytest.mark.parametrize("name", ["recollect", "gpt-4o", "", "recall:"])
def test_the_one_model_there_is_answers_to_any_name_and_says_its_own(service: Running, name: str) -> None:
    answer = client(service).chat.completions.create(model=name, messages=[HELLO])
    assert answer.model == "recall:"
    assert [(model.id, model.created) for model in client(service).models.list()] == [("recall:", 0)]
    assert client(service).models.retrieve(name or "recollect").id == "recall:"


def test_models_are_the_providers(proxy: Running) -> None:
    assert [model.id for model in client(proxy).models.list()] == ["test-model"]
    assert [client(proxy).models.retrieve(name).id for name in ("test-model", "recollect")] == ["test-model"] * 2


@pytest.mark.parametrize("name", ["gpt-9", "of/another", "a b?c#d"])
def test_a_model_that_the_provider_has_not_is_refused_in_its_words(
    proxy: Running, provider: Provider, name: str
) -> None:
    with pytest.raises(openai.NotFoundError, match="Invalid URL"):
        client(proxy).models.retrieve(name)
    assert provider.requests[-1].path == f"/v1/models/{quote(name, safe='')}"


def test_no_model_is_not_found(proxy: Running) -> None:
    with pytest.raises(openai.NotFoundError, match="no model is named: name one that GET /v1/models lists"):
        client(proxy).models.retrieve("\n")


@pytest.mark.parametrize("stream", [False, True])
def test_any_model_of_ours_answers_in_the_same_shape(stream: bool) -> None:
    with running(model="recall:") as proxy:
        proxy.memory.session("old", user="ada").add("user", HELLO["content"])
        answer = ask(client(proxy), {"role": "user", "content": "Where does my sister live?"}, stream=stream)
        text = words(answer, stream)
        assert "Oslo" in text
        assert said(proxy)[-1] == ("assistant", text)
        assert [model.id for model in client(proxy).models.list()] == ["recall:"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_of_ours_fits_the_schema_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    with Provider("anthropic", [{"city": "Oslo"}]) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-upstream")
        with running(model="anthropic:test-model") as proxy:
            answer = words(ask(client(proxy), HELLO, response_format=wanted, stream=stream), stream)
    assert json.loads(answer) == {"city": "Oslo"}
    with running(model="recall:") as proxy, pytest.raises(openai.UnprocessableEntityError, match="only quotes"):
        ask(client(proxy), HELLO, response_format={"type": "json_object"}, stream=stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "field",
    [
        {"n": 2},
        {"logprobs": True},
        {"modalities": ["text", "audio"]},
        {"functions": [{"name": "f"}]},
    ],
)
def test_what_a_model_of_ours_can_not_answer_with_is_refused(
    service: Running, field: dict[str, Any], stream: bool
) -> None:
    asked = {"messages": [HELLO], "user": "ada", "stream": stream}
    refused = service.http.post("/v1/chat/completions", json={**asked, **field})
    assert refused.status_code == 422
    assert f"recall: can't do {next(iter(field))} here" in refused.json()["error"]["message"]
    assert service.http.get("/sessions", params={"user": "ada"}).json()["items"] == []


def test_fields_without_which_an_answer_is_the_same_are_taken(service: Running) -> None:
    more = {"n": 1, "logprobs": False, "modalities": ["text"], "functions": [], "store": True, "metadata": {"a": "b"}}
    newer = {"reasoning_effort": "low", "service_tier": "auto", "prediction": {"type": "content", "content": "x"}}
    asked = {"messages": [HELLO], "user": "ada", **more, **newer, "tool_choice": "required", "not_known_yet": {"a": 1}}
    assert service.http.post("/v1/chat/completions", json=asked).status_code == 200
