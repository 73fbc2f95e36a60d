"""One context within one budget: the conversation's window, what memory has for the question, and the question.

Memory gets the room that the conversation leaves, shared out as `fill` says. If that is too little for what is offered,
the conversation gives way down to its minimum turns, then recalled conversations down to one, then documents down to
two. The best of profile and facts never give way: if they do not fit, older turns leave, and if there are none,
BudgetTooSmall is raised with the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from recollect.errors import BudgetTooSmall
from recollect.flow.context import Context
from recollect.flow.facts.asked import asks_for_all
from recollect.flow.fence import TITLES, block, with_memory
from recollect.flow.fill import FIRM, PRIORITY, Fill, Filled, Offer, TopK
from recollect.flow.limits import Limits
from recollect.flow.receipt import Line
from recollect.flow.shorten import WORDS_CUT
from recollect.flow.turns import answerable, last_asked, turns
from recollect.flow.window import Window
from recollect.frozen import EMPTY
from recollect.settings import Settings
from recollect.types import Message

GIVING_WAY: Final = {"episodic": 1, "documents": 2}
"""The sections that give way to others, in this order, and how many candidates each of them keeps."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How texts and messages are counted."""

    text: Callable[[str], int]
    message: Callable[[Message], int]


@dataclass(frozen=True, slots=True)
class Shown:
    """The conversation as its window shows it, without `left_out` older messages.

    `shortened` has, by id, the original tokens of each message that is shown in part.
    """

    messages: tuple[Message, ...]
    tokens: int
    overhead: int
    left_out: int = 0
    shortened: Mapping[str, int] = EMPTY

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the messages of which all words are shown; what was cut from others may be quoted by memory."""
        cut = {message.id for message in self.messages if message.id in self.shortened and WORDS_CUT in message.text}
        return frozenset(message.id for message in self.messages if message.id) - cut


def assemble(
    window: Shown,
    question: Message | None,
    offers: Mapping[str, Offer],
    budget: int,
    settings: Settings,
    counts: Counts,
    *,
    session: str = "",
) -> Context:
    """The context for a question that is not in the window yet or, without one, for the last user message in it.

    `session` is the conversation's session, by the name that candidates use.
    """
    asked = counts.message(question) if question else 0
    window = _answerable(window, question, counts)
    try:
        window = _cut(window, budget - asked, 1, counts)
    except BudgetTooSmall as error:
        ledger = [*error.ledger, Line("question", question.text if question else "", asked, asked, "question")]
        raise BudgetTooSmall(error.needed + asked, budget, ledger, error.overhead) from None
    share = int(settings.facts_share * budget)
    firm = share if settings.facts_tokens is None else min(share, settings.facts_tokens)
    said = question or last_asked(window.messages)
    fill = Fill(offers, settings, cache(counts.text), firm, session, asks_for_all(said.text if said else ""))
    filled, shown = _filled(window, budget - asked, fill, counts)
    while (context := _context(shown, question, fill.deduplicated(filled), budget, settings, counts)).tokens > budget:
        section = next((name for name in reversed(PRIORITY) if filled.taken.get(name)), None)
        if section is not None and section not in FIRM:
            filled.drop_last(section)
            continue
        smaller = _cut_as_far(shown, shown.tokens + budget - context.tokens, settings.min_turns, counts)
        if smaller.tokens == shown.tokens:
            raise _too_small(context)
        shown = smaller
        filled = fill.into(budget - asked - shown.tokens, fill.top_k(), shown.ids)
    return context


def _answerable(window: Shown, question: Message | None, counts: Counts) -> Shown:
    """The window without unanswered calls, as a process that was killed leaves them."""
    conversation = (*window.messages, *([question] if question else []))
    left = answerable(conversation)
    if left == conversation:
        return window
    saved = sum(map(counts.message, conversation)) - sum(map(counts.message, left))
    messages = left[:-1] if question else left
    fewer = len({message.id for message in conversation}.difference(message.id for message in left))
    return replace(window, messages=messages, tokens=window.tokens - saved, left_out=window.left_out + fewer)


def _filled(window: Shown, budget: int, fill: Fill, counts: Counts) -> tuple[Filled, Shown]:
    """The sections filled beside the window. If something has no room, first the window gives way, then sections do."""
    top_k = fill.top_k()
    filled = fill.into(budget - window.tokens, top_k, window.ids)
    if not filled.no_room and not filled.fewer:
        return filled, window
    window = _squeezed(window, budget, fill, top_k, counts)
    filled = fill.into(budget - window.tokens, top_k, window.ids)
    for section, most in GIVING_WAY.items():
        if not filled.no_room:
            break
        allowed = top_k[section]
        top_k[section] = most if allowed is None else min(most, allowed)
        filled = fill.into(budget - window.tokens, top_k, window.ids)
    return filled, window


def _squeezed(window: Shown, budget: int, fill: Fill, top_k: TopK, counts: Counts) -> Shown:
    """The window cut until everything that memory offers fits beside it, or it may not be cut any further.

    Memory offers more as the window shows less: what was said in messages that left may be quoted now.
    """
    while True:
        wanted = fill.into(budget, top_k, window.ids).used
        smaller = _cut_as_far(window, budget - wanted, fill.settings.working_min_turns, counts)
        if smaller.tokens == window.tokens:
            return window
        window = smaller


def _cut_as_far(window: Shown, tokens: int, min_turns: int, counts: Counts) -> Shown:
    """The window cut to a number of tokens, or as close to that as what must stay allows."""
    try:
        return _cut(window, tokens, min_turns, counts)
    except BudgetTooSmall as error:
        return _cut(window, error.needed, min_turns, counts)


def _cut(window: Shown, tokens: int, min_turns: int, counts: Counts) -> Shown:
    """The window cut to a number of tokens; if `min_turns` is over 1, never below the last `min_turns` turns uncut.

    Raises BudgetTooSmall if what must stay is larger.
    """
    if window.tokens <= tokens:
        return window
    messages = window.messages
    if min_turns > 1:
        spoken = turns(messages)
        old = [turn for turn in spoken[:-min_turns] if any(message.pinned for message in turn)]
        kept = [message for turn in (*old, *spoken[-min_turns:]) for message in turn]
        kept += [message for message in messages if message.role == "system"]
        tokens = max(tokens, window.overhead + sum(map(counts.message, kept)))
        if window.tokens <= tokens:
            return window
    limits = Limits(max(tokens, 0), low_water=1.0, min_turns=min_turns, whole=True)
    smaller = Window(counts.message, limits, window.overhead)
    smaller.extend(messages)
    fewer = len(messages) - len(smaller.messages)
    came = {**smaller.shortened, **window.shortened}
    shortened = {message.id: came[message.id] for message in smaller.messages if message.id in came}
    return Shown(smaller.messages, smaller.tokens, window.overhead, window.left_out + fewer, shortened)


def _context(
    window: Shown, question: Message | None, filled: Filled, budget: int, settings: Settings, counts: Counts
) -> Context:
    conversation = (*window.messages, *([question] if question else []))
    asked = next((n for n in reversed(range(len(conversation))) if conversation[n].role == "user"), None)
    order = PRIORITY if settings.layout == "memory-first" else TITLES
    memory = block(filled.taken, order) if any(filled.taken.values()) else ""
    tokens = window.tokens + (counts.message(question) if question else 0)
    prompt = list(conversation)
    if memory and asked is not None and settings.layout == "tail-first":
        prompt[asked] = with_memory(conversation[asked], memory)
        tokens += counts.message(prompt[asked]) - counts.message(conversation[asked])
    elif memory:
        front = next((n for n, message in enumerate(prompt) if message.role != "system"), len(prompt))
        prompt.insert(front, Message("user", memory))
        tokens += counts.message(prompt[front])
    return Context(
        tuple(prompt),
        conversation,
        asked,
        memory,
        tokens,
        budget,
        tuple(filled.lines),
        settings.hash,
        counts.message,
        window.left_out,
        window.shortened,
    )


def _too_small(context: Context) -> BudgetTooSmall:
    receipt = context.receipt
    ledger = [line for line in receipt.lines if line.shown]
    return BudgetTooSmall(context.tokens, context.budget, ledger, receipt.overhead)
