"""The five wire shapes. Each file reads a wire message, writes it back, and knows what its provider refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.flow.shapes import anthropic, bedrock, gemini, openai, responses
from recollect.flow.shapes.wire import Fault, OpenCalls, Wire
from recollect.types import Message


@dataclass(frozen=True)
class Shape:
    """What rendering has to know about a provider.

    - `messages`, `system`: the names of these fields in a request; `system` with its other spellings.
    - `apart`: whether a message goes to the system field.
    - `turns`: the kind of turn of each role; neighbours of one kind are written as one message.
    - `strict`: blank text is refused, the user comes first, arguments must be a JSON object, and results can be errors.
    - `unique`: no two calls may have the same id.
    - `pictures_beside`: results hold only text; pictures go beside them.
    - `named`: results carry the tool's name.
    - `names`: messages can carry a name.
    - `schemes`: the URL schemes of images that the provider fetches.
    """

    name: str
    read: Callable[[Mapping[str, Any], str, OpenCalls], Message]
    write: Callable[[Message], list[Wire]]
    check: Callable[[list[Wire], Any], Iterator[Fault]]
    surrogate: str
    messages: str = "messages"
    system: tuple[str, ...] = ()
    read_system: Callable[[Any, str], Message] | None = None
    write_system: Callable[[list[Message]], Any] | None = None
    apart: Callable[[Message], bool] = lambda message: False
    turns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    unique: bool = False
    pictures_beside: bool = False
    named: bool = False
    names: bool = False
    schemes: tuple[str, ...] = ("https", "http")


def _shape(module: ModuleType, **known: Any) -> Shape:
    """The shape that a module reads, writes and checks."""
    if "system" in known:
        known |= {"read_system": module.read_system, "write_system": module.write_system}
    return Shape(module.NAME, module.read, module.write, module.check, module.SURROGATE, **known)


_STRICT: Final[Mapping[str, Any]] = {
    "strict": True,
    "apart": lambda message: message.role == "system",
    "turns": {"user": "user", "tool": "user", "assistant": "assistant"},
}

SHAPES: Final = {
    shape.name: shape
    for shape in (
        _shape(openai, turns={"tool": "tool", "assistant": "assistant"}, pictures_beside=True, names=True),
        _shape(responses, messages="input", system=("instructions",), apart=responses.is_instructions),
        _shape(anthropic, system=("system",), unique=True, **_STRICT),
        _shape(bedrock, system=("system",), unique=True, schemes=("s3",), **_STRICT),
        _shape(
            gemini,
            messages="contents",
            system=("systemInstruction", "system_instruction"),
            pictures_beside=True,
            named=True,
            schemes=("https", "http", "gs"),
            **_STRICT,
        ),
    )
}


def shape_of(name: str) -> Shape:
    """The shape of that name; ConfigError names the five."""
    if not isinstance(name, str) or name not in SHAPES:
        raise ConfigError(f"shape {name!r} is not one of {', '.join(SHAPES)}")
    return SHAPES[name]
