"""Answers from a model whose context is smaller than was thought, and a long run that never meets that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Image, Message, Text, Thinking, ToolCall, ToolResult, fit, parse, validate
from recollect.errors import ContextOverflow, ModelUnavailable
from recollect.layers.answer import complete_fitting, stream_fitting
from recollect.llm import Delta, Metered, Reply
from recollect.testing.provider import Asked
from recollect.testing.provider.values import Refused
from recollect.tokens import count_messages, counter, estimate
from tests.llm.conftest import Serve
from tests.strategies import wire_transcripts

LIMITS = {
    "openai": None,
    "anthropic": None,
    "llama.cpp": "request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it",
    "silent": "Your input exceeds the context window of this model. Please adjust your input and try again.",
}


def talk(turns: int, words: int = 60) -> list[Message]:
    out = [Message("system", "You plan trips.")]
    for n in range(turns):
        out += [Message("user", f"Question {n}: " + "where " * words), Message("assistant", f"Answer {n}: there.")]
    return [*out, Message("user", "And the last question?")]


@pytest.mark.parametrize("server", LIMITS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_prompt_that_is_too_large_is_made_smaller_until_it_fits(serve: Serve, server: str, streamed: bool) -> None:
    style = "anthropic" if server == "anthropic" else "openai"
    provider, model = serve(style, ["There."], limit=3_000, overflow=LIMITS[server])
    if streamed:
        deltas = list(stream_fitting(model, talk(80), max_tokens=100))
        assert deltas[-1].reply and deltas[-1].reply.text == "There."
    else:
        fitted = complete_fitting(model, talk(80), max_tokens=100)
        assert fitted.reply.text == "There."
        assert fitted.retries == len(provider.requests) - 1
        assert fitted.window.messages[-1].text == "And the last question?"
        assert fitted.window.receipt.entries[1].verdict == "dropped"
    sizes = [asked.tokens for asked in provider.requests]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == len(sizes) <= 4
    assert [asked.status for asked in provider.requests] == [400] * (len(sizes) - 1) + [200]


@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_server_refuses_of_before_the_question_is_left_out(serve: Serve, streamed: bool) -> None:
    def refusing(asked: Asked) -> str:
        if "Hm." in str(asked.body) or "cat.png" in str(asked.body):
            raise Refused(422, "Extra inputs are not permitted", asked=asked)
        if asked.tokens > 1_000:
            raise Refused(400, f"prompt is too long: {asked.tokens} tokens > 1000 maximum", asked=asked)
        return "There."

    provider, model = serve("openai", refusing)
    shown = Message("user", (Text("Whose cat?"), Image(url="https://example.org/cat.png")))
    thought = Message("assistant", (Thinking("Hm."), Text("Mine.")))
    messages = [*talk(20)[:-1], shown, thought, Message("user", "Where?")]
    reply = list(stream_fitting(model, messages))[-1].reply if streamed else complete_fitting(model, messages).reply
    assert reply and reply.text == "There."
    last = [message.text for message in provider.requests[-1].messages][-3:]
    assert last == ["Whose cat?\n[image cut]", "Mine.", "Where?"]
    assert [asked.status for asked in provider.requests] == [422, 400, 200]


def test_what_is_refused_with_and_without_that_is_told_as_it_was_at_first(serve: Serve) -> None:
    def demanding(asked: Asked) -> str:
        thought = "Hm." in str(asked.body)
        raise Refused(400, "Invalid 'temperature'." if thought else "Pass the thoughts back.", asked=asked)

    provider, model = serve("openai", demanding)
    messages = [*talk(1)[:-2], Message("assistant", (Thinking("Hm."), Text("There."))), Message("user", "Where?")]
    with pytest.raises(ModelUnavailable, match="temperature"):
        complete_fitting(model, messages)
    assert len(provider.requests) == 2


def test_a_limit_that_is_named_is_met_at_once(serve: Serve) -> None:
    provider, model = serve("openai", ["There."], limit=3_000)
    assert complete_fitting(model, talk(200), max_tokens=500).retries == 1
    assert provider.requests[-1].tokens + 500 <= 3_000


def test_a_provider_that_counts_three_times_as_much_is_believed(serve: Serve) -> None:
    provider, model = serve("openai", ["There."], limit=3_000, counter=lambda text: 3 * estimate(text))
    assert complete_fitting(model, talk(200)).retries == 1
    assert 1_500 < provider.requests[-1].tokens <= 3_000


@pytest.mark.parametrize("streamed", [False, True])
def test_a_limit_that_was_told_once_is_remembered(serve: Serve, streamed: bool) -> None:
    provider, model = serve("openai", ["There."], limit=3_000)
    for _ in range(2):
        if streamed:
            list(stream_fitting(model, talk(200), max_tokens=500))
        else:
            complete_fitting(model, talk(200), max_tokens=500)
    assert [asked.status for asked in provider.requests] == [400, 200, 200]
    complete_fitting(model, talk(200), max_tokens=1_500)
    assert provider.requests[-1].status == 200 and provider.requests[-1].tokens + 1_500 <= 3_000
    assert len(provider.requests) == 4
    complete_fitting(model, talk(2))
    assert provider.requests[-1].tokens < 1_000


def test_a_remembered_limit_that_is_too_much_for_other_words_is_gone_below() -> None:
    model = Narrow(2_000, named=False, factor=1.0)
    complete_fitting(model, talk(40))
    model.factor = 1.5
    fitted = complete_fitting(model, talk(200))
    assert 1 <= fitted.retries <= 3
    assert count_messages(fitted.window.messages, estimate) * 1.5 <= 2_000


def test_what_fits_is_sent_as_it_is(serve: Serve) -> None:
    provider, model = serve("openai", ["There."], limit=3_000)
    fitted = complete_fitting(model, talk(2))
    assert (fitted.retries, len(provider.requests)) == (0, 1)
    assert fitted.window.messages == tuple(talk(2))


def test_ollama_that_cut_the_prompt_is_asked_again_with_less(serve: Serve) -> None:
    provider, model = serve("ollama", ["There."], context=2_000)
    fitted = complete_fitting(model, talk(80))
    assert fitted.reply.text == "There."
    assert fitted.retries >= 1
    assert fitted.window.tokens <= 2_000
    assert provider.requests[-1].tokens == fitted.window.tokens


def test_where_nothing_smaller_is_valid_the_overflow_is_the_error(serve: Serve) -> None:
    provider, model = serve("openai", limit=50)
    with pytest.raises(ContextOverflow, match="maximum context length is 50") as caught:
        complete_fitting(model, [Message("system", "word " * 500), Message("user", "Hello?")])
    assert caught.value.limit == 50
    assert len(provider.requests) <= 4


def test_room_for_the_answer_that_is_larger_than_the_context_is_not_retried(serve: Serve) -> None:
    provider, model = serve("openai", limit=500)
    with pytest.raises(ContextOverflow):
        complete_fitting(model, talk(3), max_tokens=600)
    assert len(provider.requests) == 1


def test_other_errors_are_left_as_they_are(serve: Serve) -> None:
    provider, model = serve("openai", faults=["bad_request"] * 2)
    with pytest.raises(ModelUnavailable, match="temperature"):
        complete_fitting(model, talk(3))
    with pytest.raises(ModelUnavailable, match="temperature"):
        list(stream_fitting(model, talk(3)))
    assert len(provider.requests) == 2


def test_a_stream_without_a_word_ends() -> None:
    class Silent(Narrow):
        def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
            return iter(())

    assert list(stream_fitting(Silent(1_000, named=True, factor=1.0), talk(3))) == []


class Narrow:
    """A model that takes so many tokens, and names its limit or not."""

    name = "narrow:"

    def __init__(self, limit: int, named: bool, factor: float) -> None:
        self.limit, self.named, self.factor = limit, named, factor
        self.asked: list[Sequence[Message]] = []

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        self.asked.append(messages)
        tokens = int(count_messages(messages, estimate) * self.factor)
        if tokens > self.limit:
            raise ContextOverflow("too large", *((self.limit, tokens) if self.named else ()))
        return Reply(Message("assistant", "Yes."))

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        yield Delta(reply=self.complete(messages))


class Told(Narrow):
    """A model that notes what goes along with the messages."""

    def complete(self, messages: Sequence[Message], **beside: Any) -> Reply:
        self.beside = beside
        return super().complete(messages)

    def stream(self, messages: Sequence[Message], **beside: Any) -> Iterator[Delta]:
        yield Delta(reply=self.complete(messages, **beside))


def test_tools_schema_and_bounds_go_along_and_tools_are_counted() -> None:
    model = Told(5_000, named=True, factor=1.0)
    beside: dict[str, Any] = {
        "tools": [{"type": "function", "function": {"name": "lookup", "description": "word " * 100}}],
        "schema": {"type": "object"},
        "max_tokens": 50,
        "timeout": 5.0,
    }
    fitted = complete_fitting(model, talk(2), **beside, counter=lambda text: len(text.split()))
    assert model.beside == beside
    assert fitted.window.tokens > 100 + sum(len(message.text.split()) for message in talk(2))
    assert list(stream_fitting(model, talk(2), **beside)) and model.beside == beside


@given(
    wire=wire_transcripts("openai"),
    limit=st.integers(1, 400),
    named=st.booleans(),
    factor=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_at_most_four_requests_each_valid_and_smaller(wire: Any, limit: int, named: bool, factor: float) -> None:
    messages, model = parse(wire, "openai"), Narrow(limit, named, factor)
    try:
        fitted = complete_fitting(model, messages)
    except ContextOverflow:
        assert count_messages(model.asked[-1], estimate) * factor > limit
    else:
        assert fitted.window.messages == tuple(model.asked[-1])
    sizes = [count_messages(shown, estimate) for shown in model.asked]
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) <= 4
    assert all(validate(shown, "openai") == [] for shown in model.asked[1:])


@pytest.mark.parametrize(("style", "counted"), [("openai", "tiktoken:gpt-4o"), ("anthropic", "estimate")])
def test_three_hundred_turns_never_see_a_refusal(serve: Serve, style: str, counted: str) -> None:
    if counted != "estimate":
        pytest.importorskip("tiktoken", reason="the extra 'tiktoken' is not installed")
    random = Random(7)

    def answer(asked: Asked) -> Message | str:
        results = sum(len(message.tool_results) for message in asked.messages[-4:])
        if random.random() < 0.4 and results < 3:
            ids = [f"call_{random.random()}" for _ in range(random.randint(1, 3))]
            return Message("assistant", tuple(ToolCall(id, "search", '{"q": "Oslo"}') for id in ids))
        return "So it is. " * random.randint(1, 60)

    provider, model = serve(style, answer, limit=8_000, counter=counter(counted))
    watched = Metered(model)
    count = watched.calibration.counter(watched.name, estimate)
    window = fit([Message("system", "You plan trips. " * 20)], 8_000 - 1_000, counter=count)
    for turn in range(300):
        window.append(Message("user", f"Question {turn}: " + "and then? " * random.randint(1, 150)))
        while True:
            reply = watched.complete(window.messages, max_tokens=1_000)
            window.append(reply.message)
            if reply.finish != "tool_calls":
                break
            for call in reply.message.tool_calls:
                found = '{"city": "Oslo", "rain": [1, 2, 3]}' * random.randint(1, 120)
                window.append(Message("tool", (ToolResult(call.id, found),)))
    statuses = [asked.status for asked in provider.requests]
    assert len(statuses) > 300
    assert set(statuses) == {200}
    assert watched.spent.usage.prompt == sum(asked.tokens for asked in provider.requests)
    assert watched.spent.usage.cached_share > 0.5
