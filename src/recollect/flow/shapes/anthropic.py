"""Anthropic Messages: user and assistant turns of content blocks, the system text beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.flow.shapes.wire import (
    TURNS,
    Fault,
    OpenCalls,
    Wire,
    Word,
    arguments_object,
    each,
    field,
    lay_out,
    leftover,
    maybe,
    media_type,
    nested,
    opaque,
    repeated,
    role_of,
    to_json,
    unanswered,
    with_results,
)
from recollect.frozen import thaw
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

NAME: Final = "anthropic"
_SOURCES: Final[dict[Any, tuple[str, ...]]] = {"url": ("url",), "base64": ("media_type", "data")}


def read(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    """One message as a Message; a user message that brings tool results gets the role tool."""
    role = role_of(wire, TURNS, where)
    content = _read_content(wire.get("content"), f"{where}.content")
    extra = leftover(wire, {"role": True, "content": True}, where)
    return Message(with_results(role, content), content, shape=NAME, extra=extra)


def _read_content(raw: Any, where: str) -> str | tuple[Part, ...]:
    """Text or blocks; the system field is the same."""
    return raw if isinstance(raw, str) else each(raw, where, _read_block)


def _read_block(wire: Wire, where: str) -> Part:
    kind = wire.get("type")
    if kind == "text":
        return Text(field(wire, "text", str, where), leftover(wire, {"type": True, "text": True}, where))
    if kind == "tool_use":
        extra = leftover(wire, {"type": True, "id": True, "name": True, "input": True}, where)
        arguments = to_json(field(wire, "input", dict, where))
        return ToolCall(field(wire, "id", str, where), field(wire, "name", str, where), arguments, extra)
    if kind == "tool_result":
        return _read_result(wire, where)
    if kind in ("thinking", "redacted_thinking"):
        return _read_thinking(wire, where)
    if kind == "image" and isinstance(wire.get("source"), dict):
        return _read_image(wire, wire["source"], where)
    return opaque(NAME, wire, where)


def _read_result(wire: Mapping[str, Any], where: str) -> ToolResult:
    failed = bool(maybe(wire, "is_error", bool, where))
    raw = wire.get("content")
    content = "" if raw is None else _inner(raw, f"{where}.content")
    placed = {"type": True, "tool_use_id": True, "content": True, "is_error": failed}
    return ToolResult(field(wire, "tool_use_id", str, where), content, failed, extra=leftover(wire, placed, where))


def _inner(raw: Any, where: str) -> str | tuple[Word, ...]:
    content = _read_content(raw, where)
    if isinstance(content, str):
        return content
    blocks: list[Word] = []
    for i, part in enumerate(content):
        if not isinstance(part, (Text, Image, Opaque)):
            raise InvalidTranscript("expected text, an image or a document in a tool result", f"{where}[{i}]")
        blocks.append(part)
    return tuple(blocks)


def _read_thinking(wire: Mapping[str, Any], where: str) -> Thinking:
    if wire["type"] == "redacted_thinking":
        extra = leftover(wire, {"type": True, "data": True}, where)
        return Thinking(redacted=field(wire, "data", str, where), extra=extra)
    signature = maybe(wire, "signature", str, where)
    placed = {"type": True, "thinking": True, "signature": bool(signature)}
    return Thinking(field(wire, "thinking", str, where), signature, extra=leftover(wire, placed, where))


def _read_image(wire: Mapping[str, Any], source: Mapping[str, Any], where: str) -> Part:
    keys = _SOURCES.get(str(source.get("type")))
    if keys is None:
        return opaque(NAME, wire, where)
    url, kind, data = (
        field(source, key, str, f"{where}.source") if key in keys else None for key in ("url", "media_type", "data")
    )
    inside = leftover(source, {"type": True, **dict.fromkeys(keys, True)}, where)
    return Image(url, data, kind, extra=leftover(wire, {"type": True, "source": True}, where, {"source": inside}))


def write(message: Message) -> list[Wire]:
    """One message."""
    role = "assistant" if message.role == "assistant" else "user"
    return [lay_out({"role": role, "content": _write_content(message.content)}, message.extra)]


def _write_content(content: str | Sequence[Part]) -> Any:
    """Text, or blocks."""
    return content if isinstance(content, str) else [_write_block(part) for part in content]


def _write_block(part: Part) -> Wire:
    match part:
        case Text():
            return lay_out({"type": "text", "text": part.text}, part.extra)
        case ToolCall():
            fields = {"id": part.id, "name": part.name, "input": arguments_object(part)}
            return lay_out({"type": "tool_use", **fields}, part.extra)
        case ToolResult():
            return _write_result(part)
        case Thinking():
            return _write_thinking(part)
        case Image():
            return lay_out({"type": "image", "source": _source(part)}, part.extra)
        case Opaque():
            return dict(thaw(part.data))


def _write_result(result: ToolResult) -> Wire:
    content = _write_content(result.content)
    fields: Wire = {"tool_use_id": result.call_id, "content": content, "is_error": result.is_error}
    return lay_out({"type": "tool_result", **fields}, result.extra, ["is_error"])


def _write_thinking(part: Thinking) -> Wire:
    if part.redacted is not None:
        return lay_out({"type": "redacted_thinking", "data": part.redacted}, part.extra)
    fields = {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return lay_out(fields, part.extra, ["signature"])


def _source(image: Image) -> Wire:
    inside = nested(image.extra, "source")
    if image.url is not None:
        return lay_out({"type": "url", "url": image.url}, inside)
    return lay_out({"type": "base64", "media_type": media_type(image), "data": image.data or ""}, inside)


def read_system(raw: Any, where: str) -> Message:
    """The system field as a Message."""
    return Message("system", _read_content(raw, where), shape=NAME)


def write_system(messages: list[Message]) -> Any:
    """The system field of all system messages: the text of the only one, or blocks."""
    if len(messages) == 1:
        return _write_content(messages[0].content)
    return [_write_block(part) for message in messages for part in message.parts]


_NO_ANSWER: Final = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_NO_CALL: Final = (
    "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
_TWICE: Final = (
    "messages.{}.content.{}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {}"
)
_NOTHING_SAID: Final = (
    "messages.{}: all messages must have non-empty content except for the optional final assistant message"
)
_ENDS_IN_THOUGHT: Final = "messages.{}: The final block in an assistant message cannot be `thinking`."
SURROGATE: Final = "The request body is not valid JSON: no low surrogate in string"


def check(wire: list[Wire], system: Any) -> Iterator[Fault]:
    """What Anthropic would refuse in these messages."""
    if not wire:
        yield Fault(0, "messages", "there is no message", "messages: at least one message is required")
    elif wire[0]["role"] != "user":
        error = 'messages: first message must use the "user" role'
        yield Fault(0, "messages[0].role", "the conversation does not start with the user", error)
    for i, message in enumerate(wire):
        yield from _check_blocks(i, message, last=i == len(wire) - 1)
        yield from _check_answers(i, message, _blocks(wire[i + 1]) if i + 1 < len(wire) else [])
        yield from _check_calls(i, message, _blocks(wire[i - 1]) if i else [])
    yield from _check_ids(wire)
    yield from _check_cache(wire, system)


def _blocks(message: Wire) -> list[Wire]:
    return message["content"] if isinstance(message["content"], list) else []


def _ids(blocks: list[Wire], kind: str, key: str) -> list[str]:
    return [block[key] for block in blocks if block.get("type") == kind]


def _check_blocks(i: int, message: Wire, last: bool) -> Iterator[Fault]:
    if not message["content"] and not (last and message["role"] == "assistant"):
        yield Fault(i, f"messages[{i}].content", "the message says nothing", _NOTHING_SAID.format(i))
    if [block for block in _blocks(message)[-1:] if block.get("type") == "thinking"]:
        yield Fault(i, f"messages[{i}].content", "nothing follows what was thought", _ENDS_IN_THOUGHT.format(i))
    for j, block in enumerate(_blocks(message)):
        where = f"messages[{i}].content[{j}]"
        if block.get("type") == "text" and not block["text"].strip():
            rule = "contain non-whitespace text" if block["text"] else "be non-empty"
            yield Fault(i, f"{where}.text", "the text is blank", f"messages: text content blocks must {rule}")
        if block.get("type") == "thinking" and not block.get("signature"):
            error = f"messages.{i}.content.{j}.thinking.signature: Field required"
            yield Fault(i, f"{where}.signature", "the thinking has lost its signature", error)


def _check_answers(i: int, message: Wire, following: list[Wire]) -> Iterator[Fault]:
    made = _ids(_blocks(message), "tool_use", "id") if message["role"] == "assistant" else []
    first = 0
    while first < len(following) and following[first].get("type") == "tool_result":
        first += 1
    if lost := ", ".join(unanswered(made, _ids(following[:first], "tool_result", "tool_use_id"))):
        problem = f"no result comes first in the next message for {lost}"
        yield Fault(i, f"messages[{i}].content", problem, _NO_ANSWER.format(i, lost))


def _check_calls(i: int, message: Wire, before: list[Wire]) -> Iterator[Fault]:
    made, seen = _ids(before, "tool_use", "id"), set[str]()
    for j, block in enumerate(_blocks(message)):
        if block.get("type") != "tool_result":
            continue
        call, where = block["tool_use_id"], f"messages[{i}].content[{j}].tool_use_id"
        if call not in made:
            problem = f"no call {call} is in the message before"
            yield Fault(i, where, problem, _NO_CALL.format(i, j, call))
        elif call in seen:
            yield Fault(i, where, f"{call} is answered more than once", _TWICE.format(i, j, call))
        seen.add(call)


def _check_cache(wire: list[Wire], system: Any) -> Iterator[Fault]:
    marked = [0] * len([block for block in system or () if isinstance(block, dict) and block.get("cache_control")])
    marked += [i for i, message in enumerate(wire) for block in _blocks(message) if block.get("cache_control")]
    if len(marked) > 4:
        error = f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        yield Fault(marked[4], "messages", f"{len(marked)} cache breakpoints are set", error)


def _check_ids(wire: list[Wire]) -> Iterator[Fault]:
    made = [(call, i) for i, message in enumerate(wire) for call in _ids(_blocks(message), "tool_use", "id")]
    last = dict(made)
    for call in repeated(call for call, _ in made):
        error = f"messages.{last[call]}.content: `tool_use` ids must be unique"
        yield Fault(last[call], f"messages[{last[call]}].content", f"two calls have the id {call}", error)
