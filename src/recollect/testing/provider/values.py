"""What passes through the test provider: a request as it came, the answer to it, and the bytes that are sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Final, Literal, TypeAlias

from recollect.llm.model import Finish, Usage
from recollect.types import Message

Said: TypeAlias = str | Mapping[str, Any] | Message
"""What a model is to answer: text, a value for the schema that is asked for, or a whole message."""


_NONSENSE: Final[tuple[Any, ...]] = ("many", -3, None, 1e300, [], True)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, and how it went. `status` is 0 where no answer was sent, `problem` the error's text.

    `tokens` are the prompt's, `cached` and `written` what of it was read from and put into the prompt cache.
    """

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    messages: tuple[Message, ...] = ()
    tokens: int = 0
    cached: int = 0
    written: int = 0
    status: int = 0
    fault: str = ""
    problem: str = ""


Replies: TypeAlias = Callable[[Asked], Said]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says; without a message the reply has no answer. `report` says how honest the usage is."""

    message: Message | None
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    report: Literal["true", "none", "nonsense"] = "true"
    model: str = "test-model"
    id: str = "1"

    def reported(self, counts: Mapping[str, Any]) -> dict[str, Any]:
        """The counts as they are reported."""
        if self.report == "true":
            return dict(counts)
        return {} if self.report == "none" else dict(zip(counts, cycle(_NONSENSE), strict=False))


class Refused(Exception):
    """The request gets an error instead of an answer."""

    def __init__(self, status: int, problem: str, code: str | None = None, asked: Asked | None = None) -> None:
        self.status, self.problem, self.code, self.asked = status, problem, code, asked
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause before the next piece; without seconds it lasts until the client gives up."""

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection ends here, with a reset or without."""

    reset: bool = False


Piece: TypeAlias = bytes | Wait | HangUp


@dataclass(frozen=True, slots=True)
class Sending:
    """A reply on its way: the pieces one by one. `length` is what the header promises; None is chunked."""

    status: int
    pieces: tuple[Piece, ...]
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    length: int | None = None

    @property
    def begins(self) -> bool:
        """Whether anything is sent at all."""
        return any(isinstance(piece, bytes) for piece in self.pieces)

    @property
    def data(self) -> bytes:
        """All bytes of the body."""
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))


def whole(body: Any, status: int = 200, **headers: str) -> Sending:
    """A reply in one piece of JSON."""
    data = json.dumps(body, ensure_ascii=False).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Sending(status, (data,), {"content-type": "application/json", **named}, len(data))


def minified(value: Any) -> str:
    """JSON text without blanks, keys in order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
