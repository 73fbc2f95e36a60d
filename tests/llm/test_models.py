"""Models behind the three wire formats: what is sent, what comes back, and what is kept of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from recollect import Image, Message, Text, Thinking, ToolCall, ToolResult, llm
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
from tests.llm.conftest import QUICK, Serve
from tests.wrong import wrong

STYLES = ("openai", "anthropic", "ollama")
KEY = "sk-very-secret-0123456789"
ASKED = [Message("system", "Be brief."), Message("user", "What is the weather in Oslo?")]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CALLS = Message("assistant", (Text("Let me see."), ToolCall("call_a", "weather", '{"city": "Oslo"}')))
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
LONG = "word " * 1_500


def last(deltas: Iterator[Delta]) -> Reply:
    reply = list(deltas)[-1].reply
    assert reply
    return reply


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


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_thinking_is_shown_apart_from_the_answer(serve: Serve, style: str) -> None:
    _, model = serve(style, [Message("assistant", (Thinking("Let me think.", "sig"), Text("Rain.")))])
    deltas = list(model.stream(ASKED))
    assert "".join(delta.thinking for delta in deltas) == "Let me think."
    assert "".join(delta.text for delta in deltas) == "Rain."
    reply = deltas[-1].reply
    assert reply and [part.text for part in reply.message.parts if isinstance(part, Thinking)] == ["Let me think."]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("said", [{"city": "Oslo", "degrees": 6}, '```json\n{"city": "Oslo", "degrees": 6,}\n```'])
def test_a_schema_gives_a_value_that_fits_it(serve: Serve, style: str, said: Any) -> None:
    _, model = serve(style, [said])
    whole, streamed = model.complete(ASKED, schema=CITY), last(model.stream(ASKED, schema=CITY))
    assert whole.value == streamed.value == {"city": "Oslo", "degrees": 6}
    assert whole.finish == streamed.finish == "stop"
    assert whole.message.tool_calls == ()


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_that_does_not_fit_the_schema_is_a_bad_reply(serve: Serve, style: str) -> None:
    provider, model = serve(style, [{"town": "Oslo"}])
    with pytest.raises(BadReply, match=r"city is missing.*town") as caught:
        model.complete(ASKED, schema=CITY)
    assert not caught.value.passing
    assert len(provider.requests) == 1
    with pytest.raises(BadReply, match="city is missing"):
        list(model.stream(ASKED, schema=CITY))


def test_a_server_that_takes_no_schema_gets_it_in_the_prompt(serve: Serve) -> None:
    provider, model = serve("openai", [{"city": "Oslo"}], faults=["no_json_schema"])
    assert model.complete(ASKED, schema=CITY).value == {"city": "Oslo"}
    assert last(model.stream(ASKED, schema=CITY)).value == {"city": "Oslo"}
    formats = [asked.body["response_format"]["type"] for asked in provider.requests]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert '"city"' in provider.requests[1].body["messages"][0]["content"]


def test_a_refusal_of_the_model_is_no_answer_to_a_schema(serve: Serve) -> None:
    _, model = serve("openai", [Message("assistant", extra={"refusal": "I can't say."}, shape="openai")])
    reply = model.complete(ASKED)
    assert (reply.text, reply.finish) == ("I can't say.", "content_filter")


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


def test_deepseek_reports_its_cache_in_its_own_words() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64}
    data = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    assert OpenAI().read(data, Ask("m", ASKED)).usage == Usage(100, 5, 64)


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
    with pytest.raises(ContextOverflow, match=r"saw \d+ tokens of a prompt of about 60\d\d") as caught:
        small.complete(many)
    assert caught.value.limit == 4_096
    with pytest.raises(Interrupted, match="without a word") as late:  # a stream tells only at its end
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


@pytest.mark.parametrize("name", ["", "gpt-4o", "openai:", "nobody:gpt", "anthropic", "local:"])
def test_a_name_that_is_none_is_answered_with_examples(name: str) -> None:
    with pytest.raises(ConfigError, match="openai:gpt-4o-mini"):
        llm.open(name)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        llm.open("openai:m", url="ftp://example.com")


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


def turns(number: int) -> Iterator[list[Message]]:
    """A conversation as it grows: each time one turn longer, memory in front of the newest question."""
    talk = [Message("system", "You plan trips. " + LONG)]
    for n in range(number):
        question = f"Question {n}: " + "where to? " * 60
        yield [*talk, Message("user", f"<memory>\nabout {n}\n</memory>\n\n{question}")]
        talk += [Message("user", question), Message("assistant", "There. " * 60)]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_what_a_provider_has_in_its_cache_is_added_up(serve: Serve, style: str) -> None:
    provider, model = serve(style)
    watched = Metered(model)
    for messages in turns(12):
        watched.complete(messages)
    used = watched.spent.usage
    assert used.prompt == sum(asked.tokens for asked in provider.requests)
    assert used.cached == sum(asked.cached for asked in provider.requests)
    assert used.cache_written == sum(asked.written for asked in provider.requests)
    assert used.cached_share > 0.75


def breakpoints(body: dict[str, Any]) -> list[str]:
    blocks = [*(body["system"] if isinstance(body.get("system"), list) else []), *body.get("tools", [])]
    blocks += [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    return [
        str(block.get("text") or block.get("content") or block["name"])[:9]
        for block in blocks
        if "cache_control" in block
    ]


def test_anthropic_gets_breakpoints_where_the_prompt_stays_the_same(serve: Serve) -> None:
    provider, model = serve("anthropic")
    *_, messages = turns(3)
    model.complete(messages)
    assert breakpoints(dict(provider.requests[0].body)) == ["You plan ", "There. Th", "There. Th"]

    call, result = ToolCall("t1", "weather", "{}"), ToolResult("t1", "sunny all day")
    model.complete([*messages, Message("assistant", (call,)), Message("tool", (result,))], tools=[WEATHER])
    assert breakpoints(dict(provider.requests[1].body)) == ["You plan ", "There. Th", "There. Th", "sunny all"]

    model.complete([Message("user", "Hello")], tools=[WEATHER])
    assert breakpoints(dict(provider.requests[2].body)) == ["weather", "Hello"]
    assert [asked.status for asked in provider.requests] == [200, 200, 200]


def test_usage_teaches_the_counter(serve: Serve) -> None:
    _, model = serve("openai", counter=lambda text: 2 * estimate(text))
    watched = Metered(model)
    for _ in range(12):
        last(watched.stream([Message("user", LONG)]))
    assert 1.9 < watched.calibration.ratio(model.name) < 2.1


def test_a_stream_that_is_left_is_counted_and_its_request_ended(serve: Serve) -> None:
    provider, model = serve("openai", ["one two three " * 9], faults=["stall"])
    watched = Metered(model)
    deltas: Any = watched.stream(ASKED, timeout=30)
    with closing(deltas):
        assert next(deltas).text
    assert (watched.spent.calls, watched.spent.failed) == (1, 1)
    assert watched.complete(ASKED).text
    assert len(provider.requests) == 2


@pytest.mark.parametrize("style", STYLES)
def test_how_many_requests_an_answer_took_is_told(serve: Serve, style: str) -> None:
    provider, model = serve(style, [{"city": "Oslo"}], faults=["nonsense", "server_error"])
    assert model.complete(ASKED, schema=CITY).tries == 3
    provider.fail("reset")
    assert last(model.stream(ASKED)).tries == 2
    provider.fail("nonsense", 4)
    with pytest.raises(BadReply) as caught:
        model.complete(ASKED)
    assert caught.value.tries == 4
    provider.fail("nonsense", 1)
    with pytest.raises(BadReply) as caught:
        model.complete(ASKED, schema={**CITY, "required": ["mayor"]})
    assert caught.value.tries == 2


def test_a_line_without_end_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.llm.remote.MOST_BYTES", 1_000)
    _, model = serve("ollama", ["word" * 1_000], faults=["split_utf8"] * 4)
    with pytest.raises(BadReply, match="a line of over 1000 bytes"):
        list(model.stream(ASKED))


def test_failures_are_counted_too(serve: Serve) -> None:
    _, model = serve("openai", faults=["bad_request"] * 2)
    watched = Metered(model)
    with pytest.raises(ModelUnavailable):
        watched.complete(ASKED)
    with pytest.raises(ModelUnavailable):
        list(watched.stream(ASKED))
    watched.complete(ASKED)
    assert (watched.spent.calls, watched.spent.failed) == (3, 2)
    assert watched.name == model.name
    assert isinstance(watched, ChatModel)


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
    with pytest.raises(MissingExtra, match=r"recollect\[http\]"):
        Endpoint("openai:m", "http://localhost", "OPENAI_BASE_URL").post("/x", {}, 1, lambda data: data)
