"""A model that is watched: what it used in all, and how far token counts are off for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recollect.errors import ModelError
from recollect.llm.model import TIMEOUT, ChatModel, Delta, Reply, Usage
from recollect.tokens import Calibration, count_messages, count_tools, estimate
from recollect.types import Message


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model used: calls, those of them that failed, and the tokens the provider reported."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True, eq=False)
class Metered:
    """A `ChatModel` that adds up the usage of another, and teaches `calibration` what is reported."""

    model: ChatModel
    calibration: Calibration = field(default_factory=Calibration)
    _spent: Spent = field(default_factory=Spent, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        """The name of the model that is watched."""
        return self.model.name

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        return self._spent

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float = TIMEOUT,
    ) -> Reply:
        """The whole answer."""
        try:
            reply = self.model.complete(messages, tools=tools, schema=schema, max_tokens=max_tokens, timeout=timeout)
        except ModelError:
            self._add(Spent(1, 1))
            raise
        self._learn(messages, tools, reply)
        return reply

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float = TIMEOUT,
    ) -> Iterator[Delta]:
        """The answer as it is made; the last piece carries the whole reply."""
        try:
            for delta in self.model.stream(
                messages, tools=tools, schema=schema, max_tokens=max_tokens, timeout=timeout
            ):
                if delta.reply:
                    self._learn(messages, tools, delta.reply)
                yield delta
        except ModelError:
            self._add(Spent(1, 1))
            raise

    def _learn(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], reply: Reply) -> None:
        counted = count_messages(messages, estimate) + count_tools(tools, estimate)
        self.calibration.observe(self.name, counted, reply.usage.prompt)
        self._add(Spent(1, 0, reply.usage))

    def _add(self, more: Spent) -> None:
        with self._lock:
            now = self._spent
            self._spent = Spent(now.calls + more.calls, now.failed + more.failed, now.usage + more.usage)
