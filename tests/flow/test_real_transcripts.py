"""Real transcripts, to and from the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.flow.render import parse, render
from recollect.flow.validate import validate
from tests.shared import shared_path
from tests.strategies import SHAPES


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
