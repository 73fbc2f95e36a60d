"""LangChain's messages: `messages_to_dict`, `dumpd`, a history's own JSON, or rows of a message table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from recollect.errors import InvalidTranscript
from recollect.imports.openai import said
from recollect.imports.values import Imported, Origin, Read, first, id_of, moment, stable

NAME: Final = "langchain"
_ROLES: Final = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
}
_ROW: Final = ("message", "History")
"""Fields with a message in the rows of a table, or with one or all of a session in MongoDB and DynamoDB documents."""
_SHOWN: Final = ("text", "image_url", "input_audio", "file")
"""Kinds of content parts that OpenAI transcripts have too; reasoning and calls are elsewhere, or left out."""


class _History(NamedTuple):
    """Messages of a session, which may have no name, or a single one; `at` is the time of those that have none."""

    session: str
    messages: Sequence[Any]
    at: datetime | None = None
    alone: bool = False


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    return "" if any(_is_message(found.messages) for found in _histories(data, "")) else "no LangChain messages"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The conversations in a value: a list of messages, a history, histories by session, or a row."""
    for found in _histories(data, ""):
        wire = [_openai(_fields(message)) for message in found.messages if _kind(_fields(message)) != "remove"]
        named = found.session or (origin.name if found.alone else stable(NAME, found.messages))
        yield Imported(named, origin.named(named, said(wire), found.at, whole=not found.alone))


def _histories(data: Any, session: str) -> Iterator[_History]:
    if isinstance(data, list):
        yield _History(session, data)
    elif not isinstance(data, dict):
        return
    elif _fields(data):
        yield _History(session, [data], alone=True)
    elif (name := next((name for name in _ROW if name in data), "")) and not _by_session(data):
        said = json.loads(data[name]) if isinstance(data[name], str) else data[name]
        named, at = first(data, "session_id", "SessionId"), moment(data.get("created_at"))
        alone = not isinstance(said, list)
        yield _History(id_of(named) if named else session, [said] if alone else said, at, alone)
    elif isinstance(data.get("messages"), list):
        named = first(data, "session_id", "thread_id", "id")
        yield _History(id_of(named) if named else session, data["messages"])
    else:
        for name, history in data.items():
            yield from _histories(history, id_of(name))


def _by_session(data: Mapping[str, Any]) -> bool:
    return all(isinstance(history, list) for history in data.values())


def _is_message(messages: Sequence[Any]) -> bool:
    return bool(messages) and bool(_fields(messages[0]))


def _fields(message: Any) -> Mapping[str, Any]:
    """The fields of a message, however it was dumped; empty if it is not one."""
    if not isinstance(message, dict):
        return {}
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        name = str((message.get("id") or [""])[-1])
        return {"type": name.removesuffix("Message").lower(), **message["kwargs"]} if "Message" in name else {}
    if isinstance(message.get("data"), dict) and isinstance(message.get("type"), str):
        return {**message["data"], "type": message["type"]}
    return message if isinstance(message.get("type"), str) and "content" in message else {}


def _kind(fields: Mapping[str, Any]) -> str:
    return str(fields.get("role") if fields.get("type") == "chat" else fields.get("type"))


def _openai(fields: Mapping[str, Any]) -> dict[str, Any]:
    if _kind(fields) not in _ROLES:
        raise InvalidTranscript(f"a message of type {_kind(fields)!r}; the known types are {', '.join(_ROLES)}")
    wire: dict[str, Any] = {"role": _ROLES[_kind(fields)], "content": _content(fields.get("content"))}
    wire |= {key: fields[key] for key in ("id", "name", "tool_call_id") if isinstance(fields.get(key), str)}
    more = fields.get("additional_kwargs") or {}
    if calls := fields.get("tool_calls"):
        wire["tool_calls"] = [_call(call) for call in calls]
    elif isinstance(more, dict):
        wire |= {key: more[key] for key in ("tool_calls", "function_call") if more.get(key)}
    about = fields.get("response_metadata") or {}
    if at := moment(first({**more, **about}, "timestamp", "created_at")):
        wire["timestamp"] = at.isoformat()
    return wire


def _call(call: Any) -> dict[str, Any]:
    if not isinstance(call, dict):
        raise InvalidTranscript(f"a tool call must be an object, not a {type(call).__name__}")
    function = {"name": call.get("name"), "arguments": json.dumps(call.get("args", {}), ensure_ascii=False)}
    return {"id": call.get("id") or stable(function), "type": "function", "function": function}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return [part for part in parts if not isinstance(part, dict) or part.get("type") in _SHOWN]
