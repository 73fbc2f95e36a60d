"""Answers like Anthropic's Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from recollect.flow.render import render
from recollect.testing.provider.cache import Block, PromptCache
from recollect.testing.provider.style import Style, at_least_one, pieces, read_messages
from recollect.testing.provider.values import Answer, Refused, minified
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message
from recollect.types import Message

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class Anthropic(Style):
    """Anthropic Messages: the system text beside the messages, blocks inside them, a cache by breakpoints."""

    base: ClassVar = ""
    chat: ClassVar = "/v1/messages"
    stream_type: ClassVar = "text/event-stream; charset=utf-8"

    def read(self, body: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of a request, the system text first."""
        if "max_tokens" not in body:
            raise Refused(400, "max_tokens: Field required")
        for index, tool in enumerate(body.get("tools") or ()):
            if "input_schema" not in tool and "type" not in tool:
                raise Refused(400, f"tools.{index}.custom.input_schema: Field required")
        return read_messages(body, "anthropic")

    def blocks(self, messages: tuple[Message, ...], body: Mapping[str, Any], count: TokenCounter) -> list[Block]:
        """Tools, the system text, then block by block."""
        out = [_block("tool", tool, count(minified(tool))) for tool in body.get("tools") or ()]
        out += [_block("system", raw, count(str(raw.get("text", "")))) for raw in _raw_blocks(body.get("system"))]
        spoken = [message for message in messages if message.role != "system"]
        for wire, message in zip(body["messages"], spoken, strict=True):
            parts = _raw_blocks(wire["content"]) or [{}]
            shares = _shares(count_message(message, count), parts)
            out += [_block(wire["role"], part, share) for part, share in zip(parts, shares, strict=True)]
        return [*out, Block("", REPLY_TOKENS)]

    def look_up(self, cache: PromptCache, blocks: list[Block]) -> tuple[int, int]:
        """What breakpoints mark."""
        return cache.by_breakpoints(blocks)

    def room(self, body: Mapping[str, Any]) -> int | None:
        return at_least_one(body, "max_tokens")

    def overflow(self, tokens: int, limit: int, reply: int | None) -> str | None:
        """Prompt and answer share the context."""
        if tokens > limit:
            return f"prompt is too long: {tokens} tokens > {limit} maximum"
        if tokens + (reply or 0) > limit:
            return (
                f"input length and `max_tokens` exceed context limit: {tokens} + {reply} > {limit}, "
                "decrease input length or `max_tokens` and try again"
            )
        return None

    def error(self, status: int, problem: str, code: str | None = None) -> dict[str, Any]:
        kind = code or _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": problem}}

    def body(self, answer: Answer) -> dict[str, Any]:
        said = render([answer.message], "anthropic") if answer.message and answer.message.parts else []
        content = _raw_blocks(said[-1]["content"]) if said else []
        return {**_head(answer), "content": content, "stop_reason": _STOPS[answer.finish], "usage": _usage(answer)}

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[bytes]:
        """The start, each block piece by piece, and the end."""
        start = {**_head(answer), "content": [], "stop_reason": None, "usage": _usage(answer)}
        yield _event("message_start", message=start)
        yield _event("ping")
        for index, block in enumerate(self.body(answer)["content"]):
            empty, deltas = _streamed(block)
            yield _event("content_block_start", index=index, content_block=empty)
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        delta = {"stop_reason": _STOPS[answer.finish], "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=answer.reported({"output_tokens": answer.usage.completion}))
        yield _event("message_stop")

    def error_event(self, status: int, problem: str) -> bytes:
        return _event("error", error=self.error(status, problem)["error"])


def _head(answer: Answer) -> dict[str, Any]:
    named = {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": answer.model}
    return {**named, "stop_sequence": None}


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    counts = {
        "input_tokens": usage.prompt - usage.cached - usage.cache_written,
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.completion,
    }
    return answer.reported(counts)


def _raw_blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _block(place: str, raw: Mapping[str, Any], tokens: int) -> Block:
    plain = {key: value for key, value in raw.items() if key != "cache_control"}
    return Block(place + minified(plain), tokens, bool(raw.get("cache_control")))


def _shares(tokens: int, parts: list[dict[str, Any]]) -> list[int]:
    """A message's tokens, shared out among its blocks by their length."""
    sizes = [len(minified(part)) for part in parts]
    shares = [tokens * size // sum(sizes) for size in sizes]
    shares[-1] += tokens - sum(shares)
    return shares


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts, and what follows."""
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": piece} for piece in pieces(block["text"])
            ]
        case "tool_use":
            text = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text))]
            return {**block, "input": {}}, deltas
        case "thinking":
            thought = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            signed = [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
            return {"type": "thinking", "thinking": "", "signature": ""}, thought + signed
    return block, []
