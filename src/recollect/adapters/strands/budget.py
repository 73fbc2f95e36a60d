"""Conversation managers that hold an agent to a budget of tokens, or of messages, before every call of the model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from strands import Agent
from strands.agent.conversation_manager import ConversationManager, ProactiveCompressionConfig
from strands.agent.conversation_manager.compression.pin_message import apply_pin_first
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry
from strands.types.content import Message as Wire
from strands.types.exceptions import ContextWindowOverflowException

from recollect.arguments import check_budget
from recollect.errors import BudgetTooSmall, ConfigError
from recollect.flow.limits import Limits
from recollect.flow.render import parse, render
from recollect.flow.shapes.wire import RAW, to_json
from recollect.flow.shorten import acceptable
from recollect.flow.window import Window
from recollect.http import REFUSED
from recollect.layers.working import reduce
from recollect.llm.overflow import detect
from recollect.settings import BUDGET
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, estimate
from recollect.tokens import counter as open_counter
from recollect.types import Message

log = logging.getLogger("recollect")

SHAPE: Final = "bedrock"
KEPT: Final = "kept"
WINDOW: Final = 40


@dataclass(slots=True, eq=False)
class _Followed:
    """An agent's messages as they were last seen and read, and the window over them."""

    window: Window
    wires: list[Wire] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def still(self, wires: Sequence[Wire]) -> bool:
        """Whether the list goes on from what was seen, with the same pins."""
        return _begins(wires, self.wires) and all(
            _pinned(wire) == message.pinned for wire, message in zip(self.wires, self.messages, strict=True)
        )


@dataclass(slots=True, eq=False)
class _Overflow:
    """The messages that a provider refused, the state before, how often they were reduced, and what is left."""

    wires: list[Wire]
    messages: list[Message]
    before: dict[str, Any]
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
        check_budget(budget)
        if budget is not None and budget <= reserve:
            raise ConfigError(f"budget is {budget}; it must be more than the {reserve} tokens in reserve")
        self.counter = open_counter(counter)
        self.limits = Limits(budget, last_messages, None, low_water, min_turns, min_messages)
        self.reserve, self.pin_first = reserve, pin_first
        self._followed: _Followed | None = None
        self._overflow: _Overflow | None = None
        self._kept: list[Wire] = []

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Have the messages fitted before every model call, and overflows handled that the SDK does not recognise."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, lambda event: self._fit(event.agent))
        registry.add_callback(AfterModelCallEvent, self._meet_error)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Fit the agent's messages now; where that can't be done they stay, and the next call of the model says so."""
        try:
            self._fit(agent)
        except BudgetTooSmall as error:
            log.warning("the agent's messages are over their budget: %s", error)

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Make the messages strictly smaller after an overflow, up to three times for the same messages.

        Where the provider's words name its limit, they get below that. Raises ContextWindowOverflowException where
        nothing smaller is a valid request; without `e` they stay then.
        """
        self._pin(agent)
        over = self._overflow
        if over is None or not _same(agent.messages, over.left):
            read = [self._read(wire, n) for n, wire in enumerate(agent.messages)]
            over = _Overflow(list(agent.messages), read, self.get_state())
        over.attempts += 1
        try:
            window = reduce(over.messages, over.attempts, self._reported(agent, e), counter=self.counter)
        except (BudgetTooSmall, ConfigError) as error:
            if e is None:
                log.warning("the agent's messages can't be made smaller: %s", error)
                return
            raise ContextWindowOverflowException(f"Nothing smaller can be sent: {error}") from e
        self.restore_from_session(over.before)
        self._show(agent, over.wires, over.messages, window.messages)
        over.left, self._overflow = list(agent.messages), over

    def get_state(self) -> dict[str, Any]:
        """What a session keeps: how many messages are out, and which of those stay all the same, as pinned ones do."""
        return {**super().get_state(), KEPT: list(self._kept)}

    def restore_from_session(self, state: dict[str, Any]) -> list[Wire] | None:
        """The messages to put in front of those that the session has after the ones that are out.

        What another manager kept is taken, too: a session goes on with the manager that its agent has now.
        """
        super().restore_from_session({**state, "__name__": type(self).__name__})
        summary = state.get("summary_message")  # of the SDK's own manager
        self._kept = list(state.get(KEPT) or ([summary] if summary else []))
        self._followed = self._overflow = None
        return list(self._kept) or None

    def _fit(self, agent: Agent) -> None:
        self._pin(agent)
        wires, overhead, known = agent.messages, self._overhead(agent), self._followed
        if known is None or known.window.overhead != overhead or not known.still(wires):
            known = _Followed(Window(partial(count_message, count=self.counter), self.limits, overhead))
        new = [self._read(wires[n], n) for n in range(len(known.wires), len(wires))]
        known.wires, known.messages = list(wires), known.messages + new
        known.window.extend(new)
        self._followed = known
        self._show(agent, known.wires, known.messages, known.window.messages)

    def _meet_error(self, event: AfterModelCallEvent) -> None:
        """Ask again: with less after an overflow that the SDK does not know, else without what providers refuse."""
        error = event.exception
        if error is None or isinstance(error, (BudgetTooSmall, ContextWindowOverflowException)):
            return
        status = _status(error)
        if detect(status, str(error)):
            with suppress(ContextWindowOverflowException):  # then the error that came is the one to tell
                self.reduce_context(event.agent, error)
                event.retry = True
        elif status in REFUSED and self._make_acceptable(event.agent):
            event.retry = True

    def _make_acceptable(self, agent: Agent) -> bool:
        """Put marks in the place of what providers refuse; whether there was something."""
        read = [message.replace(id=str(n)) for n, message in enumerate(as_ours(agent.messages))]
        changed = [marked for marked, one in zip(acceptable(read), read, strict=True) if marked is not one]
        for message in changed:
            wire = agent.messages[int(message.id)].copy()
            wire["content"] = _write(message)["content"]
            agent.messages[int(message.id)] = wire
        return bool(changed)

    def _pin(self, agent: Agent) -> None:
        """Pin the first messages; once some are out, the list begins with others."""
        if self.pin_first and not self.removed_message_count:
            apply_pin_first(agent.messages, self.pin_first)

    def _overhead(self, agent: Agent) -> int:
        prompt = agent.system_prompt
        said = count_message(Message("system", prompt), self.counter) if isinstance(prompt, str) else 0
        return REPLY_TOKENS + self.reserve + said

    def _reported(self, agent: Agent, e: Exception | None) -> int | None:
        """What the limit that a provider named leaves for the messages."""
        told = detect(None, str(e)) if e else None
        return None if told is None or told.room is None else told.room - self._overhead(agent)

    def _show(self, agent: Agent, wires: list[Wire], read: list[Message], shown: Sequence[Message]) -> None:
        """Leave only what is shown in the agent's list; the window starts anew over that, so that nothing piles up."""
        places = [int(message.id) for message in shown]
        left = [wires[n] if message is read[n] else _write(message) for n, message in zip(places, shown, strict=True)]
        gone = set(range(len(read))).difference(places)
        left = self._opened(left, [read[n] for n in sorted(gone)])
        if _same(agent.messages, left):
            return
        before = len(self._kept) if _begins(wires, self._kept) else 0
        start = max(_last_run(places), before)
        self.removed_message_count += start - before
        self._kept = [wire for wire, n in zip(left, places, strict=True) if n < start]
        agent.messages[:] = left
        self._followed = None

    def _opened(self, left: list[Wire], gone: list[Message]) -> list[Wire]:
        """The messages that are left, as the list is to begin after those that are gone."""
        return left

    def _read(self, wire: Wire, number: int) -> Message:
        """A message of the SDK under its place in the list; its pin is the window's."""
        (message,) = as_ours([wire])
        return message.replace(id=str(number), metadata={"pinned": True} if _pinned(wire) else {})


class SlidingWindowConversationManager(TokenBudgetConversationManager):
    """Holds an agent to its newest `window_size` messages, however long they are, before every call of the model.

    It stands in the place of the SDK's own of that name; a call stays with its result, pins stay, and an overflow is
    met as by TokenBudgetConversationManager, which has the other options.
    """

    def __init__(self, window_size: int = WINDOW, *, min_messages: int = 1, **options: Any) -> None:
        super().__init__(last_messages=window_size, min_messages=min_messages, **options)
        self.window_size = window_size


def as_ours(wires: Iterable[Wire]) -> list[Message]:
    """The SDK's messages as ours; a call's arguments that are no object, as models write at times, are kept as text."""
    return parse(list(map(_sound, wires)), SHAPE)


def _sound(wire: Any) -> Any:
    """A message or block in which a call's arguments are an object."""
    match wire:
        case {"content": [*blocks]}:
            return {**wire, "content": list(map(_sound, blocks))}
        case {"toolUse": {"input": given}} if not isinstance(given, dict):
            return {**wire, "toolUse": {**wire["toolUse"], "input": {RAW: to_json(given)}}}
    return wire


def _status(error: Exception) -> int | None:
    """The HTTP status of a provider's error, as the clients of OpenAI and Anthropic tell it, or as Bedrock's does."""
    told = getattr(error, "response", None)
    by_bedrock = told.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(told, dict) else None
    return getattr(error, "status_code", by_bedrock)


def _pinned(wire: Wire) -> bool:
    return ((wire.get("metadata") or {}).get("custom") or {}).get("pinned") is True


def _write(message: Message) -> Wire:
    return cast("Wire", render([message], SHAPE)[-1])


def _same(some: Sequence[Wire], others: Sequence[Wire]) -> bool:
    return len(some) == len(others) and _begins(some, others)


def _begins(wires: Sequence[Wire], start: Sequence[Wire]) -> bool:
    return len(start) <= len(wires) and all(one is other for one, other in zip(wires, start, strict=False))


def _last_run(places: Sequence[int]) -> int:
    """Where the last run of neighbours begins."""
    n = len(places) - 1
    while n > 0 and places[n - 1] == places[n] - 1:
        n -= 1
    return places[n] if places else 0
