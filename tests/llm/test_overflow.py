"""What a provider says when the context overflowed, told from what it says otherwise."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ContextOverflow
from recollect.llm import Usage, dialect
from recollect.llm.overflow import detect
from tests.shared import shared_path

LIMIT, TOKENS, REPLY = 16_384, 20_001, 1_000
SAYS = {
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens.": "lt",
    "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens "
    "(19001 in the messages, {reply} in the completion). Please reduce the length of the messages.": "ltr",
    "prompt is too long: {tokens} tokens > {limit} maximum": "lt",
    '{{"type":"error","error":{{"message":"prompt is too long: {tokens} tokens \\u003e {limit} maximum"}}}}': "lt",
    "input length and `max_tokens` exceed context limit: 19001 + {reply} > {limit}, decrease input length": "ltr",
    "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit}).": "lt",
    "The input token count ({tokens}) exceeds the maximum number of tokens allowed.": "t",
    "request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it": "lt",
    '{{"error":{{"message":"the request exceeds the available context size","n_prompt_tokens":{tokens},'
    '"n_ctx":{limit}}}}}': "lt",
    "The decoder prompt (length {tokens}) is longer than the maximum model length of {limit}.": "lt",
    "Requested token count exceeds the model's maximum context length of {limit} tokens. You requested a total of "
    "{tokens} tokens: 19001 tokens from the input messages and {reply} tokens for the completion.": "ltr",
    "`inputs` tokens + `max_new_tokens` must be <= {limit}. Given: 19001 `inputs` tokens and {reply} `max_new_tokens`"
    "": "ltr",
    "Prompt contains {tokens} tokens, too large for model with {limit} maximum context length": "lt",
    "'max_tokens' is too large: {reply}. This model's maximum context length is {limit} tokens and your request has "
    "16000 input tokens ({reply} > {limit} - 16000).": "l",
}
NAMES_NOTHING = [
    (200, "context_length_exceeded"),
    (200, '{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Too much."}}}'),
    (400, "Input is too long for requested model."),
    (400, "CONTEXT WINDOW EXCEEDED"),
    (400, "the\n input   length\nexceeds the\tcontext length"),
    (413, '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'),
    (413, ""),
    (400, ""),
    (400, " (no body)"),
    (500, "Context size has been exceeded."),
    (None, "prompt too long; exceeded max context length by 17 tokens"),
    (400, "too many total text bytes: 99 > 98"),
]
LOOK_ALIKES = [
    (429, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    (400, "ThrottlingException: Too many tokens, please wait before trying again."),
    (400, "Request too large for m in organization o on tokens per min (TPM): Limit 6000, Requested 8000."),
    (413, "Request too large: rate_limit_exceeded, please reduce your message size and try again."),
    (402, "This request exceeds the limit of your credits"),
    (400, "You exceeded your current quota, please check your plan and billing details."),
    (400, "Tokens exceed the limit of your plan: the monthly allowance is 100000."),
    (400, "Your credit balance is too low to access the API."),
    (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens."),
    (400, "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3"),
    (400, "The maximum tokens you requested exceeds the model limit of 4096. Try a value lower than 4096."),
    (400, "'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens and your request has 5"),
    (422, "`max_new_tokens` must be <= 1024. Given: 2000"),
    (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
    (400, "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64."),
    (400, "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."),
    (400, "Invalid parameter: 'tool_call_id' of 'call_1' not found in 'tool_calls' of previous message."),
    (500, "input (3000 tokens) is too large to process. increase the physical batch size (current batch size: 512)"),
    (529, "Overloaded"),
    (400, "Your request was rejected by the content filter."),
    (404, "model 'gpt-9' does not exist"),
    (401, ""),
    (500, ""),
    (200, "stop"),
]


def collected(overflow: bool) -> list[dict[str, Any]]:
    data = json.loads(shared_path("data", "overflow_messages.json").read_text("utf-8"))
    return [item for item in data if item["overflow"] is overflow]


def test_every_collected_overflow_is_recognised() -> None:
    items = collected(True)
    assert len(items) >= 39
    assert [item["message"] for item in items if detect(item["status"], item["message"]) is None] == []


def test_no_collected_look_alike_is_taken_for_one() -> None:
    items = collected(False)
    assert len(items) >= 8
    assert [item["message"] for item in items if detect(item["status"], item["message"])] == []


def test_the_limit_of_a_collected_message_is_one_of_its_numbers_and_below_the_size() -> None:
    found = [(item["message"], detect(item["status"], item["message"])) for item in collected(True)]
    named = [(text, overflow) for text, overflow in found if overflow and overflow.limit]
    assert len(named) == 23
    for text, overflow in named:
        assert str(overflow.limit) in text
        assert overflow.tokens and overflow.limit and overflow.tokens > overflow.limit


def shown(number: int, separator: str) -> str:
    return f"{number:,}".replace(",", separator)


@given(
    says=st.sampled_from(sorted(SAYS)),
    limit=st.integers(2_000, 2_000_000),
    reply=st.integers(1, 1_999),
    separator=st.sampled_from(["", ",", "_"]),
    around=st.sampled_from(["{}", "Error code: 400 - {}", '{{"error": {{"message": "{}"}}}}', "  {}\n"]),
)
def test_the_numbers_it_names_are_read(says: str, limit: int, reply: int, separator: str, around: str) -> None:
    if "given:" in says.lower() or "limit: 19001" in says:
        separator = ""
    numbers = {"limit": limit, "tokens": limit + 4_711, "reply": reply}
    text = says.format(**{name: shown(number, separator) for name, number in numbers.items()})
    found = detect(400, around.replace("{}", text))
    assert found is not None
    assert found.limit == (limit if "l" in SAYS[says] else None)
    assert found.reply == (reply if "r" in SAYS[says] else None)
    if "t" in SAYS[says] and "{tokens}" in says:
        assert found.tokens == limit + 4_711


@pytest.mark.parametrize(("status", "text"), NAMES_NOTHING)
def test_one_that_names_no_limit_is_recognised_all_the_same(status: int | None, text: str) -> None:
    found = detect(status, text)
    assert found and (found.limit, found.tokens, found.reply) == (None, None, None)
    assert text[:500] in str(found)


@pytest.mark.parametrize(("status", "text"), LOOK_ALIKES)
def test_other_refusals_are_none(status: int | None, text: str) -> None:
    assert detect(status, text) is None


def test_an_answer_that_ended_as_usual_is_not_searched_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = list[str]()
    monkeypatch.setattr(dialect, "detect", lambda _, text: searched.append(text))
    for finish in ("stop", "eos"):
        assert dialect.reply_of({"role": "assistant", "content": "Hi."}, "openai", finish, Usage(), {}).finish == "stop"
    assert searched == ["eos"]


def test_the_room_is_what_the_answer_leaves() -> None:
    assert ContextOverflow("", 8_000, 9_000, 1_000).room == 7_000
    assert ContextOverflow("", 8_000).room == 8_000
    assert ContextOverflow("").room is None
    assert ContextOverflow("", 100, reply=300).room == 0


@given(
    status=st.none() | st.integers(100, 599), text=st.text() | st.text(alphabet="tokens exceed limit>+():0123456789 ")
)
def test_nothing_it_is_given_breaks_it(status: int | None, text: str) -> None:
    found = detect(status, text)
    assert found is None or all(n is None or 0 <= n < 10**12 for n in (found.limit, found.tokens, found.reply))


@pytest.mark.parametrize(
    "text", ["9" * 1_000_000, "exceed " * 200_000, "prompt " * 200_000, "tokens " * 100_000, "max_tokens" * 100_000]
)
def test_a_huge_text_takes_no_time_to_speak_of(text: str) -> None:
    assert detect(400, text) is None


def test_a_number_without_end_is_no_trouble() -> None:
    endless = f"maximum context length is 1{',111' * 4_900}"
    began = time.process_time()
    assert detect(400, endless)
    assert time.process_time() - began < 2
