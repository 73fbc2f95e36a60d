"""Valid transcripts, generated: as wire requests of each shape, and as canonical messages.

Everything comes from one plan of a conversation, told in five dialects. Every transcript ends on the user or on tool
results, so that it is a valid request for every provider.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import strategies as st

from recollect.frozen import freeze_dict
from recollect.types import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

SHAPES = ("openai", "openai-responses", "anthropic", "bedrock", "gemini")

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
URL = "https://example.org/cat.png"
_POOL = (
    "hello there",
    "مرحبا بالعالم \u202bRTL\u202c",
    "e\u0301\u0323 combining",
    "nul \x00 inside",
    "👩‍👩‍👧 family 🏴‍☠️",
    "日本語のテキスト",
    "tab\tnew\nline \\ \"quoted\" 'single'",
    '{"looks": "like json"}',
    "x" * 400,
)
said = st.one_of(st.sampled_from(_POOL), st.text(min_size=1, max_size=12).filter(str.strip))
anything = st.one_of(said, st.sampled_from(("", " ", '{"a": [1, 2.5, null]}')))
_ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"q": "é \x00"},
    {"n": 1, "deep": {"a": [1, 2.5, None, True]}},
    {"b": 2, "a": 1},
]
_SIGNATURES = ("EqQBCkYIBRgCKkDs+/=", "c2lnbmF0dXJl", "Aç€-not-base64")
_FLAGS = 1 << 10
"""Below it, a number's bits say yes or no; what is above chooses. A draw costs more than most of what is tested."""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool
    id: str = ""


@dataclass(frozen=True)
class Step:
    calls: tuple[Call, ...]
    text: str | None
    thought: str | None
    beside: str | None
    bits: int

    @property
    def signature(self) -> str:
        return _SIGNATURES[self.bits // _FLAGS]


@dataclass(frozen=True)
class Turn:
    user: tuple[str, ...]
    steps: tuple[Step, ...]
    answer: str
    bits: int

    @property
    def picture(self) -> int:
        return self.bits // _FLAGS


@dataclass(frozen=True)
class Plan:
    system: str | None
    turns: tuple[Turn, ...]
    bits: int


_kinds = st.sampled_from([*product(("search", "read_file", "run"), _ARGUMENTS, (False, True))])
_calls = st.builds(lambda kind, result: Call(kind[0], kind[1], result, kind[2]), _kinds, anything)
_steps = st.builds(
    Step,
    st.lists(_calls, min_size=1, max_size=3).map(tuple),
    st.sampled_from((*_POOL, *[None] * 4)),
    st.sampled_from((*_POOL, "", " ", *[None] * 4)),
    st.sampled_from((*_POOL, *[None] * 4)),
    st.integers(0, len(_SIGNATURES) * _FLAGS - 1),
)
_turns = st.builds(
    Turn,
    st.lists(said, min_size=1, max_size=2).map(tuple),
    st.lists(_steps, max_size=2).map(tuple),
    said,
    st.integers(0, 6 * _FLAGS - 1),
)
plans = st.builds(
    Plan, st.none() | said, st.lists(_turns, min_size=1, max_size=6).map(tuple), st.integers(0, _FLAGS - 1)
)


def _numbered(step: Step, start: int) -> list[Call]:
    return [Call(c.name, c.arguments, c.result, c.failed, f"call-{start + i}") for i, c in enumerate(step.calls)]


class _Dialect:
    """Tells a plan as a list of wire messages."""

    def __init__(self) -> None:
        self.out: list[Any] = []
        self.calls = 0
        self.cached = 0

    def tell(self, plan: Plan) -> list[Any]:
        for i, turn in enumerate(plan.turns):
            self.user(turn)
            for step in turn.steps:
                calls = _numbered(step, self.calls)
                self.calls += len(calls)
                self.step(step, calls)
            if i < len(plan.turns) - 1:
                self.answer(turn)
        return self.out

    def user(self, turn: Turn) -> None: ...
    def step(self, step: Step, calls: list[Call]) -> None: ...
    def answer(self, turn: Turn) -> None: ...


class _OpenAI(_Dialect):
    def user(self, turn: Turn) -> None:
        content: Any = [{"type": "text", "text": text} for text in turn.user]
        if turn.picture == 1:
            content.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}})
        elif turn.picture == 2:
            content.append({"type": "image_url", "image_url": {"url": URL}})
        elif turn.picture == 3:
            content.append({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})
        elif len(content) == 1 and turn.bits & 1:
            content = turn.user[0]
        message: dict[str, Any] = {"role": "user", "content": content}
        if turn.bits & 2:
            message["name"] = "ada"
        if turn.bits & 4:
            message["timestamp"] = "2025-12-08T22:41:05.306Z"
        self.out.append(message)

    def step(self, step: Step, calls: list[Call]) -> None:
        message: dict[str, Any] = {"role": "assistant"}
        if step.text is not None:
            message["content"] = [{"type": "text", "text": step.text}] if step.bits & 1 else step.text
        elif step.bits & 2:
            message["content"] = "" if step.bits & 4 else None
        if step.thought is not None:
            message["reasoning" if step.bits & 8 else "reasoning_content"] = step.thought
        if step.bits & 16:
            message["refusal"] = None
        if step.bits & 32 and len(calls) == 1:
            message["function_call"] = {"name": calls[0].name, "arguments": json.dumps(calls[0].arguments)}
        else:
            message["tool_calls"] = [self._call(call, step.bits & 64) for call in calls]
        self.out.append(message)
        self.out.extend(self._result(call, step.bits, "function_call" in message) for call in calls)

    def _call(self, call: Call, flat: int) -> dict[str, Any]:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        return {"id": call.id, **function} if flat else {"id": call.id, "type": "function", "function": function}

    def _result(self, call: Call, bits: int, legacy: bool) -> dict[str, Any]:
        if legacy:
            return {"role": "function", "name": call.name, "content": call.result}
        content: Any = [{"type": "text", "text": call.result}] if bits & 128 else call.result
        message = {"role": "tool", "content": content, "tool_call_id": call.id}
        return {**message, "name": call.name} if bits & 256 else message

    def answer(self, turn: Turn) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": turn.answer}
        if turn.bits & 8:
            message |= {"annotations": [], "refusal": None}
        self.out.append(message)


class _Responses(_Dialect):
    def user(self, turn: Turn) -> None:
        content: Any = [{"type": "input_text", "text": text} for text in turn.user]
        if turn.picture in (1, 2):
            url = URL if turn.picture == 2 else f"data:image/png;base64,{PNG}"
            content.append({"type": "input_image", "image_url": url, "detail": "auto"})
        elif turn.picture == 3:
            content.append({"type": "input_file", "file_id": "file-1"})
        elif len(content) == 1 and turn.bits & 1:
            content = turn.user[0]
        message = {"role": "user", "content": content}
        self.out.append({"type": "message", **message} if turn.bits & 2 else message)

    def step(self, step: Step, calls: list[Call]) -> None:
        if step.thought is not None:
            summary = [{"type": "summary_text", "text": text} for text in (step.thought, "two")[: 1 + (step.bits & 1)]]
            item = {"id": f"rs_{calls[0].id}", "type": "reasoning", "summary": summary if step.thought else []}
            self.out.append({**item, "encrypted_content": step.signature} if step.bits & 2 else item)
        if step.text is not None:
            part = {"type": "output_text", "text": step.text, "annotations": []}
            message = {"id": f"msg_{calls[0].id}", "type": "message", "status": "completed", "role": "assistant"}
            self.out.append(
                {**message, "content": [part]} if step.bits & 4 else {"role": "assistant", "content": step.text}
            )
        if step.bits & 8:
            self.out.append({"type": "web_search_call", "id": "ws_1", "status": "completed"})
        for call in calls:
            item = {"type": "function_call", "call_id": call.id, "name": call.name}
            item["arguments"] = json.dumps(call.arguments)
            self.out.append({"id": f"fc_{call.id}", "status": "completed", **item} if step.bits & 16 else item)
        for call in calls:
            output: Any = [{"type": "input_text", "text": call.result}] if step.bits & 32 else call.result
            self.out.append({"type": "function_call_output", "call_id": call.id, "output": output})

    def answer(self, turn: Turn) -> None:
        self.out.append({"role": "assistant", "content": turn.answer})


class _Anthropic(_Dialect):
    def _cache(self, block: dict[str, Any], wanted: int) -> dict[str, Any]:
        if not wanted or self.cached == 3:
            return block
        self.cached += 1
        return {**block, "cache_control": {"type": "ephemeral"}}

    def user(self, turn: Turn) -> None:
        content: Any = [self._cache({"type": "text", "text": text}, turn.bits & 2) for text in turn.user]
        if turn.picture == 1:
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            content.append({"type": "image", "source": source})
        elif turn.picture == 2:
            content.append({"type": "image", "source": {"type": "url", "url": URL}})
        elif turn.picture == 3:
            content.append({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}})
        elif turn.bits & 1 and len(content) == 1:
            content = turn.user[0]
        self._append(content)

    def _append(self, content: Any) -> None:
        self.out.append({"role": "user", "content": content})

    def step(self, step: Step, calls: list[Call]) -> None:
        blocks: list[Any] = []
        if step.thought is not None and step.bits & 1:
            blocks.append({"type": "redacted_thinking", "data": step.signature})
        elif step.thought is not None:
            blocks.append({"type": "thinking", "thinking": step.thought, "signature": step.signature})
        if step.text is not None:
            blocks.append({"type": "text", "text": step.text})
        for call in calls:
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            blocks.append({**block, "caller": {"type": "direct"}} if step.bits & 2 else block)
        self.out.append({"role": "assistant", "content": blocks})
        results: list[Any] = [self._result(call, step.bits) for call in calls]
        if step.beside is not None:
            results.append({"type": "text", "text": step.beside})
        self._append(results)

    def _result(self, call: Call, bits: int) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
        if call.failed or bits & 4:
            block["is_error"] = call.failed
        if call.result and bits & 8:
            block["content"] = [{"type": "text", "text": call.result}]
            if bits & 16:
                source = {"type": "base64", "media_type": "image/png", "data": PNG}
                block["content"].append({"type": "image", "source": source})
        elif call.result or bits & 32:
            block["content"] = call.result
        return self._cache(block, bits & 64)

    def answer(self, turn: Turn) -> None:
        text = {"type": "text", "text": turn.answer}
        self.out.append({"role": "assistant", "content": [text] if turn.bits & 8 else turn.answer})


class _Bedrock(_Dialect):
    def user(self, turn: Turn) -> None:
        content: list[Any] = [{"text": text} for text in turn.user]
        if turn.picture in (1, 2):
            data: Any = PNG if turn.picture == 1 else base64.b64decode(PNG)
            content.append({"image": {"format": "png", "source": {"bytes": data}}})
        elif turn.picture == 3:
            content.append({"cachePoint": {"type": "default"}})
        elif turn.picture == 4:
            place = {"uri": "s3://bucket/cat.png", "bucketOwner": "111122223333"}
            content.append({"image": {"format": "png", "source": {"s3Location": place}}})
        self._user(content)

    def _user(self, content: list[Any]) -> None:
        if self.out and self.out[-1]["role"] == "user":
            self.out[-1]["content"].extend(content)
        else:
            self.out.append({"role": "user", "content": content})

    def step(self, step: Step, calls: list[Call]) -> None:
        blocks: list[Any] = []
        if step.thought is not None and step.bits & 1:
            blocks.append({"reasoningContent": {"redactedContent": step.signature}})
        elif step.thought is not None:
            reasoning = {"text": step.thought, "signature": step.signature}
            blocks.append({"reasoningContent": {"reasoningText": reasoning}})
        if step.text is not None:
            blocks.append({"text": step.text})
        for call in calls:
            blocks.append({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}})
        self.out.append({"role": "assistant", "content": blocks})
        results: list[Any] = [{"toolResult": self._result(call, step.bits)} for call in calls]
        self._user([*results, {"text": step.beside}] if step.beside is not None else results)

    def _result(self, call: Call, bits: int) -> dict[str, Any]:
        content: list[Any] = [{"text": call.result}] if call.result or call.failed else []
        if bits & 2:
            content = [{"json": {"result": call.result, "n": [1, 2.5]}}]
        result: dict[str, Any] = {"toolUseId": call.id, "content": content}
        if call.failed or bits & 4:
            result["status"] = "error" if call.failed else "success"
        return result

    def answer(self, turn: Turn) -> None:
        self.out.append({"role": "assistant", "content": [{"text": turn.answer}]})


class _Gemini(_Dialect):
    def user(self, turn: Turn) -> None:
        parts: list[Any] = [{"text": text} for text in turn.user]
        if turn.picture == 1:
            parts.append({"inlineData": {"mimeType": "image/png", "data": PNG}})
        elif turn.picture == 2:
            parts.append({"fileData": {"mimeType": "image/png", "fileUri": URL}})
        elif turn.picture == 3:
            parts.append({"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}})
        elif turn.picture == 4:
            parts.append({"inline_data": {"mime_type": "image/png", "data": PNG}})
        self.out.append({"parts": parts} if turn.bits & 1 else {"role": "user", "parts": parts})

    def step(self, step: Step, calls: list[Call]) -> None:
        parts: list[Any] = []
        if step.thought is not None:
            parts.append({"text": step.thought, "thought": True})
            if step.bits & 1:
                parts[-1]["thoughtSignature"] = step.signature
        if step.text is not None:
            parts.append(
                {"text": step.text, "thoughtSignature": step.signature} if step.bits & 2 else {"text": step.text}
            )
        ids = step.bits & 4
        for call in calls:
            function = {"name": call.name, "args": call.arguments, **({"id": call.id} if ids else {})}
            parts.append({"function_call" if step.bits & 8 else "functionCall": function})
        if step.bits & 16:
            parts[-1]["thoughtSignature"] = step.signature
        self.out.append({"role": "model", "parts": parts})
        answers: list[Any] = [self._answer(call, ids, step.bits) for call in calls]
        answers += [{"text": step.beside}] if step.beside is not None else []
        self.out.append({"role": "function" if step.bits & 256 else "user", "parts": answers})

    def _answer(self, call: Call, ids: int, bits: int) -> dict[str, Any]:
        response: dict[str, Any] = {"error" if call.failed else "output": call.result}
        if bits & 32:
            response = {"result": call.result} if bits & 64 else {"rows": [call.result, 1], "n": 2}
        answer = {"name": call.name, "response": response, **({"id": call.id} if ids else {})}
        return {"function_response" if bits & 128 else "functionResponse": answer}

    def answer(self, turn: Turn) -> None:
        self.out.append({"role": "model", "parts": [{"text": turn.answer}]})


def _request(plan: Plan, shape: str) -> dict[str, Any]:
    odd = plan.bits & 1
    if shape == "openai":
        head = [{"role": "developer" if odd else "system", "content": plan.system}] if plan.system else []
        return {"messages": head + _OpenAI().tell(plan)}
    if shape == "openai-responses":
        head = [{"role": "developer", "content": plan.system}] if plan.system and not odd else []
        request = {"input": head + _Responses().tell(plan)}
        return {"instructions": plan.system, **request} if plan.system and odd else request
    if shape == "gemini":
        contents = _Gemini().tell(plan)
        instruction = (
            {"role": "system", "parts": [{"text": plan.system}]} if odd else {"parts": [{"text": plan.system}]}
        )
        return {"systemInstruction": instruction, "contents": contents} if plan.system else {"contents": contents}
    dialect = _Anthropic() if shape == "anthropic" else _Bedrock()
    system: Any = [{"text": plan.system}]
    if shape == "anthropic":
        cached = {"type": "text", "text": plan.system, "cache_control": {"type": "ephemeral"}}
        system = [cached] if odd else plan.system
    messages = dialect.tell(plan)
    return {"system": system, "messages": messages} if plan.system else {"messages": messages}


def wire_transcripts(shape: str) -> st.SearchStrategy[dict[str, Any]]:
    """Valid requests of one shape: the fields that hold the conversation."""
    return plans.map(lambda plan: _request(plan, shape))


def _messages(plan: Plan) -> list[Message]:
    out = [Message("system", plan.system)] if plan.system else []
    number = 0
    for i, turn in enumerate(plan.turns):
        words: list[Part] = [Text(text) for text in turn.user]
        if turn.picture == 1:
            words.append(Image(data=PNG, media_type="image/png"))
        pinned = freeze_dict({"pinned": True}, "metadata") if turn.bits & 1 else freeze_dict(None, "metadata")
        content = turn.user[0] if len(words) == 1 else tuple(words)
        out.append(Message("user", content, metadata=pinned))
        for step in turn.steps:
            calls = _numbered(step, number)
            number += len(calls)
            out += _step(step, calls)
        if i < len(plan.turns) - 1:
            out.append(Message("assistant", turn.answer))
    return out


def _step(step: Step, calls: list[Call]) -> list[Message]:
    parts: list[Part] = [Thinking(step.thought, step.signature)] if step.thought is not None else []
    parts += [Text(step.text)] if step.text is not None else []
    parts += [ToolCall(call.id, call.name, json.dumps(call.arguments)) for call in calls]
    results = [ToolResult(call.id, call.result, call.failed) for call in calls]
    if step.bits & 1:
        return [Message("assistant", tuple(parts)), Message("tool", tuple(results))]
    return [Message("assistant", tuple(parts)), *(Message("tool", (result,)) for result in results)]


def transcripts() -> st.SearchStrategy[list[Message]]:
    """Valid transcripts of no particular shape; some messages are pinned."""
    return plans.map(_messages)
