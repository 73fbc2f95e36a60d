"""Messages made shorter, on generated transcripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.flow.shapes.wire import NOTHING
from recollect.flow.shorten import acceptable, only_words, shorten_results, shorten_text, shorten_words
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from tests.strategies import transcripts

PICTURE: Final = Image(url="https://example.org/a.png")
FILE: Final = Opaque("anthropic", {"pages": 3, "sources": [{"type": "base64", "data": "JVBERi0x" * 100}]})
POINT: Final = Opaque("bedrock", {"cachePoint": {}})
ROWS: Final = Opaque("anthropic", {"rows": [1, None, "Øl"]})


def of(role: str, parts: list[Part]) -> st.SearchStrategy[Message]:
    content = st.sampled_from(["", " ", "hi"]) | st.lists(st.sampled_from(parts), max_size=3).map(tuple)
    return st.builds(Message, st.just(role), content, extra=st.sampled_from([None, {"name": "ada"}]))


said: Final[list[Part]] = [Text("hi"), Text(" ")]
results: Final[list[Part]] = [ToolResult("a", shown) for shown in ("rain", (Text("rain"), ROWS), (PICTURE,), (FILE,))]
messages = (
    of("user", [*said, PICTURE, FILE, POINT])
    | of("assistant", [*said, Thinking("hm"), ToolCall("a", "look")])
    | of("tool", [*said, *results])
)
talks = transcripts() | st.lists(messages, max_size=6)


def spoken(message: Message) -> list[Part]:
    return [part for part in message.parts if not isinstance(part, Thinking)]


def is_file(part: Part) -> bool:
    return isinstance(part, Image) or (isinstance(part, Opaque) and part != POINT)


def fine(part: Part, older: bool) -> bool:
    """Whether providers take a part of what the user or a tool said."""
    shown = part.content if isinstance(part, ToolResult) and not isinstance(part.content, str) else ()
    if isinstance(part, Text) and not part.text.strip():
        return False
    return not (older and (is_file(part) or PICTURE in shown or FILE in shown))


@given(talks)
@example([Message("assistant", (Thinking("hm"),)), Message("user", "hi")])
def test_what_providers_refuse_is_marked_or_left_out_and_all_else_stays(talk: list[Message]) -> None:
    bare = acceptable(talk)
    asked = max((n for n, message in enumerate(talk) if message.role == "user"), default=-1)
    for n, (was, now) in enumerate(zip(talk, bare, strict=True)):
        older = n < asked
        if was.role in ("user", "tool"):
            for before, after in zip(was.parts or (Text(NOTHING),), now.parts, strict=True):
                assert after == before if fine(before, older) else fine(after, older)
        elif was.role == "assistant" and older and 0 < len(spoken(was)) < len(was.parts):
            assert (list(now.parts), now.extra) == (spoken(was), {})
        else:
            assert now is was
    assert acceptable(bare) == bare


def characters(message: Message) -> int:
    return sum(len(part.text) for part in message.parts if isinstance(part, Text)) + 50 * len(message.tool_results)


def words(message: Message) -> int:
    return len(message.text.split())


@given(
    st.text(max_size=50).map(lambda text: text * 40) | st.integers(0, 900).map("word ".__mul__),
    st.integers(-1, 4_000),
    st.sampled_from([len, lambda text: len(text.split()), lambda text: len(text.encode("utf-8", "replace"))]),
)
def test_a_text_keeps_as_much_of_its_head_and_tail_as_fits(text: str, limit: int, tokens: Callable[[str], int]) -> None:
    short = shorten_text(text, limit, lambda message: tokens(message.text))
    if short == text:
        least = f"\n[… {len(text):,} characters cut …]\n"
        assert tokens(text) <= limit or tokens(least) >= tokens(text)
        return
    found = re.fullmatch(r"(.*)\n\[… ([\d,]+) characters cut …\]\n(.*)", short, re.DOTALL)
    assert found
    head, cut, tail = found.groups()
    assert text == head + text[len(head) : len(text) - len(tail)] + tail
    assert int(cut.replace(",", "")) == len(text) - len(head) - len(tail)
    assert abs(len(head) - 2 * len(tail)) <= 2
    assert limit < tokens(text) > tokens(short)
    assert tokens(short) <= limit or not head + tail
    assert not head + tail or len(head + tail) >= 16
    if tokens is len and limit > 100:
        assert len(short) >= 0.85 * limit


@given(
    st.lists(st.sampled_from([Text("word " * 100), Text("ok"), PICTURE, POINT]), min_size=1), st.integers(400, 3_000)
)
def test_words_are_shortened_to_their_share_and_all_else_stays(parts: list[Part], limit: int) -> None:
    texts = sum(isinstance(part, Text) for part in parts)
    short = shorten_words(Message("user", tuple(parts)), limit, characters)
    assert characters(short) <= max(limit, 60 * texts)
    for was, now in zip(parts, short.parts, strict=True):
        fits = not isinstance(was, Text) or characters(Message("user", (was,))) <= limit // texts
        assert (now == was) == fits


@pytest.mark.parametrize(("limit", "shown"), [(5, PICTURE), (4, Text("[image cut]"))])
def test_a_picture_is_cut_where_it_takes_more_than_the_limit(limit: int, shown: Part) -> None:
    def count(message: Message) -> int:
        return 5 * sum(isinstance(part, Image) for part in message.parts)

    message = Message("user", (Text("Look."), PICTURE, POINT))
    assert only_words(message, limit, count).parts == (Text("Look."), shown, POINT)
    assert only_words(Message("user", "Look."), limit, count) == Message("user", "Look.")


@given(st.lists(st.booleans(), min_size=1, max_size=5), st.integers(200, 4_000), st.booleans())
def test_results_are_shortened_to_their_share_and_stay_texts_or_parts(long: list[bool], limit: int, text: bool) -> None:
    said = ["word " * 200 if one else "ok" for one in long]
    given = [ToolResult(str(n), one if text else (Text(one),)) for n, one in enumerate(said)]
    short = shorten_results(Message("tool", tuple(given)), limit, lambda message: len(message.text)).tool_results
    for was, now in zip(given, short, strict=True):
        whole, left = (Message("tool", (one,)).text for one in (was, now))
        assert (now == was) == (len(whole) <= limit // len(given))
        assert (now.call_id, type(now.content)) == (was.call_id, type(was.content))
        assert len(left) <= max(limit // len(given), 40)


def test_a_tools_words_without_results_are_shortened() -> None:
    for content in ("word " * 500, (Text("word " * 500),)):
        assert words(shorten_results(Message("tool", content), 40, words)) <= 40


def test_a_picture_that_a_tool_showed_before_the_question_is_cut_too() -> None:
    def shown(*content: Text | Image) -> Message:
        return Message("tool", (ToolResult("a", content),))

    called = [Message("user", "Look."), Message("assistant", (ToolCall("a", "look"),))]
    talk = [*called, shown(Text("The page:"), PICTURE), Message("user", "Well?")]
    assert acceptable(talk) == [*called, shown(Text("The page:"), Text("[image cut]")), talk[-1]]
    assert acceptable(talk[:-1]) == talk[:-1]
