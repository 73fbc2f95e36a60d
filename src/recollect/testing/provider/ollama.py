"""Answers like Ollama's /api/chat, which cuts a prompt that is too long without a word."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from recollect.flow.shapes.wire import OpenCalls
from recollect.testing.provider.cache import Block, PromptCache
from recollect.testing.provider.style import Style, pieces
from recollect.testing.provider.values import Answer, Refused
from recollect.tokens import TokenCounter, count_messages, count_tools
from recollect.types import Image, Message, Part, Text, ToolCall, ToolResult

DEFAULT_CONTEXT = 4_096
_DONE = {"stop": "stop", "length": "length", "tool_calls": "stop", "content_filter": "stop"}


class Ollama(Style):
    """Ollama: the oldest messages leave silently where `num_ctx` is too small."""

    base: ClassVar = ""
    chat: ClassVar = "/api/chat"
    stream_type: ClassVar = "application/x-ndjson"

    def read(self, body: Mapping[str, Any]) -> tuple[Message, ...]:
        if not isinstance(body.get("model"), str):
            raise Refused(400, "model is required")
        calls = OpenCalls()
        return tuple(_read(wire, calls) for wire in body.get("messages") or ())

    def shown(self, messages: tuple[Message, ...], body: Mapping[str, Any], count: TokenCounter) -> tuple[Message, ...]:
        """The system messages and as many of the newest others as fit, the last one in any case."""
        most = int((body.get("options") or {}).get("num_ctx") or DEFAULT_CONTEXT)
        most -= count_tools(body.get("tools") or (), count)
        kept = list(messages)
        while count_messages(kept, count) > most:
            old = next((message for message in kept[:-1] if message.role != "system"), None)
            if old is None:
                break
            kept.remove(old)
        return tuple(kept)

    def look_up(self, cache: PromptCache, blocks: list[Block]) -> tuple[int, int]:
        return 0, 0

    def streams(self, body: Mapping[str, Any]) -> bool:
        return body.get("stream") is not False

    def room(self, body: Mapping[str, Any]) -> int | None:
        """Among the options; below zero there is no end."""
        most = (body.get("options") or {}).get("num_predict")
        if most is not None and type(most) is not int:
            raise Refused(400, 'option "num_predict" must be of type integer')
        return None if most is None or most < 0 else most

    def overflow(self, tokens: int, limit: int, reply: int | None) -> str | None:
        return None

    def error(self, status: int, problem: str, code: str | None = None) -> dict[str, Any]:
        return {"error": problem}

    def body(self, answer: Answer) -> dict[str, Any]:
        """The last line of a stream, with the whole message."""
        said = answer.message
        return {**_line(answer, said.text if said else None, said), **_end(answer)}

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[bytes]:
        if answer.message:
            for piece in pieces(answer.message.text):
                yield _event(_line(answer, piece))
            yield _event(_line(answer, "", answer.message))
        yield _event({**_line(answer, None), **_end(answer)})

    def error_event(self, status: int, problem: str) -> bytes:
        return _event(self.error(status, problem))


def _line(answer: Answer, text: str | None, whole: Message | None = None) -> dict[str, Any]:
    named = {"model": answer.model, "created_at": "2023-11-14T22:13:20Z", "done": False}
    if text is None:
        return named
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if whole and whole.tool_calls:
        message["tool_calls"] = [{"function": {"name": c.name, "arguments": _object(c)}} for c in whole.tool_calls]
    return {**named, "message": message}


def _object(call: ToolCall) -> Any:
    try:
        return call.input
    except ValueError:
        return call.arguments


def _event(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def _end(answer: Answer) -> dict[str, Any]:
    counts = {"prompt_eval_count": answer.usage.prompt, "eval_count": answer.usage.completion}
    return {"done": True, "done_reason": _DONE[answer.finish], **answer.reported(counts)}


def _read(wire: Mapping[str, Any], calls: OpenCalls) -> Message:
    text = str(wire.get("content") or "")
    match wire.get("role"):
        case "tool":
            name = str(wire.get("tool_name") or wire.get("name") or "")
            return Message("tool", (ToolResult(calls.answered(name, None), text, name=name),))
        case "assistant":
            made = [call["function"] for call in wire.get("tool_calls") or ()]
            asked = [ToolCall(calls.made(f["name"], None), f["name"], json.dumps(f["arguments"])) for f in made]
            words: list[Part] = [Text(text)] if text else []
            return Message("assistant", (*words, *asked) if asked else text)
        case "user":
            images = [Image(data=data) for data in wire.get("images") or ()]
            return Message("user", (Text(text), *images) if images else text)
        case "system":
            return Message("system", text)
    raise Refused(400, f"invalid role {wire.get('role')!r}")
