"""Memory in the traces of a program that uses OpenTelemetry: its own SDK, spans kept in memory."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from recollect import Memory, Scope
from recollect.embed.cached import CachedEmbedder
from recollect.errors import BudgetTooSmall, ModelUnavailable
from recollect.llm import open as open_model
from recollect.testing.provider import Provider
from recollect.traces import ATTRIBUTES, span
from recollect.types import Message

SECRET = "zebra"


class Spans(InMemorySpanExporter):
    @property
    def names(self) -> list[str]:
        return [one.name for one in self.get_finished_spans()]

    def one(self, name: str) -> ReadableSpan:
        [found] = [one for one in self.get_finished_spans() if one.name == name]
        return found

    def told(self, name: str) -> dict[str, Any]:
        return dict(self.one(name).attributes or {})


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    provider, kept = TracerProvider(), Spans()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return kept


@pytest.fixture
def memory(tmp_path: Path, spans: Spans) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder="hash:64") as memory:
        yield memory


def test_where_a_framework_loads_the_api_and_nobody_traces_no_span_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "get_tracer", asked.append)
    with span("context"):
        assert not asked


def test_every_verb_has_its_span(memory: Memory, spans: Spans) -> None:
    chat = memory.session("trip", user="ada", tenant="acme")
    said, _ = chat.add_turn(f"My {SECRET} lives in Oslo.", "Noted.")
    chat.tag(said.id, important=True)
    chat.remember("city", "Oslo")
    memory.drain()
    found = chat.search(f"Where is my {SECRET}?")
    assert spans.told("search_memory")["gen_ai.memory.record.count"] == len(found) > 0
    context = memory.session("later", user="ada", tenant="acme").context(f"And my {SECRET}?", budget=900)
    chat.forget()
    told = {name: dict(spans.told(name)) for name in ("create_memory", "update_memory", "upsert_memory", "context")}
    for name, attributes in told.items():
        assert attributes["gen_ai.operation.name"] == name
        assert attributes["gen_ai.provider.name"] == "recollect"
        assert attributes["gen_ai.memory.store.id"] == "acme"
        assert attributes["gen_ai.conversation.id"] == ("later" if name == "context" else "trip")
    assert told["create_memory"]["gen_ai.memory.record.count"] == 2
    assert told["context"]["recollect.context.tokens"] == context.tokens
    assert told["context"]["recollect.context.budget"] == 900
    assert told["context"]["gen_ai.memory.record.count"] == sum(line.kept for line in context.offered) > 0
    assert spans.told("delete_memory")["gen_ai.memory.record.count"] == 2
    page = (Path(__file__).parent.parent / "docs" / "telemetry.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)(?: …)?` \|", page.partition("## Traces")[2], re.MULTILINE)
    assert {one.split()[0] for one in spans.names} == set(listed) - {"chat"}


def test_what_a_context_searches_is_a_span_within_it(memory: Memory, spans: Spans) -> None:
    memory.session("trip", user="ada").add("user", "My sister lives in Oslo.")
    memory.drain()
    with trace.get_tracer("program").start_as_current_span("request") as request:
        memory.session("later", user="ada").context("Where does my sister live?", budget=500)
    [context, search, asked] = [spans.one(name) for name in ("context", "search_memory", "embeddings 64")]
    assert (context.parent, search.parent, asked.parent) == (
        request.get_span_context(),
        context.context,
        search.context,
    )
    assert asked.kind is trace.SpanKind.CLIENT


def test_no_word_and_no_name_of_a_user_is_in_a_span(memory: Memory, spans: Spans) -> None:
    chat = memory.session("trip", user="user-of-the-house")
    chat.add_turn(f"My {SECRET} lives in Oslo.", f"A {SECRET}!")
    memory.drain()
    with pytest.raises(BudgetTooSmall):
        chat.context(f"{SECRET} " * 50, budget=10)
    chat.context(f"{SECRET}?")
    assert spans.names
    whole = "".join(one.to_json() for one in spans.get_finished_spans())
    assert SECRET not in whole
    assert "user-of-the-house" not in whole


def test_an_error_has_its_kind(memory: Memory, spans: Spans) -> None:
    with pytest.raises(BudgetTooSmall):
        memory.session("trip", user="ada").context("a long question " * 50, budget=10)
    failed = spans.one("context")
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert spans.told("context")["error.type"] == "BudgetTooSmall"
    assert not failed.events


def test_a_model_is_a_client_whose_tokens_are_told(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        model = open_model("openai:gpt-test")
        asked = [Message("user", SECRET)]
        reply = model.complete(asked)
        *_, last = model.stream(asked)
    assert last.reply
    whole, streamed = (dict(one.attributes or {}) for one in spans.get_finished_spans())
    for told, usage in ((whole, reply.usage), (streamed, last.reply.usage)):
        assert told["gen_ai.provider.name"] == "openai"
        assert told["gen_ai.request.model"] == "gpt-test"
        assert told["gen_ai.usage.input_tokens"] == usage.prompt > 0
        assert told["gen_ai.usage.output_tokens"] == usage.completion > 0
    assert spans.names == ["chat gpt-test"] * 2


def test_a_stream_that_is_left_leaves_the_callers_span_alone(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider() as provider, trace.get_tracer("program").start_as_current_span("request") as request:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        stream = open_model("openai:gpt-test").stream([Message("user", "Tell me all.")])
        assert isinstance(stream, Generator)
        next(stream)
        assert trace.get_current_span() is request
        stream.close()
    assert spans.names == ["chat gpt-test", "request"]
    assert "error.type" not in spans.told("chat gpt-test")


def test_an_embedder_that_fails_is_told(spans: Spans) -> None:
    class Broken:
        name, dimension = "broken:one", 8

        def embed(self, texts: Sequence[str], kind: str = "passage") -> Any:
            raise OSError(SECRET)

    with pytest.raises(ModelUnavailable):
        CachedEmbedder(Broken()).embed(["Where?"])
    assert spans.told("embeddings one")["error.type"] == "ModelUnavailable"
    assert SECRET not in spans.one("embeddings one").to_json()


def test_who_does_not_trace_loads_nothing_of_it() -> None:
    code = """
import sys
from recollect import Memory
with Memory.open(":memory:", embedder=None) as memory:
    memory.session("trip", user="ada").context("Where?")
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_span_is_told_has_a_name(spans: Spans) -> None:
    with span("context", Scope("acme")) as note:
        note(**dict.fromkeys(ATTRIBUTES, 1))
        with pytest.raises(KeyError):
            note(secret=SECRET)
    assert spans.told("context").keys() >= set(ATTRIBUTES.values())
