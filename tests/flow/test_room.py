"""The room of a conversation: on generated transcripts, settings and budgets, its window keeps what was promised."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import BudgetTooSmall, ConfigError, Message, Settings, ToolCall, ToolResult, estimate
from recollect.flow.assemble import Shown
from recollect.flow.limits import Limits
from recollect.flow.room import STEP, Room, View, beside, firm_turns, fitted
from recollect.flow.squeeze import OLD_RESULT_TOKENS
from recollect.flow.window import Window
from recollect.tokens import count_message
from recollect.types import Role
from tests.strategies import transcripts


def said(role: Role, most: int) -> st.SearchStrategy[Message | None]:
    return st.none() | st.builds(Message, st.just(role), st.text(max_size=most))


def made(numbers: dict[str, Any]) -> Settings:
    return Settings(**numbers)


count = partial(count_message, count=estimate)
caps = st.none() | st.integers(0, 400)
numbers = st.fixed_dictionaries(
    {},
    optional={
        "memory_tokens": caps,
        "documents_tokens": caps,
        "reply_tokens": st.integers(0, 60),
        "layout": st.sampled_from(("tail-first", "memory-first")),
        "working_tokens": st.integers(1, 600),
        "working_turns": st.integers(1, 4),
        "working_min_turns": st.integers(1, 4),
        "conversation_window": st.integers(1, 6),
        "context_budget": st.integers(500, 1_500),
        "min_turns": st.integers(1, 3),
        "min_messages": st.integers(1, 4),
        "low_water": st.sampled_from((0.3, 0.7, 1.0)),
    },
).map(made)
rooms = st.builds(
    Room.of,
    said("system", 80),
    said("user", 300),
    st.integers(3, 40),
    st.integers(1, 1_500),
    numbers,
    st.just(count),
)


class Shows:
    """Shows a conversation within limits, and knows which were tried."""

    def __init__(self, room: Room, talk: list[Message]) -> None:
        self.room, self.talk, self.tried = room, talk, list[Limits]()

    def __call__(self, limits: Limits) -> View:
        self.tried.append(limits)
        window = Window(count, limits, self.room.overhead)
        window.extend(self.talk)
        left_out = len(self.talk) - len(window.messages)
        shown = Shown(window.messages, window.tokens, window.overhead, left_out, window.shortened)
        return View(shown, 1, len(self.talk), 0, 0, (0, 0), window.newest(firm_turns(self.room.settings)))


class Refuses:
    """Has a conversation for which all limits are too small."""

    def __init__(self) -> None:
        self.tried = list[Limits]()

    def __call__(self, limits: Limits) -> NoReturn:
        self.tried.append(limits)
        raise BudgetTooSmall(1_000, limits.budget or 0)


def asked(room: Room) -> int:
    return room.given["question"].shown if "question" in room.given else 0


def prompt(room: Room) -> int:
    return room.budget - room.settings.reply_tokens


@given(rooms, transcripts())
def test_a_view_keeps_to_the_budget_or_the_error_tells_what_is_needed(room: Room, talk: list[Message]) -> None:
    show = Shows(room, talk)
    try:
        assert room.view(show).shown.tokens <= prompt(room)
    except BudgetTooSmall as error:
        assert error.needed > error.allowed == room.budget
        assert list(error.ledger[: len(room.given)]) == list(room.given.values())
        if show.tried:
            enough = replace(room, budget=error.needed)
            assert enough.view(Shows(enough, talk)).shown.tokens <= prompt(enough)


@given(rooms)
def test_what_is_given_up_comes_in_this_order(room: Room) -> None:
    show = Refuses()
    with pytest.raises(BudgetTooSmall) as error:
        room.view(show)
    tried = [(limits.budget, limits.follows, limits.whole) for limits in show.tried]
    if room.overhead + max(asked(room), 1) > prompt(room):
        assert tried == []
        return
    roomy, tight = tried[0][0], prompt(room) - asked(room)
    if "question" in room.given:
        after = [(roomy, True, True), (tight, True, True), (tight, False, False), (tight, True, False)]
    else:
        after = [(tight, False, False)]
    assert tried == [(roomy, False, True), (tight, False, True), *after]
    assert error.value.needed == 1_000 + asked(room) + room.settings.reply_tokens


def for_memory(room: Room) -> int:
    free, settings = prompt(room) - room.overhead, room.settings
    caps = (settings.memory_tokens, settings.documents_tokens)
    return min(sum(free if cap is None else cap for cap in caps), free // 2)


@given(rooms)
def test_whatever_is_given_up_the_settings_hold(room: Room) -> None:
    show, settings, questions = Refuses(), room.settings, len(room.given.keys() & {"question"})
    with pytest.raises(BudgetTooSmall):
        room.view(show)
    tokens, turns = (4_000, 10) if settings.layout == "memory-first" else (room.budget, None)
    by_number = settings.conversation_window if settings.context_budget is None else None
    for n, limits in enumerate(show.tried):
        assert limits.budget is not None
        assert n or limits.budget == min(prompt(room) - for_memory(room), settings.working_tokens or tokens)
        assert limits.last_messages == (by_number and max(1, by_number - questions))
        assert limits.last_turns == (settings.working_turns or turns)
        assert (limits.low_water, limits.min_turns) == (settings.low_water, settings.min_turns)
        assert limits.min_messages == max(1, settings.min_messages - limits.follows)


@given(rooms, transcripts())
def test_memory_has_its_part_unless_the_newest_turns_need_it(room: Room, talk: list[Message]) -> None:
    show = Shows(room, talk)
    try:
        view = room.view(show)
    except BudgetTooSmall:
        return
    if len(show.tried) == 1:
        assert view.shown.tokens <= prompt(room) - for_memory(room)
    else:
        assert view.shown.tokens <= prompt(room) - min(asked(room), math.ceil(asked(room) / STEP) * STEP)


@given(st.integers(1, 60), st.integers(100, 3_000))
def test_turns_that_memory_cannot_push_out_are_shown_where_they_have_room(words: int, budget: int) -> None:
    talk = [Message("user", "word " * words), Message("assistant", "word " * words)] * 12
    firm = talk[-2 * firm_turns(Settings()) :]
    room = Room.of(None, Message("user", "And then?"), 3, budget, Settings(), count)
    if room.overhead + sum(map(count, firm)) <= prompt(room) - STEP:
        shown = room.view(Shows(room, talk)).shown.messages
        assert list(shown[-len(firm) :]) == firm


@example(1_500, 2_000, False, 80)
@example(1_500, 2_000, True, 110)
@given(st.integers(0, 2_000), st.integers(1, 2_000), st.booleans(), st.integers(60, 160))
def test_the_last_result_is_shown_whole_where_memory_can_give_way(old: int, new: int, ask: bool, share: int) -> None:
    talk = [
        *(Message("user", "Hello."), Message("assistant", "Hi.")),
        *(Message("user", "Read it."), *step("a", old), *step("b", new)),
    ]
    if ask:
        talk.append(Message("user", "And then?"))
    budget = Settings().reply_tokens + sum(map(count, talk)) * share // 100
    room = Room.of(None, None, 3, budget, Settings(), count)
    if room.overhead + sum(map(count, talk)) <= prompt(room):
        assert list(room.view(Shows(room, talk)).shown.messages) == talk
    elif not ask and room.overhead + sum(map(count, talk)) - count(talk[4]) + OLD_RESULT_TOKENS <= prompt(room):
        assert room.view(Shows(room, talk)).shown.messages[-1] == talk[-1]


@given(st.integers(1_500, 9_000), st.integers(1, 60), st.integers(9_000, 20_000))
def test_a_result_too_long_to_be_shown_whole_does_not_push_out_turns_that_fit_beside_what_is_shown_of_it(
    budget: int, words: int, new: int
) -> None:
    """That they are few tokens once it is shortened doesn't tell that they are shown: they left while it was whole."""
    spoken = [Message("user", "word " * words), Message("assistant", "word " * words)]
    room = Room.of(None, None, 3, budget, Settings(), count)
    shown = room.view(Shows(room, [*spoken * 8, Message("user", "Read it."), *step("a", new)])).shown.messages
    assert sum(message.role == "user" for message in shown) >= firm_turns(Settings())


def step(call: str, words: int) -> tuple[Message, Message]:
    result = ToolResult(call, "word " * words)
    return Message("assistant", (ToolCall(call, "read", "{}"),)), Message("tool", (result,))


def test_a_question_that_has_no_room_is_told_beside_the_system_text() -> None:
    room, show = (
        Room.of(Message("system", "Be brief."), Message("user", "word " * 100), 3, 50, Settings(), count),
        Refuses(),
    )
    with pytest.raises(BudgetTooSmall) as error:
        room.view(show)
    assert show.tried == []
    assert [line.section for line in error.value.ledger] == ["system", "question"]
    assert error.value.needed == 3 + sum(line.shown for line in error.value.ledger)


@given(st.lists(st.text(max_size=40), max_size=3), st.integers(-5, 60), st.integers(1, 60))
def test_an_error_beside_system_messages_asks_for_theirs_too_and_never_for_what_there_is(
    texts: list[str], budget: int, more: int
) -> None:
    system = [Message("system", text) for text in texts]
    taken = sum(map(count, system))
    with pytest.raises(BudgetTooSmall) as error, beside(system, count, budget) as room:
        assert room == budget - taken > 0
        raise BudgetTooSmall(room + more, room)
    assert error.value.allowed == budget < error.value.needed
    assert error.value.needed == (budget + more if budget > taken else taken + 1)
    assert [line.text for line in error.value.ledger] == texts


def test_a_changed_history_gives_up_memory_before_older_pictures() -> None:
    show = Refuses()
    with pytest.raises(BudgetTooSmall):
        fitted("memory", 1_000, count, show)
    assert [(limits.budget, limits.whole) for limits in show.tried] == [(750, True), (1_000, True), (1_000, False)]


@pytest.mark.parametrize("words, asked, told", [(200, 1, True), (300, 1, False), (200, 100, True)])
def test_memory_is_told_in_front_of_the_last_question_if_it_has_no_more_than_its_share(
    words: int, asked: int, told: bool
) -> None:
    talk = [Message("user", "Hello."), Message("user", "And then? " * asked), Message("assistant", "Well.")]
    shown = fitted("word " * words, 1_000, count, lambda _: talk)
    assert [message.text.count("word") for message in shown] == [0, words * told, 0]
    assert fitted("word", 1_000, count, lambda _: talk[2:]) == talk[2:]


def test_a_system_text_over_its_cap_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the system text has \d+ tokens; system_tokens allows 5"):
        Room.of(Message("system", "word " * 20), None, 3, 1_000, Settings(system_tokens=5), count)
    system = Message("system", "Be brief.")
    assert Room.of(system, None, 3, 1_000, Settings(system_tokens=count(system)), count).given["system"]
    assert not Room.of(None, None, 3, 1_000, Settings(system_tokens=0), count).given


def test_a_conversation_held_to_few_turns_has_no_more_that_stay() -> None:
    assert firm_turns(Settings()) == 5
    assert firm_turns(Settings(working_turns=2)) == 2
    assert firm_turns(Settings(layout="memory-first", working_min_turns=20)) == 10
