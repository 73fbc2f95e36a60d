"""Bedrock Converse, also used by Strands Agents: blocks with one key each, the system text beside them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.flow.shapes.wire import (
    JSON,
    NOTHING,
    NULL,
    TURNS,
    Fault,
    OpenCalls,
    Wire,
    Word,
    arguments_object,
    around,
    each,
    field,
    from_json,
    lay_out,
    leftover,
    maybe,
    media_type,
    nested,
    note,
    opaque,
    repeated,
    result_parts,
    role_of,
    to_json,
    unanswered,
    with_results,
    wrapped,
)
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

NAME: Final = "bedrock"
_BYTES: Final = "bytes"
_BASE64: Final = "$bytes"


def read(wire: Mapping[str, Any], where: str, calls: OpenCalls) -> Message:
    """One message as a Message; a user message that brings tool results gets the role tool."""
    role = role_of(wire, TURNS, where)
    content = _read_content(wire.get("content"), f"{where}.content")
    extra = leftover(wire, {"role": True, "content": True}, where)
    return Message(with_results(role, content), content, shape=NAME, extra=extra)


def _read_content(raw: Any, where: str) -> tuple[Part, ...]:
    """Blocks; the system field is the same."""
    return each(raw, where, _read_block)


def _read_block(wire: Wire, where: str) -> Part:
    if "text" in wire:
        return Text(field(wire, "text", str, where), leftover(wire, {"text": True}, where))
    if "toolUse" in wire:
        return _read_call(wire, field(wire, "toolUse", dict, where), where)
    if "toolResult" in wire:
        return _read_result(wire, field(wire, "toolResult", dict, where), where)
    if "reasoningContent" in wire:
        return _read_thinking(wire, field(wire, "reasoningContent", dict, where), where)
    return _read_picture(wire, where)


def _read_call(wire: Mapping[str, Any], use: Mapping[str, Any], where: str) -> ToolCall:
    inside = leftover(use, {"toolUseId": True, "name": True, "input": True}, where)
    extra = around(wire, "toolUse", inside, where)
    where = f"{where}.toolUse"
    arguments = to_json(field(use, "input", dict, where))
    return ToolCall(field(use, "toolUseId", str, where), field(use, "name", str, where), arguments, extra)


def _read_result(wire: Mapping[str, Any], result: Mapping[str, Any], where: str) -> ToolResult:
    at = f"{where}.toolResult"
    content = each(result.get("content"), f"{at}.content", _read_inner)
    status = maybe(result, "status", str, at)
    if status not in (None, "success", "error"):
        raise InvalidTranscript(f"expected success or error, got {status!r}", f"{at}.status")
    failed = status == "error"
    inside = leftover(result, {"toolUseId": True, "content": True, "status": failed}, where)
    extra = around(wire, "toolResult", inside, where)
    return ToolResult(field(result, "toolUseId", str, at), content, failed, extra=extra)


def _read_inner(wire: Wire, where: str) -> Word:
    if "text" in wire:
        return Text(field(wire, "text", str, where), leftover(wire, {"text": True}, where))
    if "json" in wire:
        return Text(to_json(wire["json"]), around(wire, "json", JSON, where))
    return _read_picture(wire, where)


def _read_thinking(wire: Mapping[str, Any], content: Mapping[str, Any], where: str) -> Part:
    text = content.get("reasoningText")
    if isinstance(text, dict):
        signature = maybe(text, "signature", str, where)
        deep = leftover(text, {"text": True, "signature": bool(signature)}, where)
        extra = around(wire, "reasoningContent", around(content, "reasoningText", deep, where), where)
        return Thinking(field(text, "text", str, where), signature, extra=extra)
    data, how = _read_bytes(content.get("redactedContent"))
    if data is None:
        return _read_other(wire, where)
    extra = around(wire, "reasoningContent", around(content, "redactedContent", how, where), where)
    return Thinking(redacted=data, extra=extra)


def _read_picture(wire: Mapping[str, Any], where: str) -> Image | Opaque:
    image = wire.get("image")
    source = image.get("source") if isinstance(image, dict) else None
    if not isinstance(image, dict) or not isinstance(source, dict) or not isinstance(image.get("format"), str):
        return _read_other(wire, where)
    place = source.get("s3Location")
    data, how = _read_bytes(source.get("bytes"))
    if isinstance(place, dict) and isinstance(place.get("uri"), str):
        url, deep = place["uri"], around(source, "s3Location", leftover(place, {"uri": True}, where), where)
    elif data is not None:
        url, deep = None, around(source, "bytes", how, where)
    else:
        return _read_other(wire, where)
    inside = leftover(image, {"format": True, "source": True}, where, {"source": deep})
    kind, extra = f"image/{image['format']}", around(wire, "image", inside, where)
    return Image(url if data is None else None, data, kind, extra=extra)


def _read_bytes(raw: Any) -> tuple[str | None, str | None]:
    """Base64 text, and a note if the wire held real bytes, as boto3 and Strands expect."""
    if isinstance(raw, bytes):
        return base64.b64encode(raw).decode(), _BYTES
    return (raw, None) if isinstance(raw, str) else (None, None)


def _read_other(wire: Mapping[str, Any], where: str) -> Opaque:
    """A block kept as it is. Bytes in it, as of documents, videos or sounds, become text, which JSON can hold."""
    return opaque(NAME, _packed(wire), where)


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BASE64: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: _packed(item) for key, item in value.items()}
    return [_packed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, Mapping):
        if list(value) == [_BASE64] and isinstance(value[_BASE64], str):
            with suppress(ValueError):
                return base64.b64decode(value[_BASE64], validate=True)
        return {key: _unpacked(item) for key, item in value.items()}
    return [_unpacked(item) for item in value] if isinstance(value, list) else value


def write(message: Message) -> list[Wire]:
    """One message."""
    role = "assistant" if message.role == "assistant" else "user"
    return [lay_out({"role": role, "content": [_write_block(part) for part in message.parts]}, message.extra)]


def _write_block(part: Part) -> Wire:
    match part:
        case Text():
            return _write_text(part)
        case ToolCall():
            fields = {"toolUseId": part.id, "name": part.name, "input": arguments_object(part)}
            return wrapped("toolUse", fields, part.extra)
        case ToolResult():
            return _write_result(part)
        case Thinking():
            content = _write_thinking(part, nested(part.extra, "reasoningContent"))
            return lay_out({"reasoningContent": content}, part.extra)
        case Image():
            return _write_picture(part)
        case Opaque():
            return dict(_unpacked(part.data))


def _write_text(part: Text) -> Wire:
    if note(part.extra, "json") == JSON:
        try:
            return lay_out({"json": from_json(part.text)}, part.extra)
        except ValueError:
            return {"text": part.text}
    return lay_out({"text": part.text}, part.extra)


def _write_result(result: ToolResult) -> Wire:
    inside = nested(result.extra, "toolResult")
    content = [_write_block(part) for part in result_parts(result)]
    if result.is_error and not content and not result.extra and isinstance(result.content, str):
        content = [{"text": NOTHING}]
    status = "success" if "status" in inside and note(inside, "status") != NULL else None
    fields = {"toolUseId": result.call_id, "content": content, "status": "error" if result.is_error else status}
    return wrapped("toolResult", fields, result.extra, ["status"])


def _write_thinking(part: Thinking, inside: Mapping[str, Any]) -> Wire:
    if part.redacted is not None:
        raw = note(inside, "redactedContent") == _BYTES
        return lay_out({"redactedContent": base64.b64decode(part.redacted) if raw else part.redacted}, inside)
    fields = {"text": part.text, "signature": part.signature}
    return wrapped("reasoningText", fields, inside, ["signature"])


def _write_picture(image: Image) -> Wire:
    inside = nested(image.extra, "image")
    deep = nested(inside, "source")
    if image.data is None:
        source = wrapped("s3Location", {"uri": image.url or ""}, deep)
    else:
        data = base64.b64decode(image.data) if note(deep, "bytes") == _BYTES else image.data
        source = lay_out({"bytes": data}, deep)
    kind = media_type(image).removeprefix("image/")
    return wrapped("image", {"format": kind, "source": source}, image.extra)


def read_system(raw: Any, where: str) -> Message:
    """The system field as a Message."""
    return Message("system", _read_content(raw, where), shape=NAME)


def write_system(messages: list[Message]) -> Any:
    """The system field of all system messages."""
    return [_write_block(part) for message in messages for part in message.parts]


_START: Final = (
    "A conversation must start with a user message. Try again with a conversation that starts with a user message."
)
_ALTERNATE: Final = (
    "A conversation must alternate between user and assistant roles. "
    "Make sure the conversation alternates between user and assistant roles and try again."
)
_NO_ANSWER: Final = "Expected toolResult blocks at messages.{}.content for the following Ids: {}"
_TOO_MANY: Final = (
    "The number of toolResult blocks at messages.{}.content exceeds the number of toolUse blocks of previous turn."
)
_TWICE: Final = "The toolResult blocks at messages.{}.content contain duplicate Ids: {}"
_NOTHING_SAID: Final = (
    "The content field in the Message object at messages.{} is empty. "
    "Add a ContentBlock object to the content field and try again."
)
_BLANK: Final = (
    "The text field in the ContentBlock object at messages.{}.content.{} is blank. "
    "Add text to the text field, and try again."
)
_EMPTY_ERROR: Final = (
    "The content field at messages.{}.content.{}.toolResult cannot be empty when status value is error."
)
SURROGATE: Final = "'utf-8' codec can't encode characters: surrogates not allowed"


def check(wire: list[Wire], system: Any) -> Iterator[Fault]:
    """What Bedrock Converse would refuse in these messages."""
    if not wire or wire[0]["role"] != "user":
        yield Fault(0, "messages[0].role", "the conversation does not start with the user", _START)
    for i, message in enumerate(wire):
        if i and message["role"] == wire[i - 1]["role"]:
            yield Fault(i, f"messages[{i}].role", f"two {message['role']} messages in a row", _ALTERNATE)
        yield from _check_blocks(i, message["content"])
        yield from _check_group(i, message, wire[i - 1]["content"] if i else [])
    if wire and (made := _ids(wire[-1]["content"], "toolUse")):
        yield _missing(len(wire), made)


def _ids(blocks: list[Wire], kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in blocks if kind in block]


def _missing(i: int, lost: list[str]) -> Fault:
    ids = ", ".join(lost)
    return Fault(i - 1, f"messages[{i}].content", f"no result follows for {ids}", _NO_ANSWER.format(i, ids))


def _check_blocks(i: int, blocks: list[Wire]) -> Iterator[Fault]:
    if not blocks:
        yield Fault(i, f"messages[{i}].content", "the message says nothing", _NOTHING_SAID.format(i))
    for j, block in enumerate(blocks):
        where = f"messages[{i}].content[{j}]"
        if "text" in block and not block["text"].strip():
            yield Fault(i, f"{where}.text", "the text is blank", _BLANK.format(i, j))
        result = block.get("toolResult", {})
        if result.get("status") == "error" and not result["content"]:
            error = _EMPTY_ERROR.format(i, j)
            yield Fault(i, f"{where}.toolResult.content", "an error result says nothing", error)


def _check_group(i: int, message: Wire, before: list[Wire]) -> Iterator[Fault]:
    made, answers = _ids(before, "toolUse"), _ids(message["content"], "toolResult")
    where = f"messages[{i}].content"
    if lost := unanswered(made, answers):
        yield _missing(i, lost)
    if twice := ", ".join(repeated(answers)):
        yield Fault(i, where, f"{twice} is answered more than once", _TWICE.format(i, twice))
    elif extra := ", ".join(unanswered(answers, made)):
        yield Fault(i, where, f"no call {extra} is in the message before", _TOO_MANY.format(i))
