"""ChatGPT's data export, conversations.json: each conversation is a tree, of which one branch was shown last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.frozen import FrozenDict, freeze_dict
from recollect.imports.values import Imported, Origin, Read, Skipped, first, id_of, moment, paired, stable
from recollect.types import Message, Opaque, Part, Text, ToolCall, ToolResult, content_of

NAME: Final = "chatgpt"
_UNSAID: Final = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
"""Content that is not part of the conversation: the model's reasoning, and the settings it was given."""
_BESIDE: Final = ("text", "result", "content", "summary")


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    return "" if isinstance(data, dict) and isinstance(data.get("mapping"), dict) else "no `mapping` of messages"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The conversation in a value, along the branch that was shown last."""
    if problem := misfit(data):
        raise InvalidTranscript(problem)
    nodes = [node for node in _branch(data["mapping"], data.get("current_node")) if not _hidden(node)]
    session = id_of(first(data, "conversation_id", "id"), NAME, stable(data["mapping"]))
    unknown: list[Skipped] = []
    messages = origin.named(session, paired(_messages(nodes, unknown)), moment(data.get("create_time")))
    yield from unknown
    yield Imported(session, messages, str(data.get("title") or ""))


def _branch(mapping: Mapping[str, Any], leaf: Any) -> list[Mapping[str, Any]]:
    """The messages from the root to the leaf; without a leaf, always along the last child."""
    if leaf not in mapping:
        leaf = _last_leaf(mapping)
    path: dict[str, Mapping[str, Any]] = {}
    while isinstance(leaf, str) and leaf in mapping and leaf not in path:
        node = mapping[leaf]
        if not isinstance(node, dict):
            raise InvalidTranscript(f"node {leaf} is not an object")
        path[leaf] = {**node["message"], "node": leaf} if isinstance(node.get("message"), dict) else {}
        leaf = node.get("parent")
    return [message for message in reversed(path.values()) if message]


def _last_leaf(mapping: Mapping[str, Any]) -> str | None:
    at = next((name for name, node in mapping.items() if isinstance(node, dict) and not node.get("parent")), None)
    for _ in mapping:
        children = mapping[at].get("children") if at else None
        if not isinstance(children, list) or not children or children[-1] not in mapping:
            break
        at = children[-1]
    return at


def _hidden(message: Mapping[str, Any]) -> bool:
    return (
        _of(message, "metadata").get("is_visually_hidden_from_conversation") is True
        or message.get("weight") == 0
        or _of(message, "content").get("content_type") in _UNSAID
    )


def _of(message: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = message.get(key)
    return found if isinstance(found, dict) else {}


def _messages(nodes: list[Mapping[str, Any]], unknown: list[Skipped]) -> Iterator[Message]:
    call: ToolCall | None = None
    for node in nodes:
        author, role = _of(node, "author"), _of(node, "author").get("role")
        parts = _parts(_of(node, "content"))
        to, id, at = node.get("recipient"), id_of(node.get("id"), node["node"]), moment(node.get("create_time"))
        metadata = _metadata(node)
        if role == "tool":
            name = author.get("name") or "tool"
            asked = call.id if call and str(name).startswith(call.name.split(".")[0]) else f"{id}-call"
            call = None
            yield Message("tool", (ToolResult(asked, parts, name=str(name)),), id=id, at=at, metadata=metadata)
        elif role == "assistant" and isinstance(to, str) and to != "all":
            call = ToolCall(id, to, _arguments(_words(parts)))
            yield Message("assistant", (call,), id=id, at=at, metadata=metadata)
        elif role in ("user", "assistant", "system") and parts:
            yield Message(role, content_of(parts), id=id, at=at, metadata=metadata)
        elif role not in ("user", "assistant", "system"):
            why = f"author role {role!r} is not user, assistant, system or tool"
            unknown.append(Skipped(f"message {id}", why))


def _parts(content: Mapping[str, Any]) -> tuple[Text | Opaque, ...]:
    """What a message holds. Pictures and sounds are only references in the export, and are kept as those."""
    raw = content.get("parts")
    if not isinstance(raw, list):
        raw = [first(content, *_BESIDE)]
    return tuple(part for part in map(_part, raw) if part)


def _part(raw: Any) -> Text | Opaque | None:
    if isinstance(raw, str):
        return Text(raw) if raw.strip() else None
    if not isinstance(raw, dict):
        return None
    if isinstance(raw.get("text"), str):
        return Text(raw["text"])
    return Opaque(NAME, freeze_dict(raw, "parts"))


def _words(parts: tuple[Part, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _arguments(text: str) -> str:
    try:
        return text if isinstance(json.loads(text), dict) else json.dumps({"input": text})
    except (ValueError, RecursionError):
        return json.dumps({"input": text})


def _metadata(node: Mapping[str, Any]) -> FrozenDict:
    model = _of(node, "metadata").get("model_slug")
    files = _of(node, "metadata").get("attachments")
    names = (
        [file["name"] for file in files if isinstance(file, dict) and "name" in file] if isinstance(files, list) else []
    )
    kept = {"model": model if isinstance(model, str) else None, "files": names or None}
    return freeze_dict({key: value for key, value in kept.items() if value}, "metadata")
