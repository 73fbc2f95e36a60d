"""A streamed answer put together again from its chunks, as OpenAI sends them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from recollect.flow.render import parse
from recollect.frozen import FrozenDict
from recollect.types import Message

_SAID: Final = ("content", "refusal", "reasoning_content", "reasoning")
PARTIAL: Final = FrozenDict(partial=True)
"""The metadata of an answer that broke off."""


@dataclass(slots=True)
class Chunks:
    """What has arrived of the first choice so far."""

    said: dict[str, str] = field(default_factory=dict)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    finished: bool = False
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take in a piece of the event stream, cut anywhere; what is no chunk is passed over."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and not line.startswith(b"data: [DONE]"):
                with suppress(ValueError, LookupError, TypeError, AttributeError):
                    self._take(json.loads(line[5:])["choices"][0])

    def _take(self, choice: Mapping[str, Any]) -> None:
        if choice.get("index", 0) != 0:
            return
        self.finished = self.finished or choice.get("finish_reason") is not None
        delta = choice.get("delta") or {}
        for name in _SAID:
            if isinstance(text := delta.get(name), str):
                self.said[name] = self.said.get(name, "") + text
        for call in delta.get("tool_calls") or ():
            self._take_call(call)

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        call = self.calls.setdefault(piece.get("index", 0), {"id": "", "type": "function", "function": {}})
        for name in ("id", "type"):
            if piece.get(name):
                call[name] = piece[name]
        kind = "custom" if "custom" in piece else "function"
        for name, text in (piece.get(kind) or {}).items():
            call.setdefault(kind, {})
            call[kind][name] = call[kind].get(name, "") + text if name != "name" else text

    def message(self) -> Message | None:
        """The answer, or None where it says nothing; of one that broke off the words so far, marked as partial."""
        wire: dict[str, Any] = {"role": "assistant", "content": None, **self.said}
        if self.finished and self.calls:
            wire["tool_calls"] = [call for _, call in sorted(self.calls.items())]
        elif not (self.said.get("content") or self.said.get("refusal")):
            return None
        message = parse([wire], "openai")[0]
        return message if self.finished else message.replace(metadata=PARTIAL)
