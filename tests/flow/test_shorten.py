"""Messages made shorter, on generated transcripts."""

from __future__ import annotations

from hypothesis import given

from recollect.flow.shorten import acceptable
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from tests.strategies import transcripts


def files(message: Message) -> int:
    return sum(isinstance(part, (Image, Opaque)) for part in message.parts)


def thoughts(message: Message) -> int:
    return len(message.parts) - len(spoken(message))


def spoken(message: Message) -> list[Part]:
    return [part for part in message.parts if not isinstance(part, Thinking)]


@given(transcripts())
def test_of_the_files_of_the_user_only_those_of_the_last_question_stay(talk: list[Message]) -> None:
    bare = acceptable(talk)
    users = [n for n, message in enumerate(talk) if message.role == "user"]
    assert [files(bare[n]) for n in users] == [0] * (len(users) - 1) + [files(talk[users[-1]])]
    assert [len(spoken(message)) for message in bare] == [len(spoken(message)) for message in talk]
    assert all(now is was for now, was in zip(bare, talk, strict=True) if not files(was) and not thoughts(was))
    assert acceptable(bare) == bare


@given(transcripts())
def test_of_the_thoughts_only_those_since_the_last_question_stay_and_those_that_are_all_of_an_answer(
    talk: list[Message],
) -> None:
    bare = acceptable(talk)
    asked = max(n for n, message in enumerate(talk) if message.role == "user")
    answers = [n for n, message in enumerate(talk) if message.role == "assistant"]
    for n in answers:
        stay = n > asked or not spoken(talk[n])
        assert thoughts(bare[n]) == (thoughts(talk[n]) if stay else 0)
        assert spoken(bare[n]) == spoken(talk[n])


def test_a_mark_of_where_a_prompt_cache_begins_is_no_file() -> None:
    points = (Opaque("bedrock", {"cachePoint": {}}), Opaque("pydantic-ai", {"kind": "cache-point"}))
    talk = [Message("user", (Text("Hi."), *points)), Message("user", "Well?")]
    assert acceptable(talk) == talk


def test_a_picture_that_a_tool_showed_before_the_question_is_cut_too() -> None:
    def shown(*content: Text | Image) -> Message:
        return Message("tool", (ToolResult("a", content),))

    called = [Message("user", "Look."), Message("assistant", (ToolCall("a", "look"),))]
    talk = [*called, shown(Text("The page:"), Image(url="https://example.org/broken.png")), Message("user", "Well?")]
    assert acceptable(talk) == [*called, shown(Text("The page:"), Text("[image cut]")), talk[-1]]
    assert acceptable(talk[:-1]) == talk[:-1]
