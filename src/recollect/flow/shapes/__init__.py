"""The five wire shapes: each file reads one wire message, writes it back and knows what its provider refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.flow.shapes import anthropic, bedrock, gemini, openai, responses
from recollect.flow.shapes.wire import Fault, OpenCalls, Wire
from recollect.types import Message

_TURNS: Final = {"user": "user", "tool": "user", "assistant": "assistant"}


@dataclass(frozen=True)
class Shape:
    """What rendering has to know about a provider.

    `messages` and `system` name the fields of a request (`system` with its other spellings), `apart` tells the messages
    that go to the system field. `turns` says which roles are written as one turn. `objects`: arguments must be a JSON
    object. `filled`: blank text is refused and the user starts. `unique`: no two calls share an id. `failures`: results
    can be errors. `pictures_beside`: results hold text only. `named`: results carry the tool's name.
    `names`: messages carry a name. `schemes`: the addresses of images it fetches.
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
    objects: bool = False
    filled: bool = False
    unique: bool = False
    failures: bool = False
    pictures_beside: bool = False
    named: bool = False
    names: bool = False
    schemes: tuple[str, ...] = ("https", "http")


def _is_system(message: Message) -> bool:
    return message.role == "system"


SHAPES: Final = {
    shape.name: shape
    for shape in (
        Shape(
            openai.NAME,
            openai.read,
            openai.write,
            openai.check,
            openai.SURROGATE,
            turns={"tool": "tool", "assistant": "assistant"},
            pictures_beside=True,
            names=True,
        ),
        Shape(
            responses.NAME,
            responses.read,
            responses.write,
            responses.check,
            responses.SURROGATE,
            messages="input",
            system=("instructions",),
            read_system=responses.read_system,
            write_system=responses.write_system,
            apart=responses.is_instructions,
        ),
        Shape(
            anthropic.NAME,
            anthropic.read,
            anthropic.write,
            anthropic.check,
            anthropic.SURROGATE,
            system=("system",),
            read_system=anthropic.read_system,
            write_system=anthropic.write_system,
            apart=_is_system,
            turns=_TURNS,
            objects=True,
            filled=True,
            failures=True,
            unique=True,
        ),
        Shape(
            bedrock.NAME,
            bedrock.read,
            bedrock.write,
            bedrock.check,
            bedrock.SURROGATE,
            system=("system",),
            read_system=bedrock.read_system,
            write_system=bedrock.write_system,
            apart=_is_system,
            turns=_TURNS,
            objects=True,
            filled=True,
            failures=True,
            unique=True,
            schemes=("s3",),
        ),
        Shape(
            gemini.NAME,
            gemini.read,
            gemini.write,
            gemini.check,
            gemini.SURROGATE,
            messages="contents",
            system=("systemInstruction", "system_instruction"),
            read_system=gemini.read_system,
            write_system=gemini.write_system,
            apart=_is_system,
            turns=_TURNS,
            objects=True,
            filled=True,
            failures=True,
            pictures_beside=True,
            named=True,
            schemes=("https", "http", "gs"),
        ),
    )
}


def shape_of(name: str) -> Shape:
    """The shape of that name; ConfigError names the five."""
    if name not in SHAPES:
        raise ConfigError(f"shape {name!r} is not one of {', '.join(SHAPES)}")
    return SHAPES[name]
