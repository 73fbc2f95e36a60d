"""Trimming bugs that other libraries had, each as the situation that showed it and what must hold here."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.conversation import ConversationMemory
from recollect.errors import BudgetTooSmall
from recollect.flow.limits import Limits
from recollect.flow.validate import validate
from recollect.flow.window import Window
from recollect.layers.working import fit, reduce
from recollect.types import Message, ToolCall, ToolResult
from tests.flow.said import call, result, user


def words(message: Message) -> int:
    """One token a word, one a call and one for each word of its arguments."""
    calls = sum(1 + len(call.arguments.split()) for call in message.tool_calls)
    return len(message.text.split()) + calls


def window(talk: list[Message], budget: int | None = None, **limits: Any) -> Window:
    found = Window(words, Limits(budget, **limits))
    found.extend(talk)
    return found


def says(text: str) -> Message:
    return Message("assistant", text)


def torn(messages: tuple[Message, ...]) -> set[str]:
    """The ids that have a call and no result, or a result and no call before it."""
    open_calls, orphans = set[str](), set[str]()
    for message in messages:
        open_calls |= {c.id for c in message.tool_calls}
        orphans |= {r.call_id for r in message.tool_results} - open_calls
        open_calls -= {r.call_id for r in message.tool_results}
    return open_calls | orphans


def many_steps(number: int, text: str) -> list[Message]:
    return [m for n in range(number) for m in (call(f"s{n}"), result(f"s{n}", f"{n} {text}"))]


def test_strands_95_a_shortened_tool_result_is_still_a_tool_result() -> None:
    """strands-agents/sdk-python#95: trimming flattened structured tool results into plain text."""
    talk = [user("go"), *many_steps(4, "word " * 500), says("done")]
    shown = window(talk, 900).messages
    shortened = [m for m in shown if m.role == "tool" and m not in talk]
    assert shortened
    for message in shortened:
        (part,) = message.parts
        assert isinstance(part, ToolResult)
        assert isinstance(part.content, tuple)
        assert not part.is_error
    assert not torn(shown)


def test_strands_702_too_many_messages_leaves_the_results_in_the_window_whole() -> None:
    """strands-agents/sdk-python#702: over the window size, a result inside the window became an error text."""
    talk = [user("my name is Strands"), says("hi"), user("what is my name?"), says("Strands")]
    talk += [user("reckon"), call("a"), result("a", "56088"), says("it is 56088")]
    it = window(talk, last_messages=5)
    assert it.messages == tuple(talk[-4:])
    assert it.receipt.count("shortened") == 0


def test_strands_1435_a_result_that_comes_after_another_exchange_stays_with_its_call() -> None:
    """strands-agents/sdk-python#1435: a tool that calls a tool left more results than calls in the history.

    The inner exchange, with a user message of its own, stands between the outer call and its result.
    """
    talk = [user("old " * 30), says("well"), user("run the tool"), call("outer")]
    talk += [user("inner call"), call("inner"), result("inner"), result("outer"), says("done"), user("continue")]
    for budget in range(8, 60):
        it = Window(words, Limits(budget))
        for end, message in enumerate(talk, 1):
            it.append(message)
            if end not in (4, 5, 6, 7):
                try:
                    assert not torn(it.messages)
                except BudgetTooSmall:
                    continue


@pytest.mark.parametrize("budget", range(25, 130, 5))
def test_strands_1749_no_history_starts_with_a_function_call(budget: int) -> None:
    """strands-agents/sdk-python#1749: where the newest result was cut short before, the history was cut at a call.

    Gemini refuses it: a function call turn must come right after a user turn or a function response turn.
    """
    pods = [(user(f"pod {n}?"), call(f"p{n}"), result(f"p{n}", "The tool result was too large!")) for n in range(9)]
    talk = [message for pod in pods for message in (*pod, says("ok"))]
    talk += [
        user("and now?"),
        *many_steps(3, "state " * 20),
        call("last"),
        result("last", "The tool result was too large!"),
    ]
    shown = window(talk, budget).messages
    for history in (shown, *(reduce(talk, attempt).messages for attempt in (1, 2, 3))):
        assert history[0].role == "user"
        assert not torn(history)
        assert validate(history, "gemini") == []


def test_strands_2085_what_is_left_starts_with_a_user_message() -> None:
    """strands-agents/sdk-python#2085: "A conversation must start with a user message" after sliding."""
    talk = [m for n in range(12) for m in (user(f"question {n}"), says(f"answer {n}"))]
    for most in range(2, 24):
        shown = window(talk, last_messages=most).messages
        assert shown[0].role == "user"
        assert len(shown) in (most, most - 1)


def test_strands_2173_a_turn_of_nothing_but_tool_steps_can_be_made_smaller() -> None:
    """strands-agents/sdk-python#2173: one user message, then only tool steps: no place to cut, so it overflowed."""
    talk = [user("review this"), *many_steps(3, "data"), call("last"), result("last")]
    it = window(talk, last_messages=4)
    assert it.messages == (talk[0], *talk[-2:])
    smaller = reduce([user("review this"), *many_steps(9, "word " * 50)], 1)
    assert smaller.messages[0] == user("review this")
    assert not torn(smaller.messages)


def test_strands_3165_cutting_inside_a_turn_keeps_the_question_in_front() -> None:
    """strands-agents/sdk-python#3165: no plain user message to cut at; whole tool pairs must go, behind the user's."""
    talk = [user("task", pinned=True), *many_steps(40, "word " * 20)]
    it = Window(words, Limits(200))
    for message in talk:
        it.append(message)
        assert it.messages[0] == talk[0]
        assert torn(it.messages) <= {c.id for c in message.tool_calls}
    assert it.receipt.count("dropped") > 0
    assert all(a.role != b.role for a, b in zip(it.messages, it.messages[1:], strict=False))


def test_strands_4087_a_pin_survives_saving_and_loading() -> None:
    """strands-agents/sdk-python#4087: pinned first messages were lost when a session was restored."""
    talk = [user("u0", pinned=True), says("a0")]
    talk += [m for n in range(1, 20) for m in (user(f"u{n}"), says(f"a{n}"))]
    saved = [message.to_dict() for message in window(talk, last_messages=6).messages]
    restored = Window(words, Limits(last_messages=6))
    restored.extend(Message.from_dict(data) for data in saved)
    for n in range(20, 40):
        restored.append(user(f"u{n}"))
        assert restored.messages[:2] == tuple(talk[:2])


def test_strands_4341_a_small_oldest_result_does_not_shield_a_large_newer_one() -> None:
    """strands-agents/sdk-python#4341: only the oldest result was looked at; if it was small, messages went instead."""
    talk = [user("go"), call("a"), result("a", "ok"), call("b"), result("b", "word " * 5000), call("c"), result("c")]
    it = window(talk, 1000)
    assert [m.tool_results[0].call_id for m in it.messages if m.role == "tool"] == ["a", "b", "c"]
    assert [entry.verdict for entry in it.receipt.entries] == ["kept"] * 4 + ["shortened"] + ["kept"] * 2


@pytest.mark.parametrize("budget", range(12, 40))
def test_langchain_33245_no_result_is_left_without_its_call(budget: int) -> None:
    """langchain-ai/langchain#33245: keeping the last messages could begin with a tool message."""
    talk = [user("weather in Florida please"), call("abc123"), result("abc123", "sunny"), says("it is sunny")]
    talk += [user("and in Oslo?"), call("def456"), result("def456", "rain"), says("it rains")]
    shown = window(talk, budget).messages
    assert not torn(shown)
    assert shown[0].role == "user"


@pytest.mark.parametrize("most", range(1, 9))
def test_langchain_33265_no_result_is_left_without_its_call_by_number_either(most: int) -> None:
    """langchain-ai/langchain#33265: the same tear, with one token a message (`token_counter=len`)."""
    talk = [user("one"), call("a", "b"), result("a"), result("b"), says("two"), user("three"), says("four")]
    by_count = Window(lambda message: 1, Limits(max(most, 2)))
    by_count.extend(talk)
    assert not torn(by_count.messages)
    assert not torn(window(talk, last_messages=most).messages)


def test_litellm_6505_under_the_limit_nothing_is_taken_away() -> None:
    """BerriAI/litellm#6505: system, user, call, result, far below the limit: the result was gone."""
    talk = [Message("system", "be kind"), user("go"), call("a"), result("a")]
    it = window(talk, 128_000)
    assert it.messages == tuple(talk)
    assert it.tokens == sum(map(words, talk))


@pytest.mark.parametrize("budget", range(10, 60, 3))
def test_litellm_10696_parallel_calls_keep_all_their_results(budget: int) -> None:
    """BerriAI/litellm#10696: a call was kept and its tool messages trimmed away."""
    talk = [user("before"), call("x", "y", "z"), result("x"), result("y"), result("z"), says("so")]
    talk += [user("after"), call("p", "q"), result("p", "word " * 8), result("q", "word " * 8), says("done")]
    try:
        assert not torn(window(talk, budget).messages)
    except BudgetTooSmall as error:
        assert error.allowed == budget < error.needed


def test_llamaindex_21950_the_arguments_of_tool_calls_count() -> None:
    """run-llama/llama_index#21950: tool calls counted as 0 tokens, so the history outgrew the model's window."""
    arguments = '{"text": "' + "payload " * 200 + '"}'
    huge = Message("assistant", (ToolCall("a", "write", arguments),))
    talk = [user("write it"), huge, result("a"), user("thanks"), says("welcome")]
    assert fit([huge]).tokens > fit([call("a")]).tokens + 100
    assert huge not in fit(talk, 100).messages


def test_openai_agents_4322_the_last_items_hold_no_output_without_its_call() -> None:
    """openai/openai-agents-python#4322: limit=2 of user, call, output, answer gave the output without the call."""
    talk = [user("go"), call("call_1"), result("call_1"), says("done")]
    shown = window(talk, last_messages=2).messages
    assert not torn(shown)
    assert shown[-1] == talk[-1]


def test_semantic_kernel_12612_the_system_prompt_is_never_dropped() -> None:
    """microsoft/semantic-kernel#12612: reducing to a number of messages deleted the system prompt."""
    system = Message("system", "you are Mosscap")
    talk = [system, *(m for n in range(9) for m in (user(f"q {n}"), says(f"a {n}")))]
    assert window(talk, last_messages=1).messages[0] == system
    assert window(talk, 12).messages[0] == system
    memory = ConversationMemory(lambda text: len(text.split()))
    memory.add_many(talk)
    memory.prune(memory.tokens // 2)
    assert memory.messages[0].text == system.text


def test_semantic_kernel_12708_a_call_is_not_cut_off_from_its_result() -> None:
    """microsoft/semantic-kernel#12708: of system, user, call, result, user, answer the last 3 began with the result."""
    talk = [Message("system", "sys"), user("user A"), call("123"), result("123", "RESULT"), user("user B")]
    talk.append(says("done"))
    assert window(talk, last_messages=3).messages == (talk[0], *talk[-2:])
