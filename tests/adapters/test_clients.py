"""Plain OpenAI and Anthropic clients with a memory, against a provider over real sockets."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import anthropic
import httpx2
import openai
import pytest
from pydantic import BaseModel

from recollect import Memory, Message, Text, Thinking, ToolCall, parse, validate
from recollect.adapters.clients import remember
from recollect.errors import BudgetTooSmall, ConfigError
from recollect.testing import Provider
from recollect.testing.provider import Asked
from recollect.testing.provider.values import Refused
from tests.adapters.connected import HI, KEPT, OSLO, SYSTEM, connect, stream_openai
from tests.contexts import said


def stream_helper_openai(client: openai.OpenAI) -> str:
    with client.chat.completions.stream(model="gpt", messages=HI) as stream:
        return stream.get_final_completion().choices[0].message.content or ""


def raw_openai(client: openai.OpenAI) -> str:
    response = client.chat.completions.with_raw_response.create(model="gpt", messages=HI)
    return response.parse().choices[0].message.content or ""


def create_anthropic(client: anthropic.Anthropic) -> str:
    content = client.messages.create(model="claude", max_tokens=100, messages=HI).content
    return "".join(block.text for block in content if block.type == "text")


def stream_anthropic(client: anthropic.Anthropic) -> str:
    events = client.messages.create(model="claude", max_tokens=100, messages=HI, stream=True)
    return "".join(getattr(event.delta, "text", "") for event in events if event.type == "content_block_delta")


@pytest.mark.parametrize(
    ("style", "kind", "ask"),
    [
        ("openai", openai.OpenAI, stream_openai),
        ("openai", openai.OpenAI, stream_helper_openai),
        ("openai", openai.OpenAI, raw_openai),
        ("anthropic", anthropic.Anthropic, create_anthropic),
        ("anthropic", anthropic.Anthropic, stream_anthropic),
    ],
)
def test_however_it_is_asked_question_and_answer_are_kept_once(memory: Memory, style: Any, kind: Any, ask: Any) -> None:
    with Provider(style, [OSLO]) as provider, connect(provider, kind) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        assert ask(client) == OSLO
        assert said(memory) == KEPT


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_thought_before_a_call_is_sent_with_its_result(memory: Memory, stream: bool) -> None:
    called = Message("assistant", (Thinking("Page 7?"), ToolCall("c1", "lookup", '{"number": 7}')))
    answered = Message("assistant", (Thinking("So Oslo."), Text(OSLO)))
    result: Any = [{"role": "tool", "tool_call_id": "c1", "content": "page 7: in Oslo"}]
    with Provider("openai", [called, answered]) as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        for messages in (HI, result, HI):
            for _ in client.chat.completions.create(model="gpt", messages=messages, stream=stream):
                pass
    assert [message.get("reasoning_content") for message in provider.requests[-1].body["messages"]] == [
        None,
        "Page 7?",
        None,
        None,
        None,
    ]


def test_a_request_that_failed_is_not_kept_twice_when_it_is_tried_again(memory: Memory) -> None:
    with Provider("openai", [OSLO], faults=["rate_limit"]) as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="gpt", messages=HI)
        client.chat.completions.create(model="gpt", messages=HI)
    assert said(memory) == KEPT


def test_an_answer_that_was_asked_for_again_is_kept_when_the_caller_goes_on_with_it(memory: Memory) -> None:
    system = {"role": "system", "content": SYSTEM}
    asked: list[Any] = [system, {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}, *HI]
    with Provider("openai", ["In Rome.", OSLO, "Good."]) as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        client.chat.completions.create(model="gpt", messages=asked)
        again = client.chat.completions.create(model="gpt", messages=asked)
        assert [m.text for m in provider.requests[-1].messages[1:3]] == ["Hello.", "Hi."]
        assert provider.requests[-1].messages[-1].text.endswith("Where does Nadia live?")
        assert said(memory)[-1] == ("assistant", "In Rome.")
        more = [*asked, again.choices[0].message, {"role": "user", "content": "Thanks."}]
        client.chat.completions.create(model="gpt", messages=more)
        assert not any(m.text == "In Rome." for m in provider.requests[-1].messages)
    assert [text for _, text in said(memory)][-4:] == ["In Rome.", OSLO, "Thanks.", "Good."]


def test_what_the_caller_marks_for_the_cache_stays_marked(memory: Memory) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    system: Any = [{"type": "text", "text": SYSTEM, **mark}]
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": "Hello.", **mark}]}]
    with Provider("anthropic") as provider, connect(provider, anthropic.Anthropic) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        client.messages.create(model="claude", max_tokens=10, system=system, messages=messages)
        assert provider.requests[0].body["system"] == system
        assert provider.requests[0].body["messages"] == messages


def test_marks_of_earlier_requests_do_not_pile_up(memory: Memory) -> None:
    mark: Any = {"cache_control": {"type": "ephemeral"}}
    system: Any = [{"type": "text", "text": SYSTEM, **mark}]
    tools: Any = [{"name": "lookup", "input_schema": {"type": "object"}, **mark}]
    with Provider("anthropic", [OSLO]) as provider, connect(provider, anthropic.Anthropic) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        for n in range(5):
            messages: Any = [{"role": "user", "content": [{"type": "text", "text": f"Question {n}", **mark}]}]
            client.messages.create(model="any", max_tokens=100, system=system, tools=tools, messages=messages)
    body = provider.requests[-1].body
    assert "cache_control" in body["system"][0]
    marked = [m["content"][0]["text"] for m in body["messages"] if "cache_control" in m["content"][0]]
    assert marked == ["Question 3", "Question 4"]


def test_the_client_that_was_given_stays_as_it_is(memory: Memory) -> None:
    with Provider("openai", [OSLO]) as provider, connect(provider, openai.OpenAI) as plain:
        remember(plain, memory, user="ada", session="trip")
        plain.chat.completions.create(model="gpt", messages=HI)
    assert said(memory) == []


@pytest.mark.parametrize(
    ("style", "kind", "ask"),
    [("openai", openai.OpenAI, stream_openai), ("anthropic", anthropic.Anthropic, create_anthropic)],
)
def test_a_client_with_other_options_remembers_too(memory: Memory, style: Any, kind: Any, ask: Any) -> None:
    with Provider(style, [OSLO]) as provider, connect(provider, kind) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        ask(client.with_options(timeout=60).copy(max_retries=1))
    assert said(memory) == KEPT


@anthropic.beta_tool
def lookup(number: int) -> str:
    """Looks up the page of that number."""
    return f"page {number}"


def test_a_tool_runner_sends_the_whole_conversation_and_all_of_it_is_kept(memory: Memory) -> None:
    calls = Message("assistant", tuple(ToolCall(f"c{n}", "lookup", f'{{"number": {n}}}') for n in (1, 2)))
    with Provider("anthropic", [calls, OSLO]) as provider, connect(provider, anthropic.Anthropic) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        client.beta.messages.tool_runner(model="claude", max_tokens=100, tools=[lookup], messages=HI).until_done()
    assert ["thread" in request.body for request in provider.requests] == [False, False]
    assert provider.requests[1].body["tools"]
    assert [message.role for message in provider.requests[1].messages] == ["user", "assistant", "tool"]
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "assistant"]


def test_where_the_first_question_was_erased_the_conversation_goes_on(memory: Memory) -> None:
    with Provider("anthropic", [OSLO]) as provider, connect(provider, anthropic.Anthropic) as plain:
        client, session = remember(plain, memory, user="ada", session="trip"), memory.session("trip", user="ada")
        create_anthropic(client)
        session.forget([session.history()[0].id])
        create_anthropic(client)
    assert validate(provider.requests[-1].messages, "anthropic") == []
    assert [message.role for message in provider.requests[-1].messages] == ["user", "assistant", "user"]


def test_a_budget_that_is_too_small_is_an_error_before_anything_is_sent(memory: Memory) -> None:
    with Provider("openai") as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip", budget=100)
        with pytest.raises(BudgetTooSmall):
            client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "word " * 1_000}])
        assert provider.requests == ()


@pytest.mark.parametrize("whole", [False, True], ids=["only what is new", "a changed history"])
def test_after_pictures_that_are_too_many_the_conversation_goes_on(memory: Memory, whole: bool) -> None:
    picture: Any = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    shown: Any = {"role": "user", "content": [{"type": "text", "text": "Whose cats are these?"}, *[picture] * 3]}
    asked: Any = {"role": "user", "content": [{"type": "text", "text": "And this one?"}, picture]}
    before: Any = [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi!"}] if whole else []
    with Provider("openai", ["Tom."]) as provider, openai.OpenAI(base_url=provider.url, api_key="none") as plain:
        client = remember(plain, memory, user="ada", session="trip", budget=4_000)
        with pytest.raises(BudgetTooSmall):
            client.chat.completions.create(model="gpt", messages=[shown])
        client.chat.completions.create(model="gpt", messages=[*before, shown, asked] if whole else [asked])
    earlier, now = provider.requests[-1].messages[-2:]
    assert earlier.text == "Whose cats are these?" + "\n[image cut]" * 3
    assert [type(part).__name__ for part in now.parts] == ["Text", "Image"]


def refusing(asked: Asked) -> str:
    if "broken.png" in str(asked.body):
        raise Refused(400, "Failed to download image from https://example.org/broken.png.", asked=asked)
    return "Fine."


async def create_async(plain: openai.AsyncOpenAI, memory: Memory, question: Any) -> None:
    async with plain:
        client = remember(plain, memory, user="ada", session="trip")
        await client.chat.completions.create(model="gpt", messages=[question])


@pytest.mark.parametrize("awaited", [False, True])
def test_after_a_picture_that_the_provider_refuses_the_conversation_goes_on(memory: Memory, awaited: bool) -> None:
    words: Any = {"type": "text", "text": "Whose cat is this?"}
    shown: Any = {"type": "image_url", "image_url": {"url": "https://example.org/broken.png"}}
    with Provider("openai", refusing) as provider:

        def ask(content: Any) -> None:
            question: Any = {"role": "user", "content": content}
            if awaited:
                asyncio.run(create_async(connect(provider, openai.AsyncOpenAI), memory, question))
                return
            with connect(provider, openai.OpenAI) as plain:
                client = remember(plain, memory, user="ada", session="trip")
                client.chat.completions.create(model="gpt", messages=[question])

        with pytest.raises(openai.BadRequestError, match="Failed to download"):
            ask([words, shown])
        ask("Are you there?")
        with pytest.raises(openai.BadRequestError, match="Failed to download"):
            ask([words, shown])
    assert [one.status for one in provider.requests] == [400, 400, 200, 400, 400]
    assert [m.text for m in provider.requests[2].messages] == ["Whose cat is this?\n[image cut]", "Are you there?"]
    kept = memory.session("trip", user="ada").history()
    assert [len(message.parts) for message in kept] == [2, 1, 1, 2]


def test_half_a_surrogate_pair_in_memory_stops_no_request(memory: Memory) -> None:
    memory.session("old", user="ada").add("user", "My sister Nad\ud83dia moved to Oslo.")
    with Provider("openai", ["In Oslo."]) as provider:
        client = remember(connect(provider, openai.OpenAI), memory, user="ada", session="new")
        asked: Any = [{"role": "user", "content": "Who moved to Oslo?"}]
        assert client.chat.completions.create(model="gpt", messages=asked).choices[0].message.content == "In Oslo."
        assert "Nad?ia" in provider.requests[-1].messages[-1].text


@pytest.mark.parametrize("words", [60, 500])
def test_a_budget_that_the_system_text_takes_says_so(memory: Memory, words: int) -> None:
    with Provider("openai") as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip", budget=100)
        messages: Any = [{"role": "system", "content": "word " * words}, {"role": "user", "content": "word " * 50}]
        with pytest.raises(BudgetTooSmall, match=r"the budget is 100: .* what takes most: system \(\d+\)"):
            client.chat.completions.create(model="gpt", messages=messages)


@pytest.mark.parametrize("changed", [False, True])
def test_a_client_that_is_given_another_memory_has_that_one_alone(memory: Memory, changed: bool) -> None:
    with Provider("openai", ["In Oslo."]) as provider, connect(provider, openai.OpenAI) as plain:
        first = remember(plain, memory, user="ada", session="trip")
        second = remember(first.with_options(timeout=30) if changed else first, memory, user="bob", session="trip")
        second.chat.completions.create(model="gpt", messages=HI)
        assert said(memory) == []
        assert len(memory.session("trip", user="bob").history()) == 2
        first.chat.completions.create(model="gpt", messages=HI)
        assert len(said(memory)) == len(memory.session("trip", user="bob").history()) == 2


def test_what_is_no_client_is_refused(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="OpenAI"):
        remember("gpt", memory, user="ada", session="trip")


def responses(requests: list[Any], text: str = OSLO) -> openai.OpenAI:
    """A client of the Responses API whose model thinks, calls a tool, then answers."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        requests.append(body)
        number = len(requests)
        message = {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup", "arguments": '{"number": 7}'}
        output = [{"type": "reasoning", "id": "rs_1", "summary": []}, call] if number == 1 else [message]
        whole = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": "gpt", "output": output}
        whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed"}
        if not body.get("stream"):
            return httpx2.Response(200, json=whole)
        last = {"type": "response.completed", "sequence_number": 1, "response": whole}
        return httpx2.Response(
            200,
            text=f"event: response.completed\ndata: {json.dumps(last)}\n\n",
            headers={"content-type": "text/event-stream"},
        )

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(base_url="http://model.test", api_key="none", http_client=http_client)


def test_the_responses_api_keeps_what_was_thought_with_its_call(memory: Memory) -> None:
    requests: list[Any] = []
    with responses(requests) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        first = client.responses.create(model="gpt", instructions=SYSTEM, input="Where does Nadia live?")
        result: Any = {"type": "function_call_output", "call_id": "c1", "output": "page 7: in Oslo"}
        history: Any = [{"role": "user", "content": "Where does Nadia live?"}, *first.output, result]
        for event in client.responses.create(model="gpt", instructions=SYSTEM, input=history, stream=True):
            assert event.type == "response.completed"
    assert [item.get("type", "message") for item in requests[1]["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert requests[1]["instructions"] == SYSTEM
    assert [role for role, _ in said(memory)] == ["user", "assistant", "assistant", "tool", "assistant"]


class Place(BaseModel):
    city: str


@pytest.mark.filterwarnings("error")
def test_what_the_sdk_reads_from_an_answer_is_not_sent(memory: Memory) -> None:
    requests: list[Any] = [{}]
    with responses(requests, '{"city": "Oslo"}') as plain, Provider("openai", ['{"city": "Oslo"}']) as provider:
        client = remember(plain, memory, user="ada", session="trip")
        for question in ("Where does Nadia live?", "Where is that?"):
            assert client.responses.parse(model="gpt", input=question, text_format=Place).output_parsed == Place(
                city="Oslo"
            )
        with openai.OpenAI(base_url=provider.url, api_key="none") as chat:
            asked: Any = {
                "model": "gpt",
                "messages": [{"role": "user", "content": "And now?"}],
                "response_format": Place,
            }
            remember(chat, memory, user="ada", session="chat").chat.completions.parse(**asked)
    (part,) = requests[-1]["input"][1]["content"]
    assert part == {"type": "output_text", "text": '{"city": "Oslo"}', "annotations": []}


def test_a_conversation_that_the_provider_keeps_is_left_to_it(memory: Memory) -> None:
    requests: list[Any] = []
    with responses(requests) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        client.responses.create(model="gpt", input="And now?", previous_response_id="resp_0")
        client.responses.create(model="gpt", prompt={"id": "pmpt_1"})
    assert requests[0]["input"] == "And now?"
    assert "input" not in requests[1]
    assert said(memory) == []


def test_a_thread_that_anthropic_keeps_is_left_to_it(memory: Memory) -> None:
    with Provider("anthropic", [OSLO]) as provider, connect(provider, anthropic.Anthropic) as plain:
        create = remember(plain, memory, user="ada", session="trip").beta.messages.create
        for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": "msg_0"}):
            create(model="claude", max_tokens=100, messages=HI, thread=cast("Any", thread))
    assert [len(request.messages) for request in provider.requests] == [1, 1]
    assert said(memory) == []


@pytest.mark.parametrize("stream", [False, True])
def test_what_overflows_the_model_is_asked_again_with_less(memory: Memory, stream: bool) -> None:
    with Provider("openai", [OSLO], limit=400) as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip", budget=4_000)
        long: Any = [{"role": "user", "content": f"Number {n}: " + "and so on " * 40} for n in range(8)]
        answer: Any = client.chat.completions.create(model="gpt", messages=[*long, *HI], stream=stream)
        assert not stream or list(answer)
    assert [request.status for request in provider.requests] == [400, 200]
    assert provider.requests[-1].messages[-1].text.endswith("Where does Nadia live?")
    assert len(said(memory)) == 10


def test_what_overflows_is_asked_again_where_it_is_awaited_and_at_most_three_times(memory: Memory) -> None:
    async def ask() -> None:
        async with connect(provider, openai.AsyncOpenAI) as plain:
            client = remember(plain, memory, user="ada", session="trip", budget=4_000)
            long: Any = [{"role": "user", "content": f"Number {n}: " + "and so on " * 40} for n in range(8)]
            await client.chat.completions.create(model="gpt", messages=[*long, *HI])

    with Provider("openai", [OSLO], faults=["overflow"] * 3) as provider:
        asyncio.run(ask())
        assert [request.status for request in provider.requests] == [400, 400, 400, 200]
        provider.fail("overflow", 4)
        with pytest.raises(openai.BadRequestError, match="maximum context length"):
            asyncio.run(ask())


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_that_can_not_be_read_is_told(
    memory: Memory, streamed: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the caller reads byte by byte is his to hand back; what is of no known kind is told."""
    with Provider("openai", [OSLO]) as provider, connect(provider, openai.OpenAI) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        if streamed:
            with client.chat.completions.with_streaming_response.create(model="gpt", messages=HI) as response:
                assert OSLO.encode() in response.read()
        else:
            monkeypatch.setattr(openai.OpenAI, "post", lambda *_, **__: object())
            remember(plain, memory, user="ada", session="trip").chat.completions.create(model="gpt", messages=HI)
    assert said(memory) == KEPT[:1]
    told = [record.getMessage().split(":")[0] for record in caplog.records if record.name == "recollect"]
    assert told == ([] if streamed else ["an answer was not kept"])


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL = {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"number": 7}}


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([THOUGHT], []),
        ([THOUGHT, {"type": "text", "text": "\n\n"}], []),
        ([THOUGHT, {"type": "text", "text": "\n\n"}, CALL], [[THOUGHT, CALL]]),
    ],
    ids=["cut off in its thoughts", "blank", "blank before a call"],
)
def test_an_answer_that_anthropic_does_not_take_back_is_no_obstacle(memory: Memory, content: Any, sent: Any) -> None:
    requests: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        said = {"id": "msg", "type": "message", "role": "assistant", "model": "claude", "content": content}
        return httpx2.Response(200, json={**said, "stop_reason": "max_tokens", "usage": {}})

    results: Any = [{"type": "tool_result", "tool_use_id": "c1", "content": "Oslo"}] if sent else "Go on."
    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(base_url="http://model.test", api_key="none", http_client=http_client) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        client.messages.create(model="claude", max_tokens=9, messages=HI)
        client.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": results}])
    assert [wire["content"] for wire in requests[1]["messages"] if wire["role"] == "assistant"] == sent
    assert validate(parse(requests[1], "anthropic"), "anthropic") == []


def test_a_refusal_is_kept_once_as_it_came(memory: Memory) -> None:
    refusal = Message("assistant", extra={"refusal": "I can't say."}, shape="openai")
    handed_back = {"role": "assistant", "content": None, "refusal": "I can't say."}
    with Provider("openai", [refusal, "Any time."]) as provider, connect(provider, openai.OpenAI) as plain:
        client: Any = remember(plain, memory, user="ada", session="trip")
        client.chat.completions.create(model="gpt", messages=HI)
        (_, kept) = memory.session("trip", user="ada").history()
        assert kept.extra["refusal"] == "I can't say."
        whole = [*HI, handed_back, {"role": "user", "content": "Thanks."}]
        client.chat.completions.create(model="gpt", messages=whole)
    assert provider.requests[-1].body["messages"][1] == handed_back
    assert [text for _, text in said(memory)] == [KEPT[0][1], "", "Thanks.", "Any time."]


NO_ID = {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "lookup", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        (openai.OpenAI, {"choices": None}),
        (openai.OpenAI, {"choices": []}),
        (openai.OpenAI, {"choices": [{"index": 0, "finish_reason": "content_filter"}]}),
        (openai.OpenAI, {"choices": [{"index": 0, "message": NO_ID}]}),
        (anthropic.Anthropic, {"type": "message", "role": "assistant", "content": None}),
    ],
)
def test_an_answer_that_says_nothing_reaches_the_caller(memory: Memory, kind: Any, reply: Any) -> None:
    http_client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json=reply)))
    with kind(base_url="http://model.test", api_key="none", http_client=http_client) as plain:
        client: Any = remember(plain, memory, user="ada", session="trip")
        asked = getattr(client, "messages", None) or client.chat.completions
        answer = asked.create(model="any", max_tokens=9, messages=HI)
        assert answer.model_dump(exclude_unset=True).keys() == reply.keys()
    assert said(memory) == KEPT[:1]
