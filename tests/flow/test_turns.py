"""What is left of a conversation in which calls were never answered, or answers have lost their call."""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise, takewhile
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.flow.render import parse, render
from recollect.flow.shapes import SHAPES
from recollect.flow.turns import answerable, steps, turns
from recollect.flow.validate import validate
from recollect.types import Message, Part, Text, Thinking, ToolCall, ToolResult

IDS = ("a", "b", "c")
ids = st.sampled_from(IDS)
parts = st.one_of(
    st.builds(Text, st.sampled_from(("hm", "rain", "\n\n"))),
    st.builds(Thinking, st.just("hm")),
    st.builds(ToolCall, ids),
)
plain = st.builds(Message, st.sampled_from(("user", "assistant")), st.sampled_from(("hi", "rain", "")))
messages = st.one_of(
    plain,
    st.just(Message("user", (Text("hi"), Text(" ")))),
    st.builds(lambda said: Message("assistant", tuple(said)), st.lists(parts, min_size=1, max_size=3)),
    st.builds(
        lambda some: Message("tool", tuple(ToolResult(id, "rain") for id in some)),
        st.lists(ids, min_size=1, max_size=2, unique=True),
    ),
)


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(id, "look") for id in ids))


def result(id: str) -> Message:
    return Message("tool", (ToolResult(id, "rain"),))


def spoken(talk: tuple[Message, ...] | list[Message]) -> list[Part]:
    """All that was said, but for calls, thoughts, blank texts, and results that no call waits for."""
    waiting: set[str] = set()
    said: list[Part] = []
    for message in talk:
        waiting.update(call.id for call in message.tool_calls)
        for part in message.parts:
            if isinstance(part, ToolResult) and part.call_id in waiting:
                waiting.remove(part.call_id)
                said.append(part)
            elif isinstance(part, Text) and part.text.strip():
                said.append(part)
    return said


def in_order(talk: tuple[Message, ...] | list[Message]) -> list[Message]:
    return [message for message in talk if isinstance(message.content, str) or message.role == "user"]


def some(parts: list[Part]) -> Counter[str]:
    return Counter(map(repr, parts))


@given(st.lists(messages, max_size=12))
def test_before_the_last_step_every_call_is_answered_at_once_and_nothing_else_is_lost(talk: list[Message]) -> None:
    left = answerable(talk)
    asked = max((n for n, message in enumerate(left) if message.role in ("user", "assistant")), default=0)
    for n, message in enumerate(left):
        after = takewhile(lambda later: later.role == "tool", left[n + 1 :])
        answered = {result.call_id for later in after for result in later.tool_results}
        if n < asked:
            assert {call.id for call in message.tool_calls} <= answered
        if message.role == "tool":
            caller = next(before for before in reversed(left[:n]) if before.role != "tool")
            assert {result.call_id for result in message.tool_results} <= {call.id for call in caller.tool_calls}
        if message.role == "assistant" and message.content:
            assert any(not isinstance(part, Thinking) for part in message.parts)
            assert all(part.text.strip() for part in message.parts if isinstance(part, Text))
    assert some(spoken(left)) == some(spoken(talk))
    assert in_order(left) == in_order(talk)
    assert answerable(left) == left


@given(st.lists(messages | st.builds(Message, st.just("system"), st.just("Be brief.")), max_size=12))
@example([call("a"), Message("user", "hi"), result("a")])
def test_turns_begin_with_the_user_and_hold_each_call_with_its_result(talk: list[Message]) -> None:
    found = turns(talk)
    spoken = [message for message in talk if message.role != "system"]
    assert [message for turn in found for message in turn] == spoken
    assert all(turn[0].role == "user" for turn in found[1:])
    calls: dict[str, int] = {}
    for n, message in ((n, message) for n, turn in enumerate(found) for message in turn):
        assert all(calls.pop(result.call_id, n) == n for result in message.tool_results)
        calls.update((call.id, n) for call in message.tool_calls)
    if not any(message.role == "tool" for message in talk):
        assert len(found) == sum(n == 0 or message.role == "user" for n, message in enumerate(spoken))


@given(st.lists(messages | st.builds(Message, st.just("system"), st.just("Be brief.")), max_size=12))
@example([call("a"), result("a"), call("b"), result("b")])
@example([call("a", "b"), result("a"), Message("assistant", "hm"), result("b"), call("c")])
def test_a_step_is_what_the_model_says_in_one_go_with_all_results_of_its_calls(talk: list[Message]) -> None:
    found = list(steps(talk, range(len(talk))))
    assert [n for step in found for n in step] == [n for n, one in enumerate(talk) if one.role in ("assistant", "tool")]
    waiting: set[str] = set()
    for n, step in enumerate(found):
        assert not waiting
        assert n == 0 or (talk[found[n - 1][-1]].role, talk[step[0]].role) == ("tool", "assistant")
        for before, index in pairwise([None, *step]):
            goes_on = before is None or waiting or talk[before].role == "assistant" or talk[index or 0].role == "tool"
            assert goes_on
            waiting |= {call.id for call in talk[index or 0].tool_calls}
            waiting -= {result.call_id for result in talk[index or 0].tool_results}


@given(st.lists(plain, max_size=8))
def test_a_step_stands_where_its_last_result_came(talk: list[Message]) -> None:
    step = [call(*IDS), *map(result, IDS)]
    first = Message("user", "what is the weather?")
    assert answerable([first, *step, *talk]) == (first, *step, *talk)
    assert answerable([first, *step[:2], *talk, *step[2:]]) == (first, *talk, *step)
    assert validate([first, *answerable([*step[:1], *talk, *step[1:]])], "openai") == []


def test_a_call_that_the_model_went_on_from_is_left_out_though_the_turn_is_the_last() -> None:
    step = [call("b"), result("b")]
    talk = [Message("user", "hi"), call("a"), *step]
    assert answerable(talk) == (talk[0], *step)
    assert answerable(talk[:2]) == tuple(talk[:2])
    waits = [talk[0], call("a", "b"), step[1]]
    assert answerable(waits) == tuple(waits)


def test_an_answer_to_a_later_call_of_the_same_name_is_no_answer_to_the_first() -> None:
    thanks = Message("user", "thanks")
    first, again = (Message("assistant", (Text(text), ToolCall("a", "look"))) for text in ("first", "again"))
    left = answerable([Message("user", "hi"), first, thanks, again, result("a"), thanks])
    assert [len(message.tool_calls) for message in left] == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_that_came_twice_is_shown_once(shape: str) -> None:
    step = [call("a", "b"), *map(result, ("a", "b", "b", "a"))]
    both = Message("tool", (ToolResult("a", "rain"), ToolResult("b", "rain"), ToolResult("a", "again")))
    for talk in ([*step, Message("user", "thanks")], [*step[:2], Message("user", "well"), *step[2:]], [step[0], both]):
        assert validate([Message("user", "hi"), *answerable(talk)], shape) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_results_of_two_steps_in_one_message_go_to_their_calls(shape: str) -> None:
    calls = [call(id) for id in IDS]
    results = Message("tool", (*(ToolResult(id, f"rain in {id}") for id in IDS), Text("That is all.")), id="1")
    talk = [Message("user", "hi"), calls[0], Message("user", "well"), *calls[1:], results, Message("user", "thanks")]
    left = answerable(talk)
    assert validate(left, shape) == []
    assert [message.text for message in left if message.id] == ["rain in a", "rain in b", "rain in c\nThat is all."]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
CALLS: list[dict[str, Any]] = [
    {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"} for id in IDS
]
OUTPUTS: list[dict[str, Any]] = [{"type": "function_call_output", "call_id": id, "output": "rain"} for id in IDS]


@pytest.mark.parametrize(
    ("items", "left"),
    [
        ([THOUGHT, *CALLS, *OUTPUTS, user("thanks")], [THOUGHT, *CALLS, *OUTPUTS, user("thanks")]),
        ([*CALLS, *OUTPUTS[::-1]], [*CALLS, *OUTPUTS[::-1]]),
        ([THOUGHT, *CALLS], [THOUGHT, *CALLS]),
        ([THOUGHT, *CALLS, user("stop")], [user("stop")]),
        ([THOUGHT, *CALLS[:2], OUTPUTS[1], user("stop")], [THOUGHT, CALLS[1], OUTPUTS[1], user("stop")]),
        ([THOUGHT, CALLS[0], user("and?"), OUTPUTS[0]], [user("and?"), THOUGHT, CALLS[0], OUTPUTS[0]]),
        ([THOUGHT, CALLS[0], THOUGHT, CALLS[1], OUTPUTS[1]], [THOUGHT, CALLS[1], OUTPUTS[1]]),
        ([THOUGHT, THOUGHT, CALLS[0], OUTPUTS[0]], [THOUGHT, THOUGHT, CALLS[0], OUTPUTS[0]]),
        (
            [CALLS[0], OUTPUTS[0], THOUGHT, CALLS[1], CALLS[2], OUTPUTS[2], user("stop")],
            [CALLS[0], OUTPUTS[0], THOUGHT, CALLS[2], OUTPUTS[2], user("stop")],
        ),
        (
            [CALLS[0], CALLS[1], OUTPUTS[0], user("and?"), OUTPUTS[1]],
            [user("and?"), CALLS[0], CALLS[1], OUTPUTS[0], OUTPUTS[1]],
        ),
    ],
    ids=[
        "all at once",
        "in any order",
        "waiting",
        "given up",
        "one given up",
        "late",
        "asked again",
        "two thoughts",
        "two answers",
        "one late",
    ],
)
def test_what_the_model_said_in_one_go_stays_together_where_each_item_is_a_message(
    items: list[dict[str, Any]], left: list[dict[str, Any]]
) -> None:
    kept = answerable(parse([user("hi"), *items], "openai-responses"))
    assert list(render(kept, "openai-responses")) == [user("hi"), *left]
    assert answerable(parse(items, "openai-responses")) == kept[1:]


def test_thousands_of_results_of_one_answer_are_one_turn_at_once() -> None:
    calls = tuple(ToolCall(f"c{n}", "look") for n in range(6_000))
    results = [Message("tool", (ToolResult(call.id, "found"),)) for call in calls]
    talk = [Message("user", "go"), Message("assistant", calls), *results]
    started = time.thread_time()
    assert turns(talk) == [tuple(talk)]
    assert time.thread_time() - started < 1
