"""One context, one budget: the conversation's window, what memory offers for the question, and the question.

Sections are filled by priority, each up to its cap; what one leaves unused the next may use; memory and tools together
have a cap of their own. Of the profile and the facts, those that suit the question best come first, up to their part of
the prompt; the rest have what is left at the end. Where something that is offered has no room, the conversation gives
way down to its minimum turns, then recalled conversations down to one, then documents down to two. What of the profile
and the facts came first never gives way: where it does not fit, BudgetTooSmall has the ledger. What the conversation
shows is not quoted beside it, and nothing is quoted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from recollect.answers import Candidate
from recollect.errors import BudgetTooSmall
from recollect.flow.context import Context
from recollect.flow.fence import TITLES, block, heading, quoted, with_memory
from recollect.flow.receipt import Line
from recollect.flow.summarise import unquoted
from recollect.flow.turns import answerable, turns
from recollect.flow.window import Limits, Window
from recollect.settings import Settings
from recollect.types import Message

Offer: TypeAlias = Sequence[Candidate] | Callable[[int, frozenset[str]], Sequence[Candidate]]
"""What a layer offers, best first: candidates, or a function of the tokens there are and the messages shown, by their
ids in the conversation."""

PRIORITY: Final = ("profile", "facts", "hints", "summary", "documents", "tools", "episodic")
FIRM: Final = ("profile", "facts")
"""What never gives way, as far as it is told first."""
FEWEST: Final = 2
"""How many of the profile and the facts are told first at least."""
QUOTED: Final = (*FIRM, "episodic")
"""What repeats messages: where the conversation shows one of them, it is left out."""
IN_CONVERSATION: Final = "in the conversation"
APART: Final = "documents"
"""What the cap of memory and tools does not cover."""
KEEPS: Final = "tools"
"""What hands on no more than it was handed: with fewer excerpts a prompt is shorter, not full of other things."""
FEWER: Final = {"episodic": 1, "documents": 2}
"""How far these sections give way, in this order."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How texts and messages are counted."""

    text: Callable[[str], int]
    message: Callable[[Message], int]


@dataclass(frozen=True, slots=True)
class Shown:
    """The conversation as its window shows it; `left_out` older messages are not in it."""

    messages: tuple[Message, ...]
    tokens: int
    overhead: int
    left_out: int = 0

    @property
    def ids(self) -> frozenset[str]:
        """The messages it shows."""
        return frozenset(message.id for message in self.messages if message.id)


@dataclass(slots=True)
class _Filled:
    """What was taken of each section, every candidate's line, and whether something had no room.

    `fewer` says that a layer, asked for what fits, offered less than it would have with more room.
    """

    taken: dict[str, list[Candidate]] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)
    lines: list[Line] = field(default_factory=list)
    used: int = 0
    short: bool = False
    fewer: bool = False

    @property
    def texts(self) -> set[str]:
        """What was taken, of all sections."""
        return {candidate.text for taken in self.taken.values() for candidate in taken}

    def leave_out(self, section: str) -> None:
        """Take the last candidate of a section out again."""
        gone = self.taken[section].pop()
        place = max(n for n, line in enumerate(self.lines) if line.shown and line.text == gone.text)
        self.lines[place] = replace(self.lines[place], shown=0, rule="no room")


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

    `session` is that of the conversation, as candidates name it.
    """
    asked = counts.message(question) if question else 0
    window = _answerable(window, question, counts)
    try:
        window = _smaller(window, budget - asked, 1, counts)
    except BudgetTooSmall as error:
        ledger = [*error.ledger, Line("question", question.text if question else "", asked, asked, "question")]
        raise BudgetTooSmall(error.needed + asked, budget, ledger, error.overhead) from None
    share = int(settings.facts_share * budget)
    firm = share if settings.facts_tokens is None else min(share, settings.facts_tokens)
    fill = _Fill(offers, settings, counts, firm, session)
    for attempt in _attempts(window, budget - asked, fill):
        if not attempt[0].short:
            break
    filled, shown = attempt
    while (context := _context(shown, question, fill.once(filled), budget, settings, counts)).tokens > budget:
        section = next((name for name in reversed(PRIORITY) if filled.taken.get(name)), None)
        if section is None or section in FIRM:
            raise _too_small(context)
        filled.leave_out(section)
    return context


def _answerable(window: Shown, question: Message | None, counts: Counts) -> Shown:
    """The window without calls that nothing answered, as a process that was killed leaves them."""
    conversation = (*window.messages, *([question] if question else []))
    left = answerable(conversation)
    if left == conversation:
        return window
    saved = sum(map(counts.message, conversation)) - sum(map(counts.message, left))
    messages = left[:-1] if question else left
    fewer = len(conversation) - len(left)
    return replace(window, messages=messages, tokens=window.tokens - saved, left_out=window.left_out + fewer)


def _attempts(window: Shown, budget: int, fill: _Fill) -> Iterator[tuple[_Filled, Shown]]:
    most = fill.most()
    filled = fill.beside(window, budget, most)
    filled.short |= filled.fewer
    yield filled, window
    window = _squeezed(window, budget, fill, most)
    yield fill.beside(window, budget, most), window
    for section, number in FEWER.items():
        allowed = most[section]
        most[section] = number if allowed is None else min(number, allowed)
        yield fill.beside(window, budget, most), window


def _squeezed(window: Shown, budget: int, fill: _Fill, most: Mapping[str, int | None]) -> Shown:
    """The window with room beside it for what is wanted, also for what its messages no longer say, as far as it can."""
    while True:
        wanted = fill.into(budget, most, window.ids).used
        smaller = _smallest(window, budget - wanted, fill.settings.working_min_turns, fill.counts)
        if smaller.tokens == window.tokens:
            return window
        window = smaller


@dataclass(frozen=True, slots=True)
class _Fill:
    """What is offered, and the rules it is taken by; `firm` is how many tokens profile and facts have together."""

    offers: Mapping[str, Offer]
    settings: Settings
    counts: Counts
    firm: int
    session: str
    known: dict[str, int] = field(default_factory=dict)

    def most(self) -> dict[str, int | None]:
        """How many candidates a section may have."""
        names = ("episodic", "documents", "tools", "facts")
        return {name: getattr(self.settings, f"{name}_top_k") for name in names}

    def beside(self, window: Shown, budget: int, most: Mapping[str, int | None]) -> _Filled:
        """The sections filled with what a window leaves free."""
        return self.into(budget - window.tokens, most, window.ids)

    def into(self, room: int, most: Mapping[str, int | None], shown: frozenset[str]) -> _Filled:
        """The sections filled by priority within `room` tokens, beside a conversation that shows these messages."""
        filled, told = _Filled(), self._told(shown)
        fences = self._tokens(block({})) + 2
        memory = room if self.settings.memory_tokens is None else self.settings.memory_tokens - fences
        for names, rest in ((PRIORITY, False), (FIRM, True)):
            unused = 0
            for name in names:
                cap, before = getattr(self.settings, f"{name}_tokens"), filled.spent[name]
                share = room if cap is None else cap + unused - before
                limits = _Limits(share if name == APART else min(share, memory), room - fences, most.get(name), rest)
                self._section(name, filled, limits, shown, told)
                spent = filled.spent[name] - before
                left = 0 if cap is None else max(0, share - spent)
                unused = min(unused, left) if name == KEEPS else left
                memory -= 0 if name == APART else spent
        filled.lines.sort(key=lambda line: PRIORITY.index(line.section))
        filled.used += fences if filled.taken else 0
        return filled

    def once(self, filled: _Filled) -> _Filled:
        """The same, the summary without the lines of messages that are recalled in the same words."""
        recalled, summaries = filled.taken.get("episodic"), filled.taken.get("summary")
        if not recalled or not summaries:
            return filled
        told, lines = list[Candidate](), list(filled.lines)
        for summary in summaries:
            left = unquoted(summary, recalled, self.session)
            if left.text != summary.text:
                place = next(n for n, line in enumerate(lines) if line.shown and line.text == summary.text)
                shown = self._cost(left) if left.text else 0
                rule, tokens = "less what is recalled", lines[place].tokens
                lines[place] = Line.of(left if left.text else summary, tokens, shown, rule)
            told += [left] if left.text else []
        return replace(filled, taken={**filled.taken, "summary": told}, lines=lines)

    def _told(self, shown: frozenset[str]) -> frozenset[Candidate]:
        """The profile and the facts that suit the question best: a few always, more as far as they have tokens."""
        told, left = list[Candidate](), self.firm
        offered = [one for name in FIRM for one in self._offered(name, self.firm, shown) if not one.out]
        for candidate in sorted(offered, key=lambda one: -one.score):
            first = all(other.section != candidate.section for other in told)
            cost = self._cost(candidate) + first * self._title(candidate.section)
            if (cost <= left or len(told) < FEWEST) and not self._shows(shown, candidate):
                told.append(candidate)
                left -= cost
        return frozenset(told)

    def _section(
        self, name: str, filled: _Filled, limits: _Limits, shown: frozenset[str], told: frozenset[Candidate]
    ) -> None:
        """Take of a section what its limits allow: of profile and facts only those told first, or only the rest."""
        spent, title, texts = filled.spent, self._title(name), filled.texts
        start = spent[name]
        room = limits.room - filled.used
        offered = self._offered(name, max(0, min(limits.share, room) - title), shown)
        if room < limits.share and callable(self.offers.get(name)):
            filled.fewer |= _texts(offered) != _texts(self._offered(name, max(0, limits.share - title), shown))
        for candidate in offered:
            if name in FIRM and (candidate in told) == limits.rest:
                continue
            tokens, taken = self._cost(candidate), filled.taken.get(name, [])
            cost = tokens if taken else tokens + title
            rule = self._told_already(name, candidate, shown, texts)
            rule = rule or limits.against(len(taken), spent[name] - start + cost)
            if not rule and filled.used + cost > limits.room:
                filled.short |= not limits.rest
                rule = "" if name in FIRM and not limits.rest else "no room"
            filled.lines.append(Line.of(candidate, tokens, 0 if rule else tokens, rule or "fits"))
            if not rule:
                filled.taken[name] = [*taken, candidate]
                spent[name] += cost
                filled.used += cost
                texts.add(candidate.text)

    def _told_already(self, name: str, candidate: Candidate, shown: frozenset[str], texts: set[str]) -> str:
        """The rule by which a candidate is left out for what it says; empty where it may be told."""
        if candidate.out:
            return candidate.out
        if name in QUOTED and self._shows(shown, candidate):
            return IN_CONVERSATION
        return "said already" if candidate.text in texts else ""

    def _offered(self, name: str, tokens: int, shown: frozenset[str]) -> Sequence[Candidate]:
        offer = self.offers.get(name, ())
        return offer(tokens, shown) if callable(offer) else offer

    def _shows(self, shown: frozenset[str], candidate: Candidate) -> bool:
        """Whether the conversation shows a message that a candidate repeats, and not another session's of its id."""
        return not shown.isdisjoint(candidate.sources) and any(
            session == self.session and id in shown for session, id in candidate.cites(self.session)
        )

    def _title(self, name: str) -> int:
        return self._tokens(heading(name)) + 1

    def _cost(self, candidate: Candidate) -> int:
        return self._tokens(quoted(candidate)) + 1

    def _tokens(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = self.counts.text(text)
        return self.known[text]


def _texts(offered: Sequence[Candidate]) -> list[str]:
    return [candidate.text for candidate in offered if not candidate.out]


class _Limits(NamedTuple):
    """The tokens of a section and of all, how many candidates it may have, and whether it only gets what is left."""

    share: int
    room: int
    most: int | None
    rest: bool

    def against(self, taken: int, tokens: int) -> str:
        """The rule by which a section, with so many taken, may not come to so many tokens; empty where it may."""
        if self.most is not None and taken >= self.most:
            return f"no more than {self.most}"
        return "over its share" if tokens > self.share else ""


def _smallest(window: Shown, tokens: int, min_turns: int, counts: Counts) -> Shown:
    """The window within so many tokens, or as near to that as what must stay allows."""
    try:
        return _smaller(window, tokens, min_turns, counts)
    except BudgetTooSmall as error:
        return _smaller(window, error.needed, min_turns, counts)


def _smaller(window: Shown, tokens: int, min_turns: int, counts: Counts) -> Shown:
    """The window within so many tokens; where more than one turn has to stay, no smaller than those are whole."""
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
    limits = Limits(max(tokens, 0), low_water=1.0, min_turns=min_turns, whole_pictures=True)
    smaller = Window(counts.message, limits, window.overhead)
    smaller.extend(messages)
    fewer = len(messages) - len(smaller.messages)
    return Shown(smaller.messages, smaller.tokens, window.overhead, window.left_out + fewer)


def _context(
    window: Shown, question: Message | None, filled: _Filled, budget: int, settings: Settings, counts: Counts
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
    )


def _too_small(context: Context) -> BudgetTooSmall:
    receipt = context.receipt
    ledger = [line for line in receipt.lines if line.shown]
    return BudgetTooSmall(context.tokens, context.budget, ledger, receipt.overhead)
