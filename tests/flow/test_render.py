"""Messages go to and from the wire without loss, and between shapes with every loss told."""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError, InvalidTranscript
from recollect.flow.render import parse, render
from recollect.flow.validate import validate
from recollect.frozen import FrozenDict, FrozenList
from recollect.types import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from tests.shared import shared_path
from tests.strategies import PNG, SHAPES, transcripts, wire_transcripts

requests = st.sampled_from(SHAPES).flatmap(lambda shape: st.tuples(st.just(shape), wire_transcripts(shape)))


def dumps(value: Any) -> str:
    return json.dumps(value, default=repr)


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
def test_one_wire_message_is_one_message(case: tuple[str, dict[str, Any]]) -> None:
    shape, request = case
    wire = render(parse(request, shape), shape)
    assert len(parse(list(wire), shape)) == len(wire)


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
        "texts": [part.text for part in parts if isinstance(part, Text) and part.text.strip()],
        "calls": [(p.id, p.name, p.input) for p in parts if isinstance(p, ToolCall)],
        "results": [(p.call_id, answer(p, target), failed(p, target)) for p in results],
        "images": Counter(
            p.data or p.url
            for p in [*parts, *(i for r in results if not isinstance(r.content, str) for i in r.content)]
            if isinstance(p, Image) and (p.data or fetchable(p, target))
        ),
    }


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
    assert render(parse(wire, "anthropic"), target).lost == [
        "message 0: document of anthropic",
        "message 1: thinking signature of anthropic",
        "message 1: cache_control",
    ]


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


def test_json_nested_without_end_is_refused_clearly() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = {"a": deep}
    with pytest.raises(InvalidTranscript, match="nested too deeply"):
        parse([{"role": "user", "content": "x", "deep": deep}], "openai")


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


def real_transcripts(name: str) -> list[dict[str, Any]]:
    text = shared_path("data", "transcripts", f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.mark.parametrize("name", ["agents", "chats"])
def test_every_real_transcript_comes_back_to_the_byte(name: str) -> None:
    for row in real_transcripts(name):
        wire = row["messages"]
        rendered = render(parse(wire, "openai"), "openai")
        assert json.dumps(rendered) == json.dumps(wire)
        assert rendered.lost == []


@pytest.mark.parametrize("target", SHAPES)
@pytest.mark.parametrize("name", ["agents", "chats"])
def test_every_real_transcript_is_valid_everywhere_once_its_calls_are_answered(name: str, target: str) -> None:
    for row in real_transcripts(name):
        if row.get("check", {}).get("unanswered_calls"):
            assert validate(parse(row["messages"], "openai"), target) != []
            continue
        messages = parse(row["messages"], "openai")
        while target == "gemini" and messages[-1].role == "assistant":
            messages.pop()  # Gemini takes a request that ends on the user
        assert validate(messages, target) == [], row["transcript_id"]


def test_a_function_call_that_names_no_custom_one_is_a_function_call() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}, "custom": None}
    raw = [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert render(parse(raw, "openai"), "openai") == raw
