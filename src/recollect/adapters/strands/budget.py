"""A conversation manager that holds an agent's messages to a token budget, before every call of the model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from recollect.adapters.strands.sdk import (
    Agent,
    BeforeModelCallEvent,
    ContextWindowOverflowException,
    ConversationManager,
    HookRegistry,
    ProactiveCompressionConfig,
    Wire,
    apply_pin_first,
)
from recollect.errors import BudgetTooSmall, ConfigError
from recollect.flow.render import parse, render
from recollect.flow.window import Limits, Window
from recollect.layers.working import reduce
from recollect.settings import BUDGET
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, estimate
from recollect.tokens import counter as open_counter
from recollect.types import Message

log = logging.getLogger("recollect")

SHAPE: Final = "bedrock"
KEPT: Final = "kept"


@dataclass(slots=True, eq=False)
class _Followed:
    """A list of messages as it was last seen, and the window over it."""

    window: Window
    wires: list[Wire] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def follow(self, wires: Sequence[Wire]) -> None:
        new = [read(wire, n) for n, wire in enumerate(wires[len(self.wires) :], len(self.wires))]
        self.wires += wires[len(self.wires) :]
        self.messages += new
        self.window.extend(new)


@dataclass(slots=True, eq=False)
class _Overflow:
    """The messages that a provider refused, what had been removed before, and what is left after some attempts."""

    wires: list[Wire]
    removed: int
    kept: list[Wire]
    attempts: int = 0
    left: list[Wire] = field(default_factory=list)


class TokenBudgetConversationManager(ConversationManager):
    """Holds the system prompt and the messages to `budget` tokens: whole turns, cut rarely and deep; pins stay.

    Use it as `Agent(conversation_manager=…)`. `last_messages` holds to a number of messages instead or as well;
    `reserve` are tokens left free for what is injected later; `pin_first` pins that many messages at the start. Where
    what must stay is over the budget, the agent gets BudgetTooSmall before the model is called, and its messages stay
    as they are.
    """

    def __init__(
        self,
        budget: int | None = None,
        *,
        counter: TokenCounter | str = estimate,
        last_messages: int | None = None,
        low_water: float = 0.7,
        min_turns: int = 1,
        min_messages: int = 2,
        reserve: int = 0,
        pin_first: int = 0,
        proactive_compression: bool | ProactiveCompressionConfig | None = None,
    ) -> None:
        super().__init__(proactive_compression=proactive_compression)
        if budget is None and last_messages is None:
            budget = BUDGET
        if budget is not None and budget <= reserve:
            raise ConfigError(f"budget is {budget}; it must be more than the {reserve} tokens in reserve")
        self.counter = open_counter(counter)
        self.limits = Limits(budget, last_messages, None, low_water, min_turns, min_messages)
        self.reserve, self.pin_first = reserve, pin_first
        self._followed: _Followed | None = None
        self._overflow: _Overflow | None = None
        self._kept: list[Wire] = []

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Have the messages fitted before every call of the model."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, lambda event: self._fit(event.agent))

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Fit the agent's messages now; where that can't be done they stay, and the next call of the model says so."""
        try:
            self._fit(agent)
        except BudgetTooSmall as error:
            log.warning("the agent's messages are over their budget: %s", error)

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Make the messages strictly smaller after an overflow, up to three times for the same messages.

        Raises ContextWindowOverflowException where nothing smaller is a valid request; without `e` they stay then.
        """
        self._pin(agent)
        over = self._overflow
        if over is None or not _same(agent.messages, over.left):
            over = _Overflow(list(agent.messages), self.removed_message_count, self._kept)
        over.attempts += 1
        read_all = [read(wire, n) for n, wire in enumerate(over.wires)]
        try:
            window = reduce(read_all, over.attempts, counter=self.counter)
        except (BudgetTooSmall, ConfigError) as error:
            if e is None:
                log.warning("the agent's messages can't be made smaller: %s", error)
                return
            raise ContextWindowOverflowException(f"Nothing smaller can be sent: {error}") from e
        self.removed_message_count, self._kept = over.removed, over.kept
        self._show(agent, over.wires, read_all, window.messages)
        over.left, self._overflow = list(agent.messages), over

    def get_state(self) -> dict[str, Any]:
        """What a session keeps: how many messages are out, and the ones among them that stay, such as pinned ones."""
        return {**super().get_state(), KEPT: list(self._kept)}

    def restore_from_session(self, state: dict[str, Any]) -> list[Wire] | None:
        """The messages to put in front of those that a session has after the removed ones."""
        super().restore_from_session(state)
        self._kept = list(state.get(KEPT) or [])
        self._followed = self._overflow = None
        return list(self._kept) or None

    def _pin(self, agent: Agent) -> None:
        """Pin the first messages, once: later the list begins with others."""
        if self.pin_first and not self.removed_message_count:
            apply_pin_first(agent.messages, self.pin_first)

    def _fit(self, agent: Agent) -> None:
        self._pin(agent)
        overhead = self._overhead(agent)
        followed = self._followed
        if followed is None or followed.window.overhead != overhead or not _begins(agent.messages, followed.wires):
            followed = _Followed(Window(partial(count_message, count=self.counter), self.limits, overhead))
        followed.follow(agent.messages)
        self._followed = followed
        self._show(agent, followed.wires, followed.messages, followed.window.messages)

    def _overhead(self, agent: Agent) -> int:
        prompt = agent.system_prompt
        said = count_message(Message("system", prompt), self.counter) if isinstance(prompt, str) else 0
        return REPLY_TOKENS + self.reserve + said

    def _show(self, agent: Agent, wires: list[Wire], read_as: list[Message], shown: Sequence[Message]) -> None:
        """Leave only what is shown in the agent's list; the window starts anew over it, so that nothing piles up."""
        places = [int(message.id) for message in shown]
        left = [wires[n] if message is read_as[n] else write(message) for n, message in zip(places, shown, strict=True)]
        if _same(agent.messages, left):
            return
        before = len(self._kept) if _begins(wires, self._kept) else 0
        start = max(_run(places), before)
        self.removed_message_count += start - before
        self._kept = [wire for wire, n in zip(left, places, strict=True) if n < start]
        agent.messages[:] = left
        self._followed = None


def read(wire: Wire, number: int) -> Message:
    """A message of the SDK, numbered; its pin is the window's."""
    (message,) = parse([wire], SHAPE)
    custom = (wire.get("metadata") or {}).get("custom") or {}
    return message.replace(id=str(number), metadata={"pinned": True} if custom.get("pinned") is True else {})


def write(message: Message) -> Wire:
    """The message as the SDK has it."""
    return cast("Wire", render([message], SHAPE)[0])


def _same(some: Sequence[Wire], others: Sequence[Wire]) -> bool:
    return len(some) == len(others) and _begins(some, others)


def _begins(wires: Sequence[Wire], start: Sequence[Wire]) -> bool:
    return len(start) <= len(wires) and all(one is other for one, other in zip(wires, start, strict=False))


def _run(places: Sequence[int]) -> int:
    """Where the last run of neighbours begins."""
    n = len(places) - 1
    while n > 0 and places[n - 1] == places[n] - 1:
        n -= 1
    return places[n] if places else 0
