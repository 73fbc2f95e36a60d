"""A real model on this machine, through the whole path: its words are poor, so only the wiring is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Message, llm
from recollect.embed import models
from recollect.errors import ConfigError, ContextOverflow, ModelError
from recollect.layers.answer import complete_fitting
from recollect.llm import ChatModel

PATIENT = 300
ASKED = [Message("system", "Answer in one word."), Message("user", "What is the capital of Norway?")]


@pytest.fixture(scope="module")
def model() -> ChatModel:
    pytest.importorskip("xllamacpp", reason="the extra 'local-llm' is not installed")
    try:
        models.pull("smollm2-135m")
    except ModelError as error:
        pytest.skip(f"the model can't be fetched here: {error}")
    return llm.open("local:smollm2-135m", context=256)


def test_it_answers_whole_and_streamed(model: ChatModel) -> None:
    whole = model.complete(ASKED, max_tokens=4, timeout=PATIENT)
    deltas = list(model.stream(ASKED, max_tokens=4, timeout=PATIENT))
    reply = deltas[-1].reply
    assert whole.text and reply
    assert "".join(delta.text for delta in deltas) == reply.text
    assert whole.usage.prompt == reply.usage.prompt > 10
    assert 0 < whole.usage.completion <= 4
    assert reply.usage.cached > 0


def test_its_grammar_makes_the_answer_fit_a_schema(model: ChatModel) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"enum": ["Oslo", "Rome"]}, "sure": {"type": "boolean"}},
        "required": ["city", "sure"],
        "additionalProperties": False,
    }
    value = model.complete(ASKED, schema=schema, max_tokens=120, timeout=PATIENT).value
    assert value["city"] in ("Oslo", "Rome")
    assert isinstance(value["sure"], bool)


def test_its_overflow_is_recognised_and_met(model: ChatModel) -> None:
    long = [*ASKED[:1], *[Message("user", "Tell me more about it. " * 8), Message("assistant", "Yes.")] * 8, ASKED[1]]
    with pytest.raises(ContextOverflow) as caught:
        model.complete(long, max_tokens=8, timeout=PATIENT)
    assert caught.value.limit == 256
    assert caught.value.tokens and caught.value.tokens > 256
    assert complete_fitting(model, long, max_tokens=8, timeout=PATIENT).reply.text


def test_a_model_that_is_not_here_is_answered_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="models pull smollm2-135m"):
        llm.open("local:smollm2-135m")
    with pytest.raises(ConfigError, match="path of a GGUF file"):
        llm.open("local:nowhere.gguf")
    with pytest.raises(ConfigError, match="not a GGUF file"):
        llm.open("local:e5-small-v2")


def test_a_file_that_is_no_model_is_said_so(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'local-llm' is not installed")
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="can't be started"):
        llm.open(f"local:{tmp_path / 'bad.gguf'}")
