"""A streamed answer put together again from OpenAI's event stream, which goes on to the caller as it is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json

from recollect.errors import InvalidTranscript
from recollect.flow.align import says
from recollect.flow.render import parse
from recollect.llm.dialect import failure
from recollect.llm.model import PARTIAL
from recollect.llm.openai import Chunks, spoken
from recollect.types import Message

DATA: Final = b"data:"
_DONE: Final = b"[DONE]"
_LAST: Final = re.compile(rb"\ndata: ?\[DONE\]")
_LONGEST: Final = len(b"\ndata: [DONE]")
LARGE: Final = 65_536
"""Bytes of a stream that may wait to be parsed; a shorter answer is parsed once, at its end."""


@dataclass(slots=True)
class Heard:
    """The first choice of a streamed answer, as far as it came."""

    ended: bool = False
    _failed: bool = False
    _chunks: Chunks = field(default_factory=Chunks)
    _waiting: list[bytes] = field(default_factory=list)
    _size: int = 0
    _tail: bytes = b"\n"

    def feed(self, data: bytes) -> None:
        """Take in a piece of the stream, cut anywhere."""
        self._waiting.append(data)
        self._size += len(data)
        seen = self._tail + data
        self.ended = self.ended or _LAST.search(seen) is not None
        self._tail = seen[1 - _LONGEST :]
        if self._size > LARGE and b"\n" in data:
            self._read()

    def broke_off(self) -> bool:
        """Whether the stream, which is over, has no end of the answer, and no error that says why."""
        self._read_all()
        return not self._failed and self._chunks.finish is None

    def message(self) -> Message | None:
        """The answer, or None where it is empty; of one that broke off, the words so far, marked as partial."""
        self._read_all()
        if not self._failed and (whole := self._chunks.whole()):
            return answer_of(whole)
        words = self._chunks.words
        return Message("assistant", words, metadata=PARTIAL) if words else None

    def _read_all(self) -> None:
        self.feed(b"\n")
        self._read()

    def _read(self) -> None:
        """Parse the lines that came; what is no chunk is skipped."""
        *lines, rest = b"".join(self._waiting).split(b"\n")
        self._waiting, self._size = [rest], len(rest)
        for line in lines:
            if not line.startswith(DATA):
                continue
            data = line[len(DATA) :].lstrip()
            if data.startswith(_DONE):
                self._chunks.done()
                continue
            try:
                chunk = _value(data)
                self._failed = self._failed or failure(chunk) is not None
                self._chunks.add(chunk)
            except (ValueError, TypeError, AttributeError, RecursionError):
                continue


def _value(data: bytes) -> Any:
    """The JSON value of an event: by the fast parser or, where half a surrogate pair breaks that, by `json`."""
    try:
        return from_json(data)
    except ValueError:
        return json.loads(data)


def answer_of(data: Any) -> Message | None:
    """The message of a completion's first choice, or None where it is empty; of a recording, its transcript."""
    try:
        message = parse([spoken({"role": "assistant", "content": None, **data["choices"][0]["message"]})], "openai")[0]
    except (InvalidTranscript, LookupError, TypeError):
        return None
    return message if says(message) else None
