"""Which of the messages that a caller hands over are known."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from recollect import Image, Message, Opaque, Text, ToolCall, ToolResult
from recollect.flow.align import BY_FRAMEWORK, align, compare, fingerprint, says, spoken
from recollect.frozen import FrozenDict


def asked(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


JSON = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3)


NAMES = st.sampled_from(["go", "stop"])


@given(JSON, JSON, NAMES, NAMES)
def test_a_call_is_changed_where_it_asks_for_something_else_however_it_is_written(
    before: dict[str, int], now: dict[str, int], one: str, other: str
) -> None:
    known = [*asked("Go."), Message("assistant", (ToolCall("1", one, json.dumps(before)),))]
    said = [*asked("Go."), Message("assistant", (ToolCall("1", other, json.dumps(now, indent=2)),))]
    found = compare(known, said)
    assert (found.new, found.changed) == ([], (one, before) != (other, now))


WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(WORDS, WORDS)
def test_a_place_holds_the_same_message_and_is_taken_once(known: list[str], given: list[str]) -> None:
    places = align(known, given)
    found = [place for place in places if place is not None]
    assert len(places) == len(given)
    assert all(place is None or known[place] == word for place, word in zip(places, given, strict=True))
    assert len(found) == len(set(found))


@given(WORDS, WORDS)
def test_what_goes_on_where_the_known_ends_is_new_to_the_last(known: list[str], new: list[str]) -> None:
    new = [word.upper() for word in new]
    assert align(known, [*known, *new]) == [*range(len(known)), *[None] * len(new)]


@given(st.lists(st.tuples(*[st.sampled_from("ab")] * 2), min_size=1, max_size=6), st.sampled_from("abc"), st.data())
def test_a_further_question_is_new_though_it_was_asked_before(
    turns: list[tuple[str, str]], text: str, data: st.DataObject
) -> None:
    known = [m for one, other in turns for m in (*asked(one), Message("assistant", other))]
    start = data.draw(st.integers(0, len(known) - 1))
    found = compare(known, [*known[start:], *asked(text)])
    assert (found.places, found.changed) == ([*range(start, len(known)), None], False)


@given(st.lists(st.integers(), unique=True, min_size=2, max_size=12), st.data())
def test_a_history_that_is_delivered_again_has_nothing_new(known: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(known) - 2))
    end = data.draw(st.integers(start + 2, len(known)))
    assert align(known, known[start:end]) == list(range(start, end))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(6, 9), min_size=1, max_size=3))
def test_a_caller_who_cuts_its_history_is_understood(known: list[int], new: list[int]) -> None:
    for kept in range(1, len(known) + 1):
        places = align(known, [*known[-kept:], *new])
        assert places[kept:] == [None] * len(new)
        assert None not in places[:kept]


@given(st.lists(st.integers(0, 9), unique=True, max_size=8), st.lists(st.integers(0, 9), unique=True))
def test_what_was_kept_of_a_changed_history_is_not_new_when_it_goes_on(known: list[int], given: list[int]) -> None:
    given, log = [*given, 10], [*known]
    log += [one for one, place in zip(given, align(log, given), strict=True) if place is None]
    given, log = [*given, 11, 12], [*log, 11]
    assert [one for one, place in zip(given, align(log, given), strict=True) if place is None] == [12]


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=8), st.data())
def test_an_edited_history_is_known_whatever_the_user_says_twice(questions: list[str], data: st.DataObject) -> None:
    known = [m for n, text in enumerate(questions) for m in (*asked(text), Message("assistant", f"{n}"))]
    edited = data.draw(st.integers(1, len(questions) - 1))
    said = [*known[: 2 * edited], *asked("edited"), Message("assistant", "so")]
    known += said[-2:]
    said += asked(data.draw(st.sampled_from("abc")))
    assert compare(known, said).new == said[-1:]
    assert not compare([*known, said[-1]], said).new


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_results_alone_belong_to_the_calls_made_last(turns: list[int], last: int, data: st.DataObject) -> None:
    def calls(count: int) -> list[Message]:
        return [*asked("go on"), Message("assistant", tuple(ToolCall(str(n), "lookup") for n in range(count)))]

    def results(count: int) -> list[Message]:
        return [Message("tool", (ToolResult(str(n), "page"),)) for n in range(count)]

    known = [m for count in turns for m in (*calls(count), *results(count), Message("assistant", "done"))]
    known += calls(last)
    assert compare(known, results(last)).new == results(last)
    assert not compare([*known, *results(last)], results(last)).new
    came = data.draw(st.integers(0, last))
    assert compare([*known, *results(last)[:came]], results(last)[came:]).new == results(last)[came:]
    answered = [*known, *results(last), Message("assistant", "done")]
    assert last == 1 or not compare(answered, results(last)).new


def test_results_at_the_start_of_a_history_that_goes_on_are_known() -> None:
    one, other = (Message("assistant", (ToolCall(id, "lookup"),)) for id in "12")
    found, more = (Message("tool", (ToolResult(id, "page"),)) for id in "12")
    known = [*asked("go"), one, found, Message("assistant", "done"), *asked("again"), other]
    assert compare(known, [*known[2:], more]).new == [more]


def test_what_ends_with_the_last_that_is_known_waits_for_its_answer() -> None:
    hi, hello, where, train, yes, why = asked("hi", "hello", "where", "by train", "yes", "why")
    known = [hi, hello, where, train]
    for waiting in (known, [hi, where, train], [hi, train, where]):
        assert not compare(known, waiting).again
        assert compare([*known, yes], waiting).again
        assert not compare([*known, Message("system", "Be brief.")], waiting).again
    assert not compare(known, [hi, why]).again
    assert not compare(known, []).again


def test_an_answer_that_broke_off_leaves_a_question_to_be_answered() -> None:
    known = asked("hi", "hello", "where")
    broken = [*known, Message("assistant", "by tr", metadata={"partial": True})]
    assert not compare(broken, known).again and not compare(broken, known).changed
    assert compare([*broken, Message("assistant", "by train")], known).again


def test_results_that_no_answer_followed_leave_a_question_to_be_answered() -> None:
    known = asked("hi", "hello", "where")
    call, result = Message("assistant", (ToolCall("1", "lookup"),)), Message("tool", (ToolResult("1", "page"),))
    for since in ([call, result], [call, result, call, result]):
        assert not compare([*known, *since], known).again
    for since in ([call], [call, result, call], [call, result, *asked("thanks")], [*asked("by train"), call, result]):
        assert compare([*known, *since], known).again


def test_a_history_is_changed_unless_it_goes_on_or_ends_with_an_earlier_question() -> None:
    a, b, c, d = known = asked(*"abcd")
    assert not any(compare(known, said).changed for said in ([a, b, c, d], [c, d, *asked("e")], [a, b], [b, c], []))
    assert all(compare(known, said).changed for said in ([a, c, d], [a, c], [a, *asked("x"), c, d, *asked("e")]))
    hello, bye = Message("assistant", "hello"), Message("assistant", "bye")
    talk = [a, hello, b, bye]
    assert not any(compare(talk, said).changed for said in ([a], [hello, b], [a, hello, b]))
    assert all(compare(talk, said).changed for said in ([a, hello], [a, b], [a, bye, b]))


def test_what_was_said_is_as_it_is_kept_old_and_new() -> None:
    known = [Message("user", "hi", id="1"), Message("assistant", "hello", id="2")]
    found = compare(known, [Message("user", "hi"), Message("assistant", "hello"), *asked("why")])
    assert [message.text for message in found.new] == ["why"]
    assert [message.id for message in found.kept([Message("user", "why", id="3")])] == ["1", "2", "3"]


def test_system_texts_are_no_part_of_what_is_spoken() -> None:
    given = [Message("system", "Be brief."), *asked("hi", "why")]
    assert [(place, message.text) for place, message in spoken(given)] == [(1, "hi"), (2, "why")]


def test_the_same_words_said_again_are_new() -> None:
    assert align(["hi", "hello"], ["hi"]) == [None]
    assert align(["hi", "hello", "hi", "hello"], ["hi", "hello", "hi"]) == [2, 3, None]


def test_a_message_that_waits_for_its_answer_is_not_new_when_it_is_sent_again() -> None:
    assert align(["hi", "hello", "how are you"], ["how are you"]) == [2]


def test_of_a_changed_history_only_the_changes_are_new() -> None:
    assert align(list("abcdef"), list("abXdefY")) == [0, 1, None, 3, 4, 5, None]
    assert align(list("abcdef"), ["summary of abcd", "e", "f", "g"]) == [None, 4, 5, None]
    assert align(list("abac"), list("abXc")) == [0, 1, None, 3]
    assert align(["yes", "b", "c"], ["b", "X", "c", "yes", "Z"]) == [1, None, 2, None, None]


def test_a_message_is_the_same_however_its_text_is_wrapped() -> None:
    assert fingerprint(Message("user", " Hi. ")) == fingerprint(Message("user", (Text("Hi."),)))
    assert fingerprint(Message("user", "Hi.")) != fingerprint(Message("assistant", "Hi."))
    calls = [Message("assistant", (ToolCall(id, "lookup"),)) for id in ("c1", "c2")]
    results = [Message("tool", (ToolResult(id, "page"),)) for id in ("c1", "c2")]
    assert len({fingerprint(message) for message in (*calls, *results)}) == 4


def test_a_picture_that_a_tool_showed_may_come_back_as_the_users() -> None:
    shown = (Text("The page:"), Image("https://example.org/a.png"))
    assert fingerprint(Message("tool", shown)) == fingerprint(Message("user", shown))
    assert fingerprint(Message("user", shown)) != fingerprint(Message("user", "The page:"))


def test_of_files_only_the_users_tell_messages_apart() -> None:
    file = Opaque("openai", FrozenDict(type="file"))
    for message in (Message("assistant", (Text("Hi."),)), Message("tool", (ToolResult("1", "page"),))):
        assert fingerprint(message.replace(content=(*message.parts, file))) == fingerprint(message)


def test_only_what_says_something_is_worth_keeping() -> None:
    def answer(content: str | tuple[Text, ...] = "", **extra: str) -> Message:
        return Message("assistant", content, extra=extra)

    assert all(map(says, [Message("user", ""), answer("Hi."), answer(refusal="I can't.")]))
    summary = Message("user", "What was said.", metadata={"via": BY_FRAMEWORK})
    assert not any(map(says, [answer(), answer(()), answer(audio="audio_1"), summary]))


def test_the_same_words_about_another_file_are_another_message() -> None:
    files = [Opaque("openai", FrozenDict(type="file", file=FrozenDict(file_data=data))) for data in ("a", "b")]
    asked = [Message("user", (Text("Sum it up."), file)) for file in files]
    assert fingerprint(asked[0]) != fingerprint(asked[1])
    mark = Opaque("bedrock", FrozenDict(cachePoint=FrozenDict(type="default")))
    assert fingerprint(Message("user", (Text("Hi."), mark))) == fingerprint(Message("user", "Hi."))
