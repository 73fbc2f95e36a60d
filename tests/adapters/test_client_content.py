"""What questions and answers hold, by plain clients with a memory: blanks, and items of the provider's own tools."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from recollect import Memory, Message, ToolCall
from recollect.adapters.clients import remember
from recollect.testing import Provider
from tests.adapters.connected import connect
from tests.contexts import said

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/cat.png"}}


@pytest.mark.parametrize(
    ("blank", "sent"),
    [
        ("", "(empty)"),
        ([], "(empty)"),
        ([{"type": "text", "text": " "}], "(empty)"),
        ([PICTURE, {"type": "text", "text": ""}], [PICTURE]),
    ],
)
def test_after_a_blank_that_anthropic_refuses_the_conversation_goes_on(memory: Memory, blank: Any, sent: Any) -> None:
    with Provider("anthropic", ["Hello!", "Fine."]) as provider, connect(provider, anthropic.Anthropic) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        for content in (blank, "How are you?"):
            client.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": content}])
        assert [wire["content"] for wire in provider.requests[-1].body["messages"]][::2] == [sent, "How are you?"]
    assert [text.strip() for _, text in said(memory)] == ["", "Hello!", "How are you?", "Fine."]


def test_a_slow_tool_may_answer_together_with_the_next_one(memory: Memory) -> None:
    calls = [Message("assistant", (ToolCall(id, "look"),)) for id in ("slow", "quick")]
    results = [{"type": "tool_result", "tool_use_id": id, "content": f"{id} rain"} for id in ("slow", "quick")]
    with Provider("anthropic", [*calls, "It rains."]) as provider, connect(provider, anthropic.Anthropic) as plain:
        client: Any = remember(plain, memory, user="ada", session="trip")
        for content in ("Where does it rain?", "And now?", results):
            client.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": content}])
        wires = provider.requests[-1].body["messages"]
    assert [block["type"] for wire in wires[2:] for block in wire["content"]] == ["tool_use", "tool_result"] * 2
    context = memory.session("trip", user="ada").context("Thanks.")
    assert context.left_out == 0


def test_an_item_is_sent_back_with_the_fields_that_are_null(memory: Memory) -> None:
    """OpenAI demands `outputs` of a code interpreter's call, and says null unless they are asked for."""
    ran = {"id": "ci_1", "type": "code_interpreter_call", "code": "1 + 1", "container_id": "c", "outputs": None}
    requests: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        whole = {"id": "resp", "object": "response", "created_at": 0, "model": "gpt", "output": [ran]}
        return httpx2.Response(200, json={**whole, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []})

    http_client = httpx2.Client(transport=httpx2.MockTransport(answer))
    with openai.OpenAI(base_url="http://model.test", api_key="none", http_client=http_client) as plain:
        client = remember(plain, memory, user="ada", session="trip")
        for question in ("What is 1 + 1?", "And 1 + 2?"):
            client.responses.create(model="gpt", input=question)
    assert requests[1]["input"][1] == ran
