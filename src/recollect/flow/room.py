"""The room of a conversation: how much of a budget its window may take, and what gives way if that is too little.

What the caller gives, the tools and the reply come off the budget first. Of the rest, the window leaves a part free for
memory and documents. If what must stay is larger, it takes that part too; then the words of the last turn may be
shortened, if a question follows it; pictures and files are cut last of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from recollect.errors import BudgetTooSmall, ConfigError
from recollect.flow.assemble import Shown
from recollect.flow.fence import with_memory
from recollect.flow.limits import Limits
from recollect.flow.receipt import Line
from recollect.flow.window import Newest
from recollect.settings import Settings
from recollect.types import Message

STEP: Final = 64
"""The room for a question is rounded up to a multiple of this, so that questions of similar length share a window."""
MEMORY_FIRST: Final = (4_000, 10)
"""Most tokens and turns of the conversation, if the layout is memory-first and nothing else is set."""
MEMORY_SHARE: Final = 0.25
"""The share of the budget that memory may take when a changed history is fitted."""


@dataclass(frozen=True, slots=True)
class View:
    """What a session's window shows, and where that is in the session, by message numbers.

    `first` is the first message after the cut, `last` the newest. `asked` is the last one that a user wrote (0 if none
    is shown), at position `asked_at` of the store. `before` identifies what comes before `first`: the number of
    messages, and the position where they end; it changes if a session is erased and begun again. `newest` says how
    much the turns take that other sections can't push out.
    """

    shown: Shown
    first: int
    last: int
    asked: int
    asked_at: int
    before: tuple[int, int]
    newest: Newest


@dataclass(frozen=True, slots=True)
class Room:
    """What a budget leaves for a conversation besides what is `given`: the system text and the question, as lines.

    A given question follows the conversation. `extra` is the tokens of the tools and of the reply's start.
    """

    budget: int
    settings: Settings
    given: Mapping[str, Line]
    extra: int

    @classmethod
    def of(
        cls,
        system: Message | None,
        question: Message | None,
        extra: int,
        budget: int,
        settings: Settings,
        count: Callable[[Message], int],
    ) -> Room:
        """The room besides a system text and a question; raises ConfigError if the system text is too long."""
        given = {
            section: Line(section, message.text, tokens := count(message), tokens, section)
            for section, message in (("system", system), ("question", question))
            if message
        }
        most = settings.system_tokens
        if most is not None and "system" in given and given["system"].tokens > most:
            raise ConfigError(
                f"the system text has {given['system'].tokens} tokens; system_tokens allows {most}:"
                " shorten the text or raise that setting"
            )
        return cls(budget, settings, given, extra)

    @property
    def overhead(self) -> int:
        """The tokens that are sent along with the conversation, whatever it shows."""
        return self.extra + self._tokens("system")

    def view(self, show: Callable[[Limits], View]) -> View:
        """The conversation within the first limits that hold what must stay; raises BudgetTooSmall if none do."""
        asked, least = self._tokens("question"), self.overhead + max(self._tokens("question"), 1)
        if least > self._prompt:
            raise self._too_small(least)
        roomy = self._leaving(self._for_memory)
        for limits in self._tries(roomy):
            try:
                view = show(limits)
            except BudgetTooSmall as error:
                short = error
            else:
                return self._spared(view, roomy, show) if limits is roomy else view
        raise self._too_small(short.needed + asked, short.ledger)

    def _tries(self, roomy: Limits) -> Iterator[Limits]:
        """The limits to try, beginning with those that give up least."""
        yield roomy
        tight = replace(roomy, budget=self._prompt - self._tokens("question"))
        others = max(1, roomy.min_messages - 1)  # the question is the last message
        following = [replace(limits, follows=True, min_messages=others) for limits in (roomy, tight)]
        follow = following if "question" in self.given else []
        yield from (tight, *follow)
        yield from (replace(limits, whole=False) for limits in (tight, *follow[1:]))

    def _spared(self, view: View, roomy: Limits, show: Callable[[Limits], View]) -> View:
        """The view, or a wider one if its cut took something that goes before memory.

        First of all those are the newest turns, uncut; if they have no room, the last message; then the newest turns,
        shortened.
        """
        newest, firm = view.newest, firm_turns(self.settings)
        if not (view.shown.left_out or view.shown.shortened) or roomy.last_messages:
            return view
        wide = self._leaving(math.ceil(self._tokens("question") / STEP) * STEP)
        low, most = (roomy.budget or 0) * roomy.low_water, wide.budget or 0
        # turns that left while the last result was whole may be few tokens beside what is shown of it
        missing = min(low, view.shown.tokens) < newest.tokens
        for turns, hopeful, whole in (
            (firm, low < newest.came <= most, True),
            (roomy.min_turns, newest.cut, True),
            (firm, missing and newest.tokens <= most, False),
        ):
            if hopeful:
                with suppress(BudgetTooSmall):
                    wider = show(replace(wide, min_turns=max(turns, wide.min_turns)))
                    if not (whole and wider.newest.cut):
                        return wider
        return view

    def _leaving(self, free: int) -> Limits:
        """The limits of a window that leaves `free` tokens of the prompt to others."""
        settings, budget = self.settings, self._prompt - free
        tokens, turns = _most(settings)
        messages = settings.conversation_window if settings.context_budget is None else None
        return Limits(
            budget if tokens is None else min(budget, tokens),
            max(1, messages - ("question" in self.given)) if messages else None,
            turns,
            settings.low_water,
            settings.min_turns,
            settings.min_messages,
            whole=True,
        )

    @property
    def _prompt(self) -> int:
        """The most tokens of the prompt: all but the reply's."""
        return self.budget - self.settings.reply_tokens

    @property
    def _for_memory(self) -> int:
        """The tokens kept free for memory and documents: their caps, but at most half of the room."""
        room, settings = self._prompt - self.overhead, self.settings
        caps = (settings.memory_tokens, settings.documents_tokens)
        return min(sum(room if cap is None else cap for cap in caps), room // 2)

    def _tokens(self, section: str) -> int:
        return self.given[section].shown if section in self.given else 0

    def _too_small(self, needed: int, ledger: Sequence[Any] = ()) -> BudgetTooSmall:
        reply = self.settings.reply_tokens
        return BudgetTooSmall(needed + reply, self.budget, [*self.given.values(), *ledger], self.extra + reply)


def firm_turns(settings: Settings) -> int:
    """How many of the newest turns other sections can't push out; not more than a prompt may have."""
    _, most = _most(settings)
    return min(settings.working_min_turns, most or settings.working_min_turns)


def _most(settings: Settings) -> tuple[int | None, int | None]:
    """The most tokens and turns of a conversation."""
    tokens, turns = MEMORY_FIRST if settings.layout == "memory-first" else (None, None)
    return settings.working_tokens or tokens, settings.working_turns or turns


@contextmanager
def beside(system: Sequence[Message], count: Callable[[Message], int], budget: int) -> Iterator[int]:
    """Gives the tokens that system messages leave of a budget.

    A BudgetTooSmall raised inside is turned into one for the whole budget, with the system messages on its ledger.
    """
    given = [Line("system", one.text, tokens := count(one), tokens, "system message") for one in system]
    room = budget - sum(line.shown for line in given)
    try:
        if room <= 0:
            raise BudgetTooSmall(1, room)
        yield room
    except BudgetTooSmall as error:
        raise BudgetTooSmall(error.needed + budget - room, budget, [*given, *error.ledger], error.overhead) from None


def fitted(
    memory: str, room: int, count: Callable[[Message], int], show: Callable[[Limits], Sequence[Message]]
) -> list[Message]:
    """A changed history as `show` cuts it to limits, with memory in front of its question.

    Memory gets its share of the room, and is left out if it does not fit in there, or the history not beside it. Older
    pictures and files stay if possible.
    """
    share = int(room * MEMORY_SHARE)
    try:
        shown = list(show(Limits(room - share, whole=True)))
    except BudgetTooSmall:
        try:
            return list(show(Limits(room, whole=True)))
        except BudgetTooSmall:
            return list(show(Limits(room)))
    asked = max((n for n, message in enumerate(shown) if message.role == "user"), default=None)
    if memory and asked is not None:
        told = with_memory(shown[asked], memory)
        if count(told) - count(shown[asked]) <= share:
            shown[asked] = told
    return shown
