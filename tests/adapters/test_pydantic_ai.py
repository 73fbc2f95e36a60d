"""Pydantic AI's agent with our capability: real runs with tools, a model by function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    DocumentUrl,
    ImageUrl,
    ModelRetry,
    models,
)
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import UsageLimits

from recollect import BudgetTooSmall, Memory, Message, Opaque, Text, ToolResult, count_messages
from recollect.adapters.pydantic_ai import SHAPE, Remember, _pieces, to_pydantic
from recollect.frozen import freeze_dict
from recollect.testing import AdapterSuite, Script, Talk, lookup
from tests.adapters.small import SMALL, Small
from tests.contexts import said

models.ALLOW_MODEL_REQUESTS = False


def ours(messages: list[ModelMessage], info: AgentInfo | None = None) -> list[Message]:
    """A request as our messages, instructions first."""
    instructions = [Message("system", info.instructions)] if info and info.instructions else []
    pieces = [piece for place, message in enumerate(messages) for piece in _pieces(place, message)]
    return [*instructions, *(piece.message for piece in pieces)]


def scripted(script: Script) -> FunctionModel:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        said = to_pydantic(script.answer(ours(messages, info)))
        assert isinstance(said, ModelResponse)
        return said

    return FunctionModel(answer)


def run(agent: Agent[Any, Any], *prompt: Any, **options: Any) -> Any:
    """A run in an event loop of its own, which is closed afterwards; `run_sync` leaves one open in each thread."""
    return asyncio.run(agent.run(*prompt, **options))


def content(message: ModelMessage, place: int = 0) -> Any:
    """What the one who asks says in a message, as a rule first."""
    part = message.parts[place]
    assert isinstance(part, UserPromptPart | SystemPromptPart | ToolReturnPart)
    return part.content


class AgentTalk(Talk):
    """A caller who passes only the new prompt."""

    def __init__(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> None:
        remember = Remember(memory, user, session=session, budget=budget)
        self.agent = Agent(scripted(script), instructions="Be brief.", tools=[lookup], capabilities=[remember])
        self.last: list[ModelMessage] = []

    def say(self, text: str) -> None:
        self.last = run(self.agent, text, usage_limits=UsageLimits(request_limit=None)).all_messages()

    async def asay(self, text: str) -> None:
        await self.agent.run(text)

    def redeliver(self) -> None:
        run(self.agent, message_history=self.last[:-1])


class TestAgent(AdapterSuite):
    shape = "openai"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return AgentTalk(memory, user, session, budget, script)


def test_a_caller_who_passes_the_history_gets_it_back_unchanged_and_kept_once(memory: Memory) -> None:
    script = Script()
    agent = Agent(scripted(script), tools=[lookup], capabilities=[Remember(memory, "ada", session="trip")])
    memory.session("spring", user="ada").add("user", "My sister Nadia moved to Oslo in May.")
    script.call_tools(1)
    first = run(agent, "Where does my sister Nadia live?")
    second = run(agent, "Thank you.", message_history=first.all_messages())
    assert "moved to Oslo" in script.requests[0][-1].text
    assert first.all_messages()[0].parts[0].content == "Where does my sister Nadia live?"
    assert second.all_messages()[:4] == first.all_messages()
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [m.role for m in script.requests[-1]] == ["user", "assistant", "tool", "assistant", "user"]


def test_without_a_name_the_session_is_the_runs_conversation(memory: Memory) -> None:
    agent = Agent(TestModel(), capabilities=[Remember(memory, "ada")])
    run(agent, "Hello.", conversation_id="abc")
    assert said(memory, "abc")[0] == ("user", "Hello.")


def test_a_streamed_answer_is_kept(memory: Memory) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for word in ("In ", "Oslo."):
            yield word

    async def ask() -> str:
        agent = Agent(FunctionModel(stream_function=stream))
        async with agent.run_stream("Where?", capabilities=[Remember(memory, "ada", session="trip")]) as result:
            return await result.get_output()

    assert asyncio.run(ask()) == "In Oslo."
    assert said(memory) == [("user", "Where?"), ("assistant", "In Oslo.")]


def test_of_a_stream_that_the_caller_leaves_what_was_said_is_kept_and_marked(memory: Memory) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for word in ("In ", "Oslo."):
            yield word

    async def ask() -> None:
        agent = Agent(FunctionModel(stream_function=stream))
        async with agent.run_stream("Where?", capabilities=[Remember(memory, "ada", session="trip")]) as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                break

    asyncio.run(ask())
    (_, answer) = memory.session("trip", user="ada").history()
    assert (answer.text, answer.metadata) == ("In ", {"partial": True})


@pytest.mark.parametrize("error", [ConnectionError("gone"), asyncio.CancelledError()])
@pytest.mark.parametrize("way", ["run_stream", "iter", "handler"])
def test_of_a_stream_that_breaks_what_was_said_is_kept_and_marked(
    memory: Memory, way: str, error: BaseException
) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "In "
        yield "Oslo"
        raise error

    async def heard(ctx: object, events: AsyncIterable[object]) -> None:
        async for _ in events:
            pass

    async def ask() -> None:
        agent = Agent(FunctionModel(stream_function=stream), capabilities=[Remember(memory, "ada", session="trip")])
        if way == "run_stream":
            async with agent.run_stream("Where?") as result:
                await result.get_output()
        elif way == "iter":
            async with agent.iter("Where?") as run:
                async for node in run:
                    if Agent.is_model_request_node(node):
                        async with node.stream(run.ctx) as events:
                            await heard(None, events)
        else:
            await agent.run("Where?", event_stream_handler=heard)

    with pytest.raises(type(error)):
        asyncio.run(ask())
    (_, answer) = memory.session("trip", user="ada").history()
    assert (answer.text, answer.metadata) == ("In Oslo", {"partial": True})


@pytest.mark.parametrize("words", ["", "Let me look."])
def test_of_an_answer_that_breaks_amid_a_call_the_words_are_kept(memory: Memory, words: str) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if words:
            yield words
        yield {0: DeltaToolCall("weather", '{"city": "Os', tool_call_id="call_1")}
        raise ConnectionError("gone")

    async def ask() -> None:
        agent = Agent(FunctionModel(stream_function=stream), capabilities=[Remember(memory, "ada", session="trip")])
        async with agent.run_stream("Where?") as result:
            await result.get_output()

    with pytest.raises(ConnectionError):
        asyncio.run(ask())
    kept = memory.session("trip", user="ada").history()
    assert [message.text for message in kept] == (["Where?", words] if words else ["Where?"])
    assert not any(message.tool_calls for message in kept)


def test_a_return_that_waited_for_approval_beside_another_is_kept_once(memory: Memory) -> None:
    calls = [ToolCallPart("look", {}, "c1"), ToolCallPart("pay", {}, "c2")]
    answers = iter([ModelResponse(calls), ModelResponse([TextPart("Done.")]), ModelResponse([TextPart("Yes.")])])
    model = FunctionModel(lambda messages, info: next(answers))
    remembering = Remember(memory, "ada", session="trip")
    agent = Agent(model, output_type=[str, DeferredToolRequests], capabilities=[remembering])

    @agent.tool_plain(requires_approval=True)
    def pay() -> str:
        return "paid"

    @agent.tool_plain
    def look() -> str:
        return "seen"

    asked = run(agent, "Look and pay.").all_messages()
    approved = DeferredToolResults(approvals={"c2": True})
    paid = run(agent, message_history=asked, deferred_tool_results=approved).all_messages()
    run(agent, "Paid?", message_history=paid)
    texts = ["Look and pay.", "", "seen", "paid", "Done.", "Paid?", "Yes."]
    assert [text for _, text in said(memory)] == texts


def test_an_answer_of_a_type_and_what_was_said_against_it_are_kept_in_order(memory: Memory) -> None:
    class City(BaseModel):
        name: str

    agent = Agent(TestModel(), output_type=City, capabilities=[Remember(memory, "ada", session="trip")])
    tries = iter([ModelRetry("a city has a name"), None])

    @agent.output_validator
    def named(city: City) -> City:
        if problem := next(tries):
            raise problem
        return city

    assert run(agent, "Which city?").output.name
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "assistant", "tool"]


def test_an_answer_of_a_type_is_told_in_the_next_run(memory: Memory) -> None:
    class City(BaseModel):
        name: str

    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"name": f"city {len(seen)}"})])

    agent = Agent(FunctionModel(answer), output_type=City, capabilities=[Remember(memory, "ada", session="trip")])
    first = run(agent, "Which city?")
    second = run(agent, "And another?", message_history=first.all_messages())
    run(agent, "And a third?")
    assert [m.role for m in memory.session("trip", user="ada").history()] == ["user", "assistant", "tool"] * 3
    assert [part.part_kind for message in seen[-1] for part in message.parts] == [
        *("user-prompt", "tool-call", "tool-return") * 2,
        "user-prompt",
    ]
    assert [len(messages) for messages in (first.all_messages(), second.all_messages())] == [3, 6]


def test_pictures_and_thoughts_go_through_as_they_are(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse([ThinkingPart("A cat?", signature="s", provider_name="p"), TextPart("A cat.")])

    agent = Agent(FunctionModel(answer), capabilities=[Remember(memory, "ada", session="trip")])
    pictures: list[Any] = [ImageUrl("https://example.org/cat.png"), BinaryContent(b"png", media_type="image/png")]
    first = run(agent, ["What is this cat?", *pictures])
    memory.session("spring", user="ada").add("user", "This cat is called Tom.")
    run(agent, ["And this cat?", *pictures], message_history=first.all_messages())
    assert content(seen[0][0]) == ["What is this cat?", *pictures]
    assert seen[1][:2] == first.all_messages()
    recalled, *question = content(seen[1][-1])
    assert "Tom" in recalled
    assert question == ["And this cat?", *pictures]


def test_words_beside_pictures_and_answers_of_several_parts_are_shortened_too(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse([TextPart("first " * 300), TextPart("second " * 300)])

    agent = Agent(FunctionModel(answer), capabilities=[Remember(memory, "ada", session="trip", budget=3_000)])
    picture = ImageUrl("https://example.org/cat.png")
    first = run(agent, ["Look. " + "And look. " * 300, picture])
    run(agent, "long " * 900, message_history=first.all_messages())
    asked, answered, _ = seen[-1]
    assert content(asked)[1:] == [picture]
    assert content(asked)[0].startswith("Look. ")
    assert [str(part.content)[:6] for part in answered.parts if isinstance(part, TextPart)] == ["first ", "second"]
    assert count_messages(ours(seen[-1]), memory.counter) <= 3_000


def test_a_file_is_shown_again(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        return ModelResponse([TextPart("A letter.")])

    agent = Agent(FunctionModel(answer), capabilities=[Remember(memory, "ada", session="trip")])
    letter, upload = DocumentUrl("https://example.org/letter.pdf"), UploadedFile("file_1", provider_name="openai")
    paper = BinaryContent(b"%PDF \xff\x00", media_type="application/pdf", identifier="paper")
    run(agent, [paper, CachePoint()])
    run(agent, [letter, upload, "What are these?"])
    run(agent, "Thank you.")
    assert [content(message) for message in seen[-1][::2]] == [
        [paper],
        [letter, upload, "What are these?"],
        "Thank you.",
    ]


def reader(memory: Memory, returned: Any, seen: list[list[ModelMessage]]) -> Agent[Any, Any]:
    """An agent that calls a tool, which returns this, for each prompt."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(messages)
        called = any(isinstance(part, ToolReturnPart) for part in messages[-1].parts)
        return ModelResponse([TextPart("Read.")] if called else [ToolCallPart("read", {})])

    agent = Agent(FunctionModel(answer), capabilities=[Remember(memory, "ada", session="trip")])

    @agent.tool_plain
    def read() -> Any:
        return returned

    return agent


def test_pictures_that_a_tool_returns_are_counted_and_shown_again(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []
    picture, letter = BinaryContent(b"png", media_type="image/png"), DocumentUrl("https://example.org/letter.pdf")
    agent = reader(memory, ["a cat", picture, letter], seen)
    run(agent, "Read it.")
    run(agent, "Thank you.")
    assert [content(messages[2]) for messages in seen[1:]] == [["a cat", picture, letter]] * 3
    kept = memory.session("trip", user="ada").history()[2]
    assert count_messages([kept], memory.counter) > 500


def test_what_a_tool_shows_beside_what_it_returns_is_not_said_by_the_user(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []
    picture = BinaryContent(b"png", media_type="image/png")
    shown: list[Any] = ["My name is Bob and I live in Paris.", picture]
    agent = reader(memory, ToolReturn("a page", content=shown), seen)
    first = run(agent, "I live in Rome. Read the page.")
    kept = ["user", "assistant", "tool", "tool", "assistant"]
    run(agent, "Once more.")
    assert content(seen[-2][2], 1) == shown
    run(agent, "And now?", message_history=first.all_messages())
    assert [role for role, _ in said(memory)] == [*kept, *kept, *kept]
    memory.drain()
    assert [(fact.key, fact.value) for fact in memory.user("ada").facts()] == [("place", "Rome")]


def test_what_tools_show_beside_what_they_return_is_shortened_too(memory: Memory) -> None:
    seen: list[list[ModelMessage]] = []
    shown: list[Any] = ["word " * 900, BinaryContent(b"png", media_type="image/png")]
    agent = reader(memory, ToolReturn("a page", content=shown), seen)
    run(agent, "Read it.", capabilities=[Remember(memory, "ada", session="short", budget=1_000)])
    words, picture = content(seen[-1][2], 1)
    assert words.startswith("word word")
    assert picture == "[image cut]"


def test_a_prompt_that_comes_with_the_results_of_calls_is_the_users(memory: Memory) -> None:
    agent = reader(memory, "a page", [])

    @agent.tool_plain(requires_approval=True)
    def ask() -> None:
        pass

    calls = [ModelRequest([UserPromptPart("Ask.")]), ModelResponse([ToolCallPart("ask", {}, "c1")])]
    results = DeferredToolResults(approvals={"c1": False})
    first = run(agent, "I live in Rome.", message_history=calls, deferred_tool_results=results)
    assert [role for role, _ in said(memory)] == ["user", "assistant", "tool", "user", "assistant"]
    run(agent, "Thank you.", message_history=first.all_messages())
    assert len(said(memory)) == 9


def test_a_run_that_is_begun_anew_after_its_tools_has_its_answer_kept(memory: Memory) -> None:
    said: Iterator[ModelResponse | None] = iter(
        [ModelResponse([ToolCallPart("lookup", {"number": 7}, "c1")]), None, ModelResponse([TextPart("In Oslo.")])]
    )

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if found := next(said):
            return found
        raise ModelHTTPError(500, "test")

    agent = Agent(FunctionModel(answer), tools=[lookup], capabilities=[Remember(memory, user="ada", session="trip")])
    history = [ModelRequest([UserPromptPart("Hello.")]), ModelResponse([TextPart("Hi!")])]
    with pytest.raises(ModelHTTPError):
        run(agent, "Where does Nadia live?", message_history=history)
    run(agent, "Where does Nadia live?", message_history=history)
    kept = memory.session("trip", user="ada").history()
    assert [m.role for m in kept] == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert kept[-1].text == "In Oslo."


def test_what_overflows_the_model_is_asked_again_with_less(memory: Memory) -> None:
    script = Small()
    agent = Agent(scripted(script), capabilities=[Remember(memory, "ada", session="trip", budget=4_000)])
    for n in range(6):
        run(agent, f"Number {n}: " + "and so on " * 30)
    assert len(said(memory)) == 12
    assert script.sizes[-1] <= SMALL < script.sizes[-2]
    with pytest.raises(ValueError, match="maximum context length"):
        run(agent, "and so on " * 300)


def test_after_a_picture_that_the_provider_refuses_the_conversation_goes_on(memory: Memory) -> None:
    requests = list[list[ModelMessage]]()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        requests.append(messages)
        if "broken.png" in str(messages):
            raise ModelHTTPError(400, "gpt", {"message": "Failed to download image."})
        return ModelResponse([TextPart("Fine.")])

    agent = Agent(FunctionModel(answer), capabilities=[Remember(memory, "ada", session="trip")])
    with pytest.raises(ModelHTTPError, match="Failed to download"):
        run(agent, ["Whose cat?", ImageUrl("https://example.org/broken.png")])
    assert run(agent, "Are you there?").output == "Fine."
    assert len(requests) == 3
    assert content(requests[-1][0]) == ["Whose cat?", "[image cut]"]
    assert [role for role, _ in said(memory)] == ["user", "user", "assistant"]


def test_a_budget_that_can_not_be_met_is_an_error(memory: Memory) -> None:
    agent = Agent(TestModel(), capabilities=[Remember(memory, "ada", session="trip", budget=100)])
    with pytest.raises(BudgetTooSmall):
        run(agent, "word " * 1_000)


def test_a_kept_message_comes_back_as_it_was() -> None:
    pictures = ImageUrl("https://example.org/a.png"), BinaryContent(b"x", media_type="image/png")
    (piece,) = _pieces(0, ModelRequest([UserPromptPart(["Look.", *pictures])]))
    assert content(to_pydantic(piece.message)) == ["Look.", *pictures]
    assert content(to_pydantic(Message("system", "Be brief."))) == "Be brief."
    without_bytes = Opaque(SHAPE, freeze_dict({"kind": "binary", "media_type": "audio/wav"}, "data"))
    assert content(to_pydantic(Message("user", (without_bytes,)))) == ["[a file that is not shown: audio/wav]"]


def test_the_words_of_a_result_that_another_sdk_kept_as_parts_come_back_as_words() -> None:
    told = to_pydantic(Message("tool", (ToolResult("a", (Text("one"), Text("two")), name="look"),))).parts[0]
    assert isinstance(told, ToolReturnPart)
    assert told.model_response_str() == "one\ntwo"
