"""What the five wire shapes share: reading fields with their path, writing values back as they were read, faults."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from recollect.errors import InvalidTranscript
from recollect.frozen import EMPTY, FrozenDict, freeze_dict, thaw
from recollect.types import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult

Wire: TypeAlias = dict[str, Any]
Word: TypeAlias = Text | Image | Opaque
T = TypeVar("T")

# Notes on how a field was written, kept in `extra` under the field's own name.
NULL: Final = "null"
ABSENT: Final = "absent"
LIST: Final = "list"
JSON: Final = "json"

# Stands where a provider demands text and there is none.
NOTHING: Final = "(empty)"
# Holds the arguments of a call whose JSON the model broke, where a provider demands an object.
RAW: Final = "_raw"

SPOKEN: Final[dict[Any, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
TURNS: Final[dict[Any, Role]] = {"user": "user", "assistant": "assistant"}
_NAMES: Final = {
    str: "text",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken rule in a wire request: in which message, where exactly, what, and the provider's words for it."""

    index: int
    where: str
    problem: str
    error: str


@dataclass
class OpenCalls:
    """The calls still waiting for an answer, so that calls and answers without ids can be matched by name."""

    count: int = 0
    waiting: tuple[tuple[str, str], ...] = ()

    def made(self, name: str, call_id: str | None) -> str:
        """The id of a call; a new one if the wire has none."""
        if call_id is None:
            self.count += 1
            call_id = f"call_{self.count}"
        self.waiting += ((name, call_id),)
        return call_id

    def answered(self, name: str | None, call_id: str | None) -> str:
        """The id of the call that a result answers; without an id, that is the oldest open call of that name."""
        for entry in self.waiting:
            if entry[1] == call_id or (call_id is None and entry[0] == name):
                self.waiting = tuple(other for other in self.waiting if other is not entry)
                return entry[1]
        return self.made(str(name), None) if call_id is None else call_id


def expect(value: Any, kind: type[T], where: str) -> T:
    """The value itself if it is of that kind; otherwise raises InvalidTranscript, which names the place."""
    if not isinstance(value, kind):
        found = "nothing" if value is None else _NAMES.get(type(value), f"a {type(value).__name__}")
        raise InvalidTranscript(f"expected {_NAMES.get(kind, kind.__name__)}, got {found}", where)
    return value


def field(wire: Mapping[str, Any], key: str, kind: type[T], where: str) -> T:
    """A field that must be there."""
    return expect(wire.get(key), kind, f"{where}.{key}")


def maybe(wire: Mapping[str, Any], key: str, kind: type[T], where: str) -> T | None:
    """A field that may be absent or null."""
    return None if wire.get(key) is None else expect(wire[key], kind, f"{where}.{key}")


def each(raw: Any, where: str, read: Callable[[Wire, str], T]) -> tuple[T, ...]:
    """What `read` makes of each object of a list, given its place."""
    found = enumerate(expect(raw, list, where))
    return tuple([read(expect(one, dict, at := f"{where}[{i}]"), at) for i, one in found])


def role_of(wire: Mapping[str, Any], known: Mapping[Any, Role], where: str) -> Role:
    """The role a wire message has here."""
    role = wire.get("role")
    if isinstance(role, (list, dict)) or role not in known:
        names = ", ".join(name for name in known if name)
        raise InvalidTranscript(f"expected one of {names}, got {role!r}", f"{where}.role")
    return known[role]


def with_results(role: Role, content: str | tuple[Part, ...]) -> Role:
    """The role of a message: "tool" for a user message that brings tool results."""
    return "tool" if role == "user" and not isinstance(content, str) and of_kind(content, ToolResult) else role


def plain(message: Message) -> bool:
    """Whether a message is words and nothing else, as most are: every shape can carry it unchanged."""
    return type(message.content) is str and message.content != "" and not message.extra and not message.name


def leftover(
    wire: Mapping[str, Any],
    placed: Mapping[str, bool | None],
    where: str,
    notes: Mapping[str, Any] | None = None,
) -> FrozenDict:
    """What of `wire` has no place in a part: unknown fields, and the layout if it is not the usual one.

    `placed` names the fields that have a place, in the usual order: True if the field is usually written for this
    value, None if it is usually written as null. `notes` says how an unusual field was written.
    """
    rest = {key: value for key, value in wire.items() if key not in placed}
    usual = [key for key, written in placed.items() if written is not False]
    noted = {key: note for key, note in (notes or {}).items() if note}
    for key, written in placed.items():
        if written is not None and key in wire and wire[key] is None:
            noted.setdefault(key, NULL)
    if not noted and [*usual, *rest] == list(wire):
        return freeze_dict(rest, where)
    layout = {key: noted.get(key) if key in placed else value for key, value in wire.items()}
    return freeze_dict({**layout, **noted}, where)


def around(wire: Mapping[str, Any], key: str, inside: Any, where: str) -> FrozenDict:
    """What an object has around the one field of it that has a place; `inside` is the note about that field."""
    return leftover(wire, {key: True}, where, {key: inside})


def lay_out(fields: Wire, extra: Mapping[str, Any], optional: Sequence[str] = ()) -> Wire:
    """The fields as a wire object, laid out as it was read or in the usual way, with what had no place put back."""
    if not any(key in extra for key in fields):
        usual: Wire = {k: v for k, v in fields.items() if v or k not in optional}
        return usual | dict(thaw(extra))
    out: Wire = {}
    for key, note in extra.items():
        if key not in fields:
            out[key] = thaw(note)
        elif note != ABSENT:
            out[key] = None if note == NULL and not fields[key] else fields[key]
    return out | {key: value for key, value in fields.items() if value and key not in extra}


def wrapped(key: str, fields: Wire, extra: Mapping[str, Any], optional: Sequence[str] = ()) -> Wire:
    """An object whose one field, `key`, is the object with these fields."""
    return lay_out({key: lay_out(fields, nested(extra, key), optional)}, extra)


def nested(extra: Mapping[str, Any], key: str) -> FrozenDict:
    """The note about a field that is itself an object."""
    note = extra.get(key)
    return note if isinstance(note, FrozenDict) else EMPTY


def note(extra: Mapping[str, Any], key: str) -> str | None:
    """The note about how a field was written."""
    found = extra.get(key)
    return found if isinstance(found, str) else None


def to_json(value: Any) -> str:
    """JSON text with unescaped characters; raises InvalidTranscript for a value that is not JSON."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidTranscript(f"a value can't be written as JSON: {error}") from None


def from_json(text: str) -> Any:
    """The value of a JSON text; ValueError for anything a provider would not take."""
    try:
        return json.loads(text or "{}", parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number} is too large a number")
    return value


def json_object(text: str) -> Wire | None:
    """The object a JSON text holds, or None."""
    try:
        value = from_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def arguments_object(call: ToolCall) -> Wire:
    """The arguments as the object some providers demand; broken ones are wrapped."""
    found = json_object(call.arguments)
    return {RAW: call.arguments} if found is None else found


def marks_cache(part: Opaque) -> bool:
    """Whether a part is nothing but a prompt cache mark, as Bedrock and Pydantic AI write it."""
    return "cachePoint" in part.data or part.data.get("kind") == "cache-point"


def opaque(shape: str, wire: Mapping[str, Any], where: str) -> Opaque:
    """A part kept as it is."""
    return Opaque(shape, freeze_dict(wire, where))


def of_kind(parts: Iterable[Part], kind: type[T]) -> list[T]:
    """The parts of that kind, in order."""
    return [part for part in parts if isinstance(part, kind)]


def words_of(parts: Iterable[Part]) -> list[Word]:
    """What is said or shown: no calls, results or thinking."""
    return [part for part in parts if isinstance(part, (Text, Image, Opaque))]


def result_parts(result: ToolResult) -> tuple[Word, ...]:
    """The content of a result as parts."""
    if isinstance(result.content, str):
        return (Text(result.content),) if result.content else ()
    return result.content


def pictures_beside(message: Message) -> Message:
    """The same message with the images inside its results moved beside them, in the order they came."""
    images = [part for result in message.tool_results for part in of_kind(result_parts(result), Image)]
    if not images:
        return message
    parts: list[Part] = [_without_pictures(p) if isinstance(p, ToolResult) else p for p in message.parts]
    last = max(i for i, p in enumerate(parts) if isinstance(p, ToolResult)) + 1
    return message.replace(content=(*parts[:last], *images, *parts[last:]))


def _without_pictures(result: ToolResult) -> ToolResult:
    kept = tuple(part for part in result_parts(result) if not isinstance(part, Image))
    return replace(result, content=result.text if not of_kind(kept, Opaque) else kept)


_MAGIC: Final = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


def media_type(image: Image) -> str:
    """The media type of a picture, read from its first bytes if it is not given."""
    if image.media_type is not None:
        return image.media_type
    try:
        head = base64.b64decode((image.data or "")[:8])
    except (binascii.Error, ValueError):
        head = b""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "image/png")


def data_url(image: Image) -> str:
    """The URL of a picture; a data URL if it has no other."""
    return f"data:{media_type(image)};base64,{image.data or ''}" if image.url is None else image.url


def image_of_url(url: str, detail: str | None, extra: Mapping[str, Any]) -> Image:
    """A picture from a URL; a base64 data URL is taken apart."""
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:image/") and head.count(";") == 0:
        return Image(data=data, media_type=head[5:], detail=detail, extra=extra)
    return Image(url=url, detail=detail, extra=extra)


def unanswered(calls: Iterable[str], answers: Iterable[str]) -> list[str]:
    """The calls without an answer, in order."""
    found = set(answers)
    return [call for call in calls if call not in found]


def repeated(ids: Iterable[str]) -> list[str]:
    """The ids that come more than once."""
    return [call for call, times in Counter(ids).items() if times > 1]


def texts_in(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its place; keys too."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield where, key
            yield from texts_in(item, f"{where}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from texts_in(item, f"{where}[{i}]")
