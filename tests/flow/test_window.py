"""The window keeps its promises on generated transcripts of every shape, and on real ones."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import BudgetTooSmall, ConfigError, Message, ToolCall, ToolResult, fit, parse, reduce, render, validate
from recollect.flow.window import Window
from recollect.tokens import count_messages, estimate
from recollect.types import Thinking
from tests.shared import shared_path
from tests.strategies import SHAPES, wire_transcripts
from tests.wrong import wrong

budgets = st.integers(min_value=1, max_value=3_000)


def fitted(messages: list[Message], budget: int, **options: Any) -> Window:
    """The window at that budget or, where that is too small, at the least that is not."""
    try:
        return fit(messages, budget, **options)
    except BudgetTooSmall as error:
        assert error.allowed == budget < error.needed
        return fit(messages, error.needed, **options)


@st.composite
def pinned(draw: st.DrawFn, shape: str) -> list[Message]:
    messages = parse(draw(wire_transcripts(shape)), shape)
    pins = draw(st.sets(st.integers(0, max(0, len(messages) - 1)), max_size=2))
    return [m.replace(metadata={"pinned": True}) if i in pins else m for i, m in enumerate(messages)]


def thoughts(messages: tuple[Message, ...] | list[Message]) -> list[Thinking]:
    return [part for message in messages for part in message.parts if isinstance(part, Thinking)]


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=4 * settings().max_examples)
@given(data=st.data(), budget=budgets)
def test_a_fitted_transcript_keeps_every_promise(shape: str, data: st.DataObject, budget: int) -> None:
    messages = data.draw(pinned(shape))
    window = fitted(messages, budget)
    shown, receipt = window.messages, window.receipt

    assert validate(shown, shape) == []
    assert count_messages(shown, estimate) == window.tokens <= (window.limits.budget or 0)
    by_index = iter(entry for entry in receipt.entries if entry.verdict != "dropped")
    for message, entry in zip(shown, by_index, strict=True):
        source = messages[entry.index]
        assert (message == source) == (entry.verdict == "kept")
        assert (message.role, message.id) == (source.role, source.id)
        assert [c.id for c in message.tool_calls] == [c.id for c in source.tool_calls]
        assert [r.call_id for r in message.tool_results] == [r.call_id for r in source.tool_results]
        assert thoughts([message]) == thoughts([source])
    for entry, source in zip(receipt.entries, messages, strict=True):
        assert entry.verdict != "dropped" or source.role != "system"
        assert entry.verdict != "dropped" or not source.pinned
    assert [e.verdict != "dropped" for e in receipt.entries[-2:]] == [True] * min(2, len(messages))
    assert receipt.overhead + sum(e.shown for e in receipt.entries) == receipt.tokens == window.tokens
    calls = [c.id for m in shown for c in m.tool_calls]
    results = [r.call_id for m in shown for r in m.tool_results]
    assert sorted(calls) == sorted(results)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), budget=budgets)
def test_fitting_is_deterministic_and_idempotent(shape: str, data: st.DataObject, budget: int) -> None:
    messages = data.draw(pinned(shape))
    window = fitted(messages, budget)
    assert fitted(messages, budget).receipt == window.receipt
    assert fit(window.messages, window.limits.budget).messages == window.messages


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), budget=st.integers(100, 2_000), low_water=st.sampled_from([0.5, 0.7, 1.0]))
def test_between_two_cuts_the_prompt_only_grows_at_its_end(
    shape: str, data: st.DataObject, budget: int, low_water: float
) -> None:
    window, before = fit([], budget, low_water=low_water), tuple[Message, ...]()
    for message in data.draw(pinned(shape)):
        room = window._tokens + window.count(message) <= budget
        window.append(message)
        try:
            now = window.messages
        except BudgetTooSmall:
            before = ()
            continue
        if room and before:
            assert now == (*before, message)
        before = now


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), turns=st.integers(1, 5))
def test_the_last_turns_stay_when_asked_for(shape: str, data: st.DataObject, turns: int) -> None:
    messages = parse(data.draw(wire_transcripts(shape)), shape)
    users = [m for m in messages if m.role == "user"]
    shown = fitted(messages, 1, min_turns=turns).messages
    assert sum(m.role == "user" for m in shown) >= min(turns, len(users))
    assert validate(shown, shape) == []


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), last=st.integers(1, 12))
def test_a_window_by_number_is_valid_and_holds_the_number_or_one_step(
    shape: str, data: st.DataObject, last: int
) -> None:
    messages = parse(data.draw(wire_transcripts(shape)), shape)
    by_turn = fit(messages, last_turns=last).messages
    by_message = fit(messages, last_messages=last).messages
    assert validate(by_turn, shape) == validate(by_message, shape) == []
    assert sum(m.role == "user" for m in by_turn) <= max(last, 2)
    assert by_message[-1:] == tuple(messages[-1:])


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data(), limit=st.none() | st.integers(1, 5_000))
def test_each_reduction_is_strictly_smaller_and_valid(shape: str, data: st.DataObject, limit: int | None) -> None:
    messages = parse(data.draw(wire_transcripts(shape)), shape)
    tokens = fit(messages).tokens
    for attempt in (1, 2, 3):
        try:
            smaller = reduce(messages, attempt, limit)
        except BudgetTooSmall:
            return
        assert smaller.tokens < tokens
        assert validate(smaller.messages, shape) == []
        tokens = smaller.tokens


@pytest.mark.parametrize("shape", ["openai", "anthropic", "bedrock", "gemini", "openai-responses"])
@given(data=st.data(), budget=budgets)
def test_what_was_fitted_can_be_sent_to_any_other_provider(shape: str, data: st.DataObject, budget: int) -> None:
    messages = parse(data.draw(wire_transcripts("openai")), "openai")
    shown = fitted(messages, budget).messages
    assert validate(parse(render(shown, shape).request(), shape), shape) == []


@pytest.mark.parametrize(("budget", "too_small"), [(2_000, 0.03), (8_000, 0.001), (32_000, 0.0)])
def test_real_transcripts_replayed_are_never_invalid_and_never_over(budget: int, too_small: float) -> None:
    requests = refused = 0
    for name in ("agents", "chats"):
        for line in shared_path("data", "transcripts", f"{name}.jsonl").read_text("utf-8").splitlines():
            window = fit([], budget)
            unanswered: set[str] = set()
            for message in parse(json.loads(line)["messages"], "openai"):
                window.append(message)
                unanswered |= {c.id for c in message.tool_calls}
                unanswered -= {r.call_id for r in message.tool_results}
                if message.role == "assistant" or unanswered:
                    continue
                try:
                    shown = window.messages
                except BudgetTooSmall as error:
                    assert error.needed > budget
                    refused += 1
                    continue
                requests += 1
                assert window.tokens <= budget
                assert count_messages(shown, estimate) == window.tokens
                assert validate(shown, "openai") == []
    assert requests > 3_000
    assert refused <= too_small * requests


def talk(turns: int = 20) -> list[Message]:
    return [m for n in range(turns) for m in (Message("user", f"question {n}"), Message("assistant", f"answer {n}"))]


def test_the_schemas_of_tools_count() -> None:
    schema = {"name": "weather", "description": "word " * 300}
    assert fit(talk(), tools=[schema]).tokens >= fit(talk()).tokens + 300
    with pytest.raises(BudgetTooSmall, match="framing with any tools and room for the reply"):
        fit(talk(), 200, tools=[schema])


def test_what_takes_most_is_named_by_its_id_or_its_number_from_1_and_nothing_small_beside_it() -> None:
    for message, named in ((Message("user", "word " * 500), "41"), (Message("user", "word " * 500, id="m7"), "m7")):
        with pytest.raises(BudgetTooSmall, match=rf"takes most: user message {named} \(\d+\)$"):
            fit([*talk(), message], 100)


def test_a_receipt_is_stable_json_and_a_table() -> None:
    receipt = fit(talk(), 100).receipt
    data = json.loads(json.dumps(receipt.to_dict()))
    assert data["tokens"] == receipt.tokens
    assert data["entries"][0] == {
        "index": 0, "id": "", "role": "user", "tokens": data["entries"][0]["tokens"], "shown": 0,
        "verdict": "dropped", "rule": "oldest turns",
    }  # fmt: skip
    lines = str(receipt).splitlines()
    assert "oldest turns" in lines[1]
    assert f"{receipt.tokens:,} tokens" in lines[-1]


def test_a_reduction_goes_below_the_reported_limit_and_to_its_share() -> None:
    messages = talk(200)
    whole = fit(messages).tokens
    for attempt, share in ((1, 0.7), (2, 0.5), (3, 0.3)):
        assert reduce(messages, attempt).tokens <= share * whole
        assert reduce(messages, attempt, 500).tokens < 500
    with pytest.raises(ConfigError, match="from 1 to 3"):
        reduce(messages, 4)


def test_the_oldest_results_are_shortened_first_and_the_marker_tells_how_much() -> None:
    messages = [Message("user", "go")]
    for n in range(6):
        messages.append(Message("assistant", (ToolCall(f"c{n}", "look"),)))
        messages.append(Message("tool", (ToolResult(f"c{n}", f"{n} " + "word " * 600),)))
    entries = fit(messages, 3_500, low_water=1.0).receipt.entries
    verdicts = [entry.verdict for entry in entries if entry.role == "tool"]
    assert verdicts == sorted(verdicts, key=["shortened", "kept"].index)
    assert {"shortened", "kept"} == set(verdicts)
    short = fit(messages, 3_500).messages[2].tool_results[0].text
    (cut,) = (int(cut.replace(",", "")) for cut in re.findall(r"\[… ([\d,]+) characters cut …\]", short))
    assert len(short.replace(f"\n[… {cut:,} characters cut …]\n", "")) + cut == len(messages[2].tool_results[0].text)


def test_a_window_is_not_a_sequence_of_what_was_cut() -> None:
    with pytest.raises(TypeError):
        list(wrong(fit(talk(), 100)))
