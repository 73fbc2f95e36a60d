"""What is said in the tests of windows: a user's words, calls of tools and their results."""

from __future__ import annotations

from recollect.types import Message, Text, ToolCall, ToolResult


def user(text: str, **tags: bool) -> Message:
    return Message("user", text, metadata=tags)


def call(*ids: str, **tags: bool) -> Message:
    return Message("assistant", tuple(ToolCall(id, "look") for id in ids), metadata=tags)


def result(id: str, text: str = "found") -> Message:
    return Message("tool", (ToolResult(id, (Text(text),)),))
