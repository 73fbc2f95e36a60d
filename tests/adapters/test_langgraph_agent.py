"""LangChain's agent with our middleware and checkpointer: real `create_agent`, scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import ConfigDict

from recollect import Image, Memory, Message, Text, ToolCall, ToolResult
from recollect.adapters.langgraph import RecollectMiddleware, RecollectSaver
from recollect.adapters.langgraph.messages import changed, from_langchain, to_langchain
from recollect.errors import ConfigError
from recollect.flow.fence import with_memory
from recollect.testing.adapters import AdapterSuite, Script, Talk, history, lookup
from tests.adapters.small import SMALL, Small

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun


class ScriptedModel(BaseChatModel):
    """A chat model whose words come from a script."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> ScriptedModel:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        answer = self.script.answer([from_langchain(message) for message in messages])
        return ChatResult(generations=[ChatGeneration(message=to_langchain(answer)[0])])


class Wordy(Script):
    """Says something when it calls a tool."""

    def answer(self, request: Sequence[Message]) -> Message:
        answer = super().answer(request)
        return answer.replace(content=(Text("I look."), *answer.parts)) if answer.tool_calls else answer


class AgentTalk(Talk):
    def __init__(self, memory: Memory, user: str, thread: str, budget: int, script: Script) -> None:
        self.agent = create_agent(
            ScriptedModel(script=script),
            [tool(lookup)],
            system_prompt="Be brief.",
            middleware=[RecollectMiddleware(memory, user=user, budget=budget)],
            checkpointer=RecollectSaver(memory, user=user),
        )
        self.config: Any = {"configurable": {"thread_id": thread}, "recursion_limit": 1_000}
        self.said = HumanMessage("")

    def say(self, text: str) -> None:
        self.said = HumanMessage(text)
        self.agent.invoke({"messages": [self.said]}, self.config)

    async def asay(self, text: str) -> None:
        await self.agent.ainvoke({"messages": [HumanMessage(text)]}, self.config)

    def redeliver(self) -> None:
        """The run is taken up again at the checkpoint from which the model was last called."""
        at = next(s for s in self.agent.get_state_history(self.config) if "model" in s.next)
        self.agent.invoke(None, at.config)


class TestAgent(AdapterSuite):
    shape = "openai"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return AgentTalk(memory, user, session, budget, script)

    def test_what_was_taken_out_of_the_state_is_not_shown_again(self, memory: Memory, script: Script) -> None:
        talk = AgentTalk(memory, "ada", "trip", 1_500, script)
        talk.say("The code word is avocado.")
        first = talk.agent.get_state(talk.config).values["messages"][0]
        talk.agent.update_state(talk.config, {"messages": [RemoveMessage(first.id)]})
        talk.say("Thank you.")
        assert not any("The code word is avocado." in m.text for m in script.requests[-1][1:-1])

    def test_the_rest_of_a_message_stays_when_memory_is_put_in_front_of_it(
        self, memory: Memory, script: Script
    ) -> None:
        AgentTalk(memory, "ada", "spring", 1_500, Script()).say("My sister Nadia moved to Oslo.")
        talk = AgentTalk(memory, "ada", "autumn", 1_500, script)
        talk.say("Where does my sister live?")
        asked = script.requests[-1][-1].text
        assert asked.startswith("<memory>")
        assert asked.endswith("Where does my sister live?")
        assert talk.agent.get_state(talk.config).values["messages"][0].text == "Where does my sister live?"

    def test_a_run_that_was_left_at_its_calls_is_no_obstacle(self, memory: Memory) -> None:
        script = Wordy()
        talk = AgentTalk(memory, "ada", "trip", 1_500, script)
        script.call_tools(1, 3)
        for _ in talk.agent.stream({"messages": [HumanMessage("Read a page.")]}, talk.config):
            break
        assert talk.agent.get_state(talk.config).values["messages"][-1].tool_calls
        talk.say("Never mind.")
        self.fits(memory, script, 1_500)
        assert [m.text for m in script.requests[-1]] == ["Be brief.", "Read a page.", "I look.", "Never mind."]

    @pytest.mark.parametrize("awaited", [False, True])
    def test_what_overflows_the_model_is_asked_again_with_less(self, memory: Memory, awaited: bool) -> None:
        script = Small()
        talk = AgentTalk(memory, "ada", "trip", 4_000, script)
        for n in range(6):
            text = f"Number {n}: " + "and so on " * 30
            if awaited:
                asyncio.run(talk.asay(text))
            else:
                talk.say(text)
        assert len(history(memory)) == 12
        assert script.sizes[-1] <= SMALL < script.sizes[-2]


def test_blocks_stay_as_they_are_when_memory_is_put_in_front_of_them() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]
    given = HumanMessage(blocks)
    assert changed(given, with_memory(from_langchain(given), "It was a cat.")).content == [
        {"type": "text", "text": "It was a cat."},
        *blocks,
    ]


SOUND = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}


@pytest.mark.parametrize(
    "block",
    [
        SOUND,
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "image", "file_id": "f1"},
        {"type": "image", "file_id": "f1", "url": None},
        {"type": "media", "mime_type": "video/mp4", "file_uri": "https://example.org/cat.mp4"},
    ],
)
def test_what_a_user_shows_is_kept_once_and_stays_as_it_is(memory: Memory, block: dict[str, Any]) -> None:
    shown: list[Any] = [block, {"type": "text", "text": "What is this?"}]
    talk = AgentTalk(memory, "ada", "trip", 9_000, Script())
    for content in (shown, "Thank you.", "Bye."):
        talk.agent.invoke({"messages": [HumanMessage(content)]}, talk.config)
    kept = history(memory)
    assert [m.text for m in kept][::2] == ["What is this?", "Thank you.", "Bye."]
    (again,) = to_langchain(kept[0])
    first: Any = again.content[0]
    assert from_langchain(again).parts == kept[0].parts
    assert first["type"] != "non_standard" and len(first) > 1


def test_a_block_of_text_that_has_none_is_an_empty_one() -> None:
    cited = AIMessage(
        [{"type": "text", "citations": []}, {"type": "text", "text": None}, {"type": "text", "text": "It rains."}]
    )
    assert from_langchain(cited).parts == (Text(""), Text(""), Text("It rains."))


def test_a_mark_of_a_prompt_cache_that_moves_is_no_news(memory: Memory) -> None:
    """As ChatBedrockConverse takes it, behind the newest question."""
    mark: dict[str, Any] = {"cachePoint": {"type": "default"}}
    text: dict[str, Any] = {"type": "text", "text": "I live in Oslo."}
    talk = AgentTalk(memory, "ada", "trip", 9_000, Script())
    for question in ([text, mark], [text]):
        asked: list[Any] = [HumanMessage([*question], id="1"), HumanMessage("Well?", id="2")]
        talk.agent.invoke({"messages": asked}, talk.config)
    assert [m.text for m in history(memory) if m.role == "user"].count("I live in Oslo.") == 1


def test_without_a_checkpointer_the_named_session_has_the_past(tmp_path: Path) -> None:
    script = Script()
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        middleware = RecollectMiddleware(memory, user="ada", session="trip", budget=50_000)
        agent = create_agent(ScriptedModel(script=script), [tool(lookup)], middleware=[middleware])
        for text in ("My cat is called Tom.", "Thank you."):
            script.call_tools(1)
            agent.invoke({"messages": [HumanMessage(text)]})
    assert [m.role for m in script.requests[-1]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]


class Summing(Script):
    def answer(self, request: Sequence[Message]) -> Message:
        return Message("assistant", "I live in Bergen.")


def test_tools_that_the_provider_runs_are_no_obstacle(memory: Memory) -> None:
    middleware = [RecollectMiddleware(memory, user="ada", session="trip")]
    agent = create_agent(ScriptedModel(script=Script()), [tool(lookup), {"google_search": {}}], middleware=middleware)
    agent.invoke({"messages": [HumanMessage("What is new?")]})
    assert len(history(memory)) == 2


def test_a_summary_that_langchain_writes_is_sent_and_not_kept_as_the_users_words(tmp_path: Path) -> None:
    script = Script()
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        agent = create_agent(
            ScriptedModel(script=script),
            middleware=[
                SummarizationMiddleware(ScriptedModel(script=Summing()), trigger=("messages", 6), keep=("messages", 3)),
                RecollectMiddleware(memory, user="ada"),
            ],
            checkpointer=RecollectSaver(memory, user="ada"),
        )
        config: Any = {"configurable": {"thread_id": "trip"}}
        for n in range(6):
            agent.invoke({"messages": [HumanMessage(f"Number {n}.")]}, config)
        chat = memory.session("trip", user="ada")
        assert [m.text for m in chat.history() if m.role == "user"] == [f"Number {n}." for n in range(6)]
        assert len(chat.history()) == 12
        assert chat.facts() == []
        assert script.requests[-1][0].text.endswith("I live in Bergen.")


def test_results_that_langchain_clears_are_sent_cleared_and_kept_whole(memory: Memory) -> None:
    script = Script()
    agent = create_agent(
        ScriptedModel(script=script),
        [tool(lookup)],
        middleware=[
            ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=100, keep=1)]),
            RecollectMiddleware(memory, user="ada"),
        ],
        checkpointer=RecollectSaver(memory, user="ada"),
    )
    script.call_tools(3)
    agent.invoke({"messages": [HumanMessage("Read it.")]}, {"configurable": {"thread_id": "trip"}})
    results = [result.text for message in script.requests[-1] for result in message.tool_results]
    assert [text[:9] for text in results] == ["[cleared]", "[cleared]", results[2][:9]]
    kept = [result.text for message in history(memory) for result in message.tool_results]
    assert len(kept) == 3
    assert all(text.startswith("page ") for text in kept)


def test_a_run_without_a_thread_or_a_session_is_refused(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        agent = create_agent(ScriptedModel(script=Script()), middleware=[RecollectMiddleware(memory, user="ada")])
        with pytest.raises(ConfigError, match="thread_id"):
            agent.invoke({"messages": [HumanMessage("hi")]})


def test_a_message_comes_back_from_langchain_as_it_was() -> None:
    messages = [
        Message("system", "Be brief."),
        Message("user", (Text("What is this?"), Image(url="https://example.org/cat.png")), name="alice"),
        Message("assistant", (Text("A cat."), ToolCall("c1", "lookup", '{"number": 7}'))),
        Message("tool", (ToolResult("c1", "page 7", is_error=True, name="lookup"),)),
        Message("assistant", (ToolCall("c2", "lookup", "{broken"),)),
    ]
    assert [from_langchain(there) for message in messages for there in to_langchain(message)] == messages
