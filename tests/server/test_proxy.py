"""The OpenAI-compatible proxy, asked by the official client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import openai
import pytest

from recollect.server.keeping import Kept, keep
from recollect.server.upstream import Passthrough, Reply
from recollect.session import Session
from recollect.testing.provider import Asked, Provider
from recollect.testing.provider.values import Refused
from recollect.types import Message, ToolCall
from tests.server.openai_client import CALL, HELLO, TOOLS, ask, client, said, words
from tests.server.running import Running, running


def test_a_conversation_is_remembered_and_answered(proxy: Running, provider: Provider) -> None:
    answer = ask(client(proxy), {"role": "system", "content": "Be brief."}, HELLO)
    assert answer.choices[0].message.content == "answer 2"
    assert answer.usage.prompt_tokens == provider.requests[0].tokens
    assert provider.requests[0].body["model"] == "test-model"
    assert provider.requests[0].headers["authorization"] == "Bearer sk-upstream"
    assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 2")]


def test_a_history_sent_whole_each_time_is_kept_once(proxy: Running, provider: Provider) -> None:
    asked, history = client(proxy), [{"role": "system", "content": "Be brief."}]
    for turn in range(6):
        history.append({"role": "user", "content": f"question {turn}"})
        answer = ask(asked, *history, stream=turn % 2 == 1)
        if turn % 2:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
            history.append({"role": "assistant", "content": text})
        else:
            history.append(answer.choices[0].message.model_dump())
    assert [role for role, _ in said(proxy)] == ["user", "assistant"] * 6
    assert [text for role, text in said(proxy) if role == "user"] == [f"question {turn}" for turn in range(6)]
    assert [m["content"] for m in provider.requests[-1].body["messages"]] == [m["content"] for m in history[:-1]]


def test_only_what_is_new_can_be_sent_too(proxy: Running, provider: Provider) -> None:
    asked = client(proxy)
    for text in ("one", "two", "two"):
        ask(asked, {"role": "user", "content": text})
    assert [text for role, text in said(proxy) if role == "user"] == ["one", "two", "two"]
    assert len(provider.requests[-1].body["messages"]) == 5


def test_marks_of_earlier_requests_do_not_pile_up(proxy: Running, provider: Provider) -> None:
    for n in range(6):
        marked = {"type": "text", "text": f"question {n}", "cache_control": {"type": "ephemeral"}}
        ask(client(proxy), {"role": "user", "content": [marked]})
    sent = [m["content"][0] for m in provider.requests[-1].body["messages"] if m["role"] == "user"]
    assert [part["text"] for part in sent if "cache_control" in part] == [f"question {n}" for n in range(2, 6)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("shape", "error"), [("openai", openai.BadRequestError), ("anthropic", openai.APIStatusError)])
def test_after_a_picture_that_the_models_server_refuses_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch, stream: bool, shape: Literal["openai", "anthropic"], error: type[Exception]
) -> None:
    def refusing(asked: Asked) -> str:
        if "broken.png" in str(asked.body):
            raise Refused(400, "Failed to download image.", asked=asked)
        return "Fine."

    shown: Any = {"type": "image_url", "image_url": {"url": "https://example.org/broken.png"}}
    with Provider(shape, refusing) as provider:
        monkeypatch.setenv(f"{shape.upper()}_BASE_URL", provider.url)
        monkeypatch.setenv(f"{shape.upper()}_API_KEY", "none")
        with running(model=f"{shape}:test-model") as proxy:
            with pytest.raises(error, match="Failed to download"):
                ask(client(proxy), {"role": "user", "content": [{"type": "text", "text": "Whose cat?"}, shown]})
            list(ask(client(proxy), {"role": "user", "content": "Are you there?"}, stream=stream))
            assert said(proxy)[1:] == [("user", "Are you there?"), ("assistant", "Fine.")]
    assert [one.status for one in provider.requests] == [400, 400, 200]
    sent = "\n".join(message.text for message in provider.requests[2].messages)
    assert sent == "Whose cat?\n[image cut]\nAre you there?"


def test_memory_of_another_session_reaches_the_model(proxy: Running, provider: Provider) -> None:
    ask(client(proxy, "spring"), HELLO)
    ask(client(proxy, "autumn"), {"role": "user", "content": "Where does my sister live?"})
    sent = provider.requests[-1].body["messages"]
    assert len(sent) == 1
    assert "Oslo" in sent[0]["content"]
    assert sent[0]["content"].endswith("Where does my sister live?")
    assert said(proxy, "autumn")[0] == ("user", "Where does my sister live?")
    ask(client(proxy, "autumn", user="bob"), {"role": "user", "content": "Where does my sister live?"})
    assert "Oslo" not in str(provider.requests[-1].body["messages"])


@pytest.mark.parametrize("stream", [False, True])
def test_tools_are_called_and_answered(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    with Provider("openai", [CALL, "It rains."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            asked = client(proxy)
            question = {"role": "user", "content": "What is the weather in Oslo?"}
            first = ask(asked, question, tools=TOOLS, stream=stream)
            if stream:
                calls = [c for chunk in first for c in (chunk.choices[0].delta.tool_calls or ()) if chunk.choices]
                arguments = "".join(call.function.arguments for call in calls)
            else:
                arguments = first.choices[0].message.tool_calls[0].function.arguments
            assert arguments == '{"city": "Oslo"}'
            wire = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
            history = [
                question,
                {"role": "assistant", "content": None, "tool_calls": [wire]},
                {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            ]
            second = ask(asked, *history, tools=TOOLS)
            assert second.choices[0].message.content == "It rains."
            assert [role for role, _ in said(proxy)] == ["user", "assistant", "tool", "assistant"]
            assert [m["role"] for m in provider.requests[-1].body["messages"]] == ["user", "assistant", "tool"]
            assert provider.requests[-1].body["tools"] == TOOLS


def test_fields_nobody_here_knows_go_through(proxy: Running, provider: Provider) -> None:
    ask(client(proxy), HELLO, temperature=0.3, seed=7, extra_body={"mystery": {"a": [1]}})
    body = provider.requests[0].body
    assert (body["temperature"], body["seed"], body["mystery"]) == (0.3, 7, {"a": [1]})


def test_an_answer_nested_too_deeply_is_passed_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nested(*_: object) -> Reply:
        return Reply(200, b"[" * 100_000)

    monkeypatch.setattr(Passthrough, "complete", nested)
    with running(model="openai:test-model") as proxy:
        asked = {"model": "x", "messages": [HELLO], "user": "ada"}
        assert proxy.http.post("/v1/chat/completions", json=asked).status_code == 200


def test_a_client_whose_address_lacks_v1_is_told_so(proxy: Running) -> None:
    astray = openai.OpenAI(base_url=proxy.url, api_key="unused", max_retries=0, http_client=proxy.http)
    with pytest.raises(openai.NotFoundError, match="end the client's base URL with /v1"):
        ask(astray, HELLO)
    with pytest.raises(openai.NotFoundError, match="base URL"):
        astray.models.list()


def test_a_client_that_wants_another_api_is_told_what_there_is(proxy: Running) -> None:
    with pytest.raises(openai.NotFoundError, match="only /v1/chat/completions and /v1/models"):
        client(proxy).responses.create(model="recollect", input="Hello")


@pytest.mark.parametrize("bad", [{"role": "nobody", "content": "x"}, {"content": "x"}, {"role": "user", "content": 5}])
def test_a_message_that_can_not_be_read_is_named(proxy: Running, bad: Any) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match=r"messages\[1\]"):
        ask(client(proxy), HELLO, bad)
    assert said(proxy) == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [("rate_limit", openai.RateLimitError), ("server_error", openai.InternalServerError)],
)
def test_the_providers_own_errors_arrive_and_the_message_is_kept(
    proxy: Running, provider: Provider, fault: str, error: type[Exception]
) -> None:
    provider.fail(fault)
    with pytest.raises(error):
        ask(client(proxy), HELLO)
    assert said(proxy) == [("user", HELLO["content"])]
    assert ask(client(proxy), HELLO).choices[0].message.content == "answer 1"
    assert [role for role, _ in said(proxy)] == ["user", "assistant"]


def test_a_provider_that_is_not_there_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with running(model="openai:test-model") as proxy:
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError, match="does not answer"):
                ask(client(proxy), HELLO, stream=stream)
        assert said(proxy)[0] == ("user", HELLO["content"])


def test_an_answer_in_one_piece_that_ends_in_the_middle_is_said_to_break_off(
    proxy: Running, provider: Provider
) -> None:
    provider.fail("disconnect")
    with pytest.raises(openai.InternalServerError, match="broke off"):
        ask(client(proxy), HELLO)
    assert said(proxy) == [("user", HELLO["content"])]


def test_another_file_with_the_same_words_goes_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def about(data: str) -> Any:
        return {
            "role": "user",
            "content": [{"type": "text", "text": "Sum up."}, {"type": "file", "file": {"id": data}}],
        }

    with Provider("openai", faults=["bad_request"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            with pytest.raises(openai.BadRequestError):
                ask(client(proxy), about("one"))
            ask(client(proxy), about("two"))
    assert provider.requests[-1].body["messages"][-1] == about("two")


def test_a_refusal_is_kept_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Message("assistant", extra={"refusal": "I can't say."}, shape="openai")
    with Provider("openai", [refusal, "Hello."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            ask(client(proxy), HELLO)
            ask(client(proxy), {"role": "user", "content": "Hello?"})
    assert provider.requests[-1].body["messages"][1]["refusal"] == "I can't say."


def test_an_answer_that_a_caller_names_by_its_sound_alone_goes_to_the_model_and_is_not_kept_empty(
    proxy: Running, provider: Provider
) -> None:
    spoken, where = {"role": "assistant", "audio": {"id": "audio_1"}}, {"role": "user", "content": "Where?"}
    ask(client(proxy), HELLO)
    ask(client(proxy), HELLO, spoken, where)
    assert provider.requests[-1].body["messages"][1] == spoken
    ask(client(proxy), HELLO, spoken, where, spoken, {"role": "user", "content": "When?"})
    questions = [HELLO["content"], "Where?", "When?"]
    assert [text for role, text in said(proxy) if role == "user"] == questions
    assert [text for role, text in said(proxy) if role != "user"] == ["answer 1", "answer 3", "answer 5"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_asked_for_again_is_not_kept_twice(proxy: Running, provider: Provider, stream: bool) -> None:
    asked = client(proxy)
    first = ask(asked, HELLO).choices[0].message.model_dump()
    question = {"role": "user", "content": "Where?"}
    for _ in range(2):
        words(ask(asked, HELLO, first, question, stream=stream), stream)
    assert [role for role, _ in said(proxy)] == ["user", "assistant"] * 2
    once, again = (request.body["messages"] for request in provider.requests[-2:])
    assert again == once
    assert again[-1]["content"].endswith("Where?")


def test_an_answer_to_a_tool_asked_for_again_is_not_shown_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", [CALL, "Rain.", "Rain again."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            asked = {"role": "user", "content": "What is the weather in Oslo?"}
            call = ask(client(proxy), asked, tools=TOOLS).choices[0].message.model_dump(exclude_none=True)
            result = {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
            for _ in range(2):
                ask(client(proxy), asked, call, result, tools=TOOLS)
            assert [text for _, text in said(proxy)][-1] == "Rain."
    roles = [[message["role"] for message in request.body["messages"]] for request in provider.requests]
    assert roles == [["user"], ["user", "assistant", "tool"], ["user", "assistant", "tool"]]


def test_a_question_is_answered_though_another_is_asked_in_the_session_meanwhile(
    proxy: Running, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(chat: Session, sent: Sequence[Message]) -> Kept:
        kept = keep(chat, sent)
        chat.add("user", "Will it rain?")
        return kept

    monkeypatch.setattr("recollect.server.openai.keep", meanwhile)
    ask(client(proxy), HELLO)
    assert provider.requests[0].body["messages"][-1]["content"] == HELLO["content"]


def test_an_edited_history_goes_to_the_model_as_it_was_sent(proxy: Running, provider: Provider) -> None:
    asked = client(proxy)

    def told(*messages: Any) -> tuple[Any, list[str]]:
        answer = ask(asked, *messages).choices[0].message.model_dump(include={"role", "content"})
        return answer, [message["content"] for message in provider.requests[-1].body["messages"]]

    rome, oslo, train, bus = (
        {"role": "user", "content": text} for text in ("To Rome?", "To Oslo?", "By train?", "By bus?")
    )
    first, _ = told(HELLO)
    to_rome, _ = told(HELLO, first, rome)
    to_oslo, seen = told(HELLO, first, oslo)
    assert seen == [HELLO["content"], first["content"], "To Oslo?"]
    _, seen = told(HELLO, first, oslo, to_oslo, train)
    assert seen == [HELLO["content"], first["content"], "To Oslo?", to_oslo["content"], "By train?"]
    _, seen = told(HELLO, first, rome, to_rome, bus)
    assert seen == [HELLO["content"], first["content"], "To Rome?", to_rome["content"], "By bus?"]
    kept = [text for role, text in said(proxy) if role == "user"]
    assert kept == [HELLO["content"], "To Rome?", "To Oslo?", "By train?", "By bus?"]


def test_a_call_that_was_edited_before_it_was_made_goes_to_the_model_as_it_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Provider("openai", [CALL, "Rain."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            question = {"role": "user", "content": "What is the weather?"}
            call = ask(client(proxy), question, tools=TOOLS).choices[0].message.model_dump(exclude_none=True)
            call["tool_calls"][0]["function"]["arguments"] = '{"city": "Bergen"}'
            result = {"role": "tool", "tool_call_id": "call_1", "content": "9 °C"}
            ask(client(proxy), question, call, result, tools=TOOLS)
            assert [role for role, _ in said(proxy)] == ["user", "assistant", "tool", "assistant"]
    assert provider.requests[-1].messages[1].tool_calls[0].arguments == '{"city": "Bergen"}'


def test_the_first_words_said_again_in_an_edited_history_are_no_new_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    yes, oslo, rome = ({"role": "user", "content": text} for text in ("Yes.", "To Oslo?", "To Rome?"))
    with Provider("openai", lambda asked: f"Answer {len(asked.messages)}: {asked.messages[-1].text}") as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            asked, history = client(proxy), list[Any]()
            for turn in ([yes], [oslo], [rome], [yes]):
                history = [*(history[:2] if turn == [rome] else history), *turn]
                history.append(ask(asked, *history).choices[0].message.model_dump(include={"role", "content"}))
            assert [text for role, text in said(proxy) if role == "user"] == ["Yes.", "To Oslo?", "To Rome?", "Yes."]
    texts = [message.text for message in provider.requests[-1].messages]
    assert [texts[0], texts[2], len(texts)] == ["Yes.", "To Rome?", 5]


def test_results_alone_are_new_though_the_same_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Message("assistant", (ToolCall("0", "switch"), ToolCall("1", "switch")))
    results = [{"role": "tool", "tool_call_id": id, "content": "done"} for id in "01"]
    turns = [
        [{"role": "user", "content": "Lights on."}],
        results,
        [{"role": "user", "content": "Lights off."}],
        results,
    ]
    with Provider("openai", [calls, "They are on.", calls, "They are off."]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            for sent in turns:
                ask(client(proxy), *sent, tools=TOOLS)
            assert said(proxy)[-1] == ("assistant", "They are off.")
    roles = [message.role for message in provider.requests[-1].messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "tool"]


def test_a_question_that_failed_is_answered_for_good_when_it_comes_again_with_less_before_it(
    proxy: Running, provider: Provider
) -> None:
    asked, question = client(proxy), {"role": "user", "content": "Where?"}
    first = ask(asked, HELLO).choices[0].message.model_dump()
    provider.fail("server_error")
    with pytest.raises(openai.APIError):
        ask(asked, HELLO, first, question)
    ask(asked, HELLO, question)
    assert [role for role, _ in said(proxy)] == ["user", "assistant"] * 2
