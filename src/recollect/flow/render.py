"""Reads and writes messages in the wire shapes of the providers: `parse` and `render`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from recollect.arguments import messages_only
from recollect.errors import InvalidTranscript
from recollect.flow.convert import Carrier, Placed, join
from recollect.flow.shapes import Shape, shape_of
from recollect.flow.shapes.wire import NOTHING, OpenCalls, plain
from recollect.types import Message, Text

MOST_MARKS: Final = 4
"""How many prompt cache marks (`cache_control`) a request may have."""


class Rendered(list[dict[str, Any]]):
    """The messages as the provider takes them: plain JSON that you may change.

    `system` is the value for the provider's system field; it is None if there is nothing to put there or the system
    messages stay in the list. `lost` says what could not be carried to this shape. `sources` has, for each wire
    message, the index of the first message that it came from.
    """

    def __init__(self, shape: Shape, messages: Iterable[dict[str, Any]], system: Any, lost: list[str]) -> None:
        super().__init__(messages)
        self.shape, self.system, self.lost = shape.name, system, lost
        self.sources: list[int] = []

    def request(self) -> dict[str, Any]:
        """The fields of the request body that hold the conversation."""
        shape = shape_of(self.shape)
        fields: dict[str, Any] = {shape.messages: list(self)}
        return fields if self.system is None else {shape.system[0]: self.system, **fields}


def sendable(rendered: Rendered, marks: int = MOST_MARKS) -> Rendered:
    """The same without what clients or providers fail at.

    Half surrogate pairs become question marks, and at most `marks` prompt cache marks stay.
    """
    keep_marks(rendered, marks)
    try:
        _encode([rendered, rendered.system])
    except UnicodeEncodeError:
        rendered[:], rendered.system = _replaced(rendered), _replaced(rendered.system)
    return rendered


def keep_marks(rendered: Rendered, most: int) -> None:
    """Leave at most `most` prompt cache marks: those of the system text, and the newest.

    Messages are stored with their marks, so the marks of all earlier requests pile up.
    """
    may_have = [wire for wire in rendered if "cache_control" in wire or not isinstance(wire.get("content"), str)]
    system_last = sorted(may_have, key=lambda wire: wire.get("role") in ("system", "developer"))
    marked = [block for wire in system_last for block in _blocks(wire) if "cache_control" in block]
    system = rendered.system if isinstance(rendered.system, list) else ()
    room = max(0, most - sum("cache_control" in block for block in system))
    for block in marked[: max(0, len(marked) - room)]:
        del block["cache_control"]


def _blocks(wire: Any) -> Iterator[dict[str, Any]]:
    """All blocks inside a message, however deep, and the message itself."""
    if isinstance(wire, dict):
        content = wire.get("content")
        for block in content if isinstance(content, list) else ():
            yield from _blocks(block)
        yield wire


def _encode(value: Any) -> None:
    """Raise UnicodeEncodeError if a text holds half a surrogate pair."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        "".join(value).encode()
        for inner in value.values():
            _encode(inner)
    elif isinstance(value, list):
        for inner in value:
            _encode(inner)


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_replaced(key): _replaced(inner) for key, inner in value.items()}
    return [_replaced(inner) for inner in value] if isinstance(value, list) else value


def parse(raw: Any, shape: str) -> list[Message]:
    """The messages of a wire transcript, one for each wire message; takes the list or the whole request.

    `render` to the same shape gives the same JSON back. In shapes whose calls have no ids they get ids by their order,
    so parse a transcript as a whole.
    """
    known = shape_of(shape)
    try:
        return _parse(raw, known)
    except RecursionError:
        raise InvalidTranscript("it is nested too deeply to be read", known.messages) from None


def _parse(raw: Any, shape: Shape) -> list[Message]:
    out: list[Message] = []
    if isinstance(raw, Mapping):
        for key in shape.system:
            if raw.get(key) is not None and shape.read_system:
                out.append(shape.read_system(raw[key], key))
        raw = raw.get(shape.messages)
        if isinstance(raw, str) and shape.messages == "input":
            raw = [{"role": "user", "content": raw}]
    if not isinstance(raw, (list, tuple)):
        raise InvalidTranscript(
            f"expected the list of messages or the request with {shape.messages!r}, got {type(raw).__name__}",
            shape.messages,
        )
    calls = OpenCalls()
    out.extend(_read(wire, f"{shape.messages}[{i}]", shape, calls) for i, wire in enumerate(raw))
    return out


def _read(wire: Any, where: str, shape: Shape, calls: OpenCalls) -> Message:
    if not isinstance(wire, Mapping):
        raise InvalidTranscript(f"expected an object, got {type(wire).__name__}", where)
    try:
        message = shape.read(wire, where, calls)
    except InvalidTranscript as error:
        if error.where:
            raise
        raise InvalidTranscript(error.problem, where) from None
    at = _moment(wire.get("timestamp"))
    return message.replace(at=at) if at else message


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def render(messages: Sequence[Message], shape: str) -> Rendered:
    """The messages in a provider's shape, joined and split as it demands; what was parsed from it stays unchanged."""
    target, messages = shape_of(shape), messages_only(messages)
    if not target.strict:
        words = [{"role": one.role, "content": one.content} for one in messages if plain(one) and one.role != "tool"]
        if len(words) == len(messages):
            out = Rendered(target, words, None, [])
            out.sources.extend(range(len(messages)))
            return out
    names = {call.id: call.name for message in messages for call in message.tool_calls} if target.named else {}
    carrier = Carrier(target, names)
    placed = [item for i, message in enumerate(messages) for item in _placed(message, i, carrier)]
    apart = [item.message for item in placed if target.apart(item.message)]
    rest = join([item for item in placed if not target.apart(item.message)], target)
    _tell_moved(placed, target, carrier)
    if target.strict and rest and rest[0].message.role == "assistant" and not _as_read(rest[0]):
        carrier.lost.append(f"message {rest[0].source}: its place as the first, {shape} starts with the user")
        rest.insert(0, Placed(Message("user", NOTHING, shape=shape), rest[0].source, False))
    return _written(rest, apart, target, carrier.lost)


def _as_read(item: Placed) -> bool:
    """Whether it was read from this shape and passed straight on. A stored message has an id, and what came before it
    may have been cut.
    """
    return item.native and not item.message.id


def _placed(message: Message, index: int, carrier: Carrier) -> list[Placed]:
    if message.shape == carrier.shape.name:
        carrier.see(message)
        return [Placed(_worded(message) if carrier.shape.strict else message, index, True)]
    carried = carrier.carry(message, index)
    return [] if carried is None else [Placed(carried, index, False)]


def _worded(message: Message) -> Message:
    """A stored message without blank texts: the provider would refuse them again with every request."""
    if not message.id or message.role not in ("user", "tool"):
        return message
    left = tuple(part for part in message.parts if not isinstance(part, Text) or part.text.strip())
    return message if left and len(left) == len(message.parts) else message.replace(content=left or NOTHING)


def _tell_moved(placed: list[Placed], target: Shape, carrier: Carrier) -> None:
    talking = False
    for item in placed:
        if target.apart(item.message):
            if talking and not item.native:
                carrier.lost.append(f"message {item.source}: its place, {target.name} keeps system text at the front")
        else:
            talking = True


def _written(rest: list[Placed], apart: list[Message], target: Shape, lost: list[str]) -> Rendered:
    system = target.write_system(apart) if apart and target.write_system else None
    out = Rendered(target, [], system, lost)
    for item in rest:
        for wire in target.write(item.message):
            out.append(wire)
            out.sources.append(item.source)
    return out
