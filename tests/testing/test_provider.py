"""The test provider, asked by a plain HTTP client: it behaves like the real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from recollect import Message, Thinking, ToolCall
from recollect.errors import ConfigError
from recollect.llm.overflow import detect
from recollect.testing import FAULTS, Provider
from recollect.testing.provider import Asked
from tests.wrong import wrong

LONG = "word " * 1_500
HELLO = [{"role": "user", "content": "Hello"}]
CLIENT = httpx2.Client(timeout=60)
MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    CLIENT.close()


def chat(provider: Provider, messages: Any, **fields: Any) -> httpx2.Response:
    url = provider.url.removesuffix(provider.style.base) + provider.style.chat
    return CLIENT.post(url, json={"model": "m", "messages": messages, **fields})


def events(reply: httpx2.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line[:5] == "data:" or line[:1] == "{"]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_replies_come_in_turn_and_the_last_one_over_and_over() -> None:
    with Provider("openai", ["one", "two"]) as provider:
        said = [chat(provider, HELLO).json()["choices"][0]["message"]["content"] for _ in range(3)]
    assert said == ["one", "two", "two"]


def test_replies_may_be_a_function_of_the_request() -> None:
    def echo(asked: Asked) -> str:
        return f"{len(asked.messages)} messages, after {len(provider.requests)} requests"

    with Provider("openai", echo) as provider:
        chat(provider, HELLO)
        assert "1 messages, after 1 requests" in chat(provider, HELLO).text


@pytest.mark.parametrize(
    ("style", "messages", "fields", "says"),
    [
        ("openai", [{"role": "tool", "tool_call_id": "a", "content": "x"}], {}, "must be a response to a preceeding"),
        ("openai", [], {}, "empty array"),
        ("openai", [{"role": "robot", "content": "x"}], {}, "messages"),
        ("openai", HELLO, {"model": None}, "model"),
        ("openai", HELLO, {"tools": [{}]}, "tools"),
        ("anthropic", HELLO, {}, "max_tokens: Field required"),
        ("anthropic", [{"role": "assistant", "content": "x"}], {"max_tokens": 9}, "first message must use the"),
        ("anthropic", HELLO, {"max_tokens": 9, "tools": [{"name": "t"}]}, "input_schema"),
        (
            "anthropic",
            [{"role": "user", "content": [{"type": "text", "text": "x", **MARK}] * 5}],
            {"max_tokens": 9},
            "A maximum of 4 blocks with cache_control",
        ),
        ("ollama", [{"role": "robot", "content": "x"}], {}, "invalid role"),
        ("ollama", HELLO, {"model": None}, "model is required"),
        ("openai", HELLO, {"max_tokens": "x"}, "'max_tokens': expected an integer"),
        ("openai", HELLO, {"max_completion_tokens": -1}, "'max_completion_tokens': integer below minimum value"),
        ("anthropic", HELLO, {"max_tokens": 1.5}, "'max_tokens': expected an integer"),
        ("anthropic", HELLO, {"max_tokens": 0}, "'max_tokens': integer below minimum value"),
        ("ollama", HELLO, {"options": {"num_predict": "x"}}, "must be of type integer"),
        ("ollama", HELLO, {"options": {"num_ctx": "x"}}, "Invalid request"),
        ("ollama", "Hello", {}, "Invalid request"),
    ],
)
def test_a_request_that_is_not_valid_is_refused_in_the_providers_words(
    style: Any, messages: Any, fields: dict[str, Any], says: str
) -> None:
    with Provider(style) as provider:
        reply = chat(provider, messages, **fields)
        assert reply.status_code == 400
        assert says in reply.text
        assert says in provider.requests[0].problem


def test_what_is_no_json_and_what_is_nowhere_is_refused() -> None:
    with Provider() as provider:
        assert CLIENT.post(f"{provider.url}/chat/completions", content=b"{").status_code == 400
        assert CLIENT.post(f"{provider.url}/nothing", json={}).status_code == 404
        assert CLIENT.get(f"{provider.url}/models").json()["data"][0]["id"] == "test-model"


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_beyond_the_limit_the_real_error_comes(style: Any) -> None:
    with Provider(style, limit=1_000) as provider:
        long = chat(provider, [{"role": "user", "content": LONG}], max_tokens=10)
        small = chat(provider, HELLO, max_tokens=10)
        greedy = chat(provider, HELLO, max_tokens=2_000)
    assert [long.status_code, small.status_code, greedy.status_code] == [400, 200, 400]
    for reply, tokens in ((long, provider.requests[0].tokens), (greedy, provider.requests[2].tokens)):
        found = detect(400, reply.text)
        assert found and found.limit == 1_000
        assert found.tokens in (tokens, tokens + 10, tokens + 2_000)


def test_the_error_of_any_other_server_can_be_imitated() -> None:
    says = "request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it"
    with Provider(limit=100, overflow=says) as provider:
        reply = chat(provider, [{"role": "user", "content": LONG}])
        tokens = provider.requests[0].tokens
    assert f"request ({tokens} tokens) exceeds the available context size (100 tokens)" in reply.text


def test_ollama_leaves_out_the_oldest_messages_without_a_word() -> None:
    many = [{"role": "system", "content": "Be brief."}, *[{"role": "user", "content": LONG}] * 5]
    with Provider("ollama", ["Hello there"]) as provider:
        default = chat(provider, many, stream=False).json()
        asked = chat(provider, many, stream=False, options={"num_ctx": 16_000}).json()
        lines = events(chat(provider, many))
    assert (
        default["prompt_eval_count"]
        <= 4_096
        < asked["prompt_eval_count"]
        == 5 * 1_500 + asked["prompt_eval_count"] % 1_500
    )
    assert "".join(line["message"]["content"] for line in lines if "message" in line) == "Hello there"
    assert lines[-1]["done"] and lines[-1]["prompt_eval_count"] == default["prompt_eval_count"]


def test_an_answer_stops_at_its_length() -> None:
    with Provider("openai", ["word " * 100]) as provider:
        choice = chat(provider, HELLO, max_tokens=20).json()["choices"][0]
    assert choice["finish_reason"] == "length"
    assert 0 < len(choice["message"]["content"].split()) <= 20


CALLS = Message("assistant", (Thinking("hm", "sig"), ToolCall("call_1", "weather", '{"city": "Oslo, Norge"}')))


def test_openai_streams_words_thinking_tool_calls_and_usage() -> None:
    with Provider("openai", ["Grüße aus Oslo", CALLS]) as provider:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        said, called = events(chat(provider, HELLO, **options)), events(chat(provider, HELLO, **options))
        plain = events(chat(provider, HELLO, stream=True))
    deltas = [chunk["choices"][0]["delta"] for chunk in said if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Grüße aus Oslo"
    assert said[-1]["usage"]["prompt_tokens"] == provider.requests[0].tokens
    made = [call for chunk in called if chunk["choices"] for call in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert json.loads("".join(call["function"]["arguments"] for call in made)) == {"city": "Oslo, Norge"}
    assert called[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert not any("usage" in chunk for chunk in plain)


def test_anthropic_streams_blocks() -> None:
    with Provider("anthropic", ["Hello there", CALLS]) as provider:
        said, called = (events(chat(provider, HELLO, stream=True, max_tokens=99)) for _ in range(2))
    assert [event["type"] for event in said if "delta" not in event["type"]] == [
        "message_start", "ping", "content_block_start", "content_block_stop", "message_stop"
    ]  # fmt: skip
    parts = [event["delta"] for event in called if event["type"] == "content_block_delta"]
    assert json.loads("".join(part.get("partial_json", "") for part in parts)) == {"city": "Oslo, Norge"}
    assert [part["signature"] for part in parts if "signature" in part] == ["sig"]
    assert called[-2]["delta"]["stop_reason"] == "tool_use"


def test_openai_reports_the_beginning_it_has_seen_before() -> None:
    start = [{"role": "system", "content": LONG}, *HELLO]
    with Provider("openai") as provider:
        for messages in (
            start,
            [*start, *HELLO],
            [{"role": "system", "content": "New. " + LONG}, *HELLO],
            HELLO,
            HELLO,
        ):
            chat(provider, messages)
        cached = [asked.cached for asked in provider.requests]
    assert cached[0] == cached[2] == cached[3] == cached[4] == 0  # new, changed at the top, too short to keep
    assert 1_500 - 128 < cached[1] <= provider.requests[0].tokens
    assert cached[1] % 128 == 0


def test_anthropic_keeps_what_a_breakpoint_marks() -> None:
    marked = {"system": [{"type": "text", "text": LONG, **MARK}], "max_tokens": 9}
    plain = {"system": LONG, "max_tokens": 9}
    with Provider("anthropic") as provider:
        usages = [chat(provider, HELLO, **fields).json()["usage"] for fields in (plain, plain, marked, marked)]
    assert [usage["cache_read_input_tokens"] > 0 for usage in usages] == [False, False, False, True]
    assert [usage["cache_creation_input_tokens"] > 0 for usage in usages] == [False, False, True, False]
    totals = {sum(usage[key] for key in usage if key != "output_tokens") for usage in usages}
    assert totals == {asked.tokens for asked in provider.requests}


def test_anthropic_looks_back_only_so_far_from_a_breakpoint() -> None:
    def talk(turns: int) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = [{"role": "user", "content": LONG}]
        for turn in range(turns):
            out += [{"role": "assistant", "content": f"{turn}"}, {"role": "user", "content": f"and {turn}"}]
        out[-1] = {"role": "user", "content": [{"type": "text", "text": f"and {turns}", **MARK}]}
        return out

    with Provider("anthropic") as provider:
        for turns in (1, 5, 30):
            chat(provider, [*talk(turns)], max_tokens=9)
        assert [asked.cached > 0 for asked in provider.requests] == [False, False, False]
        same = talk(30)
        chat(provider, [*same[:-1], {"role": "user", "content": "and 30"}, *talk(3)[1:]], max_tokens=9)
        chat(provider, [*same[:-1], {"role": "user", "content": "and 30"}, *talk(12)[1:]], max_tokens=9)
        assert [asked.cached > 0 for asked in provider.requests[3:]] == [True, False]


def test_embeddings_are_unit_vectors_and_too_long_a_text_is_refused() -> None:
    with Provider() as provider:

        def post(texts: list[str]) -> httpx2.Response:
            return CLIENT.post(f"{provider.url}/embeddings", json={"model": "m", "input": texts})

        assert len(post(["one", "two"]).json()["data"]) == 2
        assert "maximum context length is 8192 tokens" in post(["word " * 9_000]).text
        assert post([]).status_code == 400


def test_there_are_enough_faults_and_each_is_described() -> None:
    assert len(FAULTS) >= 24
    assert all(fault.about for fault in FAULTS.values())


def test_a_fault_spoils_as_many_requests_as_it_is_given() -> None:
    with Provider(faults=["server_error", "rate_limit"]) as provider:
        provider.fail("overloaded", times=2)
        replies = [chat(provider, HELLO) for _ in range(5)]
    assert [reply.status_code for reply in replies] == [500, 429, 529, 529, 200]
    assert replies[1].headers["retry-after"] == "0"
    assert [asked.fault for asked in provider.requests] == [
        "server_error",
        "rate_limit",
        "overloaded",
        "overloaded",
        "",
    ]


def test_closing_ends_a_connection_that_is_kept_waiting() -> None:
    with ThreadPoolExecutor(1) as threads:
        with Provider(faults=["timeout"]) as provider:
            waiting = threads.submit(chat, provider, HELLO)
            while not provider.requests:
                pass
        with pytest.raises(httpx2.TransportError):
            waiting.result(timeout=30)


def test_many_may_ask_at_once() -> None:
    with Provider() as provider, ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: chat(provider, HELLO), range(64)))
        assert [asked.status for asked in provider.requests] == [200] * 64


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(ConfigError, match="style"):
        Provider(wrong("gpt"))
    with pytest.raises(ConfigError, match="no fault 'nothing'; there are rate_limit,"):
        Provider(faults=["nothing"])
    with pytest.raises(ConfigError, match="with Provider"):
        _ = Provider().url


def test_it_needs_nothing_but_the_core() -> None:
    code = """
import sys
sys.modules.update(dict.fromkeys(("pytest", "hypothesis", "httpx2", "stamina", "pydantic")))
import urllib.request
from recollect.testing import Provider
with Provider() as provider:
    print(urllib.request.urlopen(provider.url + "/models").read().decode())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out)["data"][0]["id"] == "test-model"
