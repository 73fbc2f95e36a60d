"""Anthropic's Messages, with cache breakpoints where a prompt stays the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from recollect.flow.fence import OPEN
from recollect.flow.render import MOST_MARKS, Rendered, keep_marks, render
from recollect.flow.shapes.wire import RAW, json_object
from recollect.frozen import thaw
from recollect.llm.dialect import Ask, count, part, reply_of, shown, text
from recollect.llm.model import Delta, Reply, Usage
from recollect.llm.openai import ANSWER
from recollect.types import Message

MAX_TOKENS: Final = 4_096
"""`max_tokens` if the caller names none: this wire format demands a number."""
_MARK: Final = {"type": "ephemeral"}
_MARKABLE: Final = frozenset({"text", "image", "tool_use", "tool_result", "document"})


class Anthropic:
    """The wire format."""

    path: ClassVar[str] = "/v1/messages"
    lines: ClassVar[Literal["events", "json"]] = "events"

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request, with at most four cache breakpoints."""
        wire = render(ask.messages, "anthropic")
        tools = [_tool(tool) for tool in ask.tools]
        mark_stable(wire, tools, ask.messages)
        keep_marks(wire, MOST_MARKS - sum("cache_control" in tool for tool in tools))
        body: dict[str, Any] = {"model": ask.model, "max_tokens": ask.max_tokens or MAX_TOKENS, **wire.request()}
        if ask.schema is not None:
            tools.append({"name": ANSWER, "description": "Give the answer.", "input_schema": thaw(ask.schema)})
            body["tool_choice"] = {"type": "tool", "name": ANSWER}
        if tools:
            body["tools"] = tools
        return {**body, "stream": True} if ask.stream else body

    def read(self, data: Mapping[str, Any], ask: Ask) -> Reply:
        """The message; the answer to a schema comes as a tool call and is handed on as its JSON."""
        content = data.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        finish = text(data.get("stop_reason"))
        if ask.schema is not None and (answer := _answer(blocks)):
            blocks, finish = [{"type": "text", "text": answer}], finish.replace("tool_use", "end_turn")
        wire = {"role": "assistant", "content": [block for block in blocks if block.get("text") != ""]}
        return reply_of(wire, "anthropic", finish, _usage(part(data, "usage")), data)

    def pieces(self, ask: Ask) -> Events:
        """Events."""
        return Events(ask.schema is not None)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in OpenAI's form as Anthropic takes it; one in Anthropic's own form stays."""
    function = part(tool, "function")
    if not function:
        return dict(thaw(tool))
    out = {"name": function.get("name"), "input_schema": thaw(function.get("parameters") or {"type": "object"})}
    return {**out, "description": function["description"]} if function.get("description") else out


def _answer(blocks: Sequence[Mapping[str, Any]]) -> str | None:
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("name") == ANSWER:
            given = block.get("input")
            return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return None


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(count(usage.get("input_tokens")) + read + written, count(usage.get("output_tokens")), read, written)


def mark_stable(wire: Rendered, tools: list[dict[str, Any]], messages: Sequence[Message]) -> None:
    """Sets cache breakpoints where the next request will most likely still be the same.

    They stand behind the system text (or the tools), behind what came before this turn and before the turn in front
    of it, and behind the newest tool results: what memory recalled for one question is not worth keeping.
    """
    if isinstance(wire.system, str) and wire.system:
        wire.system = [{"type": "text", "text": wire.system}]
    if wire.system:
        wire.system[-1]["cache_control"] = _MARK
    elif tools:
        tools[-1]["cache_control"] = _MARK
    for place in {_place(messages[:stable]) for stable in _stable(messages)}:
        if place is not None:
            _mark(wire, *place)


def _stable(messages: Sequence[Message]) -> Iterator[int]:
    """How many messages are the same in the next request: those before the last two turns, and all amid tool calls."""
    starts = [index for index, message in enumerate(messages) if message.role == "user"]
    yield from starts[-2:]
    if messages and (messages[-1].role == "tool" or not messages[-1].text.startswith(OPEN)):
        yield len(messages)


def _place(messages: Sequence[Message]) -> tuple[int, int] | None:
    """Where the last of these messages ends on the wire."""
    wire = render([message for message in messages if message.role != "system"], "anthropic")
    if not wire:
        return None
    content = wire[-1]["content"]
    return len(wire) - 1, len(content) - 1 if isinstance(content, list) else 0


def _mark(wire: Rendered, message: int, block: int) -> None:
    content = wire[message]["content"]
    if isinstance(content, str):
        content = wire[message]["content"] = [{"type": "text", "text": content}]
    if content[block].get("type") in _MARKABLE and content[block].get("text") != "":
        content[block] = {**content[block], "cache_control": _MARK}


@dataclass(slots=True)
class Events:
    """Puts the events of a stream together."""

    structured: bool = False
    head: dict[str, Any] = field(default_factory=dict)
    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)
    inputs: dict[int, list[str]] = field(default_factory=dict)
    ended: bool = False

    def add(self, piece: Mapping[str, Any]) -> Delta | None:
        """Take one event; what of it can be shown."""
        match piece.get("type"):
            case "message_start":
                self.head = part(piece, "message")
            case "content_block_start":
                self.blocks[count(piece.get("index"))] = part(piece, "content_block")
            case "content_block_delta":
                return self._delta(count(piece.get("index")), part(piece, "delta"))
            case "message_delta":
                self.head |= {key: value for key, value in part(piece, "delta").items() if value is not None}
                self.head["usage"] = part(self.head, "usage") | part(piece, "usage")
            case "message_stop":
                self.ended = True
        return None

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Delta | None:
        block = self.blocks.setdefault(index, {"type": "text", "text": ""})
        for key in ("text", "thinking", "signature"):
            if said := text(delta.get(key)):
                block[key] = text(block.get(key)) + said
        given = text(delta.get("partial_json"))
        if given:
            self.inputs.setdefault(index, []).append(given)
        return shown(text(delta.get("text")) or (given if self.structured else ""), text(delta.get("thinking")))

    def done(self) -> None:
        """There is no end mark but the last event."""

    def whole(self) -> Mapping[str, Any] | None:
        """The message, once it has ended."""
        if not self.ended:
            return None
        content = [self._block(index) for index in sorted(self.blocks)]
        return {**self.head, "content": content}

    def _block(self, index: int) -> dict[str, Any]:
        if index not in self.inputs:
            return self.blocks[index]
        given = "".join(self.inputs[index])
        found = json_object(given)
        broken = given if self.structured else {RAW: given}
        return {**self.blocks[index], "input": broken if found is None else found}
