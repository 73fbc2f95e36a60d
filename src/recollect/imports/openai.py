"""OpenAI-chat transcripts, with a conversation on each line, or a message with the name of its session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from recollect.flow.render import parse
from recollect.frozen import freeze_dict
from recollect.imports.values import Imported, Origin, Read, first, id_of, moment, owner, stable
from recollect.types import Message

NAME: Final = "openai"
_SESSION: Final = ("session_id", "conversation_id", "thread_id", "session")
_USER: Final = ("user_id", "user")
_TIME: Final = ("at", "timestamp", "created_at", "create_time", "created", "time")


def misfit(data: Any) -> str:
    """Why a value is not of this format; empty if it is."""
    messages = data.get("messages") if isinstance(data, dict) else data
    if isinstance(messages, list):
        messages = messages[0] if messages else None
    elif isinstance(data, dict):
        messages = data
    return "" if isinstance(messages, dict) and "role" in messages else "no messages with a role"


def read(data: Any, origin: Origin) -> Iterator[Read]:
    """The conversation in a value, or its message."""
    if isinstance(data, dict) and "messages" not in data:
        session = id_of(first(data, *_SESSION) or origin.name)
        yield Imported(session, origin.named(session, said([data]), whole=False), user=owner(data, *_USER))
        return
    about: Mapping[str, Any] = data if isinstance(data, dict) else {}
    wire = about.get("messages", data)
    session = id_of(first(about, *_SESSION, "id"), NAME, stable(wire))
    messages = origin.named(session, said(wire), moment(first(about, *_TIME)))
    yield Imported(session, messages, str(first(about, "title") or ""), owner(about, *_USER))


def said(wire: Sequence[Any]) -> list[Message]:
    """The messages of a transcript with their ids, times and metadata."""
    told = [_worded(data) for data in wire] if isinstance(wire, list) else wire
    return [_dated(message, data) for message, data in zip(parse(told, NAME), told, strict=True)]


def _worded(data: Any) -> Any:
    """The message with "text" as the type of its texts, which the Responses API calls differently."""
    content = data.get("content") if isinstance(data, dict) else None
    if not isinstance(content, list):
        return data
    return {**data, "content": [{**part, "type": "text"} if _is_text(part) else part for part in content]}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("input_text", "output_text")


def _dated(message: Message, data: Mapping[str, Any]) -> Message:
    metadata = data.get("metadata")
    scored = {"score": data["score"]} if isinstance(data.get("score"), (int, float)) else {}
    kept = {**(metadata if isinstance(metadata, dict) else {}), **scored}
    at = message.at or moment(first(data, *_TIME))
    return message.replace(id=str(data.get("id") or ""), at=at, metadata=freeze_dict(kept, "metadata"))
