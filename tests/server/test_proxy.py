"""The OpenAI-compatible proxy, asked by the official client."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import quote

import openai
import pytest

from recollect.server.heard import Heard
from recollect.server.openai import Kept, Turn, keep
from recollect.server.upstream import Passthrough, Reply
from recollect.session import Session
from recollect.testing.provider import Asked, Provider
from recollect.types import Message, Scope, ToolCall
from tests.server.running import Running, running

TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
]
CALL = Message("assistant", (ToolCall("call_1", "weather", '{"city": "Oslo"}'),))
HELLO = {"role": "user", "content": "My sister Nadia moved to Oslo in May."}


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider("openai", lambda asked: f"answer {len(asked.messages)}") as found:
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
        yield found


@pytest.fixture
def proxy(provider: Provider) -> Iterator[Running]:
    with running(model="openai:test-model") as service:
        yield service


def client(proxy: Running, session: str | None = "trip", user: str | None = "ada") -> openai.OpenAI:
    named = {"X-Recollect-User": user, "X-Recollect-Session": session}
    headers = {name: value for name, value in named.items() if value}
    return openai.OpenAI(
        base_url=f"{proxy.url}/v1", api_key="unused", default_headers=headers, max_retries=0, http_client=proxy.http
    )


def ask(client: openai.OpenAI, *messages: Any, **more: Any) -> Any:
    return client.chat.completions.create(model="recollect", messages=list(messages), **more)


def words(answer: Any, stream: bool) -> str:
    if not stream:
        return str(answer.choices[0].message.content)
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


def said(proxy: Running, session: str = "trip", user: str = "ada") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in proxy.memory.session(session, user=user).history()]


def test_a_conversation_is_remembered_and_answered(proxy: Running, provider: Provider) -> None:
    answer = ask(client(proxy), {"role": "system", "content": "Be brief."}, HELLO)
    assert answer.choices[0].message.content == "answer 2"
    assert answer.usage.prompt_tokens == provider.requests[0].tokens
    assert provider.requests[0].body["model"] == "test-model"
    assert provider.requests[0].headers["authorization"] == "Bearer sk-upstream"
    assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 2")]


def test_a_stream_passes_through_with_its_usage(proxy: Running) -> None:
    chunks = list(ask(client(proxy), HELLO, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "answer 1"
    assert chunks[-1].usage.total_tokens > 0
    assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


class Lingering(BaseHTTPRequestHandler):
    """An upstream that says all it has to say, and ends its answer only once it is let go."""

    protocol_version = "HTTP/1.1"
    let_go = threading.Event()
    connections = 0
    end = (b"data: [DONE]\n\n",)
    breaks_off = False

    def setup(self) -> None:
        type(self).connections += 1
        super().setup()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        chunk = {"choices": [{"index": 0, "delta": {"content": "Oslo."}, "finish_reason": "stop"}]}
        for data in (f"data: {json.dumps(chunk)}\n\n".encode(), *self.end):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.let_go.wait(30)
        self.wfile.write(b"" if self.breaks_off else b"0\r\n\r\n")
        self.close_connection = self.breaks_off

    def log_message(self, format: str, *args: object) -> None:
        pass


class Whole(Lingering):
    """An upstream that does not stream, whatever it is asked."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Oslo."}}]}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body := json.dumps(answer).encode())))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def lingering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(Lingering, "let_go", threading.Event())
    monkeypatch.setattr(Lingering, "connections", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", Lingering)) as upstream:
        threading.Thread(target=upstream.serve_forever).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{upstream.server_port}")
        try:
            with running(model="openai:test-model") as proxy:
                yield proxy
        finally:
            Lingering.let_go.set()
            upstream.shutdown()


@pytest.mark.parametrize("lingering", [Whole], indirect=True)
def test_an_answer_that_is_not_streamed_though_it_was_to_be_is_passed_on_and_kept(lingering: Running) -> None:
    body = {"model": "test-model", "messages": [HELLO], "stream": True}
    headers = {"X-Recollect-User": "ada", "X-Recollect-Session": "trip"}
    answer = lingering.http.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["choices"][0]["message"]["content"] == "Oslo."
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


@pytest.mark.parametrize("end", [(b"data: [DONE]\n\n",), (b"data: [DO", b"NE]", b"\n\n")])
def test_a_stream_ends_with_its_last_event(
    lingering: Running, monkeypatch: pytest.MonkeyPatch, end: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(Lingering, "end", end)
    body = {"model": "recollect", "messages": [HELLO], "stream": True, "user": "ada"}
    headers = {"X-Recollect-Session": "trip"}
    answer = lingering.http.post("/v1/chat/completions", json=body, headers=headers, timeout=10)
    assert answer.text.endswith("data: [DONE]\n\n")
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


@pytest.mark.parametrize("end", [(), (b'data: {"choices": []}\n',)])
def test_a_stream_that_breaks_off_says_so_to_the_caller(
    lingering: Running, monkeypatch: pytest.MonkeyPatch, end: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(Lingering, "end", end)
    monkeypatch.setattr(Lingering, "breaks_off", True)
    Lingering.let_go.set()
    keep = Turn._add

    def slowly(turn: Turn, heard: Heard, asked: Kept) -> None:
        time.sleep(0.2)
        keep(turn, heard, asked)

    monkeypatch.setattr(Turn, "_add", slowly)
    with pytest.raises(openai.APIError, match=r"broke off .*: your message is kept"):
        list(ask(client(lingering), HELLO, stream=True))
    assert said(lingering) == [("user", HELLO["content"]), ("assistant", "Oslo.")]


def test_a_connection_to_the_model_is_used_again(lingering: Running) -> None:
    Lingering.let_go.set()
    for question in ("Where does Nadia live?", "Since when?"):
        assert words(ask(client(lingering), {"role": "user", "content": question}, stream=True), stream=True) == "Oslo."
        while "recollect_http_streams 0.0" not in lingering.http.get("/metrics").text:
            time.sleep(0.01)
    assert Lingering.connections == 1


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


def test_a_long_conversation_stays_within_the_budget(
    proxy: Running, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = proxy.memory.session("trip", user="ada")
    for turn in range(200):
        chat.add_turn(f"question {turn} " + "word " * 60, "answer " + "word " * 60)
    ask(client(proxy), {"role": "user", "content": "And now?"})
    assert provider.requests[-1].tokens <= 8_000


@contextmanager
def overflowing(
    monkeypatch: pytest.MonkeyPatch, shape: Literal["openai", "anthropic"] = "openai"
) -> Iterator[tuple[Running, Provider]]:
    """A model that takes less than a long conversation has."""
    with Provider(shape, ["fits"], limit=2_000) as provider:
        monkeypatch.setenv(f"{shape.upper()}_BASE_URL", provider.url)
        with running(model=f"{shape}:test-model") as proxy:
            chat = proxy.memory.session("trip", user="ada")
            for turn in range(60):
                chat.add_turn(f"question {turn} " + "word " * 60, "answer " + "word " * 60)
            yield proxy, provider


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_context_that_overflows_is_sent_again_smaller(
    monkeypatch: pytest.MonkeyPatch, stream: bool, shape: Any
) -> None:
    with overflowing(monkeypatch, shape) as (proxy, provider):
        answer = ask(client(proxy), {"role": "user", "content": "And now?"}, stream=stream, max_tokens=100)
        assert words(answer, stream) == "fits"
        sizes = [asked.tokens for asked in provider.requests]
        assert sizes == sorted(sizes, reverse=True)
        assert 2 <= len(sizes) <= 4


def test_a_limit_that_was_told_once_is_remembered_for_that_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with overflowing(monkeypatch) as (proxy, provider):
        for question in ("And now?", "And then?"):
            ask(client(proxy), {"role": "user", "content": question})
        assert [asked.status for asked in provider.requests][-2:] == [200, 200]
        before = len(provider.requests)
        said = [{"role": "user", "content": "And at last?"}]
        client(proxy).chat.completions.create(model="another", messages=said)
        assert provider.requests[before].status == 400


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_prompt_that_never_fits_takes_nothing_from_the_others(monkeypatch: pytest.MonkeyPatch, shape: Any) -> None:
    with overflowing(monkeypatch, shape) as (proxy, provider):
        provider.limit = 1
        with pytest.raises(openai.APIStatusError):
            ask(client(proxy), HELLO)
        provider.limit = None
        ask(client(proxy), {"role": "user", "content": "And now?"})
        assert provider.requests[-1].tokens > 4_000


def test_a_request_that_is_too_large_is_told_in_the_shape_that_clients_read() -> None:
    with running(max_body=1_000) as proxy, pytest.raises(openai.APIStatusError) as refused:
        ask(client(proxy), {"role": "user", "content": "word " * 1_000})
    assert refused.value.status_code == 413
    assert "the body has more than 1,000 bytes" in str(refused.value)
    assert refused.value.type == "Refused"


def test_an_answer_nested_too_deeply_is_passed_on_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nested(*_: object) -> Reply:
        return Reply(200, b"[" * 100_000)

    monkeypatch.setattr(Passthrough, "complete", nested)
    with running(model="openai:test-model") as proxy:
        asked = {"model": "x", "messages": [HELLO], "user": "ada"}
        assert proxy.http.post("/v1/chat/completions", json=asked).status_code == 200


def test_the_user_can_be_named_by_the_standard_field(proxy: Running) -> None:
    ask(client(proxy, user=None), HELLO, user="eve/../ 1")
    assert said(proxy, user="eve/../ 1")[0] == ("user", HELLO["content"])


def test_names_in_headers_are_percent_encoded(proxy: Running) -> None:
    ask(client(proxy, session="%E2%98%83%2F%25", user="%C3%A9"), HELLO)
    assert said(proxy, session="☃/%", user="é")[0] == ("user", HELLO["content"])


def test_a_caller_that_names_no_session_stays_in_its_conversation(proxy: Running) -> None:
    asked = client(proxy, session=None)
    first = asked.chat.completions.with_raw_response.create(model="recollect", messages=[HELLO])
    session = first.headers["x-recollect-session"]
    answer = first.parse().choices[0].message.model_dump()
    ask(asked, HELLO, answer, {"role": "user", "content": "And then?"})
    assert [role for role, _ in said(proxy, session)] == ["user", "assistant"] * 2


def test_conversations_that_begin_with_other_sounds_are_not_the_same(proxy: Running) -> None:
    for data in ("AAAA", "BBBB", "AAAA"):
        spoken = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
        ask(client(proxy, session=None), {"role": "user", "content": [spoken]})
    assert [session["messages"] for session in proxy.http.get("/sessions").json()["items"]] == [4, 2]


def test_a_caller_that_names_no_user_is_told_how(proxy: Running) -> None:
    with pytest.raises(openai.BadRequestError, match="X-Recollect-User"):
        ask(client(proxy, user=None), HELLO)


def test_a_client_whose_address_lacks_v1_is_told_so(proxy: Running) -> None:
    astray = openai.OpenAI(base_url=proxy.url, api_key="unused", max_retries=0, http_client=proxy.http)
    with pytest.raises(openai.NotFoundError, match="end the client's base URL with /v1"):
        ask(astray, HELLO)
    with pytest.raises(openai.NotFoundError, match="base URL"):
        astray.models.list()


def test_a_client_that_wants_another_api_is_told_what_there_is(proxy: Running) -> None:
    with pytest.raises(openai.NotFoundError, match="there are /v1/chat/completions and /v1/models"):
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


def test_a_stream_that_breaks_off_amid_an_event_is_cut_and_the_words_so_far_are_kept(
    proxy: Running, provider: Provider
) -> None:
    provider.fail("disconnect")
    with pytest.raises(openai.APIConnectionError):
        list(ask(client(proxy), HELLO, stream=True))
    (_, question), *rest = said(proxy)
    assert question == HELLO["content"]
    assert all("answer 1".startswith(text) for _, text in rest)
    assert words(ask(client(proxy), HELLO, stream=True), stream=True)


def test_a_provider_that_is_not_there_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with running(model="openai:test-model") as proxy:
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError, match="does not answer"):
                ask(client(proxy), HELLO, stream=stream)
        assert said(proxy)[0] == ("user", HELLO["content"])


def test_a_caller_that_goes_while_the_model_is_silent_leaves_its_place(provider: Provider) -> None:
    provider.fail("timeout")
    with running(model="openai:test-model", max_streams=1) as proxy:
        with pytest.raises(openai.APITimeoutError):
            ask(client(proxy).with_options(timeout=0.5), HELLO, stream=True)
        for _ in range(100):
            with suppress(openai.RateLimitError):
                answer = ask(client(proxy), HELLO, stream=True)
                break
            time.sleep(0.05)
        assert words(answer, stream=True) == "answer 1"
        assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


def test_an_answer_whose_caller_has_gone_is_not_kept_beside_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, answered = threading.Event(), list[str]()

    def answer(asked: Asked) -> str:
        answered.append(f"answer {len(answered)}")
        return answered[-1] if len(answered) > 1 or gone.wait(30) else ""

    with Provider("openai", answer) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as proxy:
            with pytest.raises(openai.APITimeoutError):
                ask(client(proxy).with_options(timeout=0.5), HELLO)
            gone.set()
            assert words(ask(client(proxy), HELLO), stream=False) == "answer 1"
            assert said(proxy) == [("user", HELLO["content"]), ("assistant", "answer 1")]


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


@pytest.mark.parametrize("header", ["j%C3%BCrgen", "jürgen".encode()])
def test_a_name_that_is_not_ascii_is_the_same_encoded_or_not(proxy: Running, header: Any) -> None:
    body = {"model": "recollect", "messages": [HELLO]}
    answer = proxy.http.post(f"{proxy.url}/v1/chat/completions", json=body, headers={"X-Recollect-User": header})
    assert answer.status_code == 200
    assert [session.scope.user for session in proxy.memory.store.log.sessions(Scope())] == ["jürgen"]


def test_a_name_in_another_encoding_is_refused(proxy: Running) -> None:
    body, header = {"model": "recollect", "messages": [HELLO]}, "jürgen".encode("latin-1")
    answer = proxy.http.post(f"{proxy.url}/v1/chat/completions", json=body, headers={"X-Recollect-User": header})
    assert answer.status_code == 400
    assert "percent-encode" in answer.text


@pytest.mark.parametrize("name", ["recollect", "gpt-4o", "", "recall:"])
def test_the_one_model_there_is_answers_to_any_name_and_says_its_own(service: Running, name: str) -> None:
    answer = client(service).chat.completions.create(model=name, messages=[HELLO])
    assert answer.model == "recall:"
    assert [(model.id, model.created) for model in client(service).models.list()] == [("recall:", 0)]
    assert client(service).models.retrieve(name or "recollect").id == "recall:"


def test_fields_that_are_not_as_openai_has_them_fail_no_stream(service: Running) -> None:
    chunks = ask(client(service), HELLO, stream=True, extra_body={"stream_options": "usage", "max_tokens": "many"})
    assert words(chunks, True)


def test_models_are_the_providers(proxy: Running) -> None:
    assert [model.id for model in client(proxy).models.list()] == ["test-model"]
    assert [client(proxy).models.retrieve(name).id for name in ("test-model", "recollect")] == ["test-model"] * 2


@pytest.mark.parametrize("name", ["gpt-9", "of/another", "a b?c#d"])
def test_a_model_that_the_provider_has_not_is_refused_in_its_words(
    proxy: Running, provider: Provider, name: str
) -> None:
    with pytest.raises(openai.NotFoundError, match="Invalid URL"):
        client(proxy).models.retrieve(name)
    assert provider.requests[-1].path == f"/v1/models/{quote(name, safe='')}"


@pytest.mark.parametrize("stream", [False, True])
def test_any_model_of_ours_answers_in_the_same_shape(stream: bool) -> None:
    with running(model="recall:") as proxy:
        proxy.memory.session("old", user="ada").add("user", HELLO["content"])
        answer = ask(client(proxy), {"role": "user", "content": "Where does my sister live?"}, stream=stream)
        text = words(answer, stream)
        assert "Oslo" in text
        assert said(proxy)[-1] == ("assistant", text)
        assert [model.id for model in client(proxy).models.list()] == ["recall:"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_of_ours_fits_the_schema_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    with Provider("anthropic", [{"city": "Oslo"}]) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-upstream")
        with running(model="anthropic:test-model") as proxy:
            answer = words(ask(client(proxy), HELLO, response_format=wanted, stream=stream), stream)
    assert json.loads(answer) == {"city": "Oslo"}
    with running(model="recall:") as proxy, pytest.raises(openai.UnprocessableEntityError, match="only quotes"):
        ask(client(proxy), HELLO, response_format={"type": "json_object"}, stream=stream)
