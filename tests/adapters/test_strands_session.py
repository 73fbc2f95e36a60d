"""Strands Agents: what an agent finds again after a restart, and what its memory store searches and keeps."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from strands.agent.conversation_manager import SlidingWindowConversationManager as SdkWindow
from strands.agent.conversation_manager import SummarizingConversationManager as SdkSummary
from strands.agent.conversation_manager.compression.pin_message import pin_message
from strands.session import FileSessionManager
from strands.types.exceptions import SessionException
from strands.types.session import SessionMessage

from recollect import Memory, Message, Scope, ToolCall, ToolResult, estimate, parse, validate
from recollect.adapters.strands import (
    LogRepository,
    SessionLog,
    SessionMemory,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
    TokenBudgetConversationManager,
    with_memory,
)
from recollect.flow.fence import block
from recollect.testing import Script
from recollect.transfer import export_lines, import_lines
from tests.adapters.erasing import Erasing
from tests.adapters.strands_agents import WORDS, ScriptedModel, agent_of, assistant, tokens, tool_turn, user


class TestRestore:
    @pytest.mark.parametrize("kept_by", ["sdk", "log"])
    def test_an_agent_goes_on_after_a_restart_with_its_pins(self, memory: Memory, tmp_path: Path, kept_by: str) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent() -> Any:
            keeper: Any = FileSessionManager("trip", str(tmp_path / "s")) if kept_by == "sdk" else SessionLog(session)
            manager = TokenBudgetConversationManager(1_500)
            return agent_of(ScriptedModel(script), conversation_manager=manager, session_manager=keeper)

        agent = open_agent()
        agent("Remember the number 42.")
        pin_message(agent.messages, 0)
        agent.state.set("mood", "good")
        for n in range(12):
            script.call_tools(1)
            agent(f"{n} {WORDS}")
        before = list(agent.messages)
        assert "42" in before[0]["content"][0]["text"]
        again = open_agent()
        assert [m["tracking_id"] for m in again.messages] == [m["tracking_id"] for m in before]
        assert again.state.get("mood") == "good"
        again("And now?")
        assert "Remember the number 42." in script.last
        assert tokens(script.requests[-1]) <= 1_500

    @pytest.mark.parametrize("kept_by", ["sdk", "log"])
    def test_an_agent_goes_on_with_another_conversation_manager(
        self, memory: Memory, tmp_path: Path, kept_by: str
    ) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent(manager: Any) -> Any:
            keeper: Any = FileSessionManager("trip", str(tmp_path / "s")) if kept_by == "sdk" else SessionLog(session)
            return agent_of(ScriptedModel(script), conversation_manager=manager, session_manager=keeper)

        agent = open_agent(SdkWindow(4))
        for n in range(5):
            agent(f"question {n}")
        managers = [TokenBudgetConversationManager(1_500), SlidingWindowConversationManager(4)]
        for manager in (*managers, SummarizingConversationManager(1_500), TokenBudgetConversationManager(1_500)):
            before, agent = agent.messages, open_agent(manager)
            assert agent.messages == before
            agent("And now?")

    def test_the_summary_of_the_sdk_stays_with_another_conversation_manager(self, memory: Memory) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent(manager: Any) -> Any:
            return agent_of(ScriptedModel(script), conversation_manager=manager, session_manager=SessionLog(session))

        theirs = SdkSummary(summary_ratio=0.8, preserve_recent_messages=2)
        agent = open_agent(theirs)
        for n in range(4):
            agent(f"question {n}")
        theirs.summarization_agent = agent_of(ScriptedModel(Script()))
        theirs.reduce_context(agent)
        agent("And now?")
        again = open_agent(TokenBudgetConversationManager(1_500))
        assert again.messages == agent.messages
        again("And then?")
        assert open_agent(TokenBudgetConversationManager(1_500)).messages == again.messages

    def test_an_agent_goes_on_in_another_store(self, memory: Memory) -> None:
        def open_agent(memory: Memory) -> Any:
            return agent_of(ScriptedModel(Script()), session_manager=SessionLog(memory.session("trip", user="ada")))

        agent = open_agent(memory)
        agent.state.set("mood", "good")
        agent("Remember the number 42.")
        with Memory.open(":memory:", embedder=None) as other:
            for _ in range(2):
                import_lines(other, export_lines(memory, Scope("default", "ada")))
            again = open_agent(other)
            assert again.state.get("mood") == "good"
            assert again.messages == agent.messages

    def test_what_left_the_list_stays_out_in_another_store_which_counts_anew(self, memory: Memory) -> None:
        def open_agent(memory: Memory) -> Any:
            keeper = SessionLog(memory.session("trip", user="ada"))
            window = SlidingWindowConversationManager(4)
            return agent_of(ScriptedModel(Script()), conversation_manager=window, session_manager=keeper)

        agent = open_agent(memory)
        for n in range(4):
            agent(f"question {n}")
        chat = memory.session("trip", user="ada")
        chat.forget([message.id for message in chat.history()[:2]])
        with Memory.open(":memory:", embedder=None) as other:
            import_lines(other, export_lines(memory, Scope("default", "ada")))
            assert open_agent(other).messages == agent.messages

    def test_a_conversation_that_began_elsewhere_goes_on(self, memory: Memory) -> None:
        session, script = memory.session("trip", user="ada"), Script()
        session.add_many(
            parse(
                [
                    {"role": "user", "content": "My cat is called Tom."},
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {"id": i, "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
                            for i in ("a", "b")
                        ],
                    },
                    {"role": "tool", "tool_call_id": "a", "content": "one"},
                    {"role": "tool", "tool_call_id": "b", "content": "two"},
                    {"role": "assistant", "content": "Noted."},
                ],
                "openai",
            )
        )
        agent = agent_of(ScriptedModel(script), **with_memory(session, 2_000))
        agent("Thank you.")
        assert "My cat is called Tom." in script.last
        assert validate(script.requests[-1], "bedrock") == []
        assert len(session.history()) == 7

    def test_an_agent_that_was_killed_between_a_call_and_its_result_goes_on(self, memory: Memory) -> None:
        session, script = memory.session("trip", user="ada"), Script()
        agent = agent_of(ScriptedModel(script), **with_memory(session, 2_000))
        agent("Hello.")
        session.add_many(parse([user("Read it."), tool_turn("lost", "")[0]], "bedrock"))
        again = agent_of(ScriptedModel(script), **with_memory(session, 2_000))
        again("Are you there?")
        calls = [call.id for message in script.requests[-1] for call in message.tool_calls]
        results = [result.call_id for message in script.requests[-1] for result in message.tool_results]
        assert calls == results == ["lost"]
        assert [m.role for m in session.history()][2:] == ["user", "assistant", "tool", "user", "assistant"]

    @pytest.mark.parametrize("arguments", [None, [], "Oslo", 7])
    def test_arguments_that_are_no_object_stop_no_agent(self, memory: Memory, arguments: Any) -> None:
        session, script = memory.session("trip", user="ada"), Script()
        talk = [user("Look."), *tool_turn("a", "nothing"), assistant("Nothing.")]
        talk[1]["content"][0]["toolUse"]["input"] = arguments
        agent = agent_of(ScriptedModel(script), messages=talk, **with_memory(session, 2_000))
        agent.conversation_manager.apply_management(agent)
        assert asyncio.run(SessionMemory(memory.session("other", user="ada")).add_messages(agent.messages)) == 4
        again = agent_of(ScriptedModel(script), **with_memory(session, 2_000))
        again("And now?")
        (call,) = [call for message in script.requests[-1] for call in message.tool_calls]
        assert call.input == {"_raw": json.dumps(arguments)}

    def test_a_redacted_message_is_erased(self, memory: Memory) -> None:
        session = memory.session("trip", user="ada")
        keeper = SessionLog(session)
        agent = agent_of(ScriptedModel(Script()), session_manager=keeper)
        agent("The secret is avocado.")
        agent.messages[-1]["content"] = [{"text": "[redacted]"}]
        keeper.redact_latest_message(agent.messages[-1], agent)
        assert [m.text for m in session.history()] == ["The secret is avocado.", "[redacted]"]

    @pytest.mark.parametrize("how", ["began elsewhere", "greeted", "redacted", "erased"])
    def test_what_left_the_list_stays_out_though_the_log_counts_otherwise(self, memory: Memory, how: str) -> None:
        session = memory.session("trip", user="ada")

        def open_agent() -> Any:
            window = SlidingWindowConversationManager(4)
            return agent_of(ScriptedModel(Script()), conversation_manager=window, session_manager=SessionLog(session))

        if how == "greeted":
            session.add("assistant", "Welcome!")
        if how == "began elsewhere":
            session.add("user", "Read two pages.")
            session.add(Message("assistant", (ToolCall("a", "lookup"), ToolCall("b", "lookup"))))
            session.add_many([Message("tool", (ToolResult(id, "a page"),)) for id in ("a", "b")])
            session.add("assistant", "Done.")
        agent = open_agent()
        for n in range(4):
            agent(f"question {n}")
            if how == "redacted" and n == 1:
                agent.messages[-1]["content"] = [{"text": "[redacted]"}]
                agent._session_manager.redact_latest_message(agent.messages[-1], agent)
            again = open_agent()
            assert [m["content"] for m in again.messages] == [m["content"] for m in agent.messages]
        if how == "erased":
            session.forget([session.history()[0].id])
            again = open_agent()
            again("And now?")
            again = open_agent()
            assert [m["content"][0]["text"] for m in again.messages][::2] == ["question 3", "And now?"]

    def test_what_an_agent_has_is_restored_though_it_begins_without_a_question(self, memory: Memory) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent(**options: Any) -> Any:
            return agent_of(ScriptedModel(script), session_manager=SessionLog(session), **options)

        assert open_agent(messages=[assistant("Welcome!")]).messages[0]["content"] == [{"text": "Welcome!"}]
        session = memory.session("long", user="ada")
        agent = open_agent(conversation_manager=SdkWindow(4))
        script.call_tools(8)
        agent("Do a long thing.")
        assert "toolUse" in agent.messages[0]["content"][0]
        assert open_agent(conversation_manager=SdkWindow(4)).messages == agent.messages

    @pytest.mark.parametrize("questions", [1, 4])
    def test_an_answer_whose_question_was_erased_begins_no_request(self, memory: Memory, questions: int) -> None:
        session, script = memory.session("trip", user="ada"), Script()

        def open_agent() -> Any:
            window = SlidingWindowConversationManager(4)
            return agent_of(ScriptedModel(script), conversation_manager=window, session_manager=SessionLog(session))

        agent = open_agent()
        for n in range(questions):
            script.call_tools(1)
            agent(f"question {n}")
        session.forget([agent.messages[0]["tracking_id"]])
        for n in range(3):
            again = open_agent()
            again(f"and {n}")
            assert validate(script.requests[-1], "bedrock") == []
        assert [m["content"][0]["text"] for m in again.messages][::2] == ["and 1", "and 2"]

    @pytest.mark.parametrize("whole", [False, True])
    @pytest.mark.parametrize("calls", [0, 2])
    def test_an_answer_whose_question_is_erased_meanwhile_is_not_kept(
        self, memory: Memory, calls: int, whole: bool
    ) -> None:
        session = memory.session("trip", user="ada")
        script = Erasing(session, whole=whole)
        agent = agent_of(ScriptedModel(script), **with_memory(session, 2_000))
        script.call_tools(calls)
        agent("Where do I live?")
        assert (len(script.requests), session.history()) == (calls + 1, ())
        agent("And now?")
        assert [message.role for message in session.history()] == ["user", "assistant"]

    def test_what_is_said_after_words_that_are_not_kept_is(self, memory: Memory) -> None:
        repository, fence = LogRepository(memory, user="ada"), block({})
        for n, wire in enumerate([user(fence), assistant("Hello!")]):
            repository.create_message("trip", "default", SessionMessage(wire, n))
        assert [message.text for message in memory.session("trip", user="ada").history()] == ["Hello!"]

    def test_a_second_agent_has_a_session_of_its_own(self, memory: Memory) -> None:
        keeper = SessionLog(memory.session("trip", user="ada"))
        first = agent_of(ScriptedModel(Script()), session_manager=keeper)
        second = agent_of(ScriptedModel(Script()), session_manager=keeper, agent_id="critic")
        first("To the first.")
        second("To the second.")
        assert memory.session("trip", user="ada").history()[0].text == "To the first."
        assert memory.session("trip/critic", user="ada").history()[0].text == "To the second."
        with pytest.raises(SessionException, match="unique"):
            agent_of(ScriptedModel(Script()), session_manager=keeper, agent_id="critic")

    def test_a_second_agent_is_not_told_its_own_words_as_memory(self, memory: Memory) -> None:
        memory.session("before", user="ada").add("user", "My sister Nadia moved to Oslo in May.")
        script, asked = Script(), "Where does my sister Nadia live?"
        with_both = with_memory(memory.session("trip", user="ada"), 2_000)
        agent_of(ScriptedModel(script), agent_id="critic", **with_both)(asked)
        assert "Oslo" in script.last
        assert script.last.count(asked) == 1

    def test_what_is_not_there_is_said(self, memory: Memory) -> None:
        log: Any = LogRepository(memory, user="ada")
        assert log.read_session("x") is None
        assert log.read_agent("x", "a") is None
        assert log.read_message("x", "a", 0) is None
        assert log.read_multi_agent("x", "g") is None
        several = SimpleNamespace(id="g", serialize_state=lambda: {"node": 1})
        with pytest.raises(SessionException, match="does not exist"):
            log.update_multi_agent("x", several)
        log.create_multi_agent("x", several)
        log.update_multi_agent("x", several)
        assert log.read_multi_agent("x", "g") == {"node": 1}


class TestMemoryStore:
    def test_a_search_keeps_its_budget_and_knows_only_its_user(self, memory: Memory) -> None:
        for n in range(20):
            memory.session(f"s{n}", user="ada").add("user", f"Avocado number {n} <b>& more</b> {WORDS}")
            memory.session(f"s{n}", user="bob").add("user", f"The banana and the avocado, {n}")
        store = SessionMemory(memory.session("now", user="ada"), budget=300)
        found = asyncio.run(store.search("What about the avocado?"))
        assert found
        assert all("Avocado" in entry.content and "banana" not in entry.content for entry in found)
        assert sum(estimate(entry.content) for entry in found) <= 300

    @pytest.mark.parametrize("most", [1, 2, 3, 5])
    def test_many_facts_leave_room_for_the_moment_that_answers(self, memory: Memory, most: int) -> None:
        spring = memory.session("spring", user="ada")
        spring.add_turn("My name is Ada. I work as a nurse at Siemens. I live in Oslo. I love jazz.", "Noted.")
        spring.add_turn("My sister Nadia lives in Rome and my brother Ben lives in Madrid.", "Noted.")
        spring.add_turn("The code of the bicycle is 4417.", "Noted.")
        memory.drain()
        store = SessionMemory(memory.session("now", user="ada"), budget=300)
        found = asyncio.run(store.search("What is the code of the bicycle?", {"max_search_results": most}))
        assert len(found) <= most
        text = "\n".join(entry.content for entry in found)
        assert "4417" in text and "## About the user\n" in text and "sister: Nadia" in text
        assert sum(estimate(entry.content) for entry in found) <= 300

    def test_what_is_shown_anyway_is_not_found(self, memory: Memory) -> None:
        session = memory.session("now", user="ada")
        session.add("user", "The avocado is ripe.")
        assert asyncio.run(SessionMemory(session).search("avocado")) == []

    def test_a_note_of_the_model_is_found_and_kept_once_and_is_no_fact(self, memory: Memory) -> None:
        store = SessionMemory(memory.session("now", user="ada"))
        first = asyncio.run(store.add("The user likes tea.", {"by": "model"}))
        assert asyncio.run(store.add("The user likes tea.")) == first
        (note,) = memory.session("notes", user="ada").history()
        assert (note.role, note.metadata["by"]) == ("assistant", "model")
        assert "tea" in asyncio.run(store.search("Which tea?"))[0].content

    def test_messages_that_the_sdk_hands_over_are_kept_once(self, memory: Memory) -> None:
        session = memory.session("now", user="ada")
        messages: list[Any] = [{**user("Hello."), "tracking_id": "1"}, {**assistant("Hi."), "tracking_id": "2"}]
        store = SessionMemory(session)
        assert [asyncio.run(store.add_messages(messages)) for _ in range(2)] == [2, 0]
        assert [m.text for m in session.history()] == ["Hello.", "Hi."]

    def test_the_model_can_search_by_itself(self, memory: Memory) -> None:
        agent = agent_of(ScriptedModel(Script()), **with_memory(memory.session("now", user="ada"), 2_000))
        assert "search_memory" in agent.tool_names
