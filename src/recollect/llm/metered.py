"""A model whose usage is recorded: what it used in total, and how far token counts are off for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from recollect.llm.model import ChatModel, Delta, Options, Reply, Usage
from recollect.tokens import Calibration, count_messages, count_tools, estimate
from recollect.types import Message


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model used: calls, how many of them gave no complete reply, and the tokens that the provider reported."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True, eq=False)
class Metered:
    """A `ChatModel` that adds up the usage of another one, and teaches it to `calibration`."""

    model: ChatModel
    calibration: Calibration = field(default_factory=Calibration)
    _spent: Spent = field(default_factory=Spent, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the model whose usage is recorded."""
        return self.model.name

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        return self._spent

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The whole answer."""
        reply = None
        try:
            reply = self.model.complete(messages, **options)
            return reply
        finally:
            self._learn(messages, options.get("tools", ()), reply)

    def stream(self, messages: Sequence[Message], **options: Unpack[Options]) -> Iterator[Delta]:
        """The answer, piece by piece; the last piece has the whole reply."""
        reply = None
        deltas = self.model.stream(messages, **options)
        try:
            for delta in deltas:
                reply = delta.reply or reply
                yield delta
        finally:
            getattr(deltas, "close", lambda: None)()
            self._learn(messages, options.get("tools", ()), reply)

    def _learn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], reply: Reply | None) -> None:
        """Count a call; if there is no reply, it failed or the caller stopped reading."""
        if reply:
            counted = count_messages(messages, estimate) + count_tools(tools, estimate)
            self.calibration.observe(self.name, counted, reply.usage.prompt)
        with self._lock:
            now, used = self._spent, reply.usage if reply else Usage()
            self._spent = Spent(now.calls + 1, now.failed + (reply is None), now.usage + used)
