"""A streamed answer put together again from OpenAI's event stream, which goes on to the caller as it is."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from recollect.errors import InvalidTranscript
from recollect.flow.render import parse
from recollect.frozen import FrozenDict
from recollect.llm.openai import Chunks
from recollect.types import Message

PARTIAL: Final = FrozenDict(partial=True)
"""The metadata of an answer that broke off."""


@dataclass(slots=True)
class Heard:
    """What has come of an answer so far, of its first choice."""

    chunks: Chunks = field(default_factory=Chunks)
    ended: bool = False
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take in a piece of the stream, cut anywhere; what is no chunk is passed over."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: [DONE]"):
                self.chunks.done()
                self.ended = True
            elif line.startswith(b"data:"):
                with suppress(ValueError, TypeError, AttributeError):
                    self._take(json.loads(line[5:]))

    def _take(self, chunk: dict[str, Any]) -> None:
        choices = chunk.get("choices") or [{}]
        if not choices[0].get("index"):
            self.chunks.add(chunk)

    def message(self) -> Message | None:
        """The answer, or None where it says nothing; of one that broke off the words so far, marked as partial."""
        if whole := self.chunks.whole():
            return answer_of(whole)
        text = "".join(self.chunks.said.get("content", ()))
        return Message("assistant", text, metadata=PARTIAL) if text else None


def answer_of(data: Any) -> Message | None:
    """The message of a completion's first choice, or None where it says nothing."""
    try:
        message = parse([{"role": "assistant", "content": None, **data["choices"][0]["message"]}], "openai")[0]
    except (InvalidTranscript, LookupError, TypeError):
        return None
    return message if message.parts else None
