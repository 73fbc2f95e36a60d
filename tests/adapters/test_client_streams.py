"""Answers that plain clients stream or await: kept whole, or as far as they came."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from weakref import WeakSet

import anthropic
import httpx2
import openai
import pytest

from recollect import Memory, Message, ToolCall
from recollect.adapters import clients
from recollect.adapters.answers import OpenAIAnswer
from recollect.adapters.clients import remember
from recollect.history import Asking
from recollect.testing import Provider
from tests.adapters.connected import HI, KEPT, OSLO, connect, stream_openai
from tests.contexts import said


def test_streamed_and_awaited_the_answer_is_kept_too(memory: Memory) -> None:
    async def ask(provider: Provider) -> None:
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")
            events = await client.chat.completions.create(model="gpt", messages=HI, stream=True)
            assert "Oslo, " in [event.choices[0].delta.content async for event in events if event.choices]

    with Provider("openai", [OSLO]) as provider:
        asyncio.run(ask(provider))
    assert said(memory) == KEPT


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_is_kept_beside_the_event_loop_also_where_the_caller_is_cancelled(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    keep, asking = Asking.keep, list[asyncio.Task[None]]()

    def slow(asked: Asking[Any], *answers: Message) -> None:
        asking[0].get_loop().call_soon_threadsafe(asking[0].cancel)
        while not asking[0].cancelling():
            time.sleep(0.01)
        keep(asked, *answers)

    async def ask(provider: Provider) -> None:
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")
            request: dict[str, Any] = {"model": "gpt", "messages": HI, "stream": stream}
            async for _ in await client.chat.completions.create(**request):
                pass

    async def run(provider: Provider) -> None:
        asking.append(asyncio.create_task(ask(provider)))
        with pytest.raises(asyncio.CancelledError):
            await asking[0]
        assert said(memory) == KEPT

    monkeypatch.setattr(Asking, "keep", slow)
    with Provider("openai", [OSLO]) as provider:
        asyncio.run(run(provider))


def test_calls_of_a_stream_are_put_together(memory: Memory) -> None:
    calls = (ToolCall("c1", "lookup", '{"number": 1}'), ToolCall("c2", "lookup", '{"number": 2}'))
    with Provider("openai", [Message("assistant", calls)]) as provider, connect(provider, openai.OpenAI) as plain:
        stream_openai(remember(plain, memory, user="ada", session="trip"))
    (_, answer) = memory.session("trip", user="ada").history()
    assert [(call.id, call.name, call.input) for call in answer.tool_calls] == [
        ("c1", "lookup", {"number": 1}),
        ("c2", "lookup", {"number": 2}),
    ]


@pytest.mark.parametrize(("style", "kind"), [("openai", openai.OpenAI), ("anthropic", anthropic.Anthropic)])
@pytest.mark.parametrize("how", ["it breaks", "the caller leaves"])
def test_of_a_stream_that_does_not_end_what_was_said_is_kept_and_marked(
    memory: Memory, style: Any, kind: Any, how: str
) -> None:
    def tell(events: Any) -> None:
        for count, _ in enumerate(events):
            if how == "the caller leaves" and count == 5:
                events.close()
                return

    options = {"model": "any", "messages": HI, "max_tokens": 1_000, "stream": True}
    with Provider(style, [OSLO * 20]) as provider, connect(provider, kind) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        if how == "it breaks":
            provider.fail("disconnect")
        create = client.chat.completions.create if style == "openai" else client.messages.create
        try:
            tell(create(**options))
        except (openai.APIConnectionError, anthropic.APIConnectionError, httpx2.HTTPError):
            assert how == "it breaks"
    (_, answer) = memory.session("trip", user="ada").history()
    assert (OSLO * 20).startswith(answer.text)
    assert answer.metadata == {"partial": True}


@pytest.mark.parametrize("awaited", [False, True])
def test_of_a_stream_left_by_its_helper_what_was_said_is_kept(memory: Memory, awaited: bool) -> None:
    def leave(client: openai.OpenAI) -> None:
        with client.chat.completions.stream(model="gpt", messages=HI) as stream:
            next(event for event in stream if event.type == "content.delta" and event.delta)

    async def leave_awaited(provider: Provider) -> None:
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")
            async with client.chat.completions.stream(model="gpt", messages=HI) as stream:
                async for event in stream:
                    if event.type == "content.delta" and event.delta:
                        break
            assert len(said(memory)) == 2

    with Provider("openai", [OSLO * 20]) as provider, connect(provider, openai.OpenAI) as plain:
        if awaited:
            asyncio.run(leave_awaited(provider))
        else:
            leave(remember(plain, memory, user="ada", session="trip"))
        (_, answer) = memory.session("trip", user="ada").history()
    assert OSLO.startswith(answer.text)
    assert answer.metadata == {"partial": True}


@pytest.mark.parametrize("kind", [openai.AsyncOpenAI, anthropic.AsyncAnthropic])
def test_a_stream_that_is_left_leaves_no_errors_in_the_loop(memory: Memory, kind: Any) -> None:
    errors = list[Any]()

    async def leave(provider: Provider) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: errors.append(told))
        async with connect(provider, kind) as plain:
            client: Any = remember(plain, memory, user="ada", session="trip")
            asked = getattr(client, "messages", None) or client.chat.completions
            async with await asked.create(model="any", max_tokens=100, messages=HI, stream=True) as stream:
                for _ in range(5):
                    await anext(stream)
            del stream
            await asyncio.sleep(0.05)

    with Provider("openai" if kind is openai.AsyncOpenAI else "anthropic", [OSLO * 20]) as provider:
        asyncio.run(leave(provider))
    assert errors == []
    assert len(said(memory)) == 2


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_a_stream_that_is_left_without_closing_it_is_kept_before_the_next_question(memory: Memory, kind: Any) -> None:
    thanks: Any = [{"role": "user", "content": "Thanks."}]

    async def ask_awaited(provider: Provider) -> None:
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")
            events = await client.chat.completions.create(model="gpt", messages=HI, stream=True)
            async for event in events:
                if event.choices and event.choices[0].delta.content == "Oslo, ":
                    break
            await client.chat.completions.create(model="gpt", messages=thanks)

    def ask(provider: Provider) -> None:
        with connect(provider, openai.OpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")
            events = client.chat.completions.create(model="gpt", messages=HI, stream=True)
            for event in events:
                if event.choices and event.choices[0].delta.content == "Oslo, ":
                    break
            client.with_options(timeout=9).chat.completions.create(model="gpt", messages=thanks)

    with Provider("openai", [OSLO, "Any time."]) as provider:
        if kind is openai.OpenAI:
            ask(provider)
        else:
            asyncio.run(ask_awaited(provider))
    assert [text for _, text in said(memory)] == [KEPT[0][1], "She lives in Oslo, ", "Thanks.", "Any time."]


def test_a_stream_that_another_task_still_reads_is_not_cut_short(memory: Memory) -> None:
    async def ask(provider: Provider) -> None:
        begun, asked = asyncio.Event(), asyncio.Event()
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip")

            async def read() -> None:
                async for _ in await client.chat.completions.create(model="gpt", messages=HI, stream=True):
                    begun.set()
                    await asked.wait()

            reading = asyncio.create_task(read())
            await begun.wait()
            await client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "Thanks."}])
            asked.set()
            await reading

    with Provider("openai", [OSLO, "Any time."]) as provider:
        asyncio.run(ask(provider))
    assert [text for _, text in said(memory)] == [KEPT[0][1], "Thanks.", "Any time.", OSLO]


def test_threads_may_begin_streams_while_others_look_for_those_that_were_left() -> None:
    streams, held = WeakSet[clients.Hearing](), list[clients.Hearing]()

    def begin() -> None:
        held.extend(clients._heard(streams, OpenAIAnswer(), cast("Any", None)) for _ in range(1_500))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as threads:
            begun = [threads.submit(begin) for _ in range(2)]
            while not all(task.done() for task in begun):
                assert clients._left(streams) == []
    finally:
        sys.setswitchinterval(before)
    assert len(streams) == 3_000


@pytest.mark.parametrize(("stream", "ends"), [(False, True), (True, True), (True, False)])
def test_of_an_answer_that_is_spoken_the_words_are_kept(memory: Memory, stream: bool, ends: bool) -> None:
    audio = {"id": "audio_1", "data": "AAAA", "expires_at": 9, "transcript": OSLO}
    spoken = {"role": "assistant", "content": None, "audio": audio}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "gpt"}
    choice = {"index": 0, "message": spoken, "finish_reason": "stop"}
    halves = [{**spoken, "audio": {"id": "audio_1", "transcript": OSLO[:9]}}, {"audio": {"transcript": OSLO[9:]}}]
    chunks = [{**whole, "choices": [{"index": 0, "delta": half}]} for half in halves]
    last = {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (*chunks, *([last] * ends)))

    def answer(request: httpx2.Request) -> httpx2.Response:
        if stream:
            return httpx2.Response(200, text=events, headers={"content-type": "text/event-stream"})
        return httpx2.Response(200, json={**whole, "choices": [choice]})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(base_url="http://model.test", api_key="none", http_client=http) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        list(client.chat.completions.create(model="gpt", messages=HI, stream=stream))
    assert said(memory) == KEPT
    (_, kept) = memory.session("trip", user="ada").history()
    assert "audio" not in kept.extra and kept.metadata.get("partial", False) == (not ends)
