"""The window: which messages a model sees, within a budget, in whole turns, cut rarely and deep.

When the budget is exceeded, whole turns leave, oldest first, until the rest is down to the low-water mark. So the
beginning of the prompt stays the same from one cut to the next, and a provider's prompt cache keeps working. System
messages, pinned turns, the last two messages and `min_turns` turns always stay. If those alone exceed the budget, they
are made smaller as `squeeze` says. If that is not enough, reading the window raises BudgetTooSmall; nothing is lost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, NamedTuple

from recollect.errors import BudgetTooSmall
from recollect.flow.limits import Limits
from recollect.flow.receipt import Entry, Receipt, Verdict
from recollect.flow.shorten import Count
from recollect.flow.squeeze import Edit, ladder
from recollect.flow.turns import Turn, steps
from recollect.types import Message, ToolCall, ToolResult


class Newest(NamedTuple):
    """The tokens of the last turns, as they are shown and as they `came`; `cut` if the last message is shortened."""

    tokens: int
    came: int
    cut: bool


OLDEST: Final = Edit(None, 0, "oldest turns")
FORGOTTEN: Final = Message("system")


@dataclass(slots=True, eq=False)
class Window:
    """A conversation as a model should see it. Append messages; read `messages`, `tokens`, `receipt`."""

    # Shown are the system messages, the turns from `_first` on, and of the earlier turns the pinned ones.
    # A cut that is due is made when the window is read or more comes, except where it could not change anything: where
    # what must stay exceeds the limits after all measures, and what comes must stay too (`_full`, `_held`).

    count: Count
    limits: Limits = field(default_factory=Limits)
    overhead: int = 0
    # Everything that came, its tokens, and the indexes of system messages in it.
    _messages: list[Message] = field(default_factory=list, init=False, repr=False)
    _counts: list[int] = field(default_factory=list, init=False, repr=False)
    _systems: list[int] = field(default_factory=list, init=False, repr=False)
    # All turns; the pinned ones of those before the cut; the first turn after the cut.
    _turns: list[Turn] = field(default_factory=list, init=False, repr=False)
    _pinned: list[Turn] = field(default_factory=list, init=False, repr=False)
    _first: int = field(default=0, init=False, repr=False)
    # The message of each tool call that has no result yet; what replaces a message, by its index.
    _calls: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _edits: dict[int, Edit] = field(default_factory=dict, init=False, repr=False)
    # What `messages` gives, or None if that is outdated; the tokens of it; the budget, or infinity.
    _view: list[Message] | None = field(default_factory=list, init=False, repr=False)
    _tokens: int = field(default=0, init=False, repr=False)
    _ceiling: float = field(default=0, init=False, repr=False)
    # Whether a cut is due. Up to `_full` turns it would change nothing. `_held` is None unless the window ends in
    # a step that must stay and exceeds the limits: then more of that step changes nothing, and it says whether the
    # budget is exceeded.
    _due: bool = field(default=False, init=False, repr=False)
    _full: float = field(default=0, init=False, repr=False)
    _held: bool | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._tokens = self.overhead
        self._ceiling = float("inf") if self.limits.budget is None else self.limits.budget

    def __repr__(self) -> str:
        of = "" if self.limits.budget is None else f" of {self.limits.budget:,}"
        return f"<Window: {len(self.messages):,} of {len(self._messages):,} messages; {self.tokens:,}{of} tokens>"

    def append(self, message: Message, tokens: int | None = None) -> None:
        """Take one more message; give its `tokens` if they are counted already."""
        tokens = self.count(message) if tokens is None else tokens
        if self._due and not self._waits_for(message):
            self._settle()
        self._take(message, tokens)
        self._due = self._over(self._ceiling)

    def extend(self, messages: Iterable[Message]) -> None:
        """Take many messages at once, cutting at most once, at their end."""
        self._settle()
        for message in messages:
            self._take(message, self.count(message))
        self._due = self._over(self._ceiling)

    def original(self, index: int) -> Message:
        """The message that came as number `index`, unchanged."""
        return self._messages[index]

    @property
    def start(self) -> int:
        """The index of the first message after the last cut; what is shown from before it always stays."""
        self._settle()
        return self._turns[self._first].start if self._first < len(self._turns) else len(self._messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages to send, in their order, within the budget."""
        self.check()
        if self._view is None:
            edits, messages = self._edits, self._messages
            self._view = [(edits[i].message if i in edits else None) or messages[i] for i in self._shown()]
        return tuple(self._view)

    @property
    def tokens(self) -> int:
        """The tokens of what is sent, overhead included."""
        self.check()
        return self._tokens

    def newest(self, number: int) -> Newest:
        """How much the last `number` turns take, shown or not, together with what always stays."""
        self._settle()
        kept = self._tokens - sum(turn.cost for turn in self._turns[self._first :])
        last = self._turns[-number:]
        return Newest(kept + sum(turn.cost for turn in last), kept + sum(turn.came for turn in last), self._ends_cut())

    @property
    def shortened(self) -> dict[str, int]:
        """By id, the original tokens of each message that is shown only in part."""
        self.check()
        return {self._messages[i].id: self._counts[i] for i in self._shown() if i in self._edits} if self._edits else {}

    @property
    def free(self) -> int | None:
        """The tokens left of the budget; None if there is no budget."""
        return None if self.limits.budget is None else self.limits.budget - self.tokens

    @property
    def receipt(self) -> Receipt:
        """What became of each message: kept, shortened or dropped, its tokens, and by which rule."""
        self.check()
        return Receipt(tuple(self._entries()), self._tokens, self.overhead, self.limits.budget)

    def revise(self, index: int, message: Message) -> None:
        """Replace the message that came as number `index` by a copy with other metadata; its tokens stay as counted."""
        self._settle()
        self._messages[index] = message
        self._view, self._full, self._held = None, 0, None
        if (edit := self._edits.get(index)) and edit.message:
            short = edit.message.replace(metadata=message.metadata)
            self._edits[index] = replace(edit, message=short)
        if message.role != "system":
            turn = self._turns[self._turn_of(index)]
            turn.pinned = any(self._messages[i].pinned for i in turn.live)
        self._due = self._over(self._ceiling)

    def prune(self, budget: int) -> Receipt:
        """Forget what does not fit, oldest turns first; the receipt lists only what changed.

        If the budget can't be met, nothing changes and BudgetTooSmall says how much is needed.
        """
        self._settle()
        if self._tokens <= budget:
            return Receipt((), self._tokens, self.overhead, budget)
        first, tokens, pinned, edits = self._first, self._tokens, self._pinned[:], dict(self._edits)
        self._drop_turns(budget)
        shown = [(turn, turn.cost, turn.live[:]) for turn in self._shown_turns()] if self._tokens > budget else []
        if shown:
            self._squeeze(budget, budget)
        if self._tokens > budget:
            error = self._too_small(budget)
            self._first, self._tokens, self._pinned, self._edits = first, tokens, pinned, edits
            for turn, cost, live in shown:
                turn.cost, turn.live = cost, live
            raise error
        left = [turn for turn in (*pinned, *self._turns[first : self._first]) if turn not in self._pinned]
        return Receipt(tuple(self._forget(left, edits)), self._tokens, self.overhead, budget)

    def _forget(self, left: list[Turn], edits: dict[int, Edit]) -> Iterator[Entry]:
        gone = [index for turn in left for index in turn.live]
        changed = {i: edit for i, edit in self._edits.items() if edits.get(i) is not edit}
        for index in sorted({*gone, *changed}):
            message, edit = self._messages[index], changed.get(index, OLDEST)
            verdict: Verdict = "shortened" if edit.message else "dropped"
            yield Entry(index, message.id, message.role, self._counts[index], edit.tokens, verdict, edit.rule)
            self._messages[index] = edit.message or FORGOTTEN
            self._counts[index] = edit.tokens

    def check(self) -> None:
        """Raise BudgetTooSmall, with the ledger, if what must stay exceeds the budget."""
        self._settle()
        if self._tokens > self._ceiling:
            raise self._too_small(int(self._ceiling))

    def _too_small(self, budget: int) -> BudgetTooSmall:
        shown = [entry for entry in self._entries() if entry.verdict != "dropped"]
        return BudgetTooSmall(self._tokens, budget, shown, self.overhead)

    def _take(self, message: Message, tokens: int) -> None:
        index, role = len(self._messages), message.role
        self._messages.append(message)
        self._counts.append(tokens)
        if self._view is not None:
            self._view.append(message)
        self._tokens += tokens
        if role == "system":
            self._systems.append(index)
            return
        if role == "user" or not self._turns:
            self._turns.append(Turn(index))
        turn = self._turns[-1]
        turn.cost += tokens
        turn.came += tokens
        turn.live.append(index)
        if message.metadata and message.pinned:
            turn.pinned = True
        if not isinstance(message.content, str):
            self._tie(message, index)

    def _tie(self, message: Message, index: int) -> None:
        """Keep a result in the turn of its call, even if the user spoke in between."""
        for part in message.parts:
            if isinstance(part, ToolCall):
                self._calls[part.id] = index
            elif isinstance(part, ToolResult):
                call = self._calls.pop(part.call_id, index)
                gone = call in self._edits and self._edits[call].message is None
                if gone or (call < self._turns[-1].start and not self._join(self._turn_of(call))):
                    self._apply(index, Edit(None, 0, "its call was dropped before"))
                    return

    def _join(self, home: int) -> bool:
        """Join the turns from `home` on into one; False if that turn is no longer in the window."""
        if home < self._first:
            if self._turns[home] not in self._pinned:
                return False
            self._reopen(home)
        while home < len(self._turns) - 1:
            self._full = 0
            late, early = self._turns.pop(), self._turns[-1]
            early.cost += late.cost
            early.came += late.came
            early.live += late.live
            early.pinned |= late.pinned
        return True

    def _reopen(self, home: int) -> None:
        """Move the cut back to a pinned turn from before it. The turns in between that were dropped stay dropped."""
        for turn, after in pairwise(self._turns[home : self._first + 1]):
            if turn not in self._pinned:
                turn.cost, turn.live = 0, []
                dropped = (i for i in range(turn.start, after.start) if self._messages[i].role != "system")
                self._edits.update(dict.fromkeys(dropped, OLDEST))
        self._pinned = [turn for turn in self._pinned if turn.start < self._turns[home].start]
        self._first, self._full, self._held = home, 0, None

    def _turn_of(self, index: int) -> int:
        return bisect_right(self._turns, index, key=lambda turn: turn.start) - 1

    def _over(self, tokens: float) -> bool:
        most = self.limits.last_turns
        many = most is not None and len(self._pinned) + len(self._turns) - self._first > most
        return self._tokens > tokens or many or self._crowded()

    def _crowded(self) -> bool:
        most = self.limits.last_messages
        return most is not None and sum(len(turn.live) for turn in self._shown_turns()) > most

    def _waits_for(self, message: Message) -> bool:
        """Whether a cut that is due can wait, because it would do the same after this message."""
        start = self._turns[-1].start if self._turns else 0
        if any(self._calls.get(result.call_id, start) < start for result in message.tool_results):
            return False
        goes_on = message.role == "tool" or message.role == self._messages[-1].role == "assistant"
        full = len(self._turns) + (message.role == "user") <= self._full
        return full or (goes_on and self._held is (self._tokens > self._ceiling))

    def _settle(self) -> None:
        """Make the cut that is due."""
        if self._due:
            self._due = False
            self._cut()

    def _cut(self) -> None:
        low = self._ceiling * self.limits.low_water if self._tokens > self._ceiling else self._ceiling
        self._drop_turns(low)
        if self._tokens > self._ceiling or self._crowded():
            self._squeeze(low, self._ceiling)
        self._full = self._turns_without_change()
        self._held = self._tokens > self._ceiling if self._over(self._ceiling) and self._ends_in_a_step() else None

    def _turns_without_change(self) -> float:
        """Up to how many turns none can leave, because what must stay of the older ones exceeds the budget."""
        if sum(turn.cost for turn in self._pinned) > self._ceiling:
            return float("inf")
        old = self._tokens - sum(turn.cost for turn in self._turns[-self.limits.min_messages :])
        if old <= self._ceiling:
            return 0
        return len(self._turns) + self.limits.min_turns - sum(turn.questions(self._messages) for turn in self._turns)

    def _ends_in_a_step(self) -> bool:
        """Whether the messages that stay because they are the newest are all one step."""
        live = self._turns[-1].live if self._turns else []
        newest = [[], *steps(self._messages, live)][-1]
        return len(newest) >= self.limits.min_messages and newest == live[-len(newest) :]

    def _ends_cut(self) -> bool:
        """Whether the last message is shortened or, if that is a result, one of the last results."""
        for index in reversed(self._turns[-1].live if self._turns else ()):
            if index in self._edits or self._messages[index].role != "tool":
                return index in self._edits
        return False

    def _drop_turns(self, low: float) -> None:
        floor = self._floor()
        self._view = None
        for turn in [turn for turn in self._pinned if not turn.pinned]:
            if self._over(low):
                self._pinned.remove(turn)
                self._tokens -= turn.cost
        while self._first < floor and self._over(low):
            turn = self._turns[self._first]
            if turn.pinned:
                self._pinned.append(turn)
            else:
                self._tokens -= turn.cost
            self._first += 1

    def _floor(self) -> int:
        """The number of the first turn that must stay for being among the newest."""
        number = size = 0
        for back, turn in enumerate(reversed(self._turns), 1):
            number += turn.questions(self._messages)
            size += len(turn.live)
            if number >= self.limits.min_turns and size >= self.limits.min_messages:
                return len(self._turns) - back
        return 0

    def _squeeze(self, low: float, ceiling: float) -> None:
        turns = [turn.live[:] for turn in self._shown_turns()]
        goal = low if self._tokens > ceiling else ceiling
        budget = 0 if ceiling == float("inf") else int(ceiling)
        for rung in ladder(self._messages, turns, self.limits, budget, self.count, self._now):
            for group in rung.groups:
                if not (self._tokens > goal or (rung.drops and self._crowded())):
                    break
                for index, edit in group:
                    self._apply(index, edit)
            if not (self._tokens > ceiling or self._crowded()):
                return

    def _now(self, index: int) -> Edit:
        """The message as it is shown: its replacement, or itself while it has none."""
        return self._edits.get(index) or Edit(self._messages[index], self._counts[index], "")

    def _apply(self, index: int, edit: Edit) -> None:
        before = self._now(index).tokens
        if edit.message is not None and edit.tokens >= before:
            return
        self._view = None
        turn = self._turns[self._turn_of(index)]
        self._edits[index] = edit
        self._tokens += edit.tokens - before
        turn.cost += edit.tokens - before
        if edit.message is None:
            turn.live.remove(index)

    def _shown_turns(self) -> Iterator[Turn]:
        yield from self._pinned
        yield from self._turns[self._first :]

    def _shown(self) -> list[int]:
        return sorted([*self._systems, *(index for turn in self._shown_turns() for index in turn.live)])

    def _entries(self) -> Iterator[Entry]:
        rules = dict.fromkeys(self._systems, "system message")
        for turn in self._shown_turns():
            rule = "pinned turn" if turn.pinned else "newest turns"
            rules.update((index, rule) for index in turn.live)
        for index, (message, tokens) in enumerate(zip(self._messages, self._counts, strict=True)):
            edit = self._edits.get(index)
            if index not in rules:
                rule = edit.rule if edit and edit.message is None else OLDEST.rule
                yield Entry(index, message.id, message.role, tokens, 0, "dropped", rule)
            elif edit:
                yield Entry(index, message.id, message.role, tokens, edit.tokens, "shortened", edit.rule)
            else:
                yield Entry(index, message.id, message.role, tokens, tokens, "kept", rules[index])
