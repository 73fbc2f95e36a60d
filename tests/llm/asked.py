"""What most tests ask of a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from recollect import Message
from recollect.llm import Delta, Reply

STYLES = ("openai", "anthropic", "ollama")
ASKED = [Message("system", "Be brief."), Message("user", "What is the weather in Oslo?")]
WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
LONG = "word " * 1_500


def last(deltas: Iterator[Delta]) -> Reply:
    reply = list(deltas)[-1].reply
    assert reply
    return reply
