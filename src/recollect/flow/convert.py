"""Converts messages from one provider's shape to another's: what is kept, what is lost, which neighbours are joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from recollect.flow.shapes import Shape
from recollect.flow.shapes.wire import NOTHING, Word, json_object, marks_cache, of_kind, pictures_beside, plain
from recollect.flow.shorten import FILE_CUT, IMAGE_CUT
from recollect.frozen import EMPTY
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult, content_of

# Fields without a place whose loss matters.
_TOLD: Final = (
    "annotations",
    "audio",
    "cache_control",
    "citations",
    "encrypted_content",
    "reasoning_details",
    "refusal",
    "thoughtSignature",
    "thought_signature",
)
_SIGNED: Final = {"anthropic", "bedrock"}


class Placed(NamedTuple):
    """A message ready to be written, the index it came from, and whether it was read from the target shape."""

    message: Message
    source: int
    native: bool


@dataclass
class Carrier:
    """Carries messages of other shapes into one shape, and notes what gets lost."""

    shape: Shape
    names: Mapping[str, str]
    lost: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def see(self, message: Message) -> None:
        """Remember the ids that a message of the target shape uses."""
        for call in message.tool_calls:
            self.ids[call.id] = call.id
            self.used.add(call.id)

    def carry(self, message: Message, index: int) -> Message | None:
        """The message in terms of the target shape; None if nothing of it can be said there."""
        if plain(message):
            return message
        if message.name and not self.shape.names:
            self._lose(index, "name")
        self._lose_fields(index, message.extra)
        parts = [kept for part in message.parts for kept in self._part(part, message, index)]
        if message.role == "tool":
            parts.sort(key=lambda part: not isinstance(part, ToolResult))
        if not parts and not self._stays_empty(message, index):
            return None
        content = content_of(parts)
        if not parts:
            content = NOTHING if self.shape.strict else ""
        out = message.replace(content=content, shape=self.shape.name, extra=EMPTY)
        return pictures_beside(out) if self.shape.pictures_beside else out

    def _stays_empty(self, message: Message, index: int) -> bool:
        if self.shape.strict:
            self._lose(index, f"empty {message.role} message")
            return message.role == "user"
        return message.role == "user" or isinstance(message.content, str)

    def _lose(self, index: int, what: str) -> None:
        self.lost.append(f"message {index}: {what}")

    def _lose_fields(self, index: int, extra: Mapping[str, Any]) -> None:
        for key in _TOLD:
            if extra.get(key):
                self._lose(index, key)

    def _part(self, part: Part, message: Message, index: int) -> Iterator[Part]:
        if isinstance(part, Opaque):
            yield from self._opaque(part, index, message.role == "user")
            return
        self._lose_fields(index, part.extra)
        match part:
            case Text():
                if not self.shape.strict or part.text.strip():
                    yield Text(part.text)
            case Image():
                yield from self._image(part, message, index)
            case ToolCall():
                yield self._call(part, index)
            case ToolResult():
                yield self._result(part, message, index)
            case Thinking():
                yield from self._thinking(part, message, index)

    def _opaque(self, part: Opaque, index: int, shown: bool) -> Iterator[Text]:
        """A part that no other shape understands: nothing or, for a file that the model was shown, a mark."""
        self._lose(index, f"{_kind(part)} of {part.shape}")
        if shown and not marks_cache(part):
            yield Text(FILE_CUT)

    def _image(self, part: Image, message: Message, index: int) -> Iterator[Image | Text]:
        scheme, shown = (part.url or "").partition(":")[0], message.role in ("user", "tool")
        if shown and (part.data is not None or scheme in self.shape.schemes):
            yield replace(part, extra=EMPTY)
            return
        self._lose(index, f"image of the {message.role} ({scheme or 'data'})")
        if shown:
            yield Text(IMAGE_CUT)

    def _call(self, call: ToolCall, index: int) -> ToolCall:
        if self.shape.strict and json_object(call.arguments) is None:
            self._lose(index, f"arguments of {call.id} are no JSON object, sent as text in one")
        return ToolCall(self._own_id(call.id, index), call.name, call.arguments)

    def _own_id(self, call_id: str, index: int) -> str:
        fresh, times = call_id, 1
        while self.shape.unique and fresh in self.used:
            times += 1
            fresh = f"{call_id}_{times}"
        if fresh != call_id:
            self._lose(index, f"id {call_id}, which an earlier call has: it is {fresh} now")
        self.ids[call_id] = fresh
        self.used.add(fresh)
        return fresh

    def _result(self, result: ToolResult, message: Message, index: int) -> ToolResult:
        if result.is_error and not self.shape.strict:
            self._lose(index, f"error mark of the result of {result.call_id}")
        content = result.content
        if not isinstance(content, str):
            kept = [p for part in content for p in self._inner(part, message, index)]
            content = tuple(kept) if of_kind(kept, Image) else "\n".join(p.text for p in kept if isinstance(p, Text))
        name = result.name or (self.names.get(result.call_id) if self.shape.named else None)
        return ToolResult(self.ids.get(result.call_id, result.call_id), content, result.is_error, name)

    def _inner(self, part: Word, message: Message, index: int) -> Iterator[Text | Image]:
        if isinstance(part, Opaque):
            yield from self._opaque(part, index, True)
            return
        self._lose_fields(index, part.extra)
        if isinstance(part, Text):
            yield Text(part.text)
        else:
            yield from self._image(part, message, index)

    def _thinking(self, part: Thinking, message: Message, index: int) -> Iterator[Thinking]:
        """Thinking without a shape goes to any that can hold it; signed thinking also between Anthropic and Bedrock."""
        target = self.shape.name
        signed = bool(part.signature)
        own = message.shape is None and {
            "anthropic": signed or part.redacted is not None,
            "bedrock": True,
            "openai-responses": signed,
        }.get(target, part.redacted is None)
        if own or (signed and {message.shape, target} == _SIGNED):
            yield replace(part, extra=EMPTY)
        else:
            self._lose(index, f"thinking{' signature' if signed else ''} of {message.shape or 'no shape'}")


def _kind(part: Opaque) -> str:
    return str(part.data.get("type") or next(iter(part.data), "part"))


def join(placed: list[Placed], shape: Shape) -> list[Placed]:
    """Join neighbours that the shape wants in one message. Messages that were read from it stay as they were."""
    groups: list[list[Placed]] = []
    for item in placed:
        if groups and _belongs(item, groups[-1], shape):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_together(group, shape) if len(group) > 1 else group[0] for group in groups]


def _belongs(item: Placed, group: list[Placed], shape: Shape) -> bool:
    first = group[0]
    if len(group) == 1 and first.native and item.native:
        return False
    turn = shape.turns.get(first.message.role)
    if turn is None or turn != shape.turns.get(item.message.role):
        return False
    return shape.strict or turn == "tool" or any(one.message.tool_calls for one in group)


def _together(group: list[Placed], shape: Shape) -> Placed:
    messages = [one.message for one in group]
    first, last = messages[0], messages[-1]
    parts = [part for message in messages for part in message.parts]
    parts.sort(key=lambda part: not isinstance(part, ToolResult))
    role = "tool" if any(message.role == "tool" for message in messages) else first.role
    name = next((message.name for message in messages if message.name), last.name)
    extra = first.extra if len(group) == 2 and group[0].native else last.extra
    merged = first.replace(role=role, content=tuple(parts), name=name, extra=extra, shape=shape.name)
    return Placed(merged, group[0].source, False)
