"""Models behind the three wire formats: what is sent, what comes back, and what is kept of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from recollect import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, llm, parse
from recollect.errors import (
    BadReply,
    ConfigError,
    ContextOverflow,
    Interrupted,
    InvalidTranscript,
    MissingExtra,
    ModelUnavailable,
    RateLimited,
)
from recollect.http import Endpoint, Retries
from recollect.llm import ChatModel, Delta, Metered, Reply, Usage
from recollect.llm.dialect import Ask
from recollect.llm.openai import Chunks, OpenAI
from recollect.testing import Provider
from recollect.testing.provider import Asked
from recollect.tokens import estimate
from tests.llm.asked import ASKED, LONG, STYLES, WEATHER, last
from tests.llm.conftest import QUICK, Serve
from tests.wrong import wrong

CALLS = Message("assistant", (Text("Let me see."), ToolCall("call_a", "weather", '{"city": "Oslo"}')))


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_is_the_same_whole_and_streamed(serve: Serve, style: str) -> None:
    provider, model = serve(style, ["Rain, 6 °C."])
    whole, deltas = model.complete(ASKED), list(model.stream(ASKED))
    assert deltas[-1].reply
    assert whole.text == deltas[-1].reply.text == "".join(delta.text for delta in deltas) == "Rain, 6 °C."
    assert whole.finish == deltas[-1].reply.finish == "stop"
    assert whole.usage == deltas[-1].reply.usage == Usage(provider.requests[0].tokens, estimate("Rain, 6 °C."))
    assert whole.model == "test-model"
    assert whole.message.role == "assistant"
    assert whole.raw
    assert model.name == f"{style}:test-model"
    assert isinstance(model, ChatModel)


@pytest.mark.parametrize("style", STYLES)
def test_a_tool_is_called_and_its_result_goes_back(serve: Serve, style: str) -> None:
    provider, model = serve(style, [CALLS, CALLS, "Rain."])
    whole, streamed = model.complete(ASKED, tools=[WEATHER]), last(model.stream(ASKED, tools=[WEATHER]))
    assert whole.finish == streamed.finish == "tool_calls"
    assert whole.message.text == streamed.message.text == "Let me see."
    (call,) = whole.message.tool_calls
    assert (call.name, call.input) == ("weather", {"city": "Oslo"})
    assert streamed.message.tool_calls[0].input == call.input
    result = Message("tool", (ToolResult(call.id, "rain", name="weather"),))
    assert model.complete([*ASKED, whole.message, result], tools=[WEATHER]).text == "Rain."
    assert [asked.status for asked in provider.requests] == [200, 200, 200]


@pytest.mark.parametrize("style", STYLES)
def test_no_two_calls_have_the_same_id(serve: Serve, style: str) -> None:
    both = Message("assistant", (ToolCall("a", "weather", "{}"), ToolCall("b", "weather", "{}")))
    _, model = serve(style, [both])
    made = [call.id for _ in range(2) for call in model.complete(ASKED, tools=[WEATHER]).message.tool_calls]
    assert len(made) == 4
    assert len(set(made)) == (4 if style == "ollama" else 2)  # the others give their own


def test_tools_and_limits_are_put_as_each_provider_wants_them(serve: Serve) -> None:
    bodies = {}
    for style in STYLES:
        provider, model = serve(style)
        model.complete(ASKED, tools=[WEATHER], max_tokens=50)
        bodies[style] = provider.requests[0].body
    assert bodies["openai"]["tools"] == [WEATHER]
    assert bodies["openai"]["max_tokens"] == 50
    assert bodies["anthropic"]["tools"][0]["input_schema"] == WEATHER["function"]["parameters"]
    assert bodies["anthropic"]["max_tokens"] == 50
    assert bodies["ollama"]["options"] == {"num_ctx": 8_192, "num_predict": 50}


@pytest.mark.parametrize("style", STYLES)
def test_every_model_takes_what_a_developer_says(serve: Serve, style: str) -> None:
    provider, model = serve(style)
    model.complete([*parse([{"role": "developer", "content": "Be brief."}], "openai"), ASKED[-1]])
    first = provider.requests[0].messages[0]
    assert (first.role, first.text) == ("system", "Be brief.")


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_thinking_is_shown_apart_from_the_answer(serve: Serve, style: str) -> None:
    _, model = serve(style, [Message("assistant", (Thinking("Let me think.", "sig"), Text("Rain.")))])
    deltas = list(model.stream(ASKED))
    assert "".join(delta.thinking for delta in deltas) == "Let me think."
    assert "".join(delta.text for delta in deltas) == "Rain."
    reply = deltas[-1].reply
    assert reply and [part.text for part in reply.message.parts if isinstance(part, Thinking)] == ["Let me think."]


def test_of_several_choices_that_come_mixed_the_first_is_the_answer() -> None:
    chunks = Chunks()
    for index, words in ((1, "Snow."), (0, "Rain"), (1, " Ice."), (0, ".")):
        chunks.add({"choices": [{"index": index, "delta": {"content": words}, "finish_reason": None}]})
    assert chunks.whole() is None
    chunks.add({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]})
    assert chunks.whole() is None
    chunks.add({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    reply = OpenAI().read(chunks.whole() or {}, Ask("m", ASKED))
    assert (reply.text, reply.finish) == ("Rain.", "stop")


@pytest.mark.parametrize("style", STYLES)
def test_an_overflow_names_its_limit(serve: Serve, style: str) -> None:
    _, model = serve(style, limit=1_000, context=1_000)
    with pytest.raises(ContextOverflow) as caught:
        model.complete([*ASKED, Message("user", LONG), Message("user", LONG), Message("user", "And?")])
    assert caught.value.limit == 1_000
    assert not caught.value.passing


def test_ollama_that_cuts_the_prompt_is_found_out(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    many = [*ASKED, *[Message("user", LONG)] * 4]
    _, small = serve("ollama", context=4_096)
    with pytest.raises(ContextOverflow, match=r"saw \d+ of about 60\d\d tokens of the prompt") as caught:
        small.complete(many)
    assert caught.value.limit == 4_096
    with pytest.raises(Interrupted, match="silently") as late:  # a stream tells only at its end
        list(small.stream(many))
    assert isinstance(late.value.__cause__, ContextOverflow)
    _, large = serve("ollama", context=16_000)
    assert large.complete(many).usage.prompt > 6_000
    assert caplog.text == ""


def test_ollama_whose_context_is_smaller_than_asked_for_is_warned_about(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    _, model = serve("ollama", context=16_000, counter=lambda text: len(text) // 20)
    model.complete([*ASKED, Message("user", LONG)])
    assert "may have cut the prompt" in caplog.text


def test_pictures_go_along(serve: Serve) -> None:
    picture = Message("user", (Text("What is it?"), Image(data="iVBORw0KGgo=", media_type="image/png")))
    for style in STYLES:
        provider, model = serve(style, ["A cat."])
        assert model.complete([picture]).text == "A cat."
        assert "iVBORw0KGgo=" in str(provider.requests[0].body)


@pytest.mark.parametrize("style", ["anthropic", "ollama"])
def test_a_file_that_can_not_go_along_leaves_a_mark(serve: Serve, style: str, caplog: pytest.LogCaptureFixture) -> None:
    letter = Opaque("openai", {"type": "file", "file": {"file_data": "QUJD" * 8_000}})
    provider, model = serve(style, ["A letter."])
    assert model.complete([Message("user", (Text("What is it?"), letter, Image(url="ftp://a.org/b.png")))]).text
    assert provider.requests[0].messages[0].text == "What is it?\n[file cut]\n[image cut]"
    assert not caplog.records


@pytest.mark.parametrize(
    "called",
    [
        {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "weather", "input": '{"city": "Oslo"}'}}]},
        {"function_call": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
    ],
)
def test_ollama_is_told_of_calls_that_openai_has_in_forms_of_its_own(serve: Serve, called: dict[str, Any]) -> None:
    provider, model = serve("ollama", ["Rain."])
    model.complete([*ASKED, *parse([{"role": "assistant", "content": None, **called}], "openai")])
    (call,) = provider.requests[0].body["messages"][-1]["tool_calls"]
    assert call["function"] == {"name": "weather", "arguments": {"city": "Oslo"}}


def test_half_a_surrogate_pair_does_not_stop_a_request(serve: Serve) -> None:
    provider, model = serve("openai", ["Fine."])
    assert model.complete([Message("user", "broken \ud83d here")]).text == "Fine."
    assert provider.requests[0].messages[0].text == "broken ? here"


@pytest.mark.parametrize("style", STYLES)
def test_what_can_not_be_sent_is_refused_before_it_is(serve: Serve, style: str) -> None:
    provider, model = serve(style)
    most: Any
    for most in (0, "many"):
        with pytest.raises(ConfigError, match="max_tokens"):
            model.complete(ASKED, max_tokens=most)
    with pytest.raises(ConfigError, match="allOf"):
        model.complete(ASKED, schema={"allOf": []})
    with pytest.raises(InvalidTranscript, match="parse"):
        model.complete([wrong({"role": "user", "content": "hi"})])
    assert provider.requests == ()


def test_a_request_is_tried_again_three_times_at_most() -> None:
    with pytest.raises(ConfigError, match="0 to 3 times"):
        Retries(times=4)


def test_a_wait_that_is_asked_for_is_obeyed_up_to_a_point() -> None:
    wait = Retries(patience=30).wait
    assert wait(RateLimited("later", 7)) == 7.0
    assert wait(RateLimited("later", 31)) is False
    assert wait(RateLimited("later")) is True
    assert wait(RateLimited("pay", 1, passing=False)) is False
    assert wait(ContextOverflow("full")) is False
    assert wait(ValueError()) is False


@pytest.mark.parametrize("style", STYLES)
def test_a_stream_that_is_closed_ends_the_request(serve: Serve, style: str) -> None:
    provider, model = serve(style, ["one two three " * 9], faults=["stall"])
    deltas: Any = model.stream(ASKED, timeout=30)
    with closing(deltas):
        assert next(deltas).text
    assert model.complete(ASKED).text == "one two three " * 9
    assert len(provider.requests) == 2


def test_many_threads_may_ask_one_model(serve: Serve) -> None:
    def reply(asked: Asked) -> str:
        return asked.messages[-1].text

    _, model = serve("openai", reply)
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda n: model.complete([Message("user", f"{n}")]).text, range(64)))
    assert said == [f"{n}" for n in range(64)]


def test_a_line_without_end_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.llm.remote.MOST_BYTES", 1_000)
    _, model = serve("ollama", ["word" * 1_000], faults=["split_utf8"] * 4)
    with pytest.raises(BadReply, match="a line of over 1000 bytes"):
        list(model.stream(ASKED))


@pytest.mark.parametrize("style", STYLES)
def test_a_stream_without_end_is_given_up(serve: Serve, style: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.llm.remote.MOST_BYTES", 2_000)
    _, model = serve(style, ["word " * 1_000])
    with pytest.raises(Interrupted, match="over 2,000 bytes") as broken:
        list(model.stream(ASKED))
    assert broken.value.partial.startswith("word word")


class Parrot:
    """A user's own client, in ten lines."""

    name = "parrot:"

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        return Reply(Message("assistant", messages[-1].text))

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        yield Delta(reply=self.complete(messages))


def test_a_client_of_ones_own_is_a_model_too() -> None:
    assert isinstance(Parrot(), ChatModel)
    assert Metered(Parrot()).complete(ASKED).text == ASKED[-1].text


def test_a_reply_without_end_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.http.MOST_BYTES", 1_000)
    provider, model = serve("openai", ["word " * 1_000])
    with pytest.raises(BadReply, match="over 1000 bytes"):
        model.complete(ASKED)
    assert len(provider.requests) == 4


def test_nobody_listening_is_said_so() -> None:
    with Provider() as provider:
        gone = provider.url
    with pytest.raises(ModelUnavailable, match="OPENAI_BASE_URL"):
        llm.open("openai:m", url=gone, retries=QUICK).complete(ASKED)


def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stamina", None)
    with pytest.raises(MissingExtra, match=r"pip install 'httpx2>="):
        Endpoint("openai:m", "http://localhost", "OPENAI_BASE_URL")
