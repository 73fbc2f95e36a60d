"""Working memory: the newest part of a conversation that fits a budget, ready to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from recollect.arguments import messages_only
from recollect.errors import BudgetTooSmall, ConfigError
from recollect.flow.limits import Limits
from recollect.flow.window import Window
from recollect.tokens import REPLY_TOKENS, TokenCounter, count_message, count_tools, estimate
from recollect.tokens import counter as open_counter
from recollect.types import Message

REDUCE_TO: Final = (0.7, 0.5, 0.3)
"""The share that a request is reduced to at each attempt when the model says that it is too long."""
LIMIT_MARGIN: Final = (0.9, 0.75, 0.6)
"""The share of the limit that the model named, at each attempt."""


def fit(
    messages: Sequence[Message],
    budget: int | None = None,
    *,
    counter: TokenCounter | str = estimate,
    tools: Sequence[Mapping[str, Any]] = (),
    last_messages: int | None = None,
    last_turns: int | None = None,
    low_water: float = 0.7,
    min_turns: int = 1,
    min_messages: int = 2,
) -> Window:
    """The window over these messages: `.messages`, `.tokens`, `.receipt`, never over `budget` tokens.

    All system messages and pinned turns stay, then the newest turns. The order is kept, and tool calls stay with their
    results. When the messages exceed the budget, they are cut to the share `low_water` of it. `last_messages` and
    `last_turns` limit their number, instead or as well. You can go on with the window: `fit([], 8_000)` is an empty one
    to `append` to. `tools` are the schemas sent with the request; `counter` is a function from a text to its tokens, or
    a counter's name. Raises BudgetTooSmall if what must stay does not fit.
    """
    limits = Limits(budget, last_messages, last_turns, low_water, min_turns, min_messages)
    count = counter if counter is estimate else open_counter(counter)
    overhead = REPLY_TOKENS + count_tools(tools, count)
    window = Window(partial(count_message, count=count), limits, overhead)
    window.extend(messages_only(messages))
    window.check()
    return window


def reduce(
    messages: Sequence[Message],
    attempt: int,
    reported_limit: int | None = None,
    *,
    counter: TokenCounter | str = estimate,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Window:
    """A smaller window, for when the provider said that the context overflowed; `attempt` is 1, 2 or 3.

    `reported_limit` is the limit that the provider's error named. Each attempt on the same messages gives a smaller
    window than the one before, further below that limit: a provider that refuses counts more tokens than we do. Raises
    BudgetTooSmall if no smaller window is valid.
    """
    if not 1 <= attempt <= len(REDUCE_TO):
        raise ConfigError(f"attempt is {attempt}; it must be from 1 to {len(REDUCE_TO)}")
    whole = fit(messages, counter=counter, tools=tools).tokens
    before = (
        reduce(messages, attempt - 1, reported_limit, counter=counter, tools=tools).tokens if attempt > 1 else whole
    )
    goal = min(before - 1, int(whole * REDUCE_TO[attempt - 1]))
    if reported_limit is not None:
        goal = min(goal, int(reported_limit * LIMIT_MARGIN[attempt - 1]))
    try:
        return fit(messages, goal, counter=counter, tools=tools, low_water=1.0)
    except BudgetTooSmall as error:
        if error.needed >= before:
            raise
        return fit(messages, error.needed, counter=counter, tools=tools, low_water=1.0)
