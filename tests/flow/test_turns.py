"""What is left of a conversation in which calls were never answered, or answers have lost their call."""

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
    """All that was said, but for calls, the thinking before them, and results that no call comes before."""
    called: set[str] = set()
    said: list[Part] = []
    for message in talk:
        called.update(call.id for call in message.tool_calls)
        said += [
            part
            for part in message.parts
            if not isinstance(part, (ToolCall, Thinking))
            and not (isinstance(part, ToolResult) and part.call_id not in called)
        ]
    return said


@given(st.lists(messages, max_size=12))
def test_before_the_last_question_every_call_is_answered_and_nothing_else_is_lost(talk: list[Message]) -> None:
    left = answerable(talk)
    asked = max((n for n, message in enumerate(left) if message.role == "user"), default=0)
    answered = {part.call_id for part in spoken(talk) if isinstance(part, ToolResult)}
    assert {call.id for message in left[:asked] for call in message.tool_calls} <= answered
    assert spoken(left) == spoken(talk)
    assert [part for message in left for part in message.tool_results] == [
        part for part in spoken(talk) if isinstance(part, ToolResult)
    ]
    assert answerable(left) == left
    kept = [call for message in left for call in message.tool_calls if call.id in answered]
    assert kept == [call for message in talk for call in message.tool_calls if call.id in answered]


@given(st.lists(messages, max_size=12))
def test_where_all_is_called_and_answered_the_messages_are_the_same(talk: list[Message]) -> None:
    calls = [Message("assistant", tuple(ToolCall(id, "look") for id in IDS))]
    answers = [Message("tool", (ToolResult(id, "rain"),)) for id in IDS]
    assert answerable([*calls, *talk, *answers]) == (*calls, *talk, *answers)
