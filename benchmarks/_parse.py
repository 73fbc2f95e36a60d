"""TO BE REPLACED: `from recollect import parse` takes this file's place as soon as that function is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recollect.types import Message, Part, Text, ToolCall, ToolResult


def parse(raw: Sequence[Mapping[str, Any]], shape: str) -> list[Message]:
    assert shape == "openai"
    return [_message(each) for each in raw]


def _message(raw: Mapping[str, Any]) -> Message:
    if raw["role"] == "tool":
        return Message("tool", (ToolResult(raw["tool_call_id"], raw["content"]),))
    words: tuple[Part, ...] = (Text(raw["content"]),) if raw["content"] else ()
    calls = [ToolCall(call["id"], call["name"], call["arguments"]) for call in raw.get("tool_calls", ())]
    return Message(raw["role"], (*words, *calls) if calls else raw["content"])
