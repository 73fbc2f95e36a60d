"""The streaming chat."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from recollect import llm
from recollect.errors import ModelUnavailable
from recollect.llm import ChatModel, Delta, Reply, Usage
from recollect.memory import Memory
from recollect.server import streams
from recollect.server.app import create_app
from recollect.server.options import Options
from recollect.session import Session
from recollect.store import open as open_store
from recollect.testing.provider import Provider
from recollect.types import Message, Scope
from tests.contexts import said
from tests.server.running import Running, listening, running

ADA = {"user": "ada", "session": "trip"}
post = partial(httpx2.post, timeout=30)


def events(answer: httpx2.Response) -> list[tuple[str, Any]]:
    """The events of a stream, comments as events named ':'."""
    found = []
    for block in answer.text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines and lines[0].startswith(":"):
            found.append((":", lines[0][2:]))
        elif lines:
            fields = dict(line.split(": ", 1) for line in lines)
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def say(service: Running, message: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> httpx2.Response:
    return service.http.post("/chat", params=ADA, json={"message": message, **more}, headers=headers)


class Scripted:
    """A model that says words one by one, each when it is let; then it ends, or fails."""

    name = "scripted:"

    def __init__(self, *words: str, error: Exception | None = None, wait: bool = False) -> None:
        self.words, self.error = words, error
        self.go_on = threading.Semaphore(0 if wait else 10**6)
        self.asked, self.closed = threading.Event(), threading.Event()
        self.seen: list[Sequence[Message]] = []

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        return Reply(Message("assistant", "".join(self.words)), Usage(3, 4))

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        self.seen.append(messages)
        self.asked.set()
        try:
            for word in self.words:
                self.go_on.acquire(timeout=30)
                yield Delta(word)
            if self.error:
                raise self.error
            yield Delta(reply=self.complete(messages))
        finally:
            self.closed.set()


class Silent(Scripted):
    """A model that ends before it says anything."""

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        return iter(())


def chatting(memory: Memory, model: Scripted) -> Any:
    return listening(create_app(Options(), memory, model))


def test_with_no_key_and_no_model_memory_answers(service: Running) -> None:
    service.memory.session("old", user="ada").add("user", "My sister Nadia moved to Oslo in May.")
    answer = say(service, "Where does my sister live?")
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer)
    text = "".join(data["text"] for name, data in told if name == "token")
    assert "Oslo" in text
    name, done = told[-1]
    assert (name, done["message"]["content"]) == ("done", text)
    assert done["tokens"] > 0 and done["usage"]["prompt"] > 0
    assert said(service.memory) == [("user", "Where does my sister live?"), ("assistant", text)]


def test_comments_say_what_was_injected_when_asked_for(service: Running) -> None:
    service.memory.session("old", user="ada").add("user", "My sister Nadia moved to Oslo in May.")
    assert all(name != ":" for name, _ in events(say(service, "Where does my sister live?")))
    comments = [
        data for name, data in events(say(service, "Where does my sister Nadia live?", debug=True)) if name == ":"
    ]
    assert [comment.split(" ")[0] for comment in comments] == ["MEMORY_DEBUG", "RAG_DEBUG", "SEARCH_DEBUG"]
    shown = [json.loads(comment.split(" ", 1)[1]) for comment in comments]
    assert any("Oslo" in line["text"] and line["kept"] for line in shown[0]["lines"])
    assert shown[0]["tokens"] <= shown[0]["budget"]


def test_the_prompt_as_it_is_sent_comes_first_when_asked_for(service: Running) -> None:
    assert all(name != "context" for name, _ in events(say(service, "Hello?")))
    name, sent = events(say(service, "Where does my sister live?", context=True))[0]
    assert name == "context"
    assert "Where does my sister live?" in sent["messages"][-1]["content"]
    assert sent["receipt"]["tokens"] <= sent["receipt"]["budget"]


def test_the_message_is_kept_before_the_model_is_asked() -> None:
    model = Scripted("never", wait=True)
    with (
        Memory.open(":memory:", embedder=None) as memory,
        chatting(memory, model) as url,
        httpx2.Client(base_url=url, timeout=30) as http,
        http.stream("POST", "/chat", params=ADA, json={"message": "Hello?"}),
    ):
        assert model.asked.wait(30)
        assert said(memory) == [("user", "Hello?")]
        model.go_on.release(10)


class Noting(Memory):
    """A memory that tells when something was added."""

    def added(self, scope: Scope, messages: int) -> None:
        super().added(scope, messages)
        self.__dict__.setdefault("adds", threading.Semaphore(0)).release()


def test_a_caller_that_goes_away_stops_the_work_and_loses_nothing() -> None:
    model = Scripted("Once ", "upon ", "a ", "time", wait=True)
    with Noting.open(":memory:", embedder=None) as memory:
        adds = memory.__dict__.setdefault("adds", threading.Semaphore(0))
        with chatting(memory, model) as url, httpx2.Client(base_url=url, timeout=30) as http:
            with http.stream("POST", "/chat", params=ADA, json={"message": "Tell me"}) as answer:
                model.go_on.release(2)
                seen = ""
                for piece in answer.iter_text():
                    seen += piece
                    if "upon" in seen:
                        break
            assert adds.acquire(timeout=30) and adds.acquire(timeout=30)
            model.go_on.release(10)
            assert model.closed.wait(30)
        history = memory.session("trip", user="ada").history()
        assert [(m.role, m.text) for m in history] == [("user", "Tell me"), ("assistant", "Once upon ")]
        assert history[1].metadata == {"partial": True}
        assert model.go_on.acquire(blocking=False), "the model went on to the end"


def test_a_stream_is_never_silent_for_long_and_ends_when_its_caller_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SILENT_SECONDS", 0.02)
    model = Scripted("Once ", "upon", wait=True)
    with Noting.open(":memory:", embedder=None) as memory:
        adds = memory.__dict__.setdefault("adds", threading.Semaphore(0))
        with chatting(memory, model) as url, httpx2.Client(base_url=url, timeout=30) as http:
            with http.stream("POST", "/chat", params=ADA, json={"message": "Tell me"}) as answer:
                pieces, seen = answer.iter_text(), ""
                while seen.count(": waiting\n\n") < 2:
                    seen += next(pieces)
                model.go_on.release()
                while "Once" not in seen or not seen.endswith(": waiting\n\n"):
                    seen += next(pieces)
            assert adds.acquire(timeout=30) and adds.acquire(timeout=30)
            model.go_on.release(10)
            assert model.closed.wait(30)
        assert said(memory) == [("user", "Tell me"), ("assistant", "Once ")]


@pytest.mark.parametrize(
    ("error", "name"),
    [(ModelUnavailable("the server is down"), "ModelUnavailable"), (ZeroDivisionError(), "InternalError")],
)
def test_a_model_that_breaks_off_is_told_and_its_words_are_kept(error: Exception, name: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, Scripted("Half", error=error)) as url:
        told = events(post(f"{url}/chat", params=ADA, json={"message": "Hello?"}))
        assert [event for event, _ in told] == ["token", "error"]
        assert (told[1][1]["class"], bool(told[1][1]["next"])) == (name, True)
        history = memory.session("trip", user="ada").history()
        assert [(message.text, message.metadata.get("partial")) for message in history] == [
            ("Hello?", None),
            ("Half", True),
        ]


def test_a_model_whose_stream_is_empty_ends_one_of_the_proxy() -> None:
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, Silent()) as url:
        asked = {"user": "ada", "messages": [{"role": "user", "content": "Hello?"}], "stream": True}
        answer = post(f"{url}/v1/chat/completions", json=asked)
        assert (answer.status_code, answer.text.endswith("data: [DONE]\n\n")) == (200, True)


def test_an_answer_whose_question_is_erased_meanwhile_is_not_kept(tmp_path: Path) -> None:
    """Else a conversation that was forgotten would be there again, with an answer that quotes what was said in it."""
    ways: dict[str, Any] = {
        "/chat": {"params": ADA, "json": {"message": "Where do I live?"}},
        "/v1/chat/completions": {
            "headers": {"X-Recollect-User": "ada", "X-Recollect-Session": "trip"},
            "json": {"messages": [{"role": "user", "content": "Where do I live?"}], "stream": True},
        },
    }
    for path, asked in ways.items():
        model = Scripted("In ", "Oslo.", wait=True)
        model.go_on.release()
        with (
            Memory.open(tmp_path / "memory.db", embedder=None) as memory,
            chatting(memory, model) as url,
            httpx2.Client(base_url=url, timeout=30) as http,
        ):
            with http.stream("POST", path, **asked) as answer:
                heard = answer.iter_text()
                assert next(heard)
                assert memory.session("trip", user="ada").forget().messages == 1
                model.go_on.release()
                told = "".join(heard)
            assert "Oslo." in told and "error" not in told
            assert '"message":null' in told or path != "/chat"
            assert memory.sessions("ada") == []


def test_a_model_that_says_nothing_leaves_only_the_question() -> None:
    model = Scripted(error=ModelUnavailable("down"))
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url:
        told = events(post(f"{url}/chat", params=ADA, json={"message": "Hello?"}))
        assert [event for event, _ in told] == ["error"]
        assert said(memory) == [("user", "Hello?")]


@pytest.mark.parametrize(
    ("fault", "finish", "kept"), [("truncated", "length", 2), ("content_filter", "content_filter", 1)]
)
def test_the_end_of_an_answer_says_whether_it_was_cut_off_or_withheld(
    monkeypatch: pytest.MonkeyPatch, fault: str, finish: str, kept: int
) -> None:
    with Provider("openai", ["A long story."], faults=[fault]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as service:
            name, done = events(say(service, "Tell me a story."))[-1]
            assert (name, done["finish"]) == ("done", finish)
            assert [len(said(service.memory)), done["message"] is None] == [kept, kept == 1]


def test_a_message_sent_again_under_its_key_is_answered_once() -> None:
    model = Scripted("Hi")
    key = {"Idempotency-Key": "k"}
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url:
        answers = [events(post(f"{url}/chat", params=ADA, json={"message": "Hello?"}, headers=key)) for _ in range(2)]
        assert [answer[-1][1]["message"] for answer in answers] == [answers[0][-1][1]["message"]] * 2
        assert len(model.seen) == 1
        assert said(memory) == [("user", "Hello?"), ("assistant", "Hi")]
        other = post(f"{url}/chat", params=ADA, json={"message": "Other"}, headers=key)
        refused = (409, "the Idempotency-Key 'k' came before with other content")
        assert (other.status_code, other.json()["detail"]) == refused


class Together(Scripted):
    """A model that answers each time in other words, and that only once two ask."""

    both = threading.Barrier(2, timeout=30)

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        return Reply(Message("assistant", f"Answer {self.both.wait()}"), Usage(3, 4))

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        reply = self.complete(messages)
        yield from (Delta(reply.message.text), Delta(reply=reply))


HELLO = {"user": "ada", "messages": [{"role": "user", "content": "Hello?"}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat?user=ada&session=trip", {"message": "Hello?"}),
        ("/v1/chat/completions", HELLO),
        ("/v1/chat/completions", {**HELLO, "stream": True}),
    ],
)
@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "k"}])
def test_a_question_asked_twice_at_once_is_kept_once_and_has_one_answer(
    monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], key: dict[str, str]
) -> None:
    add, together = Session.add_many, threading.Barrier(2)

    def both_add(chat: Session, messages: Iterable[Message]) -> tuple[Message, ...]:
        batch = list(messages)
        if batch[0].role == "user":
            together.wait(30)
        return add(chat, batch)

    monkeypatch.setattr(Session, "add_many", both_add)
    headers = {"X-Recollect-Session": "trip", **key}
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, Together()) as url:

        def ask(_: int) -> httpx2.Response:
            return post(f"{url}{path}", json=body, headers=headers)

        with ThreadPoolExecutor(2) as threads:
            asked = list(threads.map(ask, range(2)))
        assert [answer.status_code for answer in asked] == [200, 200]
        assert [role for role, _ in said(memory)] == ["user", "assistant"]


def test_what_waits_for_an_answer_is_kept_once_and_what_was_answered_is_said_anew() -> None:
    model = Scripted(error=ModelUnavailable("down"))
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url:
        for _ in range(2):
            post(f"{url}/chat", params=ADA, json={"message": "Hello?"})
        model.error, model.words = None, ("Hi",)
        for session in ("trip", "trip", "other"):
            post(f"{url}/chat", params={**ADA, "session": session}, json={"message": "Hello?"})
        chat = memory.session("trip", user="ada")
        assert [message.role for message in chat.history()] == ["user", "assistant"] * 2
        chat.add("system", "Be brief.")
        post(f"{url}/chat", params=ADA, json={"message": "Hello?"})
        assert len(chat.history()) == 7
        ids = [entry.message.id for entry in memory.store.log.scan(Scope(user="ada"))]
        assert len(set(ids)) == len(ids) == 9


def test_those_who_speak_at_once_in_a_session_are_each_answered() -> None:
    model = Scripted("Hi")
    asked = [f"Question {number}?" for number in range(12)]
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url:

        def ask(question: str) -> None:
            post(f"{url}/chat", params=ADA, json={"message": question})

        with ThreadPoolExecutor(len(asked)) as threads:
            list(threads.map(ask, asked))
    assert sorted(seen[-1].text.rpartition("\n")[-1] for seen in model.seen) == sorted(asked)


def test_a_message_sent_again_after_another_is_answered_itself() -> None:
    model = Scripted(error=ModelUnavailable("down"))
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url:
        for message, key in (("Hello?", "one"), ("Where is Oslo?", "two"), ("Hello?", "one")):
            post(f"{url}/chat", params=ADA, json={"message": message}, headers={"Idempotency-Key": key})
    assert [seen[-1].text.rpartition("\n")[-1] for seen in model.seen] == ["Hello?", "Where is Oslo?", "Hello?"]


@pytest.mark.parametrize("message", ["", " ", "\u3000\n"])
def test_a_message_without_words_is_refused_and_not_kept(service: Running, message: str) -> None:
    refused = service.http.post("/chat", params=ADA, json={"message": message})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("body.message: ")
    assert "pattern" not in refused.text
    assert service.http.get("/sessions").json()["items"] == []


def test_a_prompt_that_can_not_fit_is_an_error_before_anything_streams(service: Running) -> None:
    refused = say(service, "word " * 500, budget=50)
    assert (refused.status_code, refused.json()["class"]) == (413, "BudgetTooSmall")
    assert said(service.memory)[0][0] == "user"


PROXIED = {"model": "", "user": "ada", "stream": True, "messages": [{"role": "user", "content": "two"}]}


@pytest.mark.parametrize(("path", "body"), [("/chat", {"message": "two"}), ("/v1/chat/completions", PROXIED)])
def test_too_many_answers_at_once_are_refused(path: str, body: dict[str, Any]) -> None:
    model = Scripted("a", "b", wait=True)
    with Memory.open(":memory:", embedder=None) as memory:
        app = create_app(Options(max_streams=1), memory, model)
        with listening(app) as url, httpx2.Client(base_url=url, timeout=30) as http:
            with http.stream("POST", "/chat", params=ADA, json={"message": "one"}) as first:
                assert first.status_code == 200
                assert model.asked.wait(30)
                second = http.post(path, params=ADA if path == "/chat" else None, json=body)
                assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            model.go_on.release(10)
            assert model.closed.wait(30)
        assert said(memory)[0] == ("user", "one")
        assert [entry.message.text for entry in memory.store.log.scan(Scope(), after=0)].count("two") == 0


def test_an_answer_counts_from_when_it_is_asked_for() -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def waiting() -> datetime:
        arrived.set()
        go_on.wait(30)
        return datetime.now(UTC)

    with (
        Memory(open_store(":memory:"), clock=waiting) as memory,
        ThreadPoolExecutor() as threads,
        listening(create_app(Options(max_streams=1), memory, Scripted("a"))) as url,
    ):
        ask = partial(post, f"{url}/chat", params=ADA)
        first = threads.submit(ask, json={"message": "one"})
        assert arrived.wait(30)
        second = threads.submit(ask, json={"message": "two"})
        assert [done.result().status_code for done in wait([first, second], 30, FIRST_COMPLETED).done] == [429]
        go_on.set()
        assert first.result().status_code == 200
        assert ask(json={"message": "x" * 100, "budget": 9}).status_code == 413
        assert ask(json={"message": "three"}).status_code == 200


def test_words_with_line_ends_and_half_pairs_stay_one_event() -> None:
    words = ("a\n\nb\r\n", "\u2028", "\ud83d", "\x00")
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, Scripted(*words)) as url:
        told = events(post(f"{url}/chat", params=ADA, json={"message": "Hello?"}))
        assert [data["text"] for name, data in told if name == "token"] == list(words)
        assert said(memory)[1] == ("assistant", "".join(words))


class Hurried:
    """A model whose server is waited for no longer than a moment, the first time."""

    def __init__(self, model: ChatModel) -> None:
        self.name, self._model, self._waits = model.name, model, iter([0.3])

    def complete(self, messages: Sequence[Message], **_: Any) -> Reply:
        return self._model.complete(messages, timeout=next(self._waits, 30))

    def stream(self, messages: Sequence[Message], **_: Any) -> Iterator[Delta]:
        return self._model.stream(messages, timeout=next(self._waits, 30))


def test_a_model_that_never_answers_is_waited_for_once_and_the_message_is_kept() -> None:
    with (
        Provider("openai", ["In Oslo."], faults=["timeout"]) as provider,
        Memory.open(":memory:", embedder=None) as memory,
    ):
        model = Hurried(llm.open("openai:test", url=provider.url))
        with listening(create_app(Options(), memory, model)) as url, httpx2.Client(base_url=url, timeout=30) as http:
            service = Running(url, memory, http)
            ((name, told),) = events(say(service, "Where does my sister live?"))
            assert (name, told["class"]) == ("error", "ModelUnavailable")
            while not provider.requests:
                time.sleep(0.01)
            assert len(provider.requests) == 1
            assert "no answer" in told["detail"] and "your message is kept" in told["next"]
            assert said(memory) == [("user", "Where does my sister live?")]
            assert events(say(service, "Where does my sister live?"))[-1][0] == "done"
            assert said(memory) == [("user", "Where does my sister live?"), ("assistant", "In Oslo.")]
