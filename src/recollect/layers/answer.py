"""Ask a model; if it says that its context overflowed, or refuses the prompt, ask again with less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar, Unpack
from weakref import WeakKeyDictionary

from recollect.errors import BudgetTooSmall, ConfigError, ContextOverflow, ModelError, ModelUnavailable
from recollect.flow.shorten import acceptable
from recollect.flow.window import Window
from recollect.http import REFUSED, resumed
from recollect.layers.working import REDUCE_TO, fit, reduce
from recollect.llm.model import ChatModel, Delta, Options, Reply
from recollect.tokens import TokenCounter, estimate
from recollect.types import Message

M = TypeVar("M")
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
    limit, takes = window.tokens, None

    def smaller(overflow: ContextOverflow, attempt: int) -> Sequence[Message]:
        nonlocal window, limit, takes
        takes = overflow.limit or takes
        limit = min(limit, window.tokens, _room(overflow, window.tokens))
        reduced = reduce(messages, attempt, limit, counter=counter, tools=tools)
        if limit == 0 or reduced.tokens >= window.tokens:  # 0: the answer alone would take it all
            raise overflow
        window = reduced
        return window.messages

    attempts = Attempts(window.messages, smaller, acceptable)
    while True:
        try:
            said = ask(attempts.sent)
            break
        except ModelError as error:
            attempts.after(error)
    if attempts.retries:
        with suppress(TypeError):  # a model that can't be a key
            _TAKES[model] = takes or window.tokens + reply
    return said, window, attempts.retries


@dataclass(slots=True, eq=False)
class Attempts(Generic[M]):
    """What was `sent` to a model, and what to send it after an error.

    If its context overflowed, that is what `smaller` makes of the messages, at most three times. If it refuses them,
    they are sent once more as `bare` leaves them; if it refuses that too, the first refusal is raised.
    """

    sent: Sequence[M]
    smaller: Callable[[ContextOverflow, int], Sequence[M]]
    bare: Callable[[Sequence[M]], list[M]]
    retries: int = 0
    _refusal: Exception | None = None

    def after(
        self, error: Exception, status: int | None = None, overflow: ContextOverflow | None = None
    ) -> Sequence[M]:
        """What to send after this error; raises the error if nothing else can be tried.

        Of an error that is not ours, give the HTTP `status` and the `overflow` that its words tell of.
        """
        status = error.status if isinstance(error, ModelUnavailable) else status
        overflow = error if isinstance(error, ContextOverflow) else overflow
        if overflow:
            if self.retries == len(REDUCE_TO):
                raise error
            self.retries += 1
            try:
                smaller = self.smaller(overflow, self.retries)
            except BudgetTooSmall as too_small:
                raise error from error.__cause__ or too_small
            self.sent = self.bare(smaller) if self._refusal else smaller
        elif status in REFUSED and (bare := self.bare(self.sent)) != list(self.sent):
            self.sent, self._refusal = bare, error
        else:
            raise self._refusal or error if status in REFUSED else error
        return self.sent


def _expected(fits: Callable[..., Window], model: ChatModel, reply: int) -> Window:
    """All of the messages, or as many as the model is known to take."""
    whole, takes = fits(), None
    with suppress(TypeError):  # a model that can't be a key
        takes = _TAKES.get(model)
    if takes is not None and whole.tokens + reply > takes:
        with suppress(BudgetTooSmall, ConfigError):
            return fits(takes - reply, low_water=1.0)
    return whole


def less(overflow: ContextOverflow, counted: int, attempt: int) -> int:
    """The budget for asking again: a share of what was counted, and no more than the model has room for."""
    return max(1, min(int(counted * REDUCE_TO[attempt - 1]), _room(overflow, counted)))


def _room(overflow: ContextOverflow, counted: int) -> int:
    """The tokens, as counted here, that the model's limit leaves for the prompt; `counted` if it named no limit."""
    left, prompt = overflow.room, (overflow.tokens or 0) - (overflow.reply or 0)
    if left is None:
        return counted
    return left if prompt <= counted else left * counted // prompt
