"""Corners of the window where a rule once gave way: pins, late results, limits by number, receipts."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest

from recollect.conversation import ConversationMemory
from recollect.errors import BudgetTooSmall
from recollect.flow.limits import Limits
from recollect.flow.shorten import shorten_results, shorten_text
from recollect.flow.squeeze import ladder
from recollect.flow.turns import turns
from recollect.flow.window import Window
from recollect.layers.working import fit
from recollect.tokens import count_message, estimate
from recollect.types import Image, Message, Opaque, Text, ToolCall, ToolResult
from tests.flow.said import call, result, user


def words(message: Message) -> int:
    """One token a word, and one for each call: easy to reckon with."""
    return len(message.text.split()) + len(message.tool_calls)


def window(budget: int | None = None, **limits: Any) -> Window:
    return Window(words, Limits(budget, **limits))


def ids_match(messages: tuple[Message, ...]) -> bool:
    called = sorted(c.id for m in messages for c in m.tool_calls)
    return called == sorted(r.call_id for m in messages for r in m.tool_results)


def test_a_late_result_of_a_pinned_turn_behind_the_cut_stays_with_its_call() -> None:
    it = window(60)
    it.extend([user("keep this", pinned=True), call("a")])
    while it.messages[2:3] in ((), (user("question 0 of a few"),)):
        it.append(user(f"question {len(it.messages) - 2} of a few"))
    it.append(result("a"))
    for n in range(40):
        it.append(user(f"more {n} of a few"))
        assert ids_match(it.messages)
        assert it.messages[0].text == "keep this"


def test_a_pin_holds_where_a_late_result_joins_its_turn_to_one_before() -> None:
    it = window(40)
    it.extend([user("look"), call("a"), user("keep this", pinned=True), result("a")])
    for n in range(20):
        it.append(user(f"more {n} of a few"))
        assert "keep this" in [message.text for message in it.messages]
        assert ids_match(it.messages)


def test_a_late_result_does_not_bring_back_what_was_dropped() -> None:
    it = window(20)
    it.extend([user("keep this", pinned=True), call("a")])
    for n in range(6):
        it.append(user(f"question {n} of a few"))
    before = it.messages
    it.append(result("a"))
    assert it.messages == (*before, result("a"))
    assert it.tokens == sum(map(words, it.messages)) == sum(entry.shown for entry in it.receipt.entries)


def test_a_system_message_among_dropped_turns_is_kept_whole_when_a_late_result_comes() -> None:
    it = window(20)
    it.extend([user("keep this", pinned=True), call("a"), user("question of a few"), Message("system", "be brief")])
    for n in range(6):
        it.append(user(f"question {n} of a few"))
    assert it.receipt.entries[2].verdict == "dropped"
    it.append(result("a"))
    assert [entry.verdict for entry in it.receipt.entries[:4]] == ["kept", "kept", "dropped", "kept"]


def test_a_late_result_leaves_with_its_call_before_the_budget_is_too_small() -> None:
    it = window(20)
    it.extend([user("word " * 8), call("a"), user("word " * 9), Message("assistant", "yes"), result("a", "word " * 8)])
    assert [message.role for message in it.messages] == ["user", "assistant"]
    assert [entry.rule for entry in it.receipt.entries if not entry.shown] == ["old turn that a late result kept"] * 3


def test_a_late_result_of_a_call_dropped_from_joined_turns_is_dropped_too() -> None:
    it = window(20)
    it.extend([user("keep this", pinned=True), call("a"), user("and this"), call("b")])
    for n in range(6):
        it.append(user(f"question {n} of a few"))
    it.extend([result("a"), result("b")])
    assert ids_match(it.messages)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_message_with_late_results_of_two_turns_is_not_torn_from_their_calls(pinned: bool) -> None:
    both = Message("tool", (ToolResult("a", "found"), ToolResult("b", "found")))
    talk = [user("word " * 8), call("a"), user("word " * 6, pinned=pinned), call("b"), user("word " * 5), both]
    for budget in range(7, 40):
        it = window(budget, low_water=1.0)
        it.extend([*talk, Message("assistant", "yes")])
        with suppress(BudgetTooSmall):
            assert ids_match(it.messages), budget


def test_what_is_unpinned_makes_room_at_once() -> None:
    it = window(20)
    for n in range(5):
        it.append(user(f"number {n} stays for good", pinned=True))
    with pytest.raises(BudgetTooSmall):
        _ = it.messages
    it.revise(0, user("number 0 stays for good"))
    assert [message.text[:8] for message in it.messages] == ["number 1", "number 2", "number 3", "number 4"]


@pytest.mark.parametrize("pinned", [True, False])
def test_a_late_result_of_a_turn_whose_pin_changed_after_the_cut_is_shown_if_its_call_is(pinned: bool) -> None:
    it = window(20)
    it.extend([user("keep this", pinned=pinned), call("a")])
    for n in range(6):
        it.append(user(f"question {n} of a few"))
    it.revise(0, user("keep this", pinned=not pinned))
    it.append(result("a"))
    assert ids_match(it.messages)


def test_a_pinned_message_is_not_taken_out_with_its_step() -> None:
    it = window(30)
    it.append(user("go"))
    it.append(call("a", pinned=True))
    it.append(result("a", "the one to keep"))
    for n in range(30):
        it.append(call(f"b{n}"))
        it.append(result(f"b{n}"))
    assert [m for m in it.messages if m.pinned]
    assert ids_match(it.messages)


def test_too_many_turns_takes_no_step_out_of_the_turns_that_stay() -> None:
    it = window(last_turns=1)
    talk = [user("pinned", pinned=True), user("go")]
    for n in range(3):
        talk += [call(f"a{n}"), result(f"a{n}")]
    it.extend(talk)
    assert it.messages == tuple(talk)


def test_too_many_messages_shortens_no_result_while_the_budget_holds() -> None:
    long = "word " * 400
    talk = [user("go"), call("a"), result("a", long), call("b"), result("b", "end")]
    it = window(500, last_messages=4)
    it.extend(talk)
    assert it.messages == (talk[0], talk[3], talk[4])
    it = window(500, last_messages=4)
    it.extend([user("go"), call("a", "b"), result("a", long), result("b", "end"), call("c")])
    assert all(entry.verdict == "kept" for entry in it.receipt.entries)


def test_prune_leaves_an_unpinned_turn_that_fits() -> None:
    memory = ConversationMemory(lambda text: len(text.split()))
    first = memory.add("user", "keep this", metadata={"pinned": True})
    for n in range(6):
        memory.add("user", f"question {n}")
    memory.prune(memory.tokens - 4)
    memory.tag(first.id, pinned=None)
    assert memory.prune(memory.tokens).entries == ()
    assert memory.messages[0].id == first.id


def test_prune_shortens_the_newest_result_to_a_quarter_of_its_limit() -> None:
    it = window()
    it.extend([user("go"), call("a"), result("a", "word " * 2000)])
    it.prune(1000)
    assert 200 < words(it.messages[2]) <= 250


def test_prune_lists_what_it_changed_and_not_what_was_changed_before() -> None:
    it = window()
    it.extend([user("go"), call("a"), result("a", "word " * 900), call("b"), result("b", "word " * 900)])
    assert [entry.index for entry in it.prune(1200).entries] == [2]
    assert [entry.index for entry in it.prune(900).entries] == [4]


def test_a_tag_on_a_shortened_message_is_seen() -> None:
    memory = ConversationMemory(lambda text: len(text.split()))
    memory.add("user", "go")
    memory.add("assistant", (ToolCall("a", "look"),))
    kept = memory.add("tool", (ToolResult("a", "word " * 2000),))
    memory.prune(1000)
    memory.tag(kept.id, important=True)
    assert [message.id for message in memory.important] == [kept.id]
    assert len(memory.important[0].text) < 10_000


def test_count_is_the_number_of_messages_also_after_a_result_whose_call_was_pruned() -> None:
    memory = ConversationMemory(lambda text: len(text.split()))
    memory.add("user", "go")
    memory.add("assistant", (ToolCall("a", "look"),))
    for n in range(4):
        memory.add("user", f"question {n}")
    memory.prune(memory.tokens - 2)
    memory.add("tool", (ToolResult("a", "late"),))
    assert memory.count == len(memory.messages)


def test_a_shortened_message_that_left_with_its_turn_was_dropped_as_an_oldest_turn() -> None:
    it = window(400)
    it.extend([user("go"), call("a"), result("a", "word " * 2000)])
    assert it.receipt.entries[2].verdict == "shortened"
    it.extend([user("word " * 180), user("word " * 180), user("word " * 30)])
    entry = it.receipt.entries[2]
    assert (entry.verdict, entry.rule) == ("dropped", "oldest turns")


def test_turns_follow_a_late_result_home_through_merged_turns() -> None:
    talk = [
        user("0"),
        user("1"),
        call("a"),
        user("2"),
        user("3"),
        call("b"),
        result("a"),
        user("4"),
        user("5"),
        result("b"),
    ]
    assert turns(talk) == [tuple(talk[:1]), tuple(talk[1:])]


def test_a_text_is_not_replaced_by_a_longer_marker() -> None:
    assert shorten_text("ok", 0, words) == "ok"


def test_small_results_beside_a_large_one_stay_as_they_are() -> None:
    small = tuple(ToolResult(str(n), "ok") for n in range(50))
    message = Message("tool", (*small, ToolResult("big", "word " * 2000)))
    short = shorten_results(message, 40, words)
    assert short.tool_results[:50] == small
    assert words(short) < 100


def test_a_counter_that_counts_nothing_keeps_everything_and_still_obeys_the_limits_by_number() -> None:
    talk = [user("a b c"), call("a"), result("a", "d " * 50), user("e"), user("f")]
    it = Window(lambda message: 0, Limits(0))
    it.extend(talk)
    assert it.messages == tuple(talk)
    it = Window(lambda message: 0, Limits(0, last_messages=2))
    it.extend(talk)
    assert it.messages == tuple(talk[-2:])


def test_what_was_said_to_be_needed_is_enough() -> None:
    """The measures of a larger budget end no higher than those of a smaller one."""
    for length in range(100, 400, 7):
        messages = [
            Message("user", "hello there"),
            Message("assistant", "hello there"),
            Message("user", "go on"),
            Message("assistant", "x" * length),
            Message("user", "word " * 90),
        ]
        with pytest.raises(BudgetTooSmall) as caught:
            fit(messages, 1, min_turns=3)
        assert fit(messages, caught.value.needed, min_turns=3).tokens <= caught.value.needed


def test_pictures_and_files_of_a_turn_before_give_way_to_the_question() -> None:
    point, file = Opaque("bedrock", {"cachePoint": {}}), Opaque("openai", {"file": {"file_data": "QUJD" * 2_000}})
    shown = Message("user", (Text("What are these?"), Image("https://example.org/a.png"), file, point))
    asked = Message("user", (Text("And this?"), Image("https://example.org/b.png")))
    talk = [shown, Message("assistant", "A cat, and a letter."), asked]
    window = fit(talk, 2_000)
    assert window.messages[0].parts == (Text("What are these?"), Text("[image cut]"), Text("[file cut]"), point)
    assert window.messages[1:] == tuple(talk[1:])
    assert window.receipt.entries[0].rule == "old pictures and files cut"
    assert fit(talk, 20_000).messages == tuple(talk)
    with pytest.raises(BudgetTooSmall):
        fit(talk, 1_500)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 5_000}, "see\n[file cut]"),
        ({"type": "text", "media_type": "text/plain", "data": "word " * 20}, None),
        ({"type": "text", "media_type": "text/plain", "data": "文" * 2_000}, '文"}}'),
        ({"type": "text", "media_type": "text/plain", "data": " " * 2_000}, None),
        ({"type": "text", "media_type": "application/json", "data": '{"id":1,"name":"n"},' * 100}, "characters cut"),
    ],
)
def test_a_file_in_a_result_is_cut_as_one_and_not_shown_as_base64(source: dict[str, str], shown: str | None) -> None:
    document = Opaque("anthropic", {"type": "document", "source": source})
    talk = [user("go"), call("1"), Message("tool", (ToolResult("1", (Text("see"), document)),)), user("next")]
    kept = shorten_results(talk[2], 100, lambda message: count_message(message, estimate))
    assert kept == talk[2] if shown is None else shown in kept.text
    assert "JVBER" not in kept.text
    assert fit(talk, 400).tokens <= 400


def test_a_result_that_is_short_already_is_not_shortened_again_with_each_message() -> None:
    counted = list[int]()

    def count(message: Message) -> int:
        counted.append(len(message.text))
        return words(message) + 40 * len(message.tool_results)

    it = Window(count, Limits(20_000))
    it.append(user("go"))
    for n in range(40):
        counted.clear()
        it.extend([call(str(n)), result(str(n), "word " * 15_000)])
    assert sum(size >= 75_000 for size in counted) < 10


def test_a_window_tells_itself_in_a_line() -> None:
    shown = window(10, low_water=0.5)
    for _ in range(3):
        shown.append(user("five words are in here"))
    assert repr(shown) == "<Window: 2 of 3 messages; 10 of 10 tokens>"
    assert repr(window(last_messages=2)) == "<Window: 0 of 0 messages; 0 tokens>"


def test_pins_that_never_fit_are_looked_through_once() -> None:
    counted = list[str]()

    def count(message: Message) -> int:
        counted.append(message.text)
        return words(message)

    said = [Message("user", f"number {n} stays here", metadata={"pinned": True}) for n in range(300)]
    it = Window(count, Limits(100))
    for message in said:
        it.append(message)
        it.append(Message("assistant", "it does"))
    with pytest.raises(BudgetTooSmall) as told:
        _ = it.messages
    assert len(counted) < 5_000
    at_once = Window(words, Limits(100))
    at_once.extend(one for message in said for one in (message, Message("assistant", "it does")))
    with pytest.raises(BudgetTooSmall) as expected:
        _ = at_once.messages
    assert told.value.needed == expected.value.needed


@pytest.mark.parametrize("limits", [Limits(600), Limits(last_messages=10)])
def test_results_of_one_answer_that_never_fit_are_looked_through_once(
    limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    climbed = Mock(wraps=ladder)
    monkeypatch.setattr("recollect.flow.window.ladder", climbed)
    it = Window(words, limits)
    it.extend([user("go"), call(*map(str, range(300)))])
    for n in range(300):
        it.append(result(str(n), "word " * 100))
    at_once = Window(words, limits)
    at_once.extend(map(it.original, range(302)))
    assert told(it) == told(at_once)
    assert climbed.call_count < 10


def test_turns_that_must_stay_and_never_fit_are_looked_through_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    climbed = Mock(wraps=ladder)
    monkeypatch.setattr("recollect.flow.window.ladder", climbed)
    it, at_once = (Window(words, Limits(500, min_turns=300)) for _ in range(2))
    for n in range(300):
        said = [user("word " * 100), call(f"c{n}"), result(f"c{n}", "word " * 100), Message("assistant", "word " * 60)]
        for message in said:
            it.append(message)
    at_once.extend(map(it.original, range(1_200)))
    assert told(it) == told(at_once)
    assert climbed.call_count < 100


def test_a_late_result_that_makes_one_of_several_turns_lets_no_more_of_them_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    climbed = Mock(wraps=ladder)
    monkeypatch.setattr("recollect.flow.window.ladder", climbed)
    it = Window(words, Limits(2, min_turns=4))
    for message in (user("word " * 9), call("late"), user("word " * 9), user("word " * 9)):
        it.append(message)
    with pytest.raises(BudgetTooSmall):
        it.check()
    it.append(result("late", "word"))
    climbed.reset_mock()
    for _ in range(3):
        it.append(user("word " * 9))
    assert climbed.call_count > 0


def test_turns_that_a_late_result_made_one_count_as_several() -> None:
    talk = [user("word " * 20), user("look"), call("a"), user("well"), result("a", "rain")]
    it = window(10, min_turns=2, whole=True)
    it.extend(talk)
    assert it.messages == tuple(talk[1:])


def test_a_cut_does_not_look_at_all_turns_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = Mock(return_value=1)
    monkeypatch.setattr("recollect.flow.turns.Turn.questions", questions)
    it = Window(words, Limits(100))
    for _ in range(500):
        it.append(user("word " * 20))
    assert questions.call_count < 5_000


def told(window: Window) -> int:
    try:
        return len(window.messages)
    except BudgetTooSmall as error:
        return error.needed


def test_what_is_a_line_already_is_not_shortened_to_more() -> None:
    counted = list[int]()

    def count(message: Message) -> int:
        counted.append(len(message.text))
        return words(message)

    it = Window(count, Limits(600))
    it.append(call(*map(str, range(50))))
    for n in range(50):
        it.append(result(str(n), "word " * 1_000))
        told(it)
    assert sum(size >= 5_000 for size in counted) < 300
