"""The window, fed message by message, against a slow oracle that reckons every rule anew from the whole history."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import event, given, settings
from hypothesis import strategies as st

from recollect.errors import BudgetTooSmall
from recollect.flow.limits import Limits
from recollect.flow.turns import steps, turns
from recollect.flow.window import Window
from recollect.types import Message, Role, Thinking, ToolCall, ToolResult

check = settings(max_examples=int(os.environ.get("RECOLLECT_EXAMPLES", "100")), deadline=None)
OVERHEAD = 3


def words(message: Message) -> int:
    """One token a message, a word and a call."""
    return 1 + len(message.text.split()) + len(message.tool_calls)


class Dice:
    """One drawn number, taken apart into small choices: far cheaper than a draw for each."""

    def __init__(self, number: int) -> None:
        self.number = number

    def below(self, sides: int) -> int:
        self.number, face = divmod(self.number, sides)
        return face


def converse(numbers: list[int]) -> list[Message]:
    """A conversation of any course: parallel calls, results late or never, ids used again, systems anywhere, pins."""
    talk: list[Message] = []
    waiting: list[str] = []
    fresh = 0
    for place, number in enumerate(numbers):
        dice = Dice(number)
        kind = ("user", "assistant", "call", "result", "user", "result", "call", "result", "system")[dice.below(9)]
        length = (1, 3, 10, 60, 300)[dice.below(5)]
        metadata = {"pinned": True} if dice.below(12) == 11 else {}
        content: str | tuple[ToolCall | ToolResult | Thinking, ...] = f"{place} " + "word " * length
        if kind == "call":
            ids = [f"c{fresh + n}" for n in range(1 + dice.below(3))]
            waiting += ids
            fresh += len(ids)
            content = (Thinking(f"{place}", "signed"), *(ToolCall(id, "look") for id in ids))
        elif kind == "result" and waiting:
            first = waiting[dice.below(len(waiting))]
            both = [id for id in waiting if _home(talk, id) == _home(talk, first)]
            taken = both if dice.below(2) else [first]
            waiting = [id for id in waiting if id not in taken]
            fresh = 0 if not waiting and dice.below(4) == 3 else fresh
            content = tuple(ToolResult(id, f"{place} {id} " + "word " * length) for id in taken)
        elif kind == "system":
            content = f"{place} rule"
        talk.append(Message(_role(kind, content), content, id=f"m{place}", metadata=metadata))
    return talk


def _role(kind: str, content: object) -> Role:
    if kind == "result":
        return "tool" if isinstance(content, tuple) else "user"
    return "system" if kind == "system" else "user" if kind == "user" else "assistant"


def talks() -> st.SearchStrategy[list[Message]]:
    return st.lists(st.integers(0, 2**24), min_size=1, max_size=30).map(converse)


def _home(talk: list[Message], id: str) -> int:
    return max(i for i, message in enumerate(talk) if any(call.id == id for call in message.tool_calls))


limits = st.builds(
    Limits,
    budget=st.one_of(st.none(), st.integers(60, 900)),
    last_messages=st.one_of(st.none(), st.none(), st.integers(1, 12)),
    last_turns=st.one_of(st.none(), st.none(), st.integers(1, 6)),
    low_water=st.sampled_from((0.3, 0.5, 0.7, 1.0)),
    min_turns=st.sampled_from((1, 1, 2, 3, 9)),
    min_messages=st.sampled_from((1, 2, 2, 5)),
)


@dataclass(frozen=True)
class Shown:
    """What a window gives when it is read, or that it can't be."""

    messages: tuple[Message, ...]
    tokens: int


def read(window: Window) -> Shown | None:
    try:
        return Shown(window.messages, window.tokens)
    except BudgetTooSmall as error:
        assert error.needed > error.allowed == window.limits.budget
        assert error.needed == OVERHEAD + sum(entry.shown for entry in error.ledger)
        return None


def pairs(messages: tuple[Message, ...] | list[Message]) -> tuple[list[str], list[str]]:
    calls = sorted(call.id for message in messages for call in message.tool_calls)
    return calls, sorted(result.call_id for message in messages for result in message.tool_results)


def open_at_the_end(talk: list[Message]) -> list[str]:
    """The calls no result has come for."""
    calls, results = pairs(talk)
    for id in results:
        calls.remove(id)
    return calls


def follow(talk: list[Message], limit: Limits) -> list[Shown | None]:
    window = Window(words, limit, OVERHEAD)
    seen = []
    for message in talk:
        window.append(message)
        seen.append(read(window))
    return seen


@check
@given(talks(), limits)
def test_system_messages_and_pinned_messages_stay_and_the_order_is_kept(talk: list[Message], limit: Limits) -> None:
    for end, shown in enumerate(follow(talk, limit), 1):
        if shown is None:
            event("budget too small")
            continue
        places = [int(message.id[1:]) for message in shown.messages]
        assert places == sorted(set(places))
        must = {i for i, message in enumerate(talk[:end]) if message.role == "system" or message.pinned}
        orphans = {i for i in must if talk[i].role == "tool"}
        assert must - orphans <= set(places)


@check
@given(talks(), limits)
def test_the_budget_is_never_exceeded_and_the_tokens_are_those_of_the_messages(
    talk: list[Message], limit: Limits
) -> None:
    for shown in follow(talk, limit):
        if shown is not None:
            assert shown.tokens == OVERHEAD + sum(map(words, shown.messages))
            assert limit.budget is None or shown.tokens <= limit.budget


@check
@given(talks(), limits)
def test_no_result_is_without_its_call_and_no_answered_call_without_its_result(
    talk: list[Message], limit: Limits
) -> None:
    for end, shown in enumerate(follow(talk, limit), 1):
        if shown is not None:
            calls, results = pairs(shown.messages)
            waiting = open_at_the_end(talk[:end])
            for id in results:
                calls.remove(id)
            assert not [id for id in calls if id not in waiting]


@check
@given(talks(), limits)
def test_what_stays_is_the_newest_turns_and_the_pinned_ones(talk: list[Message], limit: Limits) -> None:
    for end, shown in enumerate(follow(talk, limit), 1):
        if shown is None:
            continue
        ids = {message.id for message in shown.messages}
        kept = [not ids.isdisjoint(m.id for m in turn) for turn in turns(talk[:end])]
        pinned = [any(m.pinned for m in turn) for turn in turns(talk[:end])]
        first = kept.index(True) if True in kept else len(kept)
        newest = next((i for i in range(len(kept)) if all(kept[i:])), len(kept))
        assert all(pinned[i] for i in range(first, newest) if kept[i])


@check
@given(talks(), limits)
def test_the_least_that_must_stay_stays(talk: list[Message], limit: Limits) -> None:
    for end, shown in enumerate(follow(talk, limit), 1):
        if shown is not None:
            ids = {message.id for message in shown.messages}
            spoken = [m for m in talk[:end] if m.role != "system"]
            lost = [m for m in spoken[-limit.min_messages :] if m.id not in ids]
            assert all(m.role == "tool" for m in lost)
            heard = [m for m in talk[:end] if m.role != "tool" or m.id in ids]
            least = turns(heard)[-limit.min_turns :]
            merged_later = any(sum(m.role == "user" for m in turn) > 1 for turn in least)
            assert merged_later or all(turn[0].id in ids for turn in least if turn[0].role == "user")


@check
@given(talks(), limits)
def test_between_two_cuts_it_only_grows_at_its_end(talk: list[Message], limit: Limits) -> None:
    seen = follow(talk, limit)
    for place, (before, after) in enumerate(pairwise(seen), 1):
        if before is None or after is None or after.messages[: len(before.messages)] == before.messages:
            continue
        event("cut")
        spoken = [m for m in before.messages if m.role != "system"]
        over = limit.budget is not None and before.tokens + words(talk[place]) > limit.budget
        crowded = limit.last_messages is not None and len(spoken) + 1 > limit.last_messages
        many = limit.last_turns is not None and len(turns([*before.messages, talk[place]])) > limit.last_turns
        assert over or crowded or many


@check
@given(talks(), limits)
def test_a_cut_goes_down_to_the_low_water_mark_unless_what_must_stay_is_larger(
    talk: list[Message], limit: Limits
) -> None:
    if limit.budget is None:
        return
    seen = follow(talk, limit)
    for end, (before, after) in enumerate(pairwise(seen), 2):
        if before is None or after is None or before.tokens + words(talk[end - 1]) <= limit.budget:
            continue
        if after.tokens <= limit.budget * limit.low_water:
            event("down to the mark")
            continue
        ids = {message.id for message in after.messages}
        shown = [turn for turn in turns(talk[:end]) if not ids.isdisjoint(m.id for m in turn)]
        spare = [turn for turn in shown if not any(m.pinned for m in turn)]
        newest = spare[0] if spare else ()
        behind = turns(talk[:end])[-limit.min_turns :]
        tail = [m for m in talk[:end] if m.role != "system" and m.id in ids][-limit.min_messages :]
        assert not spare or newest in behind or any(m in tail for m in newest)


@check
@given(talks(), st.sampled_from((0.3, 1.0)), st.integers(1, 2))
def test_what_a_budget_holds_a_larger_one_holds_too(talk: list[Message], low_water: float, min_turns: int) -> None:
    """But for pinned results: one whose call a smaller budget has cut already is not there to be too large."""
    talk = [message.replace(metadata={}) if message.role == "tool" else message for message in talk]
    limits = [Limits(budget, low_water=low_water, min_turns=min_turns) for budget in range(10, 800, 15)]
    held = [follow(talk, limit)[-1] is not None for limit in limits]
    assert held == sorted(held)


@check
@given(talks(), limits)
def test_the_receipt_tells_what_is_sent_and_adds_up(talk: list[Message], limit: Limits) -> None:
    window = Window(words, limit, OVERHEAD)
    window.extend(talk)
    shown = read(window)
    if shown is None:
        return
    receipt = window.receipt
    assert receipt.overhead + sum(entry.shown for entry in receipt.entries) == receipt.tokens == shown.tokens
    assert [entry.id for entry in receipt.entries] == [message.id for message in talk]
    assert [entry.tokens for entry in receipt.entries] == [words(message) for message in talk]
    sent = [entry for entry in receipt.entries if entry.verdict != "dropped"]
    assert [(entry.id, entry.shown) for entry in sent] == [(m.id, words(m)) for m in shown.messages]
    for entry, message in zip(sent, shown.messages, strict=True):
        assert (entry.verdict == "kept") == (message == talk[entry.index])
    assert all(entry.shown == 0 for entry in receipt.entries if entry.verdict == "dropped")


@check
@given(talks(), limits)
def test_the_same_messages_give_the_same_window(talk: list[Message], limit: Limits) -> None:
    assert follow(talk, limit) == follow(talk, limit)


@check
@given(talks(), limits, st.integers(1, 300))
def test_what_it_shows_does_not_depend_on_when_it_is_read(talk: list[Message], limit: Limits, budget: int) -> None:
    for limits in (limit, replace(limit, budget=budget)):
        read_often, read_once = Window(words, limits, OVERHEAD), Window(words, limits, OVERHEAD)
        for message in talk:
            read_often.append(message)
            read(read_often)
            read_once.append(message)
        assert read(read_once) == read(read_often)


@check
@given(talks(), limits)
def test_fitting_what_was_fitted_changes_nothing(talk: list[Message], limit: Limits) -> None:
    shown = follow(talk, limit)[-1]
    if shown is not None and limit.last_messages is None and limit.last_turns is None:
        again = Window(words, limit, OVERHEAD)
        again.extend(shown.messages)
        assert read(again) == shown


@check
@given(talks(), limits)
def test_thinking_calls_and_ids_are_never_edited(talk: list[Message], limit: Limits) -> None:
    by_id = {message.id: message for message in talk}
    for shown in follow(talk, limit):
        for message in shown.messages if shown else ():
            whole = by_id[message.id]
            assert message.tool_calls == whole.tool_calls
            assert [r.call_id for r in message.tool_results] == [r.call_id for r in whole.tool_results]
            assert [p for p in message.parts if isinstance(p, Thinking)] == [
                p for p in whole.parts if isinstance(p, Thinking)
            ]


@check
@given(talks(), st.integers(0, 600))
def test_prune_meets_its_limit_or_changes_nothing(talk: list[Message], budget: int) -> None:
    window = Window(words, overhead=OVERHEAD)
    window.extend(talk)
    whole = read(window)
    assert whole is not None
    fresh = Window(words, Limits(budget, low_water=1.0), OVERHEAD)
    fresh.extend(talk)
    try:
        receipt = window.prune(budget)
    except BudgetTooSmall:
        event("refused")
        assert read(window) == whole
        assert read(fresh) is None
        return
    shown = read(window)
    assert shown is not None
    assert shown == read(fresh)
    assert shown.tokens <= max(budget, 0)
    assert shown.tokens == OVERHEAD + sum(map(words, shown.messages))
    assert whole.tokens - shown.tokens == sum(entry.tokens - entry.shown for entry in receipt.entries)
    gone = {entry.id for entry in receipt.entries if entry.verdict == "dropped"}
    assert [m.id for m in shown.messages] == [m.id for m in talk if m.id not in gone]
    assert all(window.original(entry.index) != talk[entry.index] for entry in receipt.entries)
    assert OVERHEAD + sum(entry.tokens for entry in window.receipt.entries) == shown.tokens
    with suppress(BudgetTooSmall):
        again = window.prune(budget // 2)
        assert all(entry.shown < entry.tokens for entry in again.entries)


@check
@given(talks(), st.integers(1, 9))
def test_the_newest_turns_take_as_much_as_their_messages_and_those_of_the_system(
    talk: list[Message], number: int
) -> None:
    window = Window(words, overhead=OVERHEAD)
    window.extend(talk)
    last = {message.id for turn in turns(talk)[-number:] for message in turn}
    tokens = OVERHEAD + sum(words(message) for message in talk if message.role == "system" or message.id in last)
    assert window.newest(number) == (tokens, tokens, False)


@check
@given(talks())
def test_turns_and_steps_hold_each_message_once_and_no_group_in_two(talk: list[Message]) -> None:
    found = turns(talk)
    assert [m for turn in found for m in turn] == [m for m in talk if m.role != "system"]
    for turn in found:
        in_steps = [index for step in steps(turn, range(len(turn))) for index in step]
        assert in_steps == [index for index, m in enumerate(turn) if m.role != "user"]
        calls, results = pairs(turn)
        for id in results:
            calls.remove(id)
        assert not [id for id in calls if id not in open_at_the_end(talk)]
