"""Answers like OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from recollect.flow.render import render
from recollect.testing.provider.cache import Block, PromptCache
from recollect.testing.provider.style import CREATED, Style, at_least_one, pieces, read_messages
from recollect.testing.provider.values import Answer, Refused
from recollect.types import Message, Thinking

_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
    503: "service_unavailable",
}


class OpenAI(Style):
    """OpenAI chat completions, as many servers speak it."""

    base: ClassVar = "/v1"
    chat: ClassVar = "/v1/chat/completions"
    stream_type: ClassVar = "text/event-stream; charset=utf-8"

    def read(self, body: Mapping[str, Any]) -> tuple[Message, ...]:
        messages = read_messages(body, "openai")
        for tool in body.get("tools") or ():
            if not isinstance(tool, dict) or "function" not in tool:
                raise Refused(400, "Missing required parameter: 'tools[0].function'.")
        return messages

    def look_up(self, cache: PromptCache, blocks: list[Block]) -> tuple[int, int]:
        """The longest beginning seen before."""
        return cache.automatic(blocks)

    def room(self, body: Mapping[str, Any]) -> int | None:
        return at_least_one(body, "max_completion_tokens") or at_least_one(body, "max_tokens")

    def overflow(self, tokens: int, limit: int, reply: int | None) -> str | None:
        """Prompt and answer share the context."""
        says = f"This model's maximum context length is {limit} tokens. However, "
        if tokens > limit and not reply:
            says += f"your messages resulted in {tokens} tokens. Please reduce the length of the messages."
        elif tokens + (reply or 0) > limit:
            says += (
                f"you requested {tokens + (reply or 0)} tokens ({tokens} in the messages, {reply} in the completion). "
            )
            says += "Please reduce the length of the messages or completion."
        else:
            return None
        return says

    def error(self, status: int, problem: str, code: str | None = None) -> dict[str, Any]:
        kind = "invalid_request_error" if status < 429 else "server_error" if status >= 500 else "requests"
        return {"error": {"message": problem, "type": kind, "param": None, "code": code or _CODES.get(status)}}

    def body(self, answer: Answer) -> dict[str, Any]:
        said = render([answer.message], "openai")[-1] if answer.message else {}
        choice = {"index": 0, "message": {"refusal": None, **said}, "logprobs": None, "finish_reason": answer.finish}
        head = self._head(answer, "chat.completion")
        return {**head, "choices": [choice] if said else [], "usage": _usage(answer)}

    def events(self, answer: Answer, body: Mapping[str, Any]) -> Iterator[bytes]:
        """Chunks, the usage where it was asked for, and the end mark."""
        head = self._head(answer, "chat.completion.chunk")
        if answer.message:
            for delta in _deltas(answer.message):
                yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            yield _event({**head, "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"

    def error_event(self, status: int, problem: str) -> bytes:
        return _event(self.error(status, problem))

    def _head(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": CREATED, "model": answer.model}


def _event(data: Any) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    counts = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
    return answer.reported(counts)


def _deltas(message: Message) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if message.text else None}
    for part in message.parts:
        if isinstance(part, Thinking):
            yield from ({"reasoning_content": piece} for piece in pieces(part.text))
    yield from ({"content": piece} for piece in pieces(message.text))
    for index, call in enumerate(message.tool_calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        for piece in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
