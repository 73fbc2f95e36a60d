"""Ask a model; if it says that its context overflowed, or refuses the prompt, ask again with less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, Unpack
from weakref import WeakKeyDictionary

from recollect.errors import BudgetTooSmall, ConfigError, ContextOverflow, ModelUnavailable
from recollect.flow.shorten import acceptable
from recollect.flow.window import Window
from recollect.http import REFUSED, resumed
from recollect.layers.working import REDUCE_TO, fit, reduce
from recollect.llm.model import ChatModel, Delta, Options, Reply
from recollect.tokens import TokenCounter, estimate
from recollect.types import Message

T = TypeVar("T")

_TAKES: Final[WeakKeyDictionary[Any, int]] = WeakKeyDictionary()
"""How many tokens each model takes, answer included: the limit it named in a refusal, or what it then accepted."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A reply and the window that the model was shown; `retries` is how often that had to be made smaller."""

    reply: Reply
    window: Window
    retries: int = 0


def complete_fitting(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    counter: TokenCounter | str = estimate,
    **options: Unpack[Options],
) -> Fitted:
    """Ask a model with as many of the messages as fit it; returns its reply. The options are those of `ChatModel`.

    If it says that its context overflowed, it is asked again with a smaller window, at most three times; each window is
    smaller than the last and within the limit that the model named. Raises ContextOverflow if no smaller window is
    valid or helps. If the server refuses the messages, the model is asked once more without what providers commonly
    refuse in messages before the question.
    """
    return Fitted(*_fitting(model, messages, lambda shown: model.complete(shown, **options), counter, options))


def stream_fitting(
    model: ChatModel,
    messages: Sequence[Message],
    *,
    counter: TokenCounter | str = estimate,
    **options: Unpack[Options],
) -> Iterator[Delta]:
    """`complete_fitting` with a streamed answer. Once the first piece has come, the model is not asked again."""

    def ask(shown: Sequence[Message]) -> Iterator[Delta]:
        deltas = model.stream(shown, **options)
        first = next(deltas, None)
        return deltas if first is None else resumed(first, deltas)

    yield from _fitting(model, messages, ask, counter, options)[0]


def _fitting(
    model: ChatModel,
    messages: Sequence[Message],
    ask: Callable[[Sequence[Message]], T],
    counter: TokenCounter | str,
    options: Options,
) -> tuple[T, Window, int]:
    """Ask; returns the answer, the window that was shown, and how often that had to be made smaller."""
    tools, reply = options.get("tools", ()), options.get("max_tokens") or 0
    window = _expected(partial(fit, messages, counter=counter, tools=tools), model, reply)
    retries, takes = 0, None
    limit = window.tokens
    while True:
        try:
            said = _accepted(ask, window.messages)
            break
        except ContextOverflow as overflow:
            takes = overflow.limit or takes
            limit = min(limit, window.tokens, _room(overflow, window.tokens))
            if retries == len(REDUCE_TO) or limit == 0:  # 0: the answer alone would take it all
                raise
            retries += 1
            try:
                smaller = reduce(messages, retries, limit, counter=counter, tools=tools)
            except BudgetTooSmall as error:
                raise overflow from error
            if smaller.tokens >= window.tokens:
                raise
            window = smaller
    if retries:
        with suppress(TypeError):  # a model that can't be a key
            _TAKES[model] = takes or window.tokens + reply
    return said, window, retries


def _accepted(ask: Callable[[Sequence[Message]], T], messages: Sequence[Message]) -> T:
    """Ask; if that is refused, ask once more without what providers refuse. If both are, raise the first refusal."""
    try:
        return ask(messages)
    except ModelUnavailable as refusal:
        bare = acceptable(messages)
        if refusal.status not in REFUSED or bare == list(messages):
            raise
        try:
            return ask(bare)
        except ModelUnavailable as again:
            raise refusal if again.status in REFUSED else again from None


def _expected(fits: Callable[..., Window], model: ChatModel, reply: int) -> Window:
    """All of the messages, or as many as the model is known to take."""
    whole, takes = fits(), None
    with suppress(TypeError):  # a model that can't be a key
        takes = _TAKES.get(model)
    if takes is not None and whole.tokens + reply > takes:
        with suppress(BudgetTooSmall, ConfigError):
            return fits(takes - reply, low_water=1.0)
    return whole


def less(overflow: ContextOverflow, counted: int, share: float) -> int:
    """The budget for asking again: a share of what was counted, and no more than the model has room for."""
    return max(1, min(int(counted * share), _room(overflow, counted)))


def _room(overflow: ContextOverflow, counted: int) -> int:
    """The tokens, as counted here, that the model's limit leaves for the prompt; `counted` if it named no limit."""
    left, prompt = overflow.room, (overflow.tokens or 0) - (overflow.reply or 0)
    if left is None:
        return counted
    return left if prompt <= counted else left * counted // prompt
