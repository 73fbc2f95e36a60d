"""An answer that streams by is heard whole, wherever the network cuts it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.render import render
from recollect.server import heard
from recollect.server.heard import Heard, answer_of
from recollect.types import Message

WORDS = st.lists(st.text(max_size=8), min_size=1, max_size=6)
NOISE = st.sampled_from(
    [
        b": ping",
        b"data: no JSON",
        b"data: 5",
        b"data: " + b"[" * 100_000,
        b'data: {"choices": [{"index": 1, "delta": {"content": "x"}}]}',
        b'data: {"choices": {"a": 1}}',
        b'data: {"choices": [5]}',
        b'note:{"choices": [{"index": 0, "delta": {"content": "x"}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": {"a": 1}}}]}',
    ]
)


def line(content: str, finish: str | None = None) -> bytes:
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}).encode()
    )


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, bytes]:
    words = draw(WORDS)
    lines = [part for word in words for part in (*draw(st.lists(NOISE, max_size=1)), line(word))]
    ending = draw(st.sampled_from(["\n\n", "\r\n\r\n"])).encode()
    return "".join(words), b"".join(part + ending for part in lines)


def fed(stream: bytes, cuts: list[int]) -> Heard:
    found, at = Heard(), 0
    for cut in sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)}):
        found.feed(stream[at:cut])
        at = cut
    return found


CUTS = st.lists(st.integers(0, 2_000), max_size=20)


@given(streams(), CUTS, st.sampled_from([0, 50, heard.LARGE]), st.sampled_from([b"data: [DONE]", b"data:[DONE]"]))
def test_it_is_the_same_wherever_it_is_cut(stream: tuple[str, bytes], cuts: list[int], large: int, end: bytes) -> None:
    text, sent = stream
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heard, "LARGE", large)
        broken, whole = fed(sent, cuts), fed(sent + end + b"\n\n", cuts)
    assert (broken.ended, whole.ended) == (False, True)
    for found, partial in ((broken, True), (whole, False)):
        message = found.message()
        assert (message.text if message else "") == text
        assert message is None or (message.metadata.get("partial") is True) is partial


@given(streams(), st.integers(0, 2_000))
def test_what_came_before_it_broke_off_is_there(stream: tuple[str, bytes], end: int) -> None:
    text, sent = stream
    message = fed(sent[:end], []).message()
    assert message is None or text.startswith(message.text)


def test_an_end_mark_cut_anywhere_is_the_end_whatever_comes_after_it() -> None:
    sent = line("Hi") + b"\n\ndata: [DONE]\n\n"
    for cut in range(len(sent)):
        found = fed(sent + b": ping\n\n" * 9, [cut, *range(len(sent) - 2, len(sent) + 40)])
        assert found.ended
    assert fed(sent, list(range(len(sent)))).ended


def test_of_several_choices_the_first_is_the_answer_and_an_empty_one_is_none() -> None:
    def answered(*texts: str) -> Message | None:
        return answer_of({"choices": [{"message": {"role": "assistant", "content": text}} for text in texts]})

    first = answered("One", "Two")
    assert first and first.text == "One"
    assert answered("") is None
    assert fed(b"", []).message() is None


def test_the_end_mark_in_the_words_is_no_end() -> None:
    found = Heard()
    found.feed(line("\ndata: [DONE]\n") + b"\n\n")
    assert not found.ended
    message = found.message()
    assert message and message.text == "\ndata: [DONE]\n"


def test_words_before_an_error_are_no_whole_answer_though_the_end_mark_follows() -> None:
    message = fed(
        b"\n\n".join(
            (
                line("Hello"),
                b'data: {"error": {"message": "out of memory"}}',
                b'data: {"choices": [], "usage": {}}',
                b"data: [DONE]\n\n",
            )
        ),
        [],
    ).message()
    assert message is not None
    assert (message.text, message.metadata.get("partial")) == ("Hello", True)


def test_calls_whose_places_make_no_sense_lose_no_words() -> None:
    calls = [{"index": place, "id": "1", "function": {"name": "f", "arguments": "{}"}} for place in (0, "1")]
    odd = b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": calls}}]}).encode()
    message = fed(b"\n\n".join((line("Hello"), odd, b"data: [DONE]\n\n")), []).message()
    assert message is not None
    assert message.text == "Hello"


@given(
    cities=st.lists(st.text(max_size=8), min_size=1, max_size=4),
    counted=st.sampled_from([lambda n: {"index": n}, lambda n: {"index": 0}, lambda n: {}]),
    named_again=st.sampled_from([lambda n: {}, lambda n: {"id": f"call_{n}"}, lambda n: {"id": f"other_{n}"}]),
)
def test_calls_made_at_once_are_heard_apart_however_a_server_counts_and_names_them(
    cities: list[str], counted: Callable[[int], dict[str, Any]], named_again: Callable[[int], dict[str, Any]]
) -> None:
    wanted = [json.dumps({"city": city}) for city in cities]
    pieces = []
    for n, asked in enumerate(wanted):
        first = {"name": "weather", "arguments": asked[:5]}
        pieces.append({"id": f"call_{n}", "type": "function", **counted(n), "function": first})
        pieces.append({**named_again(n), **counted(n), "function": {"arguments": asked[5:]}})
    chunks = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
    stream = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    message = fed(stream + b"data: [DONE]\n\n", []).message()
    assert message is not None
    found = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    assert found == [(f"call_{n}", "weather", asked) for n, asked in enumerate(wanted)]


@pytest.mark.parametrize("ends", [True, False])
def test_of_an_answer_that_is_spoken_the_words_are_kept(ends: bool) -> None:
    spoken = [{"id": "audio_1", "transcript": "Oslo "}, {"data": "AAAA"}, {"transcript": "is far."}, {"expires_at": 9}]
    lines = [json.dumps({"choices": [{"delta": {"content": None, "audio": audio}}]}).encode() for audio in spoken]
    message = fed(b"".join(b"data: " + line + b"\n\n" for line in lines) + b"data: [DONE]\n\n" * ends, []).message()
    assert message is not None
    assert (message.text, message.metadata.get("partial", False)) == ("Oslo is far.", not ends)
    assert "audio" not in message.extra


SIGNED: Any = {
    "id": "c1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
    "extra_content": {"google": {"thought_signature": "c2ln"}},
}
CUSTOM: Any = {"id": "c1", "type": "custom", "custom": {"name": "python", "input": "print(1)"}}
LEGACY: Any = {"name": "weather", "arguments": '{"city": "Oslo"}'}
DETAILS: Any = [{"type": "reasoning.encrypted", "data": "x"}, {"type": "reasoning.encrypted", "data": "y"}]


def _called(call: dict[str, Any], kind: str, said: str) -> list[dict[str, Any]]:
    """A call in two pieces, both of which name it, as some servers do."""
    inside = call[kind]
    first = {"index": 0, **call, kind: {**inside, said: inside[said][:5]}}
    rest = {"index": 0, "id": call["id"], "type": kind, kind: {"name": None, said: inside[said][5:]}}
    return [{"tool_calls": [first]}, {"tool_calls": [rest]}]


@pytest.mark.parametrize(
    ("deltas", "whole"),
    [
        (_called(SIGNED, "function", "arguments"), {"tool_calls": [SIGNED]}),
        (_called(CUSTOM, "custom", "input"), {"tool_calls": [CUSTOM]}),
        (
            [{"function_call": {**LEGACY, "arguments": ""}}, {"function_call": {"arguments": LEGACY["arguments"]}}],
            {"function_call": LEGACY},
        ),
        (
            [{"content": "Hi"}, {"reasoning_details": DETAILS[:1]}, {"reasoning_details": DETAILS[1:]}],
            {"content": "Hi", "reasoning_details": DETAILS},
        ),
        ([{"refusal": "I "}, {"refusal": "can't."}], {"refusal": "I can't."}),
    ],
)
def test_no_field_of_a_stream_is_lost(deltas: list[dict[str, Any]], whole: dict[str, Any]) -> None:
    said = [{"role": "assistant", "content": None, "function_call": None, "audio": None}, *deltas]
    lines = [b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() for delta in said]
    message = fed(b"\n\n".join((*lines, b"data: [DONE]\n\n")), []).message()
    assert message is not None
    assert list(render([message], "openai")) == [{"role": "assistant", "content": None, **whole}]


def test_thoughts_in_tens_of_thousands_of_pieces_are_heard_in_a_moment() -> None:
    delta = {"choices": [{"index": 0, "delta": {"content": "x", "reasoning_details": [{"text": "Hm"}]}}]}
    pieces = [b"data: " + json.dumps(delta).encode()] * 60_000
    began = time.process_time()
    message = fed(b"\n\n".join((*pieces, b"data: [DONE]\n\n")), []).message()
    assert time.process_time() - began < 4
    assert message and len(message.extra["reasoning_details"]) == 60_000


def test_a_letter_that_a_server_cuts_into_two_events_is_heard() -> None:
    listening = Heard()
    listening.feed(b"\n\n".join([line("Hi \ud83d"), line("\ude00", "stop"), b""]))
    message = listening.message()
    assert message is not None
    assert message.text == "Hi \ud83d\ude00"
