"""LangChain's messages to ours and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import (
    LC_AUTO_PREFIX,
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages import ToolCall as LangChainCall

from recollect.flow.align import BY_FRAMEWORK
from recollect.flow.shapes.wire import words_of
from recollect.frozen import EMPTY, freeze_dict, thaw
from recollect.types import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

SHAPE: Final = "langchain"
ROLES: Final[Mapping[str, Role]] = {"ai": "assistant", "AIMessageChunk": "assistant", "system": "system"}


def from_langchain(message: BaseMessage) -> Message:
    """The message as ours; blocks that only its provider understands are carried along."""
    via = {"via": BY_FRAMEWORK} if _by_framework(message) else EMPTY
    if isinstance(message, ToolMessage):
        answer = message.content if isinstance(message.content, str) else tuple(words_of(_parts(message)))
        result = ToolResult(message.tool_call_id, answer, message.status == "error", message.name)
        return Message("tool", (result,), metadata=via)
    calls = tuple(_calls(message)) if isinstance(message, AIMessage) else ()
    content = message.content if isinstance(message.content, str) and not calls else (*_parts(message), *calls)
    name = message.name if isinstance(message, HumanMessage) else None
    return Message(ROLES.get(message.type, "user"), content, name=name, metadata=via)


def _by_framework(message: BaseMessage) -> bool:
    """Whether LangChain wrote it: a summary, or what stands for a result that was cleared."""
    edited = message.response_metadata.get("context_editing", {})
    return message.additional_kwargs.get("lc_source") == "summarization" or "cleared" in edited


def to_langchain(message: Message) -> list[AnyMessage]:
    """The message as LangChain's: one, or as many as there are tool results in it."""
    if message.role == "tool":
        return [_tool_message(result) for result in message.tool_results]
    content = message.content if isinstance(message.content, str) else _blocks(message.content)
    if message.role == "assistant":
        good, bad = _read_calls(message)
        return [AIMessage(content, tool_calls=good, invalid_tool_calls=bad)]
    return [SystemMessage(content) if message.role == "system" else HumanMessage(content, name=message.name)]


def changed(given: AnyMessage, message: Message) -> AnyMessage:
    """The given message with the content and the calls of ours, all else as it was."""
    update: dict[str, Any] = {"content": _in_front(given, message) or to_langchain(message)[0].content}
    if isinstance(given, AIMessage):
        good, bad = _read_calls(message)
        raw = {name: value for name, value in given.additional_kwargs.items() if name != "tool_calls"}
        update |= {"tool_calls": good, "invalid_tool_calls": bad, "additional_kwargs": raw}
    return given.model_copy(update=update)


def _in_front(given: AnyMessage, message: Message) -> list[str | dict[Any, Any]]:
    """The given blocks as they are with the memory that ours has in front of them; none where more is different."""
    first, *rest = message.parts or (Text(""),)
    if isinstance(given.content, str) or not isinstance(first, Text) or tuple(rest) != from_langchain(given).parts:
        return []
    return [{"type": "text", "text": first.text}, *given.content]


def _parts(message: BaseMessage) -> list[Part]:
    return [part for block in message.content_blocks if (part := _part(dict(block)))]


def _part(block: dict[str, Any]) -> Part | None:
    match block.get("type"):
        case "text":
            return Text(block.get("text") or "")
        case "image" if block.get("url") or block.get("base64"):
            return Image(url=block.get("url"), data=block.get("base64"), media_type=block.get("mime_type"))
        case "reasoning":
            return Thinking(block.get("reasoning", ""))
        case "tool_call" | "invalid_tool_call":
            return None
        case "non_standard":
            block = block["value"]
    own = {name: value for name, value in block.items() if name != "id" or not str(value).startswith(LC_AUTO_PREFIX)}
    return Opaque(SHAPE, freeze_dict(json.loads(json.dumps(own, default=str)), "content"))


def _calls(message: AIMessage) -> Iterator[ToolCall]:
    for call in message.tool_calls:
        yield ToolCall(call["id"] or "", call["name"], json.dumps(call["args"], ensure_ascii=False))
    for broken in message.invalid_tool_calls:
        yield ToolCall(broken.get("id") or "", broken.get("name") or "", broken.get("args") or "")


def _read_calls(message: Message) -> tuple[list[LangChainCall], list[InvalidToolCall]]:
    good: list[LangChainCall] = []
    bad: list[InvalidToolCall] = []
    for call in message.tool_calls:
        try:
            good.append(LangChainCall(name=call.name, args=dict(call.input), id=call.id))
        except (ValueError, TypeError):
            bad.append(
                InvalidToolCall(
                    type="invalid_tool_call", name=call.name, args=call.arguments, id=call.id, error="not a JSON object"
                )
            )
    return good, bad


def _tool_message(result: ToolResult) -> ToolMessage:
    content = result.content if isinstance(result.content, str) else _blocks(result.content)
    status = "error" if result.is_error else "success"
    return ToolMessage(content, tool_call_id=result.call_id, name=result.name, status=status)


def _blocks(parts: tuple[Part, ...]) -> str | list[str | dict[Any, Any]]:
    """The content; what the model thought is left out, for it can't be sent without its provider's signature."""
    shown = [block for part in parts if (block := _block(part)) is not None]
    if all(block.get("type") == "text" for block in shown):
        return "\n".join(block["text"] for block in shown)
    return list(shown)


def _block(part: Part) -> dict[str, Any] | None:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        known = {"url": part.url, "base64": part.data, "mime_type": part.media_type}
        return {"type": "image", **{name: value for name, value in known.items() if value}}
    if isinstance(part, Opaque) and part.shape == SHAPE:
        block: dict[str, Any] = thaw(part.data)
        return block
    return None
