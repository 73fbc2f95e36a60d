"""OpenAI Responses items: messages, reasoning, calls and outputs, each an item of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.flow.shapes.wire import (
    SPOKEN,
    Fault,
    OpenCalls,
    Wire,
    Word,
    data_url,
    each,
    expect,
    field,
    image_of_url,
    lay_out,
    leftover,
    maybe,
    note,
    of_kind,
    opaque,
    role_of,
    to_json,
    words_of,
)
from recollect.frozen import EMPTY, FrozenDict, freeze_dict, thaw
from recollect.types import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

NAME: Final = "openai-responses"
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
_ITEM: Final = "item"


def read(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    """One item as a Message."""
    kind = expect(wire.get("type", "message"), str, f"{where}.type")
    if kind == "message":
        return _read_message(wire, where)
    if kind in _CALLS:
        return Message("assistant", (_read_call(wire, kind, where),), shape=NAME)
    if kind in _OUTPUTS:
        return Message("tool", (_read_output(wire, kind, where),), shape=NAME)
    if kind == "reasoning":
        return Message("assistant", (_read_reasoning(wire, where),), shape=NAME)
    role: Role = "tool" if kind.endswith("_output") else "assistant"
    return Message(role, (opaque(NAME, wire, where),), shape=NAME, extra=FrozenDict(type=_ITEM))


def _read_message(wire: Mapping[str, Any], where: str) -> Message:
    role = role_of(wire, SPOKEN, where)
    content = _read_content(wire.get("content"), f"{where}.content", _text_type(role))
    placed = {"type": False, "role": True, "content": True}
    notes = {"role": "developer" if wire["role"] == "developer" else None}
    return Message(role, content, shape=NAME, extra=leftover(wire, placed, where, notes))


def _text_type(role: Role) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _read_content(raw: Any, where: str, usual: str) -> str | tuple[Word, ...]:
    return raw if isinstance(raw, str) else each(raw, where, lambda part, at: _read_part(part, at, usual))


def _read_part(wire: Wire, where: str, usual: str) -> Word:
    kind = wire.get("type")
    if kind in ("input_text", "output_text", "text"):
        notes = {"type": kind if kind != usual else None}
        return Text(field(wire, "text", str, where), leftover(wire, {"type": True, "text": True}, where, notes))
    if kind == "input_image" and isinstance(wire.get("image_url"), str):
        detail = maybe(wire, "detail", str, where)
        extra = leftover(wire, {"type": True, "image_url": True, "detail": bool(detail)}, where)
        return image_of_url(wire["image_url"], detail, extra)
    return opaque(NAME, wire, where)


def _read_call(wire: Mapping[str, Any], kind: str, where: str) -> ToolCall:
    key = _CALLS[kind]
    placed = {"type": True, "call_id": True, "name": True, key: True}
    extra = leftover(wire, placed, where, {"type": kind if key == "input" else None})
    call_id, name = field(wire, "call_id", str, where), field(wire, "name", str, where)
    return ToolCall(call_id, name, field(wire, key, str, where), extra)


def _read_output(wire: Mapping[str, Any], kind: str, where: str) -> ToolResult:
    content = _read_content(wire.get("output"), f"{where}.output", "input_text")
    notes = {"type": kind if kind != _OUTPUTS[0] else None}
    extra = leftover(wire, {"type": True, "call_id": True, "output": True}, where, notes)
    return ToolResult(field(wire, "call_id", str, where), content, extra=extra)


def _read_reasoning(wire: Mapping[str, Any], where: str) -> Thinking:
    summary = field(wire, "summary", list, where)
    text = "\n\n".join(str(part.get("text", "")) for part in summary if isinstance(part, dict))
    signature = maybe(wire, "encrypted_content", str, where)
    placed = {"type": True, "summary": True, "encrypted_content": bool(signature)}
    notes = {"summary": None if to_json(summary) == to_json(_summary(text)) else summary}
    return Thinking(text, signature, extra=leftover(wire, placed, where, notes))


def _summary(text: str) -> list[Wire]:
    return [{"type": "summary_text", "text": text}] if text else []


def write(message: Message) -> list[Wire]:
    """The items of one Message: its words, each of its calls, outputs and reasonings."""
    if isinstance(message.content, str) or note(message.extra, "type") == _ITEM:
        return [_write_words(message, list(message.parts))]
    items: list[Wire] = []
    words: list[Part] = []
    for part in (*message.content, None):
        if isinstance(part, (Text, Image, Opaque)):
            words.append(part)
            continue
        if words or (part is None and not message.content):
            items.append(_write_words(message, words))
            words = []
        if part is not None:
            items.append(_write_item(part))
    return items


def _write_words(message: Message, words: list[Part]) -> Wire:
    if note(message.extra, "type") == _ITEM:
        return dict(thaw(of_kind(words, Opaque)[0].data))
    role: Role = "user" if message.role == "tool" else message.role
    extra = message.extra if message.role != "tool" else EMPTY
    content: Any = message.content
    if not isinstance(content, str):
        composite = len(words) < len(content)
        content = [_write_part(part, _text_type(role)) for part in words_of(words)]
        if composite and len(words) == 1 and isinstance(words[0], Text):
            content = words[0].text
    fields = {"role": note(extra, "role") or role, "content": content}
    return lay_out({"type": "message", **fields} if "type" in extra else fields, extra)


def _write_part(part: Word, usual: str) -> Wire:
    if isinstance(part, Text):
        return lay_out({"type": note(part.extra, "type") or usual, "text": part.text}, part.extra)
    if isinstance(part, Image):
        fields = {"type": "input_image", "image_url": data_url(part), "detail": part.detail}
        return lay_out(fields, part.extra, ["detail"])
    return dict(thaw(part.data))


def _write_item(part: ToolCall | ToolResult | Thinking) -> Wire:
    if isinstance(part, ToolCall):
        kind = note(part.extra, "type") or "function_call"
        return lay_out({"type": kind, "call_id": part.id, "name": part.name, _CALLS[kind]: part.arguments}, part.extra)
    if isinstance(part, ToolResult):
        output: Any = part.content
        if not isinstance(output, str):
            output = [_write_part(inner, "input_text") for inner in output]
        kind = note(part.extra, "type") or _OUTPUTS[0]
        return lay_out({"type": kind, "call_id": part.call_id, "output": output}, part.extra)
    kept = part.extra.get("summary")
    summary = thaw(kept) if isinstance(kept, list) else _summary(part.text)
    fields = {"type": "reasoning", "summary": summary, "encrypted_content": part.signature}
    return lay_out(fields, part.extra, ["encrypted_content"])


def read_system(raw: Any, where: str) -> Message:
    """The instructions as a Message."""
    return Message("system", expect(raw, str, where), shape=NAME, extra=freeze_dict({"type": "instructions"}, where))


def is_instructions(message: Message) -> bool:
    """Whether a system message is the request's instructions, not one of its items."""
    return message.shape == NAME and note(message.extra, "type") == "instructions"


def write_system(messages: list[Message]) -> Any:
    """The instructions."""
    return "\n\n".join(message.text for message in messages)


SURROGATE: Final = "We could not parse the JSON body of your request."
_AFTER: Final = "Item '{}' of type 'reasoning' was provided without its required following item."


def check(wire: list[Wire], system: Any) -> Iterator[Fault]:
    """What the Responses endpoint would refuse in these items."""
    if not wire:
        error = "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead."
        yield Fault(0, "input", "there is no item", error)
    made: dict[str, int] = {}
    for i, item in enumerate(wire):
        kind = item.get("type", "message")
        if kind in _CALLS:
            made[item["call_id"]] = i
        elif kind in _OUTPUTS and made.pop(item["call_id"], None) is None:
            call, error = item["call_id"], "No tool call found for function call output with call_id {}."
            yield Fault(i, f"input[{i}].call_id", f"no open call {call} comes before", error.format(call))
        elif kind == "reasoning" and not _continues(wire[i + 1 : i + 2]):
            error = _AFTER.format(item.get("id", ""))
            yield Fault(i, f"input[{i}]", "nothing of the model's follows this reasoning", error)
    for call, i in made.items():
        yield Fault(
            i, f"input[{i}]", f"no output follows for {call}", f"No tool output found for function call {call}."
        )


def _continues(following: list[Wire]) -> bool:
    if not following:
        return False
    kind = following[0].get("type", "message")
    return following[0].get("role") == "assistant" if kind == "message" else not str(kind).endswith("_output")
