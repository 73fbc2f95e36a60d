"""Whatever is given by mistake is refused with an error that names it, and nothing is kept."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from recollect import (
    AsyncMemory,
    BudgetTooSmall,
    ConfigError,
    InvalidTranscript,
    Memory,
    Message,
    MissingExtra,
    RecollectError,
    Session,
)
from recollect.backfill import backfill
from recollect.errors import ContextOverflow, Interrupted, RateLimited, StoreUnavailable
from recollect.types import Image, Text, Thinking, ToolCall, ToolResult
from tests.wrong import wrong


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Any]:
    with Memory.open(tmp_path / "memory.db", embedder=None, durability="normal") as memory:
        yield memory.session("trip", user="ada")


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda chat: Memory(), r"^a memory is opened by Memory.open\('memory.db'\) or .*, not by Memory\("),
        (lambda chat: Memory(wrong("memory.db")), r"opened by Memory.open\('memory.db'\)"),
        (lambda chat: AsyncMemory(), r"opened by AsyncMemory.open\('memory.db'\) or .*, not by AsyncMemory\("),
        (lambda chat: AsyncMemory(wrong("memory.db")), r"opened by AsyncMemory.open\('memory.db'\)"),
        (lambda chat: chat.context("Where?", system=wrong(["Be brief."])), r"system=\['Be brief.'\]: give text"),
        (pickle.dumps, "can't be copied or sent to another process: open it there"),
        (lambda chat: copy.deepcopy(chat.memory), "can't be copied or sent to another process: open it there"),
        (lambda chat: chat.add("user", None), "content must be text or parts, got None"),
        (lambda chat: chat.add("user", 5), "content must be text or parts, got 5"),
        (lambda chat: chat.add("user", b"x"), "content must be text or parts, got b'x'"),
        (lambda chat: chat.add("user", {"text": "x"}), "content must be text or parts, got {'text'"),
        (lambda chat: chat.add("user", [{"text": "x"}]), r"a dict is not a part; .* parse\(raw, shape\)"),
        (lambda chat: chat.add("user", "x", name=5), "the name of a message must be text, got int"),
        (lambda chat: chat.add("user", "x", id=5), "a message's id must be text that is not empty, got 5"),
        (lambda chat: chat.add("user", "x", shape=5), "the shape of a message must be text, got int"),
        (lambda chat: chat.add("user", [Image(data=wrong(b"GIF"))]), "the data of an image must be text, got bytes"),
        (lambda chat: chat.add("user", [Image("x.gif", width=True)]), "the width of an image must be a whole number"),
        (
            lambda chat: chat.add("assistant", [Thinking(wrong(None))]),
            "the text of thinking must be text, got NoneType",
        ),
        (
            lambda chat: chat.add("tool", [ToolResult("1", is_error=wrong("no"))]),
            "the is_error of a tool result must be true",
        ),
        (lambda chat: chat.add("user", [Text("x", extra={"a": {1}})]), "extra.a: a set is not JSON"),
        (lambda chat: chat.add("user", "x", metadata={"n": 10**5_000}), "metadata.n: a whole number of over 4,300"),
        (lambda chat: chat.add("robot", "x"), "role 'robot' is not one of"),
        (lambda chat: chat.add("I live in Oslo."), r"is not one of .*: it comes first, as in add\('user', 'Hello'\)$"),
        (lambda chat: chat.add({"role": "user"}), "expected a Message or a role, got dict; read .* with parse"),
        (
            lambda chat: chat.add([Message("user", "x")]),
            "expected a Message or a role, got list; add_many keeps several",
        ),
        (lambda chat: chat.add_many(Message("user", "x")), "expected a list of messages, got Message"),
        (lambda chat: chat.add_many([{"role": "user", "content": "x"}]), r"\[0\]: expected a Message, got dict"),
        (lambda chat: chat.add_turn(None, "x"), "content must be text or parts"),
        (lambda chat: chat.add_turn("a", "b", score="9"), "score is '9'; it must be a number from 0 to 10"),
        (lambda chat: chat.add_turn("a", "b", score=11), "score is 11"),
        (lambda chat: chat.add_turn("a", "b", score=float("nan")), "score is nan"),
        (lambda chat: chat.add_turn("a", "b", score=10**400), "score is 10+; it must be a number from 0 to 10"),
        (lambda chat: chat.add_turn("a", "b", metadata=[1]), "metadata: expected a mapping, got list"),
        (lambda chat: chat.context("x", at="2020"), "a time must be a datetime, got '2020'"),
        (lambda chat: chat.context("x", at=date(2020, 1, 1)), "a time must be a datetime"),
        (lambda chat: chat.context("x", at=""), "a time must be a datetime, got ''"),
        (lambda chat: chat.recall("x", at=0), "a time must be a datetime, got 0"),
        (lambda chat: chat.context("x", tools="abc"), "the schema of a tool must be a mapping, got 'a'"),
        (lambda chat: chat.context("x", tools=[{"a": object()}]), "the schema of a tool is not JSON"),
        (lambda chat: chat.context(b"x"), "a question is text or a user's Message"),
        (lambda chat: chat.replay(1.5), "at=1.5: give a whole number"),
        (lambda chat: chat.replay(10**30), "at=1000000000000000000000000000000: give a number of at most"),
        (lambda chat: chat.history(before=0), "before=0: give a whole number of 1 or more"),
        (lambda chat: chat.history(before=10**30), "before=10+: give a number of at most"),
        (lambda chat: chat.recall(5), "a question must be text, not a int"),
        (lambda chat: chat.recall("x", budget=None), "budget=None: give a whole number of 0 or more"),
        (lambda chat: chat.recall("x", k="3"), "k='3': give a whole number"),
        (lambda chat: chat.recall("x", where={"role": "user"}), "where is {'role': 'user'}; give a Filter"),
        (lambda chat: chat.recall("x", recency=float("nan")), "recency is nan; it must be a number"),
        (lambda chat: chat.recall("x", recency=-(10**400)), "recency is -10+; it must be a number"),
        (lambda chat: chat.search("x", k=1.5), "k=1.5: give a whole number"),
        (lambda chat: chat.facts(as_of="2020"), "a time must be a datetime"),
        (lambda chat: chat.documents.add(b"x"), "a document is a Path or text, got bytes"),
        (lambda chat: chat.documents.add("manuals/kettle.md"), r"give Path\('manuals/kettle.md'\) to read the file"),
        (lambda chat: chat.documents.add("rain", at="now"), "a time must be a datetime, got 'now'"),
        (lambda chat: chat.documents.search(5), "a question must be text, not a int"),
        (lambda chat: chat.documents.search("x", k=-1), "k=-1: give a whole number of 0 or more"),
        (lambda chat: chat.tools.add("rain", "weather", at="now"), "a time must be a datetime, got 'now'"),
        (lambda chat: chat.tools.add("rain", "weather", at=""), "a time must be a datetime, got ''"),
        (lambda chat: chat.forget("id"), "give a list of ids, not one text"),
        (lambda chat: chat.forget([Message("user", "x")]), "the id of a message must be text"),
        (lambda chat: chat.memory.forget("ada"), r"scope='ada': give Scope\(tenant, user, session\)"),
        (lambda chat: chat.memory.session(None, user="ada"), "session must be text that is not empty, got None"),
        (
            lambda chat: backfill(chat.memory, wrong("chats.jsonl"), user="ada"),
            r"is what recollect.imports.read\(path\) gives",
        ),
    ],
)
def test_a_mistake_is_told_and_keeps_nothing(chat: Session, mistake: Callable[[Any], object], said: str) -> None:
    with pytest.raises(RecollectError) as error:
        mistake(chat)
    assert re.search(said, str(error.value))
    assert (chat.history(), chat.documents.list()) == ((), [])


def test_a_verb_of_sessions_is_not_looked_for_in_vain(chat: Session) -> None:
    with pytest.raises(AttributeError, match=r"no 'add': a session has, memory.session\('trip', user='ada'\).add$"):
        wrong(chat.memory).add("user", "Hello.")
    with pytest.raises(AttributeError, match=r"^a Memory has no 'ad'$"):
        wrong(chat.memory).ad("user", "Hello.")


def test_a_text_that_has_a_name_may_look_like_a_path(chat: Session) -> None:
    assert chat.documents.add("kettle.md", name="the file I need").chunks == 1
    assert chat.documents.add("Read kettle.md", name=None).chunks == 1


def test_text_of_a_class_of_its_own_is_text(chat: Session) -> None:
    class Markup(str):  # as of a template engine, an HTML parser or numpy
        __slots__ = ()

        def __str__(self) -> str:
            return "escaped"

    kept = chat.add("user", Markup("I live in Oslo."))
    assert type(kept.content) is str
    assert [message.content for message in chat.history()] == ["I live in Oslo."]
    assert chat.context(Markup("Where do I live?"), budget=500).messages[-1]["content"].endswith("Where do I live?")


def test_what_a_part_was_given_can_not_change_it_later() -> None:
    given: dict[str, Any] = {"cache": {"type": "ephemeral"}}
    part = Text("x", extra=given)
    given["cache"]["type"] = "none"
    assert part.extra == {"cache": {"type": "ephemeral"}}
    assert hash(part) == hash(Text("x", extra=part.extra))


def test_the_arguments_of_a_call_may_be_given_as_a_mapping() -> None:
    assert ToolCall("1", "weather", wrong({"city": "Ålesund"})) == ToolCall("1", "weather", '{"city": "Ålesund"}')


@pytest.mark.parametrize(
    ("mistaken", "said"),
    [
        ({"model": "nobody:x"}, "model 'nobody:x' is not known"),
        ({"counter": "nothing"}, "no token counter 'nothing'"),
        ({"embedder": "nobody:x"}, "embedder 'nobody:x' is not known"),
        ({"url": 5}, "url=5: give a file or an address"),
        ({"embedder": 5}, "embedder=5: give an Embedder, its name"),
        ({"embedder": len}, "embedder=<built-in function len>: give an Embedder, its name"),
        ({"former": ["x"]}, r"former=\['x'\]: give an Embedder"),
        ({"settings": {"context_budget": 5}}, r"settings={'context_budget': 5}: give Settings"),
        ({"settings": None}, "settings=None: give Settings"),
        ({"index": 5}, "index=5: give chroma:///folder"),
        ({"model": 5}, "model=5: give a ChatModel"),
        ({"search": "web"}, "search='web': give a function"),
        ({"reranker": True}, "reranker=True: give a Reranker"),
        ({"on_alert": "me"}, "on_alert='me': give a function"),
    ],
)
def test_a_memory_that_can_not_be_opened_opens_no_file(
    tmp_path: Path, mistaken: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        Memory.open(**{"url": "memory.db", "embedder": None, **mistaken})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="is a folder: name a file in it"):
        Memory.open(tmp_path, embedder=None)


@pytest.mark.parametrize(
    "error",
    [
        BudgetTooSmall(120, 100, overhead=3),
        MissingExtra("typer", "cli", "the command line"),
        InvalidTranscript("it is empty", "[0]"),
        StoreUnavailable("the store is closed"),
        ContextOverflow("too long", 8_000, 9_000, 100),
        Interrupted("broke off", "Once"),
        RateLimited("slower", 2.5, passing=False),
    ],
)
def test_an_error_comes_whole_from_another_process(error: RecollectError) -> None:
    came = pickle.loads(pickle.dumps(error))
    assert (type(came), str(came), vars(came)) == (type(error), str(error), vars(error))
