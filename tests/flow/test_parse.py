"""What is read from the wire: odd messages as they were, and what can't be read by its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError, InvalidTranscript
from recollect.flow.render import parse, render
from recollect.flow.validate import validate
from recollect.types import Message
from tests.flow.wires import dumps, requests


@given(requests)
def test_one_wire_message_is_one_message(case: tuple[str, dict[str, Any]]) -> None:
    shape, request = case
    wire = render(parse(request, shape), shape)
    assert len(parse(list(wire), shape)) == len(wire)


def test_calls_without_ids_are_matched_by_name_and_order() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": {}}}

    def response(name: str, text: str) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": text}}}

    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call("f"), call("g"), call("f")]},
        {"role": "user", "parts": [response("g", "G"), response("f", "F1"), response("f", "F2")]},
    ]
    messages = parse(contents, "gemini")
    ids = [call.id for call in messages[1].tool_calls]
    answers = {result.call_id: result.text for result in messages[2].tool_results}
    assert [answers[i] for i in ids] == ["F1", "G", "F2"]
    assert list(render(messages, "gemini")) == contents


def test_responses_input_may_be_plain_text() -> None:
    assert parse({"instructions": "be kind", "input": "hi"}, "openai-responses")[1].text == "hi"


def test_a_timestamp_is_the_time_of_the_message() -> None:
    wire = [{"role": "user", "content": "hi", "timestamp": "2025-12-08T22:41:05.306Z"}]
    message = parse(wire, "openai")[0]
    assert message.at is not None
    assert message.at.isoformat() == "2025-12-08T22:41:05.306000+00:00"
    assert list(render([message], "openai")) == wire


ODD_OPENAI: list[dict[str, Any]] = [
    {"role": "user", "content": None},
    {"role": "user", "content": ""},
    {"role": "user"},
    {"role": "user", "content": []},
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": "", "tool_calls": []},
    {"role": "assistant", "content": "x", "tool_calls": None, "function_call": None},
    {"role": "assistant", "content": [], "tool_calls": [{"id": "a", "name": "f", "arguments": "{}", "index": 0}]},
    {"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": 1}, "name": "f"}, "id": "a"}]},
    {"role": "assistant", "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "x"}}]},
    {"role": "assistant", "content": "x", "reasoning_content": None, "reasoning": "hm"},
    {"role": "assistant", "content": "x", "reasoning_content": "hm", "reasoning": "hm"},
    {"role": "assistant", "content": None, "refusal": "no"},
    {"content": "keys in another order", "role": "user", "name": None},
    {"role": "tool", "tool_call_id": "a"},
    {"role": "tool", "tool_call_id": "a", "content": None},
    {"role": "function", "name": "f", "content": "r"},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low", "url": "cid:1", "x": 1}}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/x.png"}]},
]


@pytest.mark.parametrize("wire", ODD_OPENAI, ids=dumps)
def test_odd_openai_messages_come_back_as_they_were(wire: dict[str, Any]) -> None:
    assert dumps(list(render(parse([wire], "openai"), "openai"))) == dumps([wire])


BAD: list[tuple[str, Any, str]] = [
    ("openai", "text", "messages"),
    ("openai", None, "messages"),
    ("openai", {"no": "messages"}, "messages"),
    ("openai", ["x"], "messages[0]"),
    ("openai", [{"content": "x"}], "messages[0].role"),
    ("openai", [{"role": "robot", "content": "x"}], "messages[0].role"),
    ("openai", [{"role": ["user"], "content": "x"}], "messages[0].role"),
    ("openai", [{"role": "user", "content": 3}], "messages[0].content"),
    ("openai", [{"role": "user", "content": [3]}], "messages[0].content[0]"),
    ("openai", [{"role": "user", "content": [{"type": "text", "text": 3}]}], "messages[0].content[0].text"),
    ("openai", [{"role": "tool", "content": "x"}], "messages[0].tool_call_id"),
    ("openai", [{"role": "assistant", "tool_calls": [{"id": "a"}]}], "messages[0].tool_calls[0].function"),
    ("openai-responses", {"input": [{"type": 3}]}, "input[0].type"),
    ("openai-responses", [{"type": "function_call", "call_id": "a"}], "input[0].name"),
    ("anthropic", [{"role": "tool", "content": "x"}], "messages[0].role"),
    (
        "anthropic",
        [{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}],
        "messages[0]",
    ),
    ("anthropic", {"system": 3, "messages": []}, "system"),
    ("bedrock", [{"role": "user", "content": "x"}], "messages[0].content"),
    ("bedrock", [{"role": "assistant", "content": [{"toolUse": []}]}], "messages[0].content[0].toolUse"),
    ("gemini", [{"role": "assistant", "parts": []}], "contents[0].role"),
    ("gemini", [{"role": "user"}], "contents[0].parts"),
]


@pytest.mark.parametrize(("shape", "raw", "where"), BAD)
def test_what_cannot_be_read_is_named_by_its_place(shape: str, raw: Any, where: str) -> None:
    with pytest.raises(InvalidTranscript) as caught:
        parse(raw, shape)
    assert caught.value.where == where


JUNK: tuple[Any, ...] = (None, "", "text", 0, 1.5, True, False, [], {}, ["x"], [{}], {"type": "text"}, {"text": ""})


@given(requests, st.data())
def test_damaged_json_is_refused_or_comes_back_as_it_was(case: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    shape, request = case
    wire = render(parse(request, shape), shape)
    holders = list(containers(list(wire)))
    holder = data.draw(st.sampled_from(holders))
    key = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    if data.draw(st.booleans()):
        holder[key] = data.draw(st.sampled_from(JUNK))
    elif isinstance(holder, dict):
        del holder[key]
    try:
        messages = parse(list(wire), shape)
    except InvalidTranscript as error:
        assert error.where
    else:
        assert dumps(list(render(messages, shape))) == dumps(wire)
        validate(messages, shape)


def containers(value: Any) -> Iterator[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inner and isinstance(value, dict):
        yield value
    for item in inner:
        yield from containers(item)


@pytest.mark.parametrize(
    ("content", "got"), [(3, "a number"), (2.5, "a number"), (True, "true or false"), ({}, "an object")]
)
def test_what_was_found_instead_is_told_in_words(content: Any, got: str) -> None:
    with pytest.raises(InvalidTranscript, match=f"expected a list, got {got}$"):
        parse([{"role": "user", "content": content}], "openai")


def test_json_nested_without_end_is_refused_clearly() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(InvalidTranscript, match="nested too deeply"):
        parse([{"role": "user", "content": "x", "deep": deep}], "openai")


def test_arguments_that_are_not_json_are_refused_by_their_place() -> None:
    call = {"type": "tool_use", "id": "c", "name": "book", "input": {"day": date(2026, 5, 6)}}
    with pytest.raises(InvalidTranscript, match=r"messages\[0\]: .* not JSON serializable"):
        parse([{"role": "assistant", "content": [call]}], "anthropic")


@pytest.mark.parametrize("use", [lambda: parse([], "claude"), lambda: render([], "claude"), lambda: validate([], "x")])
def test_an_unknown_shape_is_told_the_five(use: Any) -> None:
    with pytest.raises(ConfigError, match="openai, openai-responses, anthropic, bedrock, gemini"):
        use()


def test_bytes_in_a_block_of_bedrock_come_back_and_can_be_kept() -> None:
    file = {"document": {"format": "pdf", "name": "x", "source": {"bytes": b"\x00\xffabc"}}}
    result = {"toolResult": {"toolUseId": "a", "status": "success", "content": [file]}}
    wire: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": "Read."}, file, {"video": {"format": "mp4", "source": {"bytes": b""}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "scan", "input": {}}}]},
        {"role": "user", "content": [result]},
    ]
    messages = parse(wire, "bedrock")
    kept = [Message.from_dict(json.loads(json.dumps(message.to_dict()))) for message in messages]
    assert list(render(messages, "bedrock")) == list(render(kept, "bedrock")) == wire


def test_a_function_call_that_names_no_custom_one_is_a_function_call() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "custom": None}
    raw = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert render(parse(raw, "openai"), "openai") == raw


def test_a_role_that_is_not_there_is_told_with_all_that_are() -> None:
    with pytest.raises(InvalidTranscript, match="system, developer, user, assistant, tool, function, got 'nobody'"):
        parse([{"role": "nobody", "content": "x"}], "openai")
