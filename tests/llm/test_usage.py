"""What an answer took: tokens, those that the provider had in its cache, requests and failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from recollect import Message, ToolCall, ToolResult, parse
from recollect.errors import BadReply, ModelUnavailable
from recollect.llm import ChatModel, Metered, Usage
from recollect.llm.dialect import Ask
from recollect.llm.openai import OpenAI
from recollect.tokens import estimate
from tests.llm.asked import ASKED, CITY, LONG, STYLES, WEATHER, last
from tests.llm.conftest import Serve


def test_deepseek_reports_its_cache_in_its_own_words() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64}
    data = {"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}], "usage": usage}
    assert OpenAI().read(data, Ask("m", ASKED)).usage == Usage(100, 5, 64)


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


def test_breakpoints_that_messages_were_kept_with_do_not_come_on_top(serve: Serve) -> None:
    provider, model = serve("anthropic")
    marked = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    model.complete(parse([{"role": "user", "content": [marked]}] * 6, "anthropic"), tools=[WEATHER])
    assert breakpoints(dict(provider.requests[0].body)) == ["weather", "Hello", "Hello", "Hello"]


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
