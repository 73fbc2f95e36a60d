"""Gemini contents: user and model turns of parts, calls matched by name, the system text beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.flow.shapes.wire import (
    ABSENT,
    JSON,
    Fault,
    OpenCalls,
    Wire,
    arguments_object,
    around,
    each,
    expect,
    field,
    json_object,
    lay_out,
    leftover,
    maybe,
    media_type,
    nested,
    note,
    opaque,
    role_of,
    to_json,
    with_results,
    wrapped,
)
from recollect.frozen import FrozenDict, thaw
from recollect.types import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

NAME: Final = "gemini"
_ROLES: Final[dict[Any, Role]] = {"user": "user", "model": "assistant", "function": "user", None: "user"}
# Gemini reads both spellings; the one that was used is kept.
_SNAKE: Final = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "thoughtSignature": "thought_signature",
}
_AS_SNAKE: Final = "snake"
_PLAIN: Final = ("output", "error", "result")


def _spelling(fields: Mapping[str, Any], key: str) -> str:
    snake = _SNAKE.get(key, key)
    return snake if snake in fields else key


def _inside(wire: Mapping[str, Any], key: str, inside: Mapping[str, Any], where: str) -> FrozenDict:
    return around(wire, key, inside or (key in _SNAKE.values() and _AS_SNAKE), where)


def read(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    """One content as a Message; a user content that brings function responses gets the role tool."""
    role = role_of(wire, _ROLES, where)
    parts = _read_parts(wire.get("parts"), f"{where}.parts", role, calls)
    spelled = field({"role": ABSENT, **wire}, "role", str, where)
    notes = {"role": spelled if spelled in (ABSENT, "function") else None}
    extra = leftover(wire, {"role": True, "parts": True}, where, notes)
    return Message(with_results(role, parts), parts, shape=NAME, extra=extra)


def _read_parts(raw: Any, where: str, role: Role, calls: OpenCalls) -> tuple[Part, ...]:
    return each(raw, where, lambda part, at: _read_part(part, at, role, calls))


def _read_part(wire: Wire, where: str, role: Role, calls: OpenCalls) -> Part:
    if "text" in wire:
        return _read_text(wire, where, role)
    if (key := _spelling(wire, "functionCall")) in wire:
        return _read_call(wire, key, where, calls)
    if (key := _spelling(wire, "functionResponse")) in wire:
        return _read_result(wire, key, where, calls)
    return _read_picture(wire, where)


def _read_text(wire: Wire, where: str, role: Role) -> Part:
    text = field(wire, "text", str, where)
    if wire.get("thought") is not True or role != "assistant":
        return Text(text, leftover(wire, {"text": True}, where))
    key = _spelling(wire, "thoughtSignature")
    signature = maybe(wire, key, str, where)
    placed = {"text": True, "thought": True, key: bool(signature)}
    extra = leftover(wire, placed, where, {key: key != "thoughtSignature" and _AS_SNAKE})
    return Thinking(text, signature, extra=extra)


def _id(wire: Wire, where: str) -> str | None:
    return field(wire, "id", str, where) if "id" in wire else None


def _read_call(wire: Wire, key: str, where: str, calls: OpenCalls) -> ToolCall:
    call, at = field(wire, key, dict, where), f"{where}.{key}"
    name, call_id = field(call, "name", str, at), _id(call, at)
    notes = {"id": ABSENT if call_id is None else None}
    inside = leftover(call, {"name": True, "args": True, "id": True}, where, notes)
    arguments = to_json(maybe(call, "args", dict, at) or {})
    return ToolCall(calls.made(name, call_id), name, arguments, _inside(wire, key, inside, where))


def _read_result(wire: Wire, key: str, where: str, calls: OpenCalls) -> ToolResult:
    answer, at = field(wire, key, dict, where), f"{where}.{key}"
    name, call_id = field(answer, "name", str, at), _id(answer, at)
    text, how = _read_response(field(answer, "response", dict, at))
    notes = {"id": ABSENT if call_id is None else None, "response": how}
    inside = leftover(answer, {"name": True, "response": True, "id": True}, where, notes)
    extra, failed = _inside(wire, key, inside, where), "error" in answer["response"]
    return ToolResult(calls.answered(name, call_id), text, failed, name, extra)


def _read_response(response: Wire) -> tuple[str, str | None]:
    for key in _PLAIN:
        if list(response) == [key] and isinstance(response[key], str):
            return response[key], "result" if key == "result" else None
    return to_json(response), JSON


def _read_picture(wire: Wire, where: str) -> Part:
    for holder, name in (("inlineData", "data"), ("fileData", "fileUri")):
        key = _spelling(wire, holder)
        data = wire.get(key)
        if not isinstance(data, dict):
            continue
        kind, value = _spelling(data, "mimeType"), _spelling(data, name)
        if not str(data.get(kind)).startswith("image/") or not isinstance(data.get(value), str):
            break
        notes = {k: _AS_SNAKE for k in (kind, value) if k in _SNAKE.values()}
        extra = _inside(wire, key, leftover(data, {kind: True, value: True}, where, notes), where)
        fields = {"data" if name == "data" else "url": data[value]}
        return Image(**fields, media_type=data[kind], extra=extra)
    return opaque(NAME, wire, where)


def write(message: Message) -> list[Wire]:
    """One content."""
    role = note(message.extra, "role") or ("model" if message.role == "assistant" else "user")
    return [lay_out({"role": role, "parts": _write_parts(message)}, message.extra)]


def _write_parts(message: Message) -> list[Wire]:
    """The parts of a content; an empty text stays one."""
    parts = (Text(message.content),) if isinstance(message.content, str) else message.content
    return [_write_part(part) for part in parts]


def _write_part(part: Part) -> Wire:
    match part:
        case Text():
            return lay_out({"text": part.text}, part.extra)
        case Thinking():
            key = _spelling(part.extra, "thoughtSignature")
            return lay_out({"text": part.text, "thought": True, key: part.signature}, part.extra, [key])
        case ToolCall():
            key = _spelling(part.extra, "functionCall")
            fields = {"name": part.name, "args": arguments_object(part), "id": part.id}
            return wrapped(key, fields, part.extra)
        case ToolResult():
            key = _spelling(part.extra, "functionResponse")
            return lay_out({key: _write_answer(part, nested(part.extra, key))}, part.extra)
        case Image():
            return _write_picture(part)
        case Opaque():
            return dict(thaw(part.data))


def _write_answer(result: ToolResult, inside: Mapping[str, Any]) -> Wire:
    how = note(inside, "response")
    response = json_object(result.text) if how == JSON else None
    if response is None:
        response = {"error" if result.is_error else "result" if how == "result" else "output": result.text}
    name = result.call_id if result.name is None else result.name
    return lay_out({"name": name, "response": response, "id": result.call_id}, inside)


def _write_picture(image: Image) -> Wire:
    holder, name = ("inlineData", "data") if image.data is not None else ("fileData", "fileUri")
    key = _spelling(image.extra, holder)
    inside = nested(image.extra, key)
    fields = {
        _spelling(inside, "mimeType"): media_type(image),
        _spelling(inside, name): image.data if image.data is not None else image.url,
    }
    return wrapped(key, fields, image.extra)


def read_system(raw: Any, where: str) -> Message:
    """The system instruction as a Message."""
    if isinstance(raw, str):
        return Message("system", raw, shape=NAME, extra=FrozenDict(text=True))
    wire = expect(raw, dict, where)
    parts = _read_parts(wire.get("parts"), f"{where}.parts", "system", OpenCalls())
    return Message("system", parts, shape=NAME, extra=leftover(wire, {"parts": True}, where))


def write_system(messages: list[Message]) -> Any:
    """The system instruction of all system messages."""
    if len(messages) == 1 and messages[0].extra.get("text") is True:
        return messages[0].text
    extra = messages[0].extra if len(messages) == 1 else FrozenDict()
    return lay_out({"parts": [part for message in messages for part in _write_parts(message)]}, extra)


_CALL_TURN: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_TURN: Final = "Please ensure that function response turn comes immediately after a function call turn."
_NUMBER: Final = (
    "Please ensure that the number of function response parts is equal to "
    "the number of function call parts of the function call turn."
)
_END: Final = "Please ensure that multiturn requests ends with a user role or a function response."
_NOTHING_SAID: Final = "* GenerateContentRequest.contents[{}].parts: contents.parts must not be empty.\n"
SURROGATE: Final = "Invalid JSON payload received. Unexpected token."


def check(wire: list[Wire], system: Any) -> Iterator[Fault]:
    """What Gemini would refuse in these contents."""
    if not wire:
        error = "* GenerateContentRequest.contents: contents is not specified\n"
        yield Fault(0, "contents", "there is no content", error)
    for i, content in enumerate(wire):
        if not content["parts"]:
            yield Fault(i, f"contents[{i}].parts", "the content says nothing", _NOTHING_SAID.format(i))
        yield from _check_turn(i, content, wire[i - 1] if i else None, i == len(wire) - 1)
    if wire and wire[-1].get("role") == "model" and not _count(wire[-1], "functionCall"):
        yield Fault(len(wire) - 1, f"contents[{len(wire) - 1}].role", "the last turn is the model's", _END)


def _count(content: Wire | None, key: str) -> int:
    return sum(1 for part in content["parts"] if key in part or _SNAKE[key] in part) if content else 0


def _check_turn(i: int, content: Wire, before: Wire | None, last: bool) -> Iterator[Fault]:
    where, made, answers = f"contents[{i}].parts", _count(before, "functionCall"), _count(content, "functionResponse")
    if _count(content, "functionCall"):
        if before is None or before.get("role") == "model":
            yield Fault(i, where, "a function call does not follow the user", _CALL_TURN)
        if last:
            yield Fault(i, where, "the last function call has no response", _NUMBER)
    if answers and not made:
        yield Fault(i, where, "a function response follows no function call", _RESPONSE_TURN)
    elif answers != made:
        yield Fault(i - 1, where, f"{answers} responses to {made} function calls", _NUMBER)
