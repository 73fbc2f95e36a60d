"""Messages go to the wire and back without loss, and between shapes with every loss told."""

from __future__ import annotations

import copy
import json
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.render import parse, render, sendable
from recollect.flow.validate import validate
from recollect.frozen import FrozenDict, FrozenList
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from tests.flow.wires import dumps, requests
from tests.strategies import PNG, SHAPES, transcripts, wire_transcripts


def all_parts(messages: list[Message]) -> list[Part]:
    return [part for message in messages for part in message.parts]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_way_back_to_the_same_shape_is_exact_to_the_byte(shape: str) -> None:
    @given(wire_transcripts(shape))
    def check(request: dict[str, Any]) -> None:
        rendered = render(parse(request, shape), shape)
        assert rendered.lost == []
        assert dumps(rendered.request()) == dumps(request)

    check()


@given(requests)
def test_parse_shares_nothing_with_its_input(case: tuple[str, dict[str, Any]]) -> None:
    shape, request = case
    before = copy.deepcopy(request)
    messages = parse(request, shape)
    scramble(request)
    assert render(messages, shape).request() == before


@given(requests)
def test_what_is_rendered_is_plain_and_free_to_change(case: tuple[str, dict[str, Any]]) -> None:
    shape, request = case
    messages = parse(request, shape)
    rendered = render(messages, shape)
    assert not frozen_in(rendered.request())
    scramble(rendered.request())
    assert render(messages, shape).request() == request


def scramble(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["changed"] = "later"
    elif isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("changed")


def frozen_in(value: Any) -> bool:
    if isinstance(value, (FrozenDict, FrozenList)):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(frozen_in(item) for item in inner)


def told(messages: list[Message], target: str) -> dict[str, Any]:
    """What must survive on the way to a target."""
    parts = all_parts([m for m in messages if m.role != "system"])
    results = [part for part in parts if isinstance(part, ToolResult)]
    return {
        "system": [m.text for m in messages if m.role == "system"],
        "texts": [said for m in messages if m.role != "system" for part in m.parts for said in words(part, m, target)],
        "calls": [(p.id, p.name, p.input) for p in parts if isinstance(p, ToolCall)],
        "results": [(p.call_id, answer(p, target), failed(p, target)) for p in results],
        "images": Counter(
            p.data or p.url
            for p in [*parts, *(i for r in results if not isinstance(r.content, str) for i in r.content)]
            if isinstance(p, Image) and (p.data or fetchable(p, target))
        ),
    }


def words(part: Part, message: Message, target: str) -> list[str]:
    """What is said, or the mark that stands for what the model can't be shown."""
    match part:
        case Text():
            return [part.text] if part.text.strip() else []
        case Image() if message.role == "user" and not (part.data or fetchable(part, target)):
            return ["[image cut]"]
        case Opaque() if message.role == "user" and "cachePoint" not in part.data:
            return ["[file cut]"]
    return []


def answer(result: ToolResult, target: str) -> str:
    return "(empty)" if target == "bedrock" and result.is_error and not result.text else result.text


def failed(result: ToolResult, target: str) -> bool:
    return result.is_error and not target.startswith("openai")


def fetchable(image: Image, target: str) -> bool:
    return str(image.url).startswith("s3:") == (target == "bedrock")


@pytest.mark.parametrize("source", SHAPES)
def test_text_calls_results_and_images_survive_on_the_way_to_every_other_shape(source: str) -> None:
    @given(wire_transcripts(source))
    def check(request: dict[str, Any]) -> None:
        messages = parse(request, source)
        for target in SHAPES:
            rendered = render(messages, target)
            assert told(parse(rendered.request(), target), target) == told(messages, target), target
            assert validate(messages, target) == [], target

    check()


@given(transcripts(), st.sampled_from(SHAPES))
def test_hand_made_messages_can_be_sent_anywhere(messages: list[Message], target: str) -> None:
    assert told(parse(render(messages, target).request(), target), target) == told(messages, target)
    assert validate(messages, target) == []


@given(requests)
def test_signatures_stay_byte_equal(case: tuple[str, dict[str, Any]]) -> None:
    shape, request = case
    messages = parse(request, shape)
    again = parse(render(messages, shape).request(), shape)
    assert signatures(again) == signatures(messages)


def signatures(messages: list[Message]) -> list[tuple[Any, ...]]:
    parts = all_parts(messages)
    thinking = [(p.text, p.signature, p.redacted) for p in parts if isinstance(p, Thinking)]
    return thinking + [(p.extra.get("thoughtSignature"),) for p in parts if isinstance(p, (Text, ToolCall))]


@given(wire_transcripts("anthropic"))
def test_signed_thinking_travels_between_anthropic_and_bedrock(request: dict[str, Any]) -> None:
    messages = parse(request, "anthropic")
    signed = [(p.text, p.signature) for p in all_parts(messages) if isinstance(p, Thinking) and p.signature]
    there = parse(render(messages, "bedrock").request(), "bedrock")
    assert [(p.text, p.signature) for p in all_parts(there) if isinstance(p, Thinking)] == signed


@pytest.mark.parametrize("target", ["openai", "openai-responses", "gemini"])
def test_what_cannot_be_carried_is_told(target: str) -> None:
    wire = [
        {"role": "user", "content": [{"type": "document", "source": {}}, {"type": "text", "text": "read"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "done", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ]
    rendered = render(parse(wire, "anthropic"), target)
    assert "[file cut]" in dumps(rendered[0])
    assert rendered.lost == [
        "message 0: document of anthropic",
        "message 1: thinking signature of anthropic",
        "message 1: cache_control",
    ]


def test_of_a_file_or_picture_that_a_tool_returned_a_mark_is_told() -> None:
    called = Message("assistant", (ToolCall("a", "look"),))
    shown = (Text("Here."), Opaque("openai", {"type": "file"}), Image(url="s3://bucket/a.png"))
    rendered = render([Message("user", "go"), called, Message("tool", (ToolResult("a", shown),))], "anthropic")
    assert rendered[2]["content"][0]["content"] == "Here.\n[file cut]\n[image cut]"
    assert rendered.lost == ["message 2: file of openai", "message 2: image of the tool (s3)"]


CALLS = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": '{"broken": '}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "A"},
    {"role": "tool", "tool_call_id": "b", "content": "B"},
    {"role": "user", "content": "next"},
]


def test_parallel_results_come_first_in_one_user_message() -> None:
    assert render(parse(CALLS, "openai"), "anthropic")[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "A"},
            {"type": "tool_result", "tool_use_id": "b", "content": "B"},
            {"type": "text", "text": "next"},
        ],
    }


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "gemini"])
def test_broken_arguments_are_wrapped_and_told(target: str) -> None:
    rendered = render(parse(CALLS, "openai"), target)
    assert '{"_raw": "{\\"broken\\": "}' in dumps(rendered)
    assert rendered.lost == ["message 1: arguments of b are no JSON object, sent as text in one"]


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "gemini"])
@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_number_that_is_not_json_is_sent_as_text(number: str, target: str) -> None:
    call = Message("assistant", (ToolCall("c", "add", f'{{"a": {number}}}'),))
    json.dumps(render([Message("user", "go"), call], target), allow_nan=False)


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_an_object_of_arguments_with_such_a_number_is_sent_as_text(number: float) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": {"a": number}}}
    rendered = render(parse([{"role": "assistant", "content": None, "tool_calls": [call]}], "openai"), "openai")
    assert rendered[0]["tool_calls"][0]["function"]["arguments"] == json.dumps({"a": number})


def test_words_beside_results_become_a_user_message_for_openai() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "A"}
    wire = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [result, {"type": "text", "text": "and now?"}]},
    ]
    messages = parse(wire, "anthropic")
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert render(messages, "openai")[2:] == [
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {"role": "user", "content": "and now?"},
    ]


def test_pictures_in_results_are_shown_beside_them_where_results_are_text() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    wire = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [image]}]},
    ]
    tool, user = render(parse(wire, "anthropic"), "openai")[2:]
    assert tool == {"role": "tool", "tool_call_id": "a", "content": ""}
    assert user["content"][0]["image_url"]["url"] == f"data:image/png;base64,{PNG}"


def test_an_error_result_is_never_empty_for_bedrock() -> None:
    messages = [
        Message("user", "go"),
        Message("assistant", (ToolCall("a", "f"),)),
        Message("tool", (ToolResult("a", "", is_error=True),)),
    ]
    result = render(messages, "bedrock")[2]["content"][0]["toolResult"]
    assert result == {"toolUseId": "a", "content": [{"text": "(empty)"}], "status": "error"}


TEXTS = st.lists(st.sampled_from(["", " ", "hi"]), max_size=3)


@pytest.mark.parametrize("shape", ["anthropic", "bedrock", "gemini"])
def test_a_blank_that_a_memory_keeps_is_no_obstacle(shape: str) -> None:
    @given(TEXTS)
    def check(texts: list[str]) -> None:
        wire = render([Message("user", tuple(map(Text, texts)), shape=shape)], shape)
        assert list(render(parse(wire, shape), shape)) == wire
        kept = [message.replace(id="1") for message in parse(wire, shape)]
        assert validate(kept, shape) == []
        assert parse(render(kept, shape), shape)[0].text == (
            "\n".join(text for text in texts if text == "hi") or "(empty)"
        )

    check()


def test_gemini_results_get_the_name_of_their_call() -> None:
    answer = render(parse(CALLS, "openai"), "gemini")[2]["parts"][1]
    assert answer == {"functionResponse": {"name": "g", "response": {"output": "B"}, "id": "b"}}


def test_an_id_used_twice_is_told_apart_where_ids_must_be_unique() -> None:
    messages = parse(CALLS + CALLS[1:], "openai")
    assert validate(messages, "openai") == []
    assert validate(messages, "anthropic") == []
    results = [r.call_id for m in parse(list(render(messages, "anthropic")), "anthropic") for r in m.tool_results]
    assert results == ["a", "b", "a_2", "b_2"]


def test_a_conversation_the_assistant_opened_gets_a_user_message_in_front() -> None:
    rendered = render([Message("assistant", "hi"), Message("user", "hello")], "anthropic")
    assert [message["role"] for message in rendered] == ["user", "assistant", "user"]
    assert rendered.lost == ["message 0: its place as the first, anthropic starts with the user"]


def test_system_text_moves_to_its_own_field() -> None:
    messages = [Message("system", "be kind"), Message("user", "hi"), Message("system", "be brief")]
    rendered = render(messages, "anthropic")
    assert rendered.request() == {
        "system": [{"type": "text", "text": "be kind"}, {"type": "text", "text": "be brief"}],
        "messages": [{"role": "user", "content": "hi"}],
    }
    assert rendered.lost == ["message 2: its place, anthropic keeps system text at the front"]
    assert render(messages, "openai").system is None


def test_of_the_marks_for_a_cache_the_systems_and_the_newest_stay() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    system = {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]}
    asked = [{"role": "user", "content": f"question {n}", **mark} for n in range(5)]
    odd = {"role": "user", "content": [{"type": "odd", "content": ["no block"]}]}
    sent = sendable(render(parse([system, *asked, odd], "openai"), "openai"))
    assert "cache_control" in sent[0]["content"][0]
    assert [wire["content"] for wire in sent if "cache_control" in wire] == [f"question {n}" for n in (2, 3, 4)]


@pytest.mark.parametrize("shape", ["anthropic", "gemini"])
def test_thousands_of_neighbours_are_put_together_at_once(shape: str) -> None:
    messages = [Message("user", f"line {n}") for n in range(8_000)]
    started = time.thread_time()
    (one,) = render(messages, shape)
    assert time.thread_time() - started < 5
    assert [part["text"] for part in one["content" if shape == "anthropic" else "parts"]] == [m.text for m in messages]
