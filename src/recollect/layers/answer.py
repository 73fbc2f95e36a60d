"""Answers from a model whose context may be smaller than was thought: told so, the prompt is made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from recollect.errors import BudgetTooSmall, ContextOverflow
from recollect.flow.window import Window
from recollect.http import resumed
from recollect.layers.working import REDUCE_TO, fit, reduce
from recollect.llm.model import TIMEOUT, ChatModel, Delta, Reply
from recollect.tokens import TokenCounter, estimate
from recollect.types import Message

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A reply, and the window it was given to; `retries` tells how often that had to be made smaller."""

    reply: Reply
    window: Window
    retries: int = 0


def complete_fitting(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    schema: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    timeout: float = TIMEOUT,
    counter: TokenCounter | str = estimate,
) -> Fitted:
    """The model's answer to as much of the messages as fits it.

    Where it says that its context overflowed, it is asked again with a smaller window, at most three times, each
    strictly smaller and within the limit that it named. ContextOverflow where nothing smaller helps or is valid.
    """
    ask = partial(model.complete, tools=tools, schema=schema, max_tokens=max_tokens, timeout=timeout)
    reply, window, retries = _fitting(messages, ask, tools, counter)
    return Fitted(reply, window, retries)


def stream_fitting(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    schema: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
    timeout: float = TIMEOUT,
    counter: TokenCounter | str = estimate,
) -> Iterator[Delta]:
    """The same, as the answer is made; once a word of it is there, nothing is asked again."""

    def ask(shown: Sequence[Message]) -> Iterator[Delta]:
        deltas = model.stream(shown, tools=tools, schema=schema, max_tokens=max_tokens, timeout=timeout)
        return resumed(next(deltas), deltas)

    yield from _fitting(messages, ask, tools, counter)[0]


def _fitting(
    messages: Sequence[Message],
    ask: Callable[[Sequence[Message]], T],
    tools: Sequence[Mapping[str, Any]],
    counter: TokenCounter | str,
) -> tuple[T, Window, int]:
    window, limit = fit(messages, counter=counter, tools=tools), None
    for attempt in range(1, len(REDUCE_TO) + 1):
        try:
            return ask(window.messages), window, attempt - 1
        except ContextOverflow as overflow:
            limit = _smaller(limit, _room(overflow, window.tokens))
            shrink = partial(reduce, messages, attempt, limit, counter=counter, tools=tools)
            window = _reduced(window, shrink, limit, overflow)
    return ask(window.messages), window, len(REDUCE_TO)


def _reduced(window: Window, shrink: Callable[[], Window], limit: int | None, overflow: ContextOverflow) -> Window:
    if limit == 0:  # the room asked for the answer alone takes all of it
        raise overflow
    try:
        smaller = shrink()
    except BudgetTooSmall as error:
        raise overflow from error
    if smaller.tokens >= window.tokens:
        raise overflow
    return smaller


def _room(overflow: ContextOverflow, counted: int) -> int | None:
    """What the limit leaves for the prompt, in tokens as they are counted here."""
    if overflow.limit is None:
        return None
    reply = overflow.reply or 0
    room, prompt = max(overflow.limit - reply, 0), (overflow.tokens or 0) - reply
    return room * counted // prompt if prompt > counted else room


def _smaller(one: int | None, other: int | None) -> int | None:
    given = [limit for limit in (one, other) if limit is not None]
    return min(given, default=None)
