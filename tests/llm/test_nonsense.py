"""Whatever JSON a server sends, a reply or a ModelError comes of it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Message, llm
from recollect.errors import ModelError
from recollect.flow.shapes.wire import RAW
from recollect.http import Retries
from recollect.llm.anthropic import Events
from recollect.testing.provider.anthropic import Anthropic
from recollect.testing.provider.ollama import Ollama
from recollect.testing.provider.openai import OpenAI
from recollect.testing.provider.server import Server
from recollect.testing.provider.style import Style
from recollect.testing.provider.values import Answer, Sending
from recollect.types import ToolCall

ASKED = [Message("user", "Hello")]
CALL = ToolCall("call_1", "search", '{"q": "Oslo"}')

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
odd = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
)


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with something else in one place."""
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 5)) == 0:
        return draw(odd)
    if isinstance(value, list):
        place = draw(st.integers(0, len(value) - 1))
        return [draw(spoiled(item)) if i == place else item for i, item in enumerate(value)]
    key = draw(st.sampled_from(sorted(value)))
    if draw(st.integers(0, 5)) == 0:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: draw(spoiled(value[key]))}


class Parrot:
    """A server that sends what it is told."""

    def __init__(self) -> None:
        self.sending = Sending(200, ())
        self.server = Server(self.handle)
        self.models = {style: self.open(style) for style in STYLES}

    def open(self, style: str) -> llm.ChatModel:
        url = f"http://127.0.0.1:{self.server.server_port}{STYLES[style].base}"
        return llm.open(f"{style}:m", url=url, retries=Retries(times=0))

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Sending:
        return self.sending


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    told = Parrot()
    yield told
    told.server.close()


STYLES: dict[str, Style] = {"openai": OpenAI(), "anthropic": Anthropic(), "ollama": Ollama()}
ANSWERS = [Answer(Message("assistant", "Hello there")), Answer(Message("assistant", (CALL,)), "tool_calls")]
WHOLE = {name: [style.body(answer) for answer in ANSWERS] for name, style in STYLES.items()}


def events(style: Style, answer: Answer) -> list[Any]:
    sent = style.events(answer, {"stream_options": {"include_usage": True}})
    lines = [line.removeprefix("data: ") for event in sent for line in event.decode().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_a_whole_reply_may_be_anything(parrot: Parrot, style: str, data: st.DataObject) -> None:
    body = json.dumps(data.draw(spoiled(data.draw(st.sampled_from(WHOLE[style]))))).encode()
    parrot.sending = Sending(200, (body,), length=len(body))
    try:
        reply = parrot.models[style].complete(ASKED)
    except ModelError as error:
        assert f"{style}:m" in str(error)
    else:
        assert reply.message.role == "assistant"
        assert all(type(number) is int and number >= 0 for number in (reply.usage.prompt, reply.usage.completion))


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_the_pieces_of_a_stream_may_be_anything(parrot: Parrot, style: str, data: st.DataObject) -> None:
    whole = events(STYLES[style], data.draw(st.sampled_from(ANSWERS)))
    sent = [data.draw(spoiled(event)) if data.draw(st.integers(0, 3)) == 0 else event for event in whole]
    lines = [json.dumps(event) for event in sent]
    kind, form = ("application/x-ndjson", "{}\n") if style == "ollama" else ("text/event-stream", "data: {}\n\n")
    pieces = tuple(form.replace("{}", line).encode() for line in lines)
    parrot.sending = Sending(
        200, (*pieces, b"data: [DONE]\n\n") if style == "openai" else pieces, {"content-type": kind}
    )
    try:
        deltas = list(parrot.models[style].stream(ASKED))
    except ModelError as error:
        assert f"{style}:m" in str(error)
    else:
        assert deltas[-1].reply and deltas[-1].reply.message.role == "assistant"
        assert "".join(delta.text for delta in deltas) == deltas[-1].reply.text


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"a": ' * 5_000, '{"a": NaN}', '{"a": 1e999}', "[1]", "{"])
def test_arguments_that_are_no_json_cost_no_call(arguments: str) -> None:
    pieces: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "add"}},
        {"type": "content_block_delta", "index": 0, "delta": {"partial_json": arguments}},
        {"type": "message_stop"},
    ]
    events = Events()
    for piece in pieces:
        events.add(piece)
    whole = events.whole()
    assert whole and whole["content"][0]["input"] == {RAW: arguments}
