"""What is left of a conversation in which calls were never answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.turns import answerable
from recollect.types import Message, Part, Text, Thinking, ToolCall, ToolResult

IDS = ("a", "b", "c")
ids = st.sampled_from(IDS)
parts = st.one_of(
    st.builds(Text, st.sampled_from(("hm", "rain"))), st.builds(Thinking, st.just("hm")), st.builds(ToolCall, ids)
)
messages = st.one_of(
    st.builds(Message, st.sampled_from(("user", "assistant")), st.sampled_from(("hi", "rain"))),
    st.builds(lambda said: Message("assistant", tuple(said)), st.lists(parts, min_size=1, max_size=3)),
    st.builds(lambda id: Message("tool", (ToolResult(id, "rain"),)), ids),
)


def spoken(talk: tuple[Message, ...] | list[Message]) -> list[Part]:
    """All that was said, but for calls and the thinking before them."""
    return [part for message in talk for part in message.parts if not isinstance(part, (ToolCall, Thinking))]


@given(st.lists(messages, max_size=12))
def test_before_the_last_question_every_call_is_answered_and_nothing_else_is_lost(talk: list[Message]) -> None:
    left = answerable(talk)
    asked = max((n for n, message in enumerate(left) if message.role == "user"), default=0)
    answered = {result.call_id for message in talk for result in message.tool_results}
    assert {call.id for message in left[:asked] for call in message.tool_calls} <= answered
    assert spoken(left) == spoken(talk)
    assert answerable(left) == left
    kept = [call for message in left for call in message.tool_calls if call.id in answered]
    assert kept == [call for message in talk for call in message.tool_calls if call.id in answered]


@given(st.lists(messages, max_size=12))
def test_where_all_is_answered_the_messages_are_the_same(talk: list[Message]) -> None:
    answers = [Message("tool", (ToolResult(id, "rain"),)) for id in IDS]
    assert answerable([*talk, *answers]) == (*talk, *answers)
