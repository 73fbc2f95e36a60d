"""What a provider would refuse is told before it is sent, in the provider's own words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.render import parse
from recollect.flow.validate import validate
from recollect.types import Message, Text, ToolCall, ToolResult
from tests.strategies import SHAPES, transcripts


def openai_call(*ids: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def openai_result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def anthropic_call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]}


def anthropic_results(*ids: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": i, "content": "r"} for i in ids]


def bedrock_call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": "f", "input": {}}} for i in ids]}


def bedrock_results(*ids: str, **more: Any) -> dict[str, Any]:
    blocks = [{"toolResult": {"toolUseId": i, "content": [{"text": "r"}], **more}} for i in ids]
    return {"role": "user", "content": blocks}


CALL_PART = {"functionCall": {"name": "f", "args": {}}}
RESPONSE_PART = {"functionResponse": {"name": "f", "response": {"output": "r"}}}
USER = {"role": "user", "content": "go"}
BEDROCK_USER = {"role": "user", "content": [{"text": "go"}]}
GEMINI_USER = {"role": "user", "parts": [{"text": "go"}]}
ITEM_CALL = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
ITEM_OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "r"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CACHED = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
EMPTY_ERROR = {"toolResult": {"toolUseId": "a", "content": [], "status": "error"}}

REFUSED: dict[str, tuple[str, list[Any], int, str, str]] = {
    "openai: no message": (
        "openai",
        [],
        0,
        "messages",
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ),
    "openai: a call is not answered": (
        "openai",
        [USER, openai_call("call_1", "call_2"), openai_result("call_2"), USER],
        1,
        "messages[1].tool_calls",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
    ),
    "openai: the last call is not answered yet": (
        "openai",
        [USER, openai_call("call_1")],
        1,
        "messages[1].tool_calls",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
    ),
    "openai: a result without its call": (
        "openai",
        [USER, openai_result("call_1")],
        1,
        "messages[1].role",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ),
    "openai: a result of another call": (
        "openai",
        [USER, openai_call("call_1"), openai_result("call_1"), openai_result("call_9")],
        3,
        "messages[3].tool_call_id",
        "Invalid parameter: 'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message.",
    ),
    "openai: a result twice": (
        "openai",
        [USER, openai_call("call_1"), openai_result("call_1"), openai_result("call_1")],
        1,
        "messages[1].tool_calls",
        "Duplicate value for 'tool_call_id' of 'call_1' in message[3]",
    ),
    "openai: nothing said": (
        "openai",
        [{"role": "user", "content": None}],
        0,
        "messages[0].content",
        "Invalid value for 'content': expected a string, got null.",
    ),
    "responses: no output": (
        "openai-responses",
        [USER, ITEM_CALL, USER],
        1,
        "input[1]",
        "No tool output found for function call call_1.",
    ),
    "responses: no call": (
        "openai-responses",
        [USER, ITEM_OUTPUT],
        1,
        "input[1].call_id",
        "No tool call found for function call output with call_id call_1.",
    ),
    "responses: an output before its call": (
        "openai-responses",
        [ITEM_OUTPUT, ITEM_CALL, ITEM_OUTPUT],
        0,
        "input[0].call_id",
        "No tool call found for function call output with call_id call_1.",
    ),
    "responses: reasoning alone": (
        "openai-responses",
        [USER, REASONING, USER],
        1,
        "input[1]",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    "anthropic: no message": ("anthropic", [], 0, "messages", "messages: at least one message is required"),
    "anthropic: the assistant starts": (
        "anthropic",
        [{"role": "assistant", "content": "hi"}, USER],
        0,
        "messages[0].role",
        'messages: first message must use the "user" role',
    ),
    "anthropic: a call is not answered": (
        "anthropic",
        [USER, anthropic_call("toolu_1", "toolu_2"), {"role": "user", "content": anthropic_results("toolu_2")}],
        1,
        "messages[1].content",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "anthropic: text before the results": (
        "anthropic",
        [
            USER,
            anthropic_call("toolu_1"),
            {"role": "user", "content": [{"type": "text", "text": "x"}, *anthropic_results("toolu_1")]},
        ],
        1,
        "messages[1].content",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "anthropic: a result without its call": (
        "anthropic",
        [{"role": "user", "content": anthropic_results("toolu_1")}],
        0,
        "messages[0].content[0].tool_use_id",
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    "anthropic: a result twice": (
        "anthropic",
        [USER, anthropic_call("toolu_1"), {"role": "user", "content": anthropic_results("toolu_1", "toolu_1")}],
        2,
        "messages[2].content[1].tool_use_id",
        "messages.2.content.1: each tool_use must have a single result. "
        "Found multiple `tool_result` blocks with id: toolu_1",
    ),
    "anthropic: an id twice": (
        "anthropic",
        [USER, *[anthropic_call("toolu_1"), {"role": "user", "content": anthropic_results("toolu_1")}] * 2],
        3,
        "messages[3].content",
        "messages.3.content: `tool_use` ids must be unique",
    ),
    "anthropic: blank text": (
        "anthropic",
        [{"role": "user", "content": [{"type": "text", "text": ""}]}],
        0,
        "messages[0].content[0].text",
        "messages: text content blocks must be non-empty",
    ),
    "anthropic: only spaces": (
        "anthropic",
        [{"role": "user", "content": [{"type": "text", "text": " \n"}]}],
        0,
        "messages[0].content[0].text",
        "messages: text content blocks must contain non-whitespace text",
    ),
    "anthropic: nothing said": (
        "anthropic",
        [{"role": "user", "content": []}],
        0,
        "messages[0].content",
        "messages.0: all messages must have non-empty content except for the optional final assistant message",
    ),
    "anthropic: nothing but thinking": (
        "anthropic",
        [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}, USER],
        1,
        "messages[1].content",
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    "anthropic: thinking without its signature": (
        "anthropic",
        [
            USER,
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "x"}]},
            USER,
        ],
        1,
        "messages[1].content[0].signature",
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "anthropic: five cache breakpoints": (
        "anthropic",
        [{"role": "user", "content": [CACHED] * 5}],
        0,
        "messages",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "bedrock: the assistant starts": (
        "bedrock",
        [{"role": "assistant", "content": [{"text": "hi"}]}],
        0,
        "messages[0].role",
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    ),
    "bedrock: two users in a row": (
        "bedrock",
        [BEDROCK_USER, BEDROCK_USER],
        1,
        "messages[1].role",
        "A conversation must alternate between user and assistant roles. "
        "Make sure the conversation alternates between user and assistant roles and try again.",
    ),
    "bedrock: a call is not answered": (
        "bedrock",
        [BEDROCK_USER, bedrock_call("a", "b"), bedrock_results("b")],
        1,
        "messages[2].content",
        "Expected toolResult blocks at messages.2.content for the following Ids: a",
    ),
    "bedrock: the last call is not answered yet": (
        "bedrock",
        [BEDROCK_USER, bedrock_call("a")],
        1,
        "messages[2].content",
        "Expected toolResult blocks at messages.2.content for the following Ids: a",
    ),
    "bedrock: more results than calls": (
        "bedrock",
        [BEDROCK_USER, bedrock_call("a"), bedrock_results("a", "b")],
        2,
        "messages[2].content",
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ),
    "bedrock: a result twice": (
        "bedrock",
        [BEDROCK_USER, bedrock_call("a"), bedrock_results("a", "a")],
        2,
        "messages[2].content",
        "The toolResult blocks at messages.2.content contain duplicate Ids: a",
    ),
    "bedrock: an empty error": (
        "bedrock",
        [BEDROCK_USER, bedrock_call("a"), {"role": "user", "content": [EMPTY_ERROR]}],
        2,
        "messages[2].content[0].toolResult.content",
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.",
    ),
    "bedrock: blank text": (
        "bedrock",
        [{"role": "user", "content": [{"text": " "}]}],
        0,
        "messages[0].content[0].text",
        "The text field in the ContentBlock object at messages.0.content.0 is blank. "
        "Add text to the text field, and try again.",
    ),
    "bedrock: nothing said": (
        "bedrock",
        [{"role": "user", "content": []}],
        0,
        "messages[0].content",
        "The content field in the Message object at messages.0 is empty. "
        "Add a ContentBlock object to the content field and try again.",
    ),
    "gemini: nothing": (
        "gemini",
        [],
        0,
        "contents",
        "* GenerateContentRequest.contents: contents is not specified\n",
    ),
    "gemini: it starts with a call": (
        "gemini",
        [{"role": "model", "parts": [CALL_PART]}, {"role": "user", "parts": [RESPONSE_PART]}],
        0,
        "contents[0].parts",
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    "gemini: a response without its call": (
        "gemini",
        [GEMINI_USER, {"role": "user", "parts": [RESPONSE_PART]}],
        1,
        "contents[1].parts",
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    "gemini: fewer responses than calls": (
        "gemini",
        [GEMINI_USER, {"role": "model", "parts": [CALL_PART] * 2}, {"role": "user", "parts": [RESPONSE_PART]}],
        1,
        "contents[2].parts",
        "Please ensure that the number of function response parts is equal to the number of function call parts of "
        "the function call turn.",
    ),
    "gemini: the last call is not answered yet": (
        "gemini",
        [GEMINI_USER, {"role": "model", "parts": [CALL_PART]}],
        1,
        "contents[1].parts",
        "Please ensure that the number of function response parts is equal to the number of function call parts of "
        "the function call turn.",
    ),
    "gemini: the model has the last word": (
        "gemini",
        [GEMINI_USER, {"role": "model", "parts": [{"text": "hi"}]}],
        1,
        "contents[1].role",
        "Please ensure that multiturn requests ends with a user role or a function response.",
    ),
    "gemini: nothing said": (
        "gemini",
        [{"role": "user", "parts": []}],
        0,
        "contents[0].parts",
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_each_broken_rule_is_told_with_the_words_of_the_provider(name: str) -> None:
    shape, wire, index, where, error = REFUSED[name]
    found = validate(parse(wire, shape), shape)
    assert [(problem.index, problem.where, problem.error) for problem in found] == [(index, where, error)]


@given(messages=transcripts(), data=st.data())
def test_a_result_taken_away_is_always_noticed(messages: list[Message], data: st.DataObject) -> None:
    places = [i for i, message in enumerate(messages) if message.tool_results]
    if not places:
        return
    i = data.draw(st.sampled_from(places))
    gone = messages[i].tool_results[0].call_id
    rest = messages[i].content[1:]
    left = [*messages[:i], *([messages[i].replace(content=rest)] if rest else []), *messages[i + 1 :]]
    for shape in SHAPES:
        problems = validate(left, shape)
        assert problems, shape
        assert shape == "gemini" or any(gone in problem.error for problem in problems)


@given(messages=transcripts(), data=st.data())
def test_a_call_taken_away_is_always_noticed(messages: list[Message], data: st.DataObject) -> None:
    places = [i for i, message in enumerate(messages) if message.tool_calls]
    if not places:
        return
    i = data.draw(st.sampled_from(places))
    kept = tuple(part for part in messages[i].parts if part is not messages[i].tool_calls[0])
    left = [*messages[:i], messages[i].replace(content=(*kept, Text("so"))), *messages[i + 1 :]]
    assert all(validate(left, shape) for shape in SHAPES)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("half", ["\ud800", "x\udfff"])
def test_half_a_surrogate_pair_is_a_problem(shape: str, half: str) -> None:
    for message in (Message("user", half), Message("system", half)):
        (problem,) = validate([message, Message("user", "hi")], shape)
        assert problem.problem == "half a surrogate pair stands alone, JSON can't carry it"


def test_a_problem_names_the_message_it_is_about() -> None:
    call = Message("assistant", (ToolCall("a", "f"),), id="m2")
    messages = [Message("system", "be kind", id="m0"), Message("user", "go", id="m1"), call, Message("user", "so?")]
    (problem,) = validate(messages, "anthropic")
    assert (problem.index, problem.id, problem.where) == (2, "m2", "messages[1].content")
    assert str(problem).startswith("message 2: no result comes first in the next message for a (messages[1].content).")


def test_results_out_of_place_are_noticed_in_every_shape() -> None:
    messages = [
        Message("user", "go"),
        Message("assistant", (ToolCall("a", "f"),)),
        Message("user", "wait"),
        Message("assistant", "ok"),
        Message("tool", (ToolResult("a", "late"),)),
    ]
    for shape in ("openai", "anthropic", "bedrock", "gemini"):
        assert validate(messages, shape), shape
