"""The values everything is made of: messages and their parts, as frozen plain data."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from recollect.errors import ConfigError, InvalidTranscript
from recollect.frozen import EMPTY, FrozenDict, freeze_dict, thaw

T = TypeVar("T")

READ_WITH_PARSE: Final = "read a provider's messages with parse(raw, shape)"

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)

# `extra`, on parts and messages, holds the fields of the wire shape a value was parsed from that have
# no place of their own here, so that the way back to the same shape is exact.


def check_fields(value: Any, what: str, kind: type, *names: str, absent: bool = False) -> None:
    """Raise InvalidTranscript unless these fields of a value are of that kind, or None if they may be `absent`."""
    for name in names:
        if type(field := getattr(value, name)) is kind or (absent and field is None):
            continue
        if not isinstance(field, kind) or (kind is int and isinstance(field, bool)):
            expected = {str: "text", int: "a whole number", bool: "true or false"}[kind]
            raise InvalidTranscript(f"the {name} of {what} must be {expected}, got {type(field).__name__}")


def _freeze(value: Any, *names: str) -> None:
    for name in names:
        if type(field := getattr(value, name)) is not FrozenDict:
            object.__setattr__(value, name, freeze_dict(field, name))


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        check_fields(self, "a text", str, "text")
        _freeze(self, "extra")


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, by URL or as base64 data; width and height if they are known."""

    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    detail: str | None = None
    width: int | None = None
    height: int | None = None
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        check_fields(self, "an image", str, "url", "data", "media_type", "detail", absent=True)
        check_fields(self, "an image", int, "width", "height", absent=True)
        _freeze(self, "extra")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool; `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if isinstance(self.arguments, Mapping):
            given = thaw(freeze_dict(self.arguments, "arguments"))
            object.__setattr__(self, "arguments", json.dumps(given, ensure_ascii=False))
        check_fields(self, "a tool call", str, "id", "name", "arguments")
        _freeze(self, "extra")

    @property
    def input(self) -> Any:
        """The arguments as a value; raises ValueError where the model wrote broken JSON."""
        return json.loads(self.arguments or "{}")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to the call with that id."""

    call_id: str
    content: str | tuple[Text | Image | Opaque, ...] = ""
    is_error: bool = False
    name: str | None = None
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        check_fields(self, "a tool result", str, "call_id")
        check_fields(self, "a tool result", str, "name", absent=True)
        check_fields(self, "a tool result", bool, "is_error")
        _freeze(self, "extra")
        if isinstance(self.content, str):
            return
        if not isinstance(self.content, (list, tuple)) or not all(
            isinstance(part, (Text, Image, Opaque)) for part in self.content
        ):
            raise InvalidTranscript("a tool result holds text, or a list of Text, Image and Opaque parts")
        object.__setattr__(self, "content", tuple(self.content))

    @property
    def text(self) -> str:
        """The words of the result, other parts left out."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning, with the provider's signature. It is passed back byte for byte, and never edited."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        check_fields(self, "thinking", str, "text")
        check_fields(self, "thinking", str, "signature", "redacted", absent=True)
        _freeze(self, "extra")


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that only its own provider understands; it is passed back in that shape, unchanged."""

    shape: str
    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_fields(self, "an opaque part", str, "shape")
        _freeze(self, "data")


Part: TypeAlias = Text | Image | ToolCall | ToolResult | Thinking | Opaque
PARTS: Final[dict[str, type[Part]]] = {
    "text": Text,
    "image": Image,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "thinking": Thinking,
    "opaque": Opaque,
}
_KIND: Final = {cls: kind for kind, cls in PARTS.items()}
_BELONGS: Final = {ToolCall: "assistant", Thinking: "assistant", ToolResult: "tool"}


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `at` is when it was said, `received` when it arrived.

    `id`, `at` and `received` may be empty until the message is added; a memory then sets those that are missing.
    Results of tools have the role `tool` in every shape; `user` is only for what a person said.
    """

    role: Role
    content: str | tuple[Part, ...] = ""
    id: str = ""
    at: datetime | None = None
    received: datetime | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    shape: str | None = None
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidTranscript(f"role {self.role!r} is not one of {', '.join(ROLES)}; {READ_WITH_PARSE}")
        if type(self.role) is not str:  # such as a member of an enum, which prints as something else
            object.__setattr__(self, "role", ROLES[ROLES.index(self.role)])
        if type(self.content) is not str:
            plain = isinstance(self.content, str)  # a template's or a parser's text is of a class of its own
            object.__setattr__(self, "content", str.__str__(self.content) if plain else _parts(self.role, self.content))
        if self.name is not None or self.shape is not None:
            check_fields(self, "a message", str, "name", "shape", absent=True)
        if type(self.metadata) is not FrozenDict or type(self.extra) is not FrozenDict:
            _freeze(self, "metadata", "extra")
        for name in ("at", "received"):
            when = getattr(self, name)
            if when is None or (type(when) is datetime and when.tzinfo is not None):
                continue
            if not isinstance(when, datetime):
                raise InvalidTranscript(f"`{name}` must be a datetime, got {when!r}")
            object.__setattr__(self, name, with_zone(when))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts, whichever way it was given."""
        if isinstance(self.content, str):
            return (Text(self.content),) if self.content else ()
        return self.content

    @property
    def text(self) -> str:
        """The words: text parts and the text of tool results; no thinking, no calls."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, (Text, ToolResult)))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls this message makes."""
        return () if isinstance(self.content, str) else tuple(p for p in self.content if isinstance(p, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results this message brings."""
        return () if isinstance(self.content, str) else tuple(p for p in self.content if isinstance(p, ToolResult))

    @property
    def pinned(self) -> bool:
        """Whether the message, and with it its turn, always stays in the window."""
        return self.metadata.get("pinned") is True

    def replace(self, **changes: Any) -> Message:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data that `from_dict` turns back into an equal message; empty fields are left out."""
        out = _plain(self)
        if not isinstance(self.content, str):
            out["content"] = [_part_to_dict(part) for part in self.content]
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """The message that `to_dict` turned into data."""
        fields = _fields(data, "a message")
        if isinstance(content := fields.get("content", ""), Sequence) and not isinstance(content, str | bytes):
            fields["content"] = tuple(_part_from_dict(part) for part in content)
        for name in ("at", "received"):
            if isinstance(fields.get(name), str):
                try:
                    fields[name] = datetime.fromisoformat(fields[name])
                except ValueError as error:
                    raise InvalidTranscript(f"`{name}` is not a time: {error}") from error
        return _made(cls, fields)


MAX_ID: Final = 1_000


def check_id(value: Any, what: str) -> str:
    """The id itself; raises ConfigError if it is empty, longer than 1,000 characters, or not text that can be kept."""
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{what} must be text that is not empty, got {value!r}")
    if len(value) > MAX_ID:
        raise ConfigError(f"{what} has {len(value)} characters; at most {MAX_ID} are allowed")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise ConfigError(f"{what} {value!r} holds half of a surrogate pair, which is not text; remove it")
    if "\x00" in value:
        raise ConfigError(f"{what} {value!r} holds a NUL character; remove it")
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory is meant: one session, all of a user (no session), or a whole tenant (no user)."""

    tenant: str = "default"
    user: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        check_id(self.tenant, "tenant")
        if self.user is not None:
            check_id(self.user, "user")
        if self.session is not None:
            check_id(self.session, "session")
            if self.user is None:
                raise ConfigError(f"session {self.session!r} has no user: name the user that it belongs to")

    def covers(self, other: Scope) -> bool:
        """Whether the other scope is this one or lies inside it."""
        return self.tenant == other.tenant and self.user in (None, other.user) and self.session in (None, other.session)

    @property
    def owner(self) -> Scope:
        """The same scope without its session."""
        return self if self.session is None else Scope(self.tenant, self.user)


def local_now() -> datetime:
    """The time now, in this machine's time zone: what "tomorrow" means depends on where it is said."""
    return datetime.now(_zone(int(time.time()) // 60, time.tzname))


@lru_cache(maxsize=1)
def _zone(minute: int, names: tuple[str, str]) -> timezone:
    """This machine's time zone in a minute since 1970, as long as its zones have these names."""
    return timezone(timedelta(seconds=time.localtime(minute * 60).tm_gmtoff))


def in_local_zone(when: datetime) -> datetime:
    """A moment in this machine's time zone; unchanged if that would be before year 1 or after 9999."""
    try:
        return when.astimezone()
    except (OverflowError, ValueError, OSError):
        return with_zone(when)


def with_zone(when: datetime) -> datetime:
    """The same moment with a time zone; UTC if it has none."""
    if not isinstance(when, datetime):
        raise ConfigError(f"a time must be a datetime, got {when!r}")
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when


def content_of(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    """Parts as the content of a message; a single text without anything else is given as a string."""
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else tuple(parts)


def _parts(role: str, content: Any) -> tuple[Part, ...]:
    if not isinstance(content, (tuple, list)):
        raise InvalidTranscript(f"content must be text or parts, got {type(content).__name__}")
    for part in content:
        if type(part) not in _KIND:
            raise InvalidTranscript(
                f"a {type(part).__name__} is not a part; use {', '.join(c.__name__ for c in _KIND)}; {READ_WITH_PARSE}"
            )
        if _BELONGS.get(type(part), role) != role:
            raise InvalidTranscript(f"a {type(part).__name__} belongs to role {_BELONGS[type(part)]!r}, not {role!r}")
    return tuple(content)


def _plain(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if item != field.default:
            out[field.name] = item.isoformat() if isinstance(item, datetime) else thaw(item)
    return out


def _part_to_dict(part: Part) -> dict[str, Any]:
    out = {"type": _KIND[type(part)], **_plain(part)}
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        out["content"] = [_part_to_dict(inner) for inner in part.content]
    return out


def _part_from_dict(data: Mapping[str, Any]) -> Part:
    fields = _fields(data, "a part")
    kind = fields.pop("type", None)
    if not isinstance(kind, str) or kind not in PARTS:
        raise InvalidTranscript(f"part type {kind!r} is not one of {', '.join(PARTS)}")
    if kind == "tool_result" and isinstance(inside := fields.get("content", ""), list | tuple):
        fields["content"] = tuple(_part_from_dict(inner) for inner in inside)
    part: Callable[..., Part] = PARTS[kind]
    return _made(part, fields)


def _fields(data: Any, what: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InvalidTranscript(f"{what} must be a mapping, got {type(data).__name__}")
    return dict(data)


def _made(cls: Callable[..., T], fields: Mapping[str, Any]) -> T:
    try:
        return cls(**fields)
    except TypeError as error:
        raise InvalidTranscript(f"fields are missing or unknown: {error}") from error


def spelt_out(message: Message) -> str:
    """What a message says and which tools it calls, as text."""
    calls = "".join(f"\n{call.name}({call.arguments})" for call in message.tool_calls)
    return f"{message.text}{calls}".lstrip("\n")
