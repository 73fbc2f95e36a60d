"""The session of the OpenAI Agents SDK, in real runs and by itself."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, Session, SessionABC, function_tool, handoff
from agents.extensions.handoff_filters import remove_all_tools
from agents.memory import SessionSettings
from agents.run import CallModelData, ModelInputData
from agents.testing import ScriptedModel, function_call
from hypothesis import given
from hypothesis import strategies as st

from recollect import BudgetTooSmall, ConfigError, InvalidTranscript, Memory, count_messages, estimate, parse, validate
from recollect.adapters.openai_agents import RecollectSession
from recollect.testing import AdapterSuite, Script, Talk
from tests.adapters.erasing import Erasing
from tests.adapters.openai_agents_sdk import AgentsTalk, agent_of, model_of
from tests.wrong import wrong

SHAPE = "openai-responses"


class TestAgents(AdapterSuite):
    shape = SHAPE

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return AgentsTalk(memory, user, session, budget, script)


@pytest.fixture
def session(memory: Memory) -> RecollectSession:
    return RecollectSession(memory.session("trip", user="ada"))


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def step(n: int, output: str = "page") -> list[Any]:
    """The model thinks, calls a tool and gets its answer."""
    return [
        {"type": "reasoning", "id": f"rs_{n}", "summary": []},
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{n}", "output": output},
    ]


def run(awaitable: Any) -> Any:
    async def waited() -> Any:
        return await awaitable

    return asyncio.run(waited())


def items(session: RecollectSession, limit: int | None = None) -> list[Any]:
    found: list[Any] = run(session.get_items(limit))
    return found


def add(session: RecollectSession, *new: Any) -> None:
    run(session.add_items(list(new)))


class TestTheSession:
    def test_it_is_a_session_of_the_sdk(self, session: RecollectSession) -> None:
        assert isinstance(session, SessionABC)
        assert isinstance(session, Session)
        assert session.session_id == "trip"

    def test_items_come_back_as_they_were_given(self, session: RecollectSession) -> None:
        given = [
            user("こんにちは 😊 O'Reilly; DROP TABLE x; --"),
            *step(1),
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "AAAA"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "6 °C", "annotations": [], "logprobs": []}],
            },
            {"role": "developer", "content": "Be brief."},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ]
        add(session, *given)
        assert json.dumps(items(session)) == json.dumps(given)

    def test_nothing_is_given_by_an_empty_session(self, session: RecollectSession) -> None:
        add(session)
        assert items(session) == []
        assert run(session.pop_item()) is None

    def test_the_newest_items_are_given_under_a_limit(self, session: RecollectSession) -> None:
        said = [message for n in range(3) for message in (user(f"question {n}"), assistant(f"answer {n}"))]
        add(session, *said)
        assert items(session, 2) == said[-2:]
        assert items(session, 3) == said[-3:]
        assert items(session, 10) == said
        assert items(session, 0) == items(session, -1) == []

    def test_the_settings_hold_a_limit_too(self, memory: Memory) -> None:
        for settings in (SessionSettings(limit=2), {"limit": 2}):
            limited = RecollectSession(memory.session("trip", user="ada"), session_settings=settings)
            add(limited, *[user(f"{n}") for n in range(5)])
            assert items(limited) == [user("3"), user("4")]
            assert items(limited, 1) == [user("4")]

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 20))
    def test_a_limit_never_tears_a_step(self, turns: list[int], limit: int) -> None:
        said = [
            i for n, c in enumerate(turns) for i in (user(f"{n}"), *[p for k in range(c) for p in step(10 * n + k)])
        ]
        said += [assistant("done")]
        with Memory.open(":memory:", embedder=None) as memory:
            session = RecollectSession(memory.session("trip", user="ada"))
            add(session, *said)
            shown = items(session, limit)
        assert shown == said[len(said) - len(shown) :]
        assert limit - 3 < len(shown) <= limit or len(said) <= limit
        assert not shown or validate(parse(shown, SHAPE), SHAPE) == []

    def test_a_budget_gives_the_newest_whole_turns(self, memory: Memory) -> None:
        budgeted = RecollectSession(memory.session("trip", user="ada"), budget=600)
        for n in range(10):
            add(budgeted, user(f"question {n} " + "word " * 30), *step(n, "page " * 40), assistant(f"answer {n}"))
        shown = items(budgeted)
        assert shown[-1] == assistant("answer 9")
        assert shown[0]["role"] == "user"
        assert count_messages(parse(shown, SHAPE), estimate) <= 600
        assert validate(parse(shown, SHAPE), SHAPE) == []

    def test_a_budget_that_makes_no_sense_is_refused(self, memory: Memory) -> None:
        with pytest.raises(ConfigError, match="budget is '8k'; it must be a whole number"):
            RecollectSession(memory.session("trip", user="ada"), budget=wrong("8k"))
        with pytest.raises(ConfigError, match="budget is 0"):
            RecollectSession(memory.session("trip", user="ada"), budget=0)

    def test_an_item_that_can_not_be_read_is_refused_and_nothing_is_kept(self, session: RecollectSession) -> None:
        with pytest.raises(InvalidTranscript, match=r"input\[1\].role"):
            add(session, user("Hi."), {"role": "pope", "content": "x"})
        assert items(session) == []


class TestTakingBack:
    def test_what_is_popped_is_gone_for_good(self, session: RecollectSession) -> None:
        add(session, user("The secret is avocado."), assistant("Noted."), user("How are you?"))
        assert [run(session.pop_item()) for _ in range(3)] == [
            user("How are you?"),
            assistant("Noted."),
            user("The secret is avocado."),
        ]
        assert run(session.pop_item()) is None
        assert items(session) == []
        assert session.session.recall("avocado") == []

    def test_what_is_said_instead_takes_its_place(self, session: RecollectSession) -> None:
        add(session, user("Hello."), assistant("Hi."), user("2+2?"))
        run(session.pop_item())
        add(session, user("3+3?"))
        assert items(session) == [user("Hello."), assistant("Hi."), user("3+3?")]

    def test_clearing_erases_this_session_alone(self, memory: Memory, session: RecollectSession) -> None:
        other = RecollectSession(memory.session("other", user="ada"))
        add(session, user("one"))
        add(other, user("two"))
        run(session.clear_session())
        assert (items(session), items(other)) == ([], [user("two")])
        assert memory.session("trip", user="ada").history() == ()


class TestDeliveredTwice:
    def test_what_has_an_id_is_known_again(self, session: RecollectSession) -> None:
        batch = [user("Yes."), *step(1)]
        for _ in range(2):
            add(session, *batch)
        assert items(session) == batch
        add(session, *batch, assistant("done"))
        assert items(session) == [*batch, assistant("done")]

    def test_a_question_without_an_answer_is_known_again(self, session: RecollectSession) -> None:
        add(session, user("Hello?"))
        add(session, user("Hello?"))
        assert items(session) == [user("Hello?")]

    def test_words_without_an_id_that_were_answered_are_kept_each_time(self, session: RecollectSession) -> None:
        for _ in range(2):
            add(session, user("Yes."), assistant("Fine."))
        assert len(items(session)) == 4


class TestAtOnce:
    def test_threads_lose_nothing(self, session: RecollectSession) -> None:
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(lambda n: add(session, user(f"{n}"), assistant(f"to {n}")), range(20)))
        shown = items(session)
        assert sorted(int(item["content"]) for item in shown[::2]) == list(range(20))
        assert all(
            after["content"] == f"to {item['content']}" for item, after in zip(shown[::2], shown[1::2], strict=True)
        )

    def test_a_cancelled_write_is_over_when_the_caller_goes_on(self, session: RecollectSession) -> None:
        async def cancel() -> list[Any]:
            task = asyncio.create_task(session.add_items([user("Hi.")]))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return list(await session.get_items())

        assert asyncio.run(cancel()) == [user("Hi.")]


class TestRuns:
    def test_a_stream_is_kept_like_any_run(self, memory: Memory) -> None:
        script, session = Script(), RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        script.call_tools(2)

        async def stream() -> None:
            config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
            streamed = Runner.run_streamed(agent_of(script), "Read it.", session=session, run_config=config)
            async for _ in streamed.stream_events():
                pass

        asyncio.run(stream())
        assert [m.role for m in session.session.history()][::3] == ["user", "tool", "tool"]
        assert len(script.requests) == 3

    @pytest.mark.parametrize("case", ["alone", "after an example", "asked again", "after less"])
    def test_memory_knows_the_question_of_a_stream(self, memory: Memory, case: str) -> None:
        memory.session("before", user="ada").add_turn("The ferry to Bergen leaves at nine.", "Noted!")
        script, session = Script(), RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        question, given = user("When does the ferry leave?"), list[Any]()
        if case == "after an example":
            given = [user("2+2?"), assistant("4")]
        if case == "asked again":
            add(session, question)
        if case == "after less":
            add(session, user("Hello!"), assistant("Hi."))

        async def stream(text: Any) -> None:
            config = RunConfig(
                call_model_input_filter=session.fit_input,
                tracing_disabled=True,
                session_input_callback=lambda kept, new: [*(kept if case != "after less" else ()), *new],
            )
            streamed = Runner.run_streamed(agent_of(script), text, session=session, run_config=config)
            async for _ in streamed.stream_events():
                pass

        asyncio.run(stream([*given, question]))
        assert "leaves at nine" in script.last and script.last.count("When does") == 1
        assert [m.text for m in script.requests[-1][:-1]] == [item["content"] for item in given]
        asyncio.run(stream("How are you?"))
        assert [m.role for m in session.session.history()][-4:] == ["user", "assistant"] * 2

    @pytest.mark.parametrize("shared", [True, False])
    def test_of_two_runs_at_once_each_is_about_its_own_question(self, memory: Memory, shared: bool) -> None:
        memory.session("ferry", user="ada").add("user", "The ferry to Bergen leaves at nine.")
        for n in range(5):
            memory.session(f"fence {n}", user="ada").add("user", f"Viktor painted fence {n}, that fence, {n} times.")
        one = RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        two = one if shared else RecollectSession(memory.session("trip", user="ada"), budget=2_000)

        def sent(session: RecollectSession, given: list[Any]) -> list[Any]:
            data = CallModelData(ModelInputData(given, None), agent=Agent(name="x"), context=None)
            fitted: list[Any] = run(session.fit_input(data)).input
            return fitted

        first = [*items(one), user("When does the ferry to Bergen leave?")]
        add(one, first[-1])
        second = [*items(two), user("Who painted the fence?")]
        add(two, second[-1])
        add(one, *step(1))
        (asked, *after) = sent(one, [*first, *step(1)])
        assert "nine" in asked["content"]
        assert asked["content"].endswith(first[-1]["content"])
        assert after == step(1)
        (*_, asked) = sent(two, second)
        assert "Viktor" in asked["content"]
        assert asked["content"].endswith(second[-1]["content"])

    @pytest.mark.parametrize("back", ["pop_item", "clear_session"])
    def test_a_question_that_was_taken_back_is_still_the_one_that_memory_is_asked(
        self, memory: Memory, back: str
    ) -> None:
        for n in range(5):
            memory.session(f"ferry {n}", user="ada").add("user", f"Ferry {n} to Bergen leaves at nine.")
        memory.session("fence", user="ada").add("user", "Viktor painted the fence.")
        session = RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        add(session, user("When does the ferry to Bergen leave?"), assistant("At nine."))
        given = [*items(session), user("Who painted the fence?")]
        add(session, given[-1])
        run(getattr(session, back)())
        data = CallModelData(ModelInputData([*given, *step(1)], None), agent=Agent(name="x"), context=None)
        *_, asked, _, _, _ = run(session.fit_input(data)).input
        assert "Viktor" in asked["content"]

    @pytest.mark.parametrize("whole", [False, True])
    @pytest.mark.parametrize("calls", [0, 2])
    def test_an_answer_whose_question_is_erased_meanwhile_is_not_kept(
        self, memory: Memory, calls: int, whole: bool
    ) -> None:
        session = RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        session.session.add_turn("Hello.", "Hi!")
        script = Erasing(session.session, whole=whole)
        agent, config = agent_of(script), RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        script.call_tools(calls)
        run(Runner.run(agent, "Where do I live?", session=session, run_config=config))
        assert (len(script.requests), session.session.history()) == (calls + 1, ())
        assert "Where do I live?" in script.last
        run(Runner.run(agent, "And now?", session=session, run_config=config))
        assert [message.role for message in session.session.history()] == ["user", "assistant"]

    def test_calls_made_at_once_are_told_as_made_at_once(self, memory: Memory) -> None:
        script, session = Script(), RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        script.call_tools(1, 3)
        run(Runner.run(agent_of(script), "Read it.", session=session, run_config=config))
        assert [m.role for m in script.requests[-1]] == ["user", *["assistant"] * 4, *["tool"] * 3]

    def test_the_instructions_are_part_of_the_budget(self, memory: Memory) -> None:
        script, session = Script(), RecollectSession(memory.session("trip", user="ada"), budget=1_000)
        agent = agent_of(script, instructions="Be brief. " * 100)
        config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        for n in range(10):
            run(Runner.run(agent, f"question {n} " + "word " * 50, session=session, run_config=config))
        assert all(count_messages(request, estimate) <= 1_000 for request in script.requests)
        assert script.requests[-1][0].text == "Be brief. " * 100

    def test_what_a_handoff_takes_out_stays_out(self, memory: Memory) -> None:
        second = Script()
        calls = [function_call(name, "{}", call_id=name) for name in ("look", "transfer_to_writer")]
        writer = Agent(name="writer", model=model_of(second))
        agent = Agent(
            name="reader",
            model=ScriptedModel([[call] for call in calls]),
            tools=[function_tool(lambda: "page", name_override="look")],
            handoffs=[handoff(writer, input_filter=remove_all_tools)],
        )
        session = RecollectSession(memory.session("trip", user="ada"), budget=2_000)
        memory.session("before", user="ada").add("user", "My sister Nadia moved to Oslo in May.")
        config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        run(Runner.run(agent, "Where does my sister Nadia live?", session=session, run_config=config))
        assert [m.role for m in second.requests[-1]] == ["user"]
        assert "Oslo" in second.last

    def test_a_budget_that_can_not_be_met_is_said_before_the_model_is_called(self, memory: Memory) -> None:
        script, session = Script(), RecollectSession(memory.session("trip", user="ada"), budget=200)
        config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        with pytest.raises(BudgetTooSmall, match="the budget is"):
            run(Runner.run(agent_of(script), "long " * 1_000, session=session, run_config=config))
        assert script.requests == []
        assert session.session.history()[0].text == "long " * 1_000

    @pytest.mark.parametrize("limit", [None, 5])
    def test_after_a_message_that_is_too_long_the_conversation_goes_on(self, memory: Memory, limit: int | None) -> None:
        script, kept = Script(), memory.session("trip", user="ada")
        session = RecollectSession(kept, budget=200, session_settings=SessionSettings(limit=limit))
        config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
        with pytest.raises(BudgetTooSmall):
            run(Runner.run(agent_of(script), "long " * 1_000, session=session, run_config=config))
        run(Runner.run(agent_of(script), "Hello!", session=session, run_config=config))
        assert script.last.endswith("Hello!")
        assert [message.role for message in kept.history()] == ["user", "user", "assistant"]

    def test_items_that_a_filter_changed_are_fitted_without_memory_where_both_have_no_room(
        self, memory: Memory
    ) -> None:
        memory.session("before", user="ada").add("user", "My sister Nadia and I live in Oslo.")
        session = RecollectSession(memory.session("trip", user="ada"), budget=400)
        add(session, user("Where does she live? " + "stone " * 600))
        for words, recalled in ((340, False), (100, True)):
            changed = [user("Where does my sister Nadia live? " + "word " * words)]
            data = CallModelData(ModelInputData(changed, None), agent=Agent(name="x"), context=None)
            sent = run(session.fit_input(data)).input
            assert count_messages(parse(sent, SHAPE), estimate) <= 400
            assert sent[-1]["content"].endswith("word " * words)
            assert ("Oslo" in sent[-1]["content"]) == recalled

    def test_without_a_budget_the_request_stays_as_it_is(self, session: RecollectSession) -> None:
        data = CallModelData(ModelInputData([user("Hi.")], None), agent=Agent(name="x"), context=None)
        assert run(session.fit_input(data)).input == [user("Hi.")]
