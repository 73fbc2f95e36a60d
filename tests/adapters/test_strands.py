"""Strands Agents: real agents with our conversation managers, session and memory, and a scripted model."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands.agent.conversation_manager import ConversationManager
from strands.agent.conversation_manager.compression.pin_message import pin_message
from strands.hooks import AfterModelCallEvent, HookProvider, HookRegistry
from strands.types.exceptions import ContextWindowOverflowException

from recollect import BudgetTooSmall, ConfigError, Image, Memory, Message, count_messages, estimate, parse, validate
from recollect.adapters.strands import (
    SessionLog,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
    TokenBudgetConversationManager,
    conversation_manager,
    with_memory,
)
from recollect.testing import AdapterSuite, Script, Talk
from tests.adapters.strands_agents import (
    WORDS,
    ScriptedModel,
    StrandsTalk,
    agent_of,
    assistant,
    tokens,
    tool_turn,
    user,
)


class TestStrands(AdapterSuite):
    shape = "bedrock"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return StrandsTalk(memory, user, session, budget, script)


def holding(messages: list[Any]) -> Any:
    """As much of an agent as a conversation manager looks at."""
    return SimpleNamespace(messages=messages, system_prompt=None)


def fits(manager: TokenBudgetConversationManager, messages: list[Any], budget: int) -> None:
    read = parse(messages, "bedrock")
    assert validate(read, "bedrock") == []
    assert count_messages(read, manager.counter) <= budget


def _shows(request: list[Message]) -> bool:
    return any(isinstance(part, Image) for message in request for part in message.parts)


def _refusal(words: str) -> Exception:
    told: Any = {
        "Error": {"Code": "ValidationException", "Message": words},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    error: Exception = import_module("botocore.exceptions").ClientError(told, "ConverseStream")
    return error


def _refusal_of_openai(words: str) -> Exception:
    return openai.BadRequestError(
        words, response=httpx2.Response(400, request=httpx2.Request("POST", "http://a")), body=None
    )


def long_talk(turns: int = 12) -> list[Any]:
    return [message for n in range(turns) for message in (user(f"{n} {WORDS}"), assistant(f"answer {n} {WORDS}"))]


class TestTheBudget:
    def test_it_is_a_conversation_manager_of_the_sdk(self) -> None:
        assert isinstance(TokenBudgetConversationManager(), ConversationManager)

    def test_a_list_within_the_budget_stays_as_it_is(self) -> None:
        messages = long_talk(2)
        before = list(messages)
        TokenBudgetConversationManager(8_000).apply_management(holding(messages))
        assert messages == before

    def test_the_list_is_changed_in_place_and_what_stays_is_the_same_object(self) -> None:
        messages = long_talk()
        before, manager = list(messages), TokenBudgetConversationManager(1_000)
        manager.apply_management(holding(messages))
        fits(manager, messages, 1_000)
        assert all(one is other for one, other in zip(messages, before[-len(messages) :], strict=True))
        assert manager.removed_message_count == len(before) - len(messages)

    def test_a_large_result_is_shortened_in_a_copy_and_keeps_its_id_and_status(self) -> None:
        messages = [user("Read it."), *tool_turn("a", "page " * 5_000)]
        result, manager = messages[2], TokenBudgetConversationManager(1_000)
        manager.apply_management(holding(messages))
        fits(manager, messages, 1_000)
        shown = messages[2]["content"][0]["toolResult"]
        assert (shown["toolUseId"], shown["status"]) == ("a", "success")
        assert "characters cut" in shown["content"][0]["text"]
        assert result["content"][0]["toolResult"]["content"][0]["text"] == "page " * 5_000

    def test_between_two_cuts_a_request_begins_with_the_one_before(self) -> None:
        messages, manager = list[Any](), TokenBudgetConversationManager(2_000)
        changed = 0
        for message in long_talk(60):
            before = list(messages)
            messages.append(message)
            manager.apply_management(holding(messages))
            changed += messages[: len(before)] != before
        assert changed <= 20

    @pytest.mark.parametrize(("prompt", "reserve"), [(WORDS, 0), (None, 300), (WORDS, 300)])
    def test_the_system_prompt_and_the_reserve_are_part_of_the_budget(self, prompt: str | None, reserve: int) -> None:
        messages, taken = long_talk(), reserve + (estimate(prompt) if prompt else 0)
        budget = tokens(parse(messages, "bedrock")) + taken - 1
        agent: Any = SimpleNamespace(messages=messages, system_prompt=prompt)
        TokenBudgetConversationManager(budget, reserve=reserve, low_water=1.0).apply_management(agent)
        assert 0 < tokens(parse(messages, "bedrock")) <= budget - taken

    def test_a_budget_that_can_not_be_met_is_said_before_the_model_is_called(self) -> None:
        script = Script()
        agent = agent_of(ScriptedModel(script), conversation_manager=TokenBudgetConversationManager(200))
        with pytest.raises(BudgetTooSmall, match="the budget is 200"):
            agent("long " * 1_000)
        assert script.requests == []
        assert agent.messages[0]["content"][0]["text"] == "long " * 1_000

    def test_pinned_turns_stay(self) -> None:
        messages = long_talk()
        pin_message(messages, 2)
        manager = TokenBudgetConversationManager(1_500)
        manager.apply_management(holding(messages))
        fits(manager, messages, 1_500)
        assert messages[0]["content"][0]["text"].startswith("1 ")

    def test_the_first_messages_can_be_pinned(self) -> None:
        messages = long_talk()
        TokenBudgetConversationManager(1_500, pin_first=1).apply_management(holding(messages))
        assert messages[0]["content"][0]["text"].startswith("0 ")
        assert not messages[2]["content"][0]["text"].startswith("1 ")

    def test_documents_and_pictures_come_through_unchanged(self) -> None:
        source = {"document": {"format": "txt", "name": "x", "source": {"bytes": b"\x00\xff"}}}
        messages = [*long_talk(), {"role": "user", "content": [{"text": "Read."}, source]}]
        TokenBudgetConversationManager(1_000).apply_management(holding(messages))
        assert messages[-1]["content"][1] == source

    @pytest.mark.parametrize(
        "options", [{"budget": 0}, {"budget": -1}, {"budget": "8k"}, {"budget": 10, "reserve": 10}]
    )
    def test_a_budget_that_makes_no_sense_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="budget is"):
            TokenBudgetConversationManager(**options)


turns = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 30), st.booleans()), min_size=1, max_size=7
)  # calls, words, pinned


def conversation(shape: list[tuple[int, int, bool]]) -> list[Any]:
    messages: list[Any] = []
    for n, (calls, words, pinned) in enumerate(shape):
        messages.append(user(f"question {n} " + "word " * words))
        for c in range(calls):
            messages += tool_turn(f"{n}-{c}", "result " * words * 5)
        messages.append(assistant(f"answer {n}"))
        if pinned:
            pin_message(messages, len(messages) - 1)
    return messages


@given(turns, st.integers(60, 900), st.sampled_from([TokenBudgetConversationManager, SummarizingConversationManager]))
def test_any_conversation_is_valid_within_the_budget_and_restored_as_it_was(
    shape: list[tuple[int, int, bool]], budget: int, kind: type[TokenBudgetConversationManager]
) -> None:
    options: dict[str, Any] = {"summary_tokens": 50} if kind is SummarizingConversationManager else {}
    manager, messages, said = kind(budget, **options), list[Any](), conversation(shape)
    agent, fitted = holding(messages), True
    for message in said:
        messages.append(message)
        if message["role"] == "assistant" and "toolUse" in message["content"][0]:
            continue
        try:
            manager._fit(agent)
        except BudgetTooSmall:
            fitted = False
    if fitted:
        fits(manager, messages, budget)
    again = kind(budget, **options)
    restored = (again.restore_from_session(manager.get_state()) or []) + said[again.removed_message_count :]
    assert [first_line(message) for message in restored] == [first_line(message) for message in messages]


def first_line(message: Any) -> str:
    block = next(b for b in message["content"] if not b.get("text", "").startswith("<memory>"))
    return str(block.get("toolUse", block.get("toolResult", {})).get("toolUseId", "")) or str(block.get("text"))[:14]


class TestOverflow:
    def test_in_the_middle_of_a_loop_of_50_calls(self) -> None:
        script, limit = Script(), 1_500
        model = ScriptedModel(script, lambda request: "too long" if tokens(request) > limit else None)
        agent = agent_of(model, conversation_manager=TokenBudgetConversationManager(4_000))
        script.call_tools(50)
        agent("Read the whole book.")
        assert len(script.requests) == 51
        assert 1 <= len(model.refused) <= 50
        for request in script.requests:
            assert validate(request, "bedrock") == []

    def test_each_attempt_is_strictly_smaller_and_there_are_three(self) -> None:
        script = Script()
        model = ScriptedModel(script, lambda request: "too long")
        agent = agent_of(model, conversation_manager=TokenBudgetConversationManager(50_000), messages=long_talk(30))
        with pytest.raises(ContextWindowOverflowException):
            agent("And now?")
        sizes = [tokens(request) for request in model.refused]
        assert len(sizes) == 4
        assert sizes == sorted(set(sizes), reverse=True)

    def test_a_limit_that_the_provider_names_is_met_at_once(self) -> None:
        def refuse(request: list[Message]) -> str | None:
            size = tokens(request)
            return f"prompt is too long: {size} tokens > 1200 maximum" if size > 1_200 else None

        script = Script()
        model = ScriptedModel(script, refuse)
        manager = TokenBudgetConversationManager(50_000)
        agent = agent_of(model, conversation_manager=manager, messages=long_talk(60), system_prompt=WORDS)
        agent("And now?")
        assert len(model.refused) == 1
        assert 0 < tokens(script.requests[0]) <= 1_200

    def test_words_of_an_overflow_that_the_sdk_does_not_know_are_met_too(self) -> None:
        def refuse(request: list[Message]) -> str | None:
            size = tokens(request)
            return f"input length and `max_tokens` exceed context limit: {size} + 500 > 1700" if size > 1_200 else None

        script = Script()
        model = ScriptedModel(script, refuse, RuntimeError)
        agent = agent_of(model, conversation_manager=TokenBudgetConversationManager(50_000))
        script.call_tools(50)
        agent("Read the whole book.")
        assert len(script.requests) == 51
        assert 1 <= len(model.refused) <= 50
        assert all(validate(request, "bedrock") == [] for request in script.requests)

    @pytest.mark.parametrize(("words", "requests"), [("prompt is too long", 4), ("Invalid value: 'temperature'", 1)])
    def test_an_error_that_stays_is_the_one_that_is_told(self, words: str, requests: int) -> None:
        model = ScriptedModel(Script(), lambda request: words, RuntimeError)
        agent = agent_of(model, conversation_manager=TokenBudgetConversationManager(50_000), messages=long_talk(30))
        with pytest.raises(RuntimeError, match=words):
            agent("And now?")
        assert len(model.refused) == requests

    @pytest.mark.parametrize("provider", ["bedrock", "openai"])
    def test_after_a_picture_that_the_provider_refuses_the_conversation_goes_on(
        self, memory: Memory, provider: str
    ) -> None:
        script, chat = Script(), memory.session("trip", user="ada")
        error = _refusal if provider == "bedrock" else _refusal_of_openai
        model = ScriptedModel(script, lambda request: "Could not process image" if _shows(request) else None, error)
        agent = agent_of(model, **with_memory(chat, 8_000))
        picture: Any = {"image": {"format": "png", "source": {"bytes": b"not a picture"}}}
        with pytest.raises(Exception, match="Could not process image"):
            agent([{"text": "Whose cat?"}, picture])
        agent("Are you there?")
        assert [message.text for message in script.requests[0]] == ["Whose cat?\n[image cut]", "Are you there?"]
        assert len(model.refused) == 2
        assert [len(message.parts) for message in chat.history()] == [2, 1, 1]

    def test_after_a_blank_that_the_provider_refuses_the_conversation_goes_on(self, memory: Memory) -> None:
        def refuse(request: list[Message]) -> str | None:
            return None if all(one.text.strip() for one in request) else "text content blocks must be non-empty"

        script, chat = Script(), memory.session("trip", user="ada")
        model = ScriptedModel(script, refuse, _refusal)
        for text in ("", "Are you there?"):
            agent_of(model, **with_memory(chat, 8_000))(text)
        assert [message.text for message in script.requests[1]][::2] == ["(empty)", "Are you there?"]
        assert len(model.refused) == 1
        assert [message.text for message in chat.history()][::2] == ["", "Are you there?"]

    def test_what_another_hook_asks_again_is_asked_again(self) -> None:
        class Again(HookProvider):
            def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
                registry.add_callback(AfterModelCallEvent, self.again)

            def again(self, event: AfterModelCallEvent) -> None:
                event.retry = event.exception is not None

        refusals = iter(["Busy."])
        model = ScriptedModel(Script(), lambda request: next(refusals, None), _refusal)
        agent = agent_of(model, conversation_manager=TokenBudgetConversationManager(8_000), hooks=[Again()])
        agent("Are you there?")
        assert len(model.refused) == 1

    def test_where_nothing_smaller_is_valid_the_messages_stay(self) -> None:
        messages = [user("Hi.")]
        with pytest.raises(ContextWindowOverflowException, match="Nothing smaller"):
            TokenBudgetConversationManager().reduce_context(holding(messages), ContextWindowOverflowException("full"))
        TokenBudgetConversationManager().reduce_context(holding(messages))
        assert messages == [user("Hi.")]

    def test_a_later_overflow_counts_anew(self) -> None:
        messages, manager = long_talk(40), TokenBudgetConversationManager(100_000)
        for _ in range(4):
            before = len(messages)
            manager.reduce_context(holding(messages), ContextWindowOverflowException("full"))
            assert len(messages) < before
            messages += [user("More?"), assistant("Yes.")]

    def test_the_sdk_can_ask_for_less_before_it_overflows(self) -> None:
        messages = long_talk()
        TokenBudgetConversationManager().reduce_context(holding(messages))
        assert len(messages) < 24


class TestTheSummary:
    def test_what_leaves_is_told_in_front_of_what_stays(self) -> None:
        messages = [user("My daughter Mia is allergic to peanuts."), assistant("Noted."), *long_talk()]
        manager = SummarizingConversationManager(1_500, summary_tokens=200)
        manager.apply_management(holding(messages))
        fits(manager, messages, 1_500)
        assert "Mia is allergic to peanuts" in messages[0]["content"][0]["text"]
        assert messages[0]["content"][1]["text"].endswith(WORDS)

    def test_it_goes_on_from_cut_to_cut_and_stays_small(self) -> None:
        messages, manager = list[Any](), SummarizingConversationManager(1_500, summary_tokens=200)
        summaries = set()
        towns = [
            m for n in range(40) for m in (user(f"I went to Town{n} in 19{n + 10}."), assistant("How nice! " * 60))
        ]
        for message in towns:
            messages.append(message)
            manager.apply_management(holding(messages))
            summaries.add(manager.summary)
            assert estimate(manager.summary) <= 200
            fits(manager, messages, 1_500)
        assert 3 < len(summaries) < 20
        assert manager.summary.count("I went to Town") > 3
        assert sum("<memory>" in str(message) for message in messages) == 1

    def test_an_overflow_is_summarised_too_and_gets_strictly_smaller(self) -> None:
        messages = [user("My daughter Mia is allergic to peanuts."), assistant("Noted."), *long_talk()]
        manager = SummarizingConversationManager(50_000)
        sizes = [tokens(parse(messages, "bedrock"))]
        for _ in range(3):
            manager.reduce_context(holding(messages), ContextWindowOverflowException("full"))
            sizes.append(tokens(parse(messages, "bedrock")))
            assert "Mia is allergic" in messages[0]["content"][0]["text"]
            assert str(messages).count("Mia is allergic") == 1
        assert sizes == sorted(set(sizes), reverse=True)

    def test_a_restart_brings_it_back(self, memory: Memory) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent() -> Any:
            return agent_of(
                ScriptedModel(script),
                conversation_manager=SummarizingConversationManager(1_500, summary_tokens=200),
                session_manager=SessionLog(session),
            )

        agent = open_agent()
        for text in ["My daughter Mia is allergic to peanuts.", *(f"{n} {WORDS}" for n in range(20))]:
            agent(text)
        told = agent.conversation_manager.summary
        assert "Mia is allergic" in told
        again = open_agent()
        assert again.conversation_manager.summary == told
        again("And now?")
        assert told in script.requests[-1][0].text


class TestProviders:
    @pytest.mark.parametrize(
        ("section", "kind", "limits"),
        [
            ("{}", TokenBudgetConversationManager, (8_000, None)),
            ("{context_budget: 5000}", TokenBudgetConversationManager, (5_000, None)),
            ("{conversation_window: 5}", SlidingWindowConversationManager, (None, 5)),
            ("{context_budget: 5000, conversation_window: 5}", TokenBudgetConversationManager, (5_000, None)),
            ("{old_messages: summarise}", SummarizingConversationManager, (8_000, None)),
            ("{conversation_window: 5, old_messages: summarise}", SummarizingConversationManager, (None, 5)),
        ],
    )
    def test_the_file_chooses(self, tmp_path: Path, section: str, kind: type, limits: tuple[Any, Any]) -> None:
        (tmp_path / "providers.yaml").write_text(f"agent: {section}\n")
        manager = conversation_manager(tmp_path / "providers.yaml")
        assert type(manager) is kind
        assert (manager.limits.budget, manager.limits.last_messages) == limits

    def test_the_settings_of_a_summary_are_taken(self, tmp_path: Path) -> None:
        (tmp_path / "providers.yaml").write_text(
            "agent: {context_budget: 1500, old_messages: summarise, summary_tokens: 150, min_turns: 2}\n"
        )
        manager, script = conversation_manager(tmp_path / "providers.yaml"), Script()
        assert isinstance(manager, SummarizingConversationManager)
        assert (manager.summary_tokens, manager.limits.min_turns) == (150, 2)
        agent = agent_of(ScriptedModel(script), conversation_manager=manager)
        for text in ("My daughter Mia is allergic to peanuts.", *[f"And {n}? {WORDS}" for n in range(12)]):
            agent(text)
        assert "Mia is allergic to peanuts" in script.last
        assert all(tokens(request) <= 1_500 for request in script.requests)

    @pytest.mark.parametrize("more", ["", ", old_messages: summarise"])
    def test_a_window_of_messages_is_valid_in_a_loop_too(self, tmp_path: Path, more: str) -> None:
        (tmp_path / "providers.yaml").write_text(f"agent: {{conversation_window: 5{more}}}\n")
        manager, script = conversation_manager(tmp_path / "providers.yaml"), Script()
        agent = agent_of(ScriptedModel(script), conversation_manager=manager)
        for n in range(6):
            script.call_tools(3)
            agent(f"question {n}")
        for request in script.requests:
            assert validate(request, "bedrock") == []
            assert len(request) <= 5
