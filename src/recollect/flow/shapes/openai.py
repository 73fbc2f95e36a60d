"""OpenAI chat messages, also used by DeepSeek, vLLM, Ollama, OpenRouter and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.flow.shapes.wire import (
    ABSENT,
    JSON,
    LIST,
    SPOKEN,
    Fault,
    OpenCalls,
    Wire,
    Word,
    data_url,
    each,
    expect,
    field,
    from_json,
    image_of_url,
    lay_out,
    leftover,
    maybe,
    nested,
    note,
    of_kind,
    opaque,
    plain,
    repeated,
    role_of,
    to_json,
    unanswered,
    words_of,
)
from recollect.frozen import EMPTY, FrozenDict, freeze_dict, thaw
from recollect.types import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult

NAME: Final = "openai"
FLAT: Final = "flat"
_THINKING: Final = ("reasoning_content", "reasoning")
_ROLES: Final[Mapping[Any, Role]] = {**SPOKEN, "tool": "tool", "function": "tool"}


def read(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    """One chat message as a Message."""
    role = wire.get("role")
    if role in ("tool", "function"):
        return _read_result(wire, where, calls)
    kept = role_of(wire, _ROLES, where)
    raw = wire.get("content")
    words = _read_content(raw, f"{where}.content")
    name = maybe(wire, "name", str, where)
    thinking, made = _read_thinking(wire, role), _read_calls(wire, where, calls)
    legacy = any("function_call" in call.extra for call in made)
    composite = bool(thinking or made)
    placed = {
        "role": True,
        "content": None if composite and raw is None else True,
        **{part.extra.get("field", _THINKING[0]): bool(part.text) for part in thinking},
        "tool_calls": bool(made) and not legacy,
        "function_call": legacy,
        "name": bool(name),
    }
    notes = {"role": role if role == "developer" else None, "content": composite and isinstance(raw, list) and LIST}
    content = (*thinking, *_as_parts(words, raw is not None), *made) if composite else words
    return Message(kept, content, name=name, shape=NAME, extra=leftover(wire, placed, where, notes))


def _as_parts(words: str | tuple[Part, ...], said: bool) -> tuple[Part, ...]:
    if isinstance(words, str):
        return (Text(words),) if said else ()
    return words


def _read_content(raw: Any, where: str) -> str | tuple[Word, ...]:
    if raw is None or isinstance(raw, str):
        return raw or ""
    return each(raw, where, _read_part)


def _read_part(wire: Wire, where: str) -> Word:
    if wire.get("type") == "text":
        return Text(field(wire, "text", str, where), leftover(wire, {"type": True, "text": True}, where))
    inner = wire.get("image_url")
    if wire.get("type") == "image_url" and isinstance(inner, dict) and isinstance(inner.get("url"), str):
        detail = maybe(inner, "detail", str, f"{where}.image_url")
        inside = leftover(inner, {"url": True, "detail": bool(detail)}, where)
        extra = leftover(wire, {"type": True, "image_url": True}, where, {"image_url": inside})
        return image_of_url(inner["url"], detail, extra)
    return opaque(NAME, wire, where)


def _read_thinking(wire: Mapping[str, Any], role: Any) -> tuple[Thinking, ...]:
    for key in _THINKING if role == "assistant" else ():
        if isinstance(text := wire.get(key), str):
            return (Thinking(text, extra=EMPTY if key == _THINKING[0] else FrozenDict(field=key)),)
    return ()


def _read_calls(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> tuple[ToolCall, ...]:
    made = each(maybe(wire, "tool_calls", list, where) or [], f"{where}.tool_calls", _read_call)
    if (legacy := maybe(wire, "function_call", dict, where)) is None:
        return made
    arguments, name, inside = _read_function(legacy, "arguments", f"{where}.function_call")
    return (*made, ToolCall(calls.made(name, None), name, arguments, freeze_dict({"function_call": inside}, where)))


def _read_call(wire: Wire, where: str) -> ToolCall:
    call_id = field(wire, "id", str, where)
    kind = "custom" if isinstance(wire.get("custom"), dict) else "function"
    if kind not in wire and "name" in wire:  # the flat form of many logs
        arguments, name, extra = _read_function(wire, "arguments", where, flat=True)
        return ToolCall(call_id, name, arguments, extra)
    key = "input" if kind == "custom" else "arguments"
    arguments, name, inside = _read_function(field(wire, kind, dict, where), key, f"{where}.{kind}")
    extra = leftover(
        wire, {"id": True, "type": True, kind: True}, where, {kind: inside, "type": _kind_note(wire, kind, where)}
    )
    return ToolCall(call_id, name, arguments, extra)


def _kind_note(wire: Mapping[str, Any], kind: str, where: str) -> Any:
    if wire.get("type", kind) != kind:
        raise InvalidTranscript(f"expected {kind!r}, got {wire['type']!r}", f"{where}.type")
    return ABSENT if "type" not in wire else kind if kind != "function" else None


def _read_function(wire: Mapping[str, Any], key: str, where: str, flat: bool = False) -> tuple[str, str, FrozenDict]:
    raw = wire.get(key)
    objects = isinstance(raw, (dict, list))
    arguments = to_json(raw) if objects else expect(raw, str, f"{where}.{key}")
    placed = {**({"id": True} if flat else {}), "name": True, key: True}
    notes = {key: objects and JSON, "name": flat and FLAT}
    return arguments, field(wire, "name", str, where), leftover(wire, placed, where, notes)


def _read_result(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    legacy = wire["role"] == "function"
    name = maybe(wire, "name", str, where)
    call_id = None if legacy and "tool_call_id" not in wire else field(wire, "tool_call_id", str, where)
    placed = {"role": True, "tool_call_id": True, "content": True, "name": bool(name)}
    notes = {"role": legacy and "function", "tool_call_id": ABSENT if call_id is None else None}
    content = _read_content(wire.get("content"), f"{where}.content")
    result = ToolResult(calls.answered(name, None) if call_id is None else call_id, content, name=name)
    return Message("tool", (result,), shape=NAME, extra=leftover(wire, placed, where, notes))


def write(message: Message) -> list[Wire]:
    """The chat messages for one Message: one, or one for each tool result and one for the words beside them."""
    if plain(message) and message.role != "tool":
        return [{"role": message.role, "content": message.content}]
    if message.role == "tool":
        return _write_results(message)
    thinking, made = of_kind(message.parts, Thinking), of_kind(message.parts, ToolCall)
    legacy = next((call for call in made if "function_call" in call.extra), None)
    key = thinking[0].extra.get("field", _THINKING[0]) if thinking else _THINKING[0]
    fields: Wire = {
        "role": note(message.extra, "role") or message.role,
        "content": _write_content(message, bool(thinking or made)),
        "tool_calls": [_write_call(call) for call in made if call is not legacy],
        "function_call": legacy and _write_function(legacy, "arguments", nested(legacy.extra, "function_call")),
        "name": message.name,
    }
    if thinking:
        thought = "\n".join(part.text for part in thinking)
        fields = {"role": fields.pop("role"), "content": fields.pop("content"), key: thought, **fields}
    return [lay_out(fields, message.extra, [key, "tool_calls", "function_call", "name"])]


def _write_content(message: Message, composite: bool) -> Any:
    if isinstance(message.content, str):
        return message.content
    words = words_of(message.content)
    if not composite or note(message.extra, "content") == LIST:
        return [_write_part(part) for part in words]
    if len(words) == 1 and isinstance(words[0], Text) and not words[0].extra:
        return words[0].text
    return [_write_part(part) for part in words] or None


def _write_part(part: Word) -> Wire:
    if isinstance(part, Text):
        return lay_out({"type": "text", "text": part.text}, part.extra)
    if isinstance(part, Image):
        inside = lay_out({"url": data_url(part), "detail": part.detail}, nested(part.extra, "image_url"), ["detail"])
        return lay_out({"type": "image_url", "image_url": inside}, part.extra)
    return dict(thaw(part.data))


def _write_call(call: ToolCall) -> Wire:
    if note(call.extra, "name") == FLAT:
        return _write_function(call, "arguments", call.extra, {"id": call.id})
    how = note(call.extra, "type")
    custom = "custom" in call.extra and how in ("custom", ABSENT)
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    inside = _write_function(call, key, nested(call.extra, kind))
    return lay_out({"id": call.id, "type": how or "function", kind: inside}, call.extra)


def _write_function(call: ToolCall, key: str, extra: Mapping[str, Any], before: Wire | None = None) -> Wire:
    arguments: Any = call.arguments
    if note(extra, key) == JSON:
        with suppress(ValueError):
            arguments = from_json(arguments)
    return lay_out({**(before or {}), "name": call.name, key: arguments}, extra)


def _write_results(message: Message) -> list[Wire]:
    results = message.tool_results
    extra = message.extra if len(results) == 1 else EMPTY
    out = [_write_result(result, extra) for result in results]
    words = words_of(message.parts)
    if len(words) == 1 and isinstance(words[0], Text):
        return [*out, {"role": "user", "content": words[0].text}]
    return [*out, {"role": "user", "content": [_write_part(part) for part in words]}] if words else out


def _write_result(result: ToolResult, extra: Mapping[str, Any]) -> Wire:
    content = result.content if isinstance(result.content, str) else [_write_part(part) for part in result.content]
    fields = {"tool_call_id": result.call_id, "content": content, "name": result.name}
    return lay_out({"role": note(extra, "role") or "tool", **fields}, extra, ["name"])


_NO_CALL: Final = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)
_NOT_FOUND: Final = "Invalid parameter: 'tool_call_id' of '{}' not found in 'tool_calls' of previous message."
_NO_ANSWER: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {}"
)
_EMPTY_LIST: Final = (
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
)
SURROGATE: Final = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)


_INSTEAD: Final = ("tool_calls", "function_call", "refusal", "audio")


def check(wire: list[Wire], system: Any) -> Iterator[Fault]:
    """What OpenAI would refuse in these messages."""
    if not wire:
        yield Fault(0, "messages", "there is no message", _EMPTY_LIST)
    for i, message in enumerate(wire):
        if message.get("content") is None and not any(message.get(key) for key in _INSTEAD):
            error = "Invalid value for 'content': expected a string, got null."
            yield Fault(i, f"messages[{i}].content", "the message says nothing", error)
        if made := [call["id"] for call in message.get("tool_calls") or ()]:
            yield from _check_answers(i, made, _answers(wire, i))
        if message["role"] == "tool":
            yield from _check_answer(i, message["tool_call_id"], _asked(wire, i))


def _answers(wire: list[Wire], i: int) -> list[str]:
    end = i + 1
    while end < len(wire) and wire[end]["role"] == "tool":
        end += 1
    return [message["tool_call_id"] for message in wire[i + 1 : end]]


def _asked(wire: list[Wire], i: int) -> list[str]:
    while i >= 0 and wire[i]["role"] == "tool":
        i -= 1
    return [call["id"] for call in wire[i].get("tool_calls") or ()] if i >= 0 else []


def _check_answers(i: int, made: list[str], answers: list[str]) -> Iterator[Fault]:
    if open_calls := ", ".join(unanswered(made, answers)):
        yield Fault(
            i, f"messages[{i}].tool_calls", f"no result follows for {open_calls}", _NO_ANSWER.format(open_calls)
        )
    for call in repeated(answers):
        second = i + 1 + answers.index(call, answers.index(call) + 1)
        error = f"Duplicate value for 'tool_call_id' of '{call}' in message[{second}]"
        yield Fault(i, f"messages[{i}].tool_calls", f"{call} is answered more than once", error)


def _check_answer(i: int, call: str, asked: list[str]) -> Iterator[Fault]:
    if not asked:
        yield Fault(i, f"messages[{i}].role", f"the result of {call} follows no call", _NO_CALL)
    elif call not in asked:
        yield Fault(i, f"messages[{i}].tool_call_id", f"no call {call} comes before", _NOT_FOUND.format(call))
