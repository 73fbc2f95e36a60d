"""Claude's data export, conversations.json: an answer has its words, tool calls and their results in one list.

Newer exports name the parent of each message: a message may have several answers, of which one was continued.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.frozen import FrozenDict, freeze_dict
from recollect.imports.values import IMPLIED, Imported, Origin, Read, Skipped, id_of, moment, paired, stable
from recollect.types import Message, Opaque, Part, Text, ToolCall, ToolResult, content_of

NAME: Final = "claude"
_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_UNSAID: Final = ("thinking", "redacted_thinking", "token_budget", "flag")
"""Blocks that are not part of the conversation: the model's reasoning, and notes of the service."""


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    return "" if isinstance(data, dict) and isinstance(data.get("chat_messages"), list) else "no `chat_messages`"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The conversation in a value."""
    if problem := misfit(data):
        raise InvalidTranscript(problem)
    session = id_of(data.get("uuid"), NAME, stable(data["chat_messages"]))
    branch = _branch(data["chat_messages"], data.get("current_leaf_message_uuid"))
    unknown: list[Skipped] = []
    said = (message for raw in branch for message in _messages(raw, unknown))
    messages = origin.named(session, paired(said), moment(data.get("created_at")))
    yield from unknown
    yield Imported(session, messages, str(data.get("name") or ""))


def _branch(messages: list[Any], leaf: Any) -> list[Any]:
    """The messages up to the leaf, or to the last message, without those that were later edited or asked again.

    If no message names its parent, these are all of them. If a parent is missing, what came before its first child
    takes its place.
    """
    names = [(_name(raw, "uuid"), _name(raw, "parent_message_uuid")) for raw in messages]
    if not any(parent for _, parent in names):
        return messages
    places = {name: n for n, (name, _) in enumerate(names) if name}
    first = {parent: n for n, (_, parent) in reversed(list(enumerate(names)))}
    at, path = places.get(leaf, len(messages) - 1) if isinstance(leaf, str) else len(messages) - 1, dict[int, Any]()
    while at >= 0 and at not in path:
        path[at], parent = messages[at], names[at][1]
        at = places.get(parent, (first[parent] if parent else at) - 1)
    return list(path.values())[::-1]


def _name(raw: Any, key: str) -> str:
    found = raw.get(key) if isinstance(raw, dict) else None
    return found if isinstance(found, str) else ""


def _messages(raw: Any, unknown: list[Skipped]) -> Iterator[Message]:
    """The messages of one message of the export: several if tools were used, and at the end what was attached."""
    if not isinstance(raw, dict) or raw.get("sender") not in _ROLES:
        sender = raw.get("sender") if isinstance(raw, dict) else None
        unknown.append(
            Skipped(f"message {_name(raw, 'uuid') or 'without an id'}", f"sender {sender!r} is not human or assistant")
        )
        return
    id, at = id_of(raw.get("uuid"), stable(raw)), moment(raw.get("created_at"))
    metadata = _metadata(raw)
    pieces = list(_pieces(raw, id))
    for n, (role, parts) in enumerate(pieces):
        yield Message(role, content_of(parts), id=id if n == 0 else f"{id}-{n}", at=at, metadata=metadata)
    yield from _attached(raw, id, at)


def _pieces(raw: Mapping[str, Any], id: str) -> Iterator[tuple[Any, list[Part]]]:
    """Runs of blocks that fit in one message: words and calls of the sender, or a result of a tool."""
    role, now = _ROLES[raw["sender"]], list[Part]()
    made: list[str] = []
    for n, block in enumerate(_blocks(raw)):
        kind = block.get("type")
        if kind == "tool_result":
            if now:
                yield role, now
            now = []
            asked = block.get("tool_use_id") or (made.pop(0) if made else f"{id}-call-{n}")
            name = block.get("name")
            result = ToolResult(
                str(asked), _result(block), block.get("is_error") is True, name if isinstance(name, str) else None
            )
            yield "tool", [result]
            made = [call for call in made if call != asked]
        elif kind == "tool_use" and role == "assistant":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            call = ToolCall(str(block.get("id") or f"{id}-call-{n}"), str(block.get("name")), arguments)
            made.append(call.id)
            now.append(call)
        elif part := _part(block):
            now.append(part)
    if now:
        yield role, now


def _blocks(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    blocks: list[Mapping[str, Any]] = [block for block in raw.get("content") or [] if isinstance(block, dict)]
    said = [block for block in blocks if block.get("type") not in _UNSAID]
    return said or [{"type": "text", "text": raw.get("text")}]


def _part(block: Mapping[str, Any]) -> Part | None:
    text = block.get("text")
    if block.get("type") == "text" or isinstance(text, str):  # also what a search found, and what was said aloud
        return Text(text) if isinstance(text, str) and text.strip() else None
    return Opaque(NAME, freeze_dict(dict(block), "content"))


def _result(block: Mapping[str, Any]) -> Any:
    content = block.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return tuple(part for inner in content if isinstance(inner, dict) and (part := _part(inner)))


def _attached(raw: Mapping[str, Any], id: str, at: Any) -> Iterator[Message]:
    """The text of attached files, as the result of a tool, because the user did not say it."""
    for n, file in enumerate(raw.get("attachments") or []):
        text = file.get("extracted_content") if isinstance(file, dict) else None
        if isinstance(text, str) and text.strip() and raw["sender"] != "assistant":
            name = json.dumps({"file_name": str(file.get("file_name") or "")}, ensure_ascii=False)
            call = ToolCall(f"{id}-file-{n}", "attachment", name)
            implied = FrozenDict({IMPLIED: True})
            yield Message("assistant", (call,), id=f"{call.id}-call", at=at, metadata=implied)
            yield Message("tool", (ToolResult(call.id, text, name="attachment"),), id=call.id, at=at)


def _metadata(raw: Mapping[str, Any]) -> FrozenDict:
    listed = [file for key in ("attachments", "files") for file in raw.get(key) or [] if isinstance(file, dict)]
    names = [file["file_name"] for file in listed if isinstance(file.get("file_name"), str)]
    return freeze_dict({"files": names} if names else {}, "metadata")
