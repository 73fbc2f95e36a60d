"""Whatever a public method is given, it takes it or raises an error of the library: nothing else comes from inside."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, Message, RecollectError, Scope, Session, fit, parse, render, validate
from recollect.conversation import ConversationMemory
from recollect.store import Filter
from recollect.types import Image, Opaque, Text, Thinking, ToolCall, ToolResult
from tests.wrong import wrong

WRONG: tuple[Any, ...] = (
    None, True, 0, 5, -1, 1.5, math.nan, math.inf, 10**400, -(10**400), 2**63, "", "text", "x" * 2_000, "\ud800",
    "a\0b", b"", b"a", [], [5], [None], [[]], [{}], ["\ud800"], [{"a": math.nan}], [{"a": object()}], {}, {1: 2},
    {"a": object()}, {1}, object(), datetime.min, datetime.max, datetime(2024, 1, 1).date(), Path("a\0b"),
    Path("\ud800"),
)  # fmt: skip
FIELDS: dict[str, Any] = {
    "id": "", "at": None, "received": None, "name": None, "metadata": {}, "shape": None, "extra": {},
}  # fmt: skip
KINDS = ("turns", "facts", "summary", "tools")
FOUND = {"question": "sister", "k": 3, "at": None, "scope": "user", "where": Filter(), "recency": 0.0}

Calls = dict[str, tuple[Callable[..., object], dict[str, Any]]]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("wrong")
    with Memory.open(folder / "memory.db", embedder=None, durability="normal") as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "My sister Nadia lives in Oslo.", id="first")
        chat.add("assistant", "Noted!")
        yield chat


def of_a_memory(chat: Session) -> Calls:
    memory = chat.memory
    return {
        "session": (memory.session, {"id": "s", "user": "ada", "tenant": "default"}),
        "user": (memory.user, {"id": "ada", "tenant": "default"}),
        "sessions": (memory.sessions, {"user": "ada", "tenant": "default", "before": 9, "limit": 3}),
        "forget": (memory.forget, {"scope": Scope("default", "nobody", "none"), "ids": ["x"]}),
        "reindex": (memory.reindex, {"progress": None}),
    }


def of_a_user(chat: Session) -> Calls:
    user = chat.memory.user("bob")
    return {
        "recall": (chat.recall, {**FOUND, "budget": 100}),
        **{f"search {kind}": (chat.search, {**FOUND, "kind": kind}) for kind in KINDS},
        "facts": (user.facts, {"as_of": None}),
        "fact_history": (user.fact_history, {"key": "name"}),
        "forget_fact": (user.forget_fact, {"key": "name"}),
        "remember": (user.remember, {"key": "city", "value": "Oslo", "type": "user_profile"}),
        "forget": (user.forget, {"ids": ["x"]}),
        "documents.add": (user.documents.add, {"source": "rain", "name": "n", "metadata": {}, "at": None}),
        "documents.search": (user.documents.search, {"question": "rain", "k": 3}),
        "documents.remove": (user.documents.remove, {"name": "n"}),
    }


def of_a_session(chat: Session) -> Calls:
    said = chat.memory.session("other", user="bob")

    def add(message: Any = "user", content: Any = "Hello.", **fields: Any) -> Message:
        return said.add(message, content, **fields)

    def tag(id: Any = "first", **metadata: Any) -> Message:
        return chat.tag(id, **metadata)

    asked = {"budget": 2_000, "system": "Be brief.", "tools": ()}
    return {
        "add": (add, {"message": "user", "content": "Hello.", **FIELDS}),
        "add_many": (said.add_many, {"messages": []}),
        "add_turn": (said.add_turn, {"user": "a", "assistant": "b", "score": 5, "metadata": {}}),
        "context": (chat.context, {"question": "Where?", "at": None, **asked}),
        "replay": (chat.replay, {"at": 1, **asked}),
        "history": (chat.history, {"limit": 2, "before": 2, "where": Filter()}),
        "tag": (tag, {"id": "first", "score": 5, "pinned": True, "mine": 1}),
        "tools.add": (said.tools.add, {"excerpt": "rain", "source": "weather", "at": None}),
        "tools.search": (said.tools.search, {"question": "rain", "k": 3}),
    }


def of_a_conversation(_: Session) -> Calls:
    talk = ConversationMemory()
    talk.add("user", "Hello.", id="first")

    def add(message: Any = "user", content: Any = "Hello.", **fields: Any) -> Message:
        return talk.add(message, content, **fields)

    def tag(id: Any = "first", **metadata: Any) -> Message:
        return talk.tag(id, **metadata)

    return {
        "add": (add, {"message": "user", "content": "Hello.", **FIELDS}),
        "add_many": (talk.add_many, {"messages": []}),
        "recent": (talk.recent, {"n": 1}),
        "by_role": (talk.by_role, {"role": "user"}),
        "where": (talk.where, {"mine": 1}),
        "search": (talk.search, {"text": "h", "role": None, "since": None, "until": None, "mine": 1}),
        "tag": (tag, {"id": "first", "mine": 1}),
        "prune": (talk.prune, {"limit": 1_000}),
        "ConversationMemory": (ConversationMemory, {"counter": "estimate"}),
    }


def of_values(_: Session) -> Calls:
    narrow: dict[str, Any] = {
        "kinds": (),
        "since": None,
        "before": None,
        "roles": (),
        "metadata": {},
        "as_of": None,
        "exact": False,
    }

    def from_dict(**data: Any) -> Message:
        return Message.from_dict({"role": "user", **data})

    return {
        "Filter": (Filter, narrow),
        "Scope": (Scope, {"tenant": "t", "user": "u", "session": "s"}),
        "Message": (Message, {"role": "user", "content": "Hello.", **FIELDS}),
        "Message.from_dict": (Message.from_dict, {"data": {}}),
        "from_dict": (from_dict, {"content": "Hello.", "mine": 1, **FIELDS}),
        "Text": (Text, {"text": "a", "extra": {}}),
        "Image": (Image, {"url": "a", "data": None, "media_type": None, "detail": None, "width": 1, "height": 1}),
        "ToolCall": (ToolCall, {"id": "a", "name": "b", "arguments": "{}", "extra": {}}),
        "ToolResult": (ToolResult, {"call_id": "a", "content": "", "is_error": False, "name": None, "extra": {}}),
        "Thinking": (Thinking, {"text": "", "signature": None, "redacted": None, "extra": {}}),
        "Opaque": (Opaque, {"shape": "openai", "data": {}}),
    }


def of_prompts(_: Session) -> Calls:
    said = [Message("user", "Hello.")]
    limits = {"last_messages": 5, "last_turns": 5, "low_water": 0.7, "min_turns": 1, "min_messages": 1}
    return {
        "fit": (fit, {"messages": said, "budget": 100, "counter": "estimate", "tools": (), **limits}),
        "parse": (parse, {"raw": [{"role": "user", "content": "a"}], "shape": "openai"}),
        "render": (render, {"messages": said, "shape": "openai"}),
        "validate": (validate, {"messages": said, "shape": "openai"}),
    }


@pytest.mark.parametrize(
    "calls",
    [of_a_memory, of_a_user, of_a_session, of_a_conversation, of_values, of_prompts],
    ids=lambda of: of.__name__,
)
def test_a_wrong_argument_is_an_error_of_the_library(chat: Session, calls: Callable[[Session], Calls]) -> None:
    raw = []
    for verb, (call, right) in calls(chat).items():
        for name in right:
            for value in WRONG:
                try:
                    call(**{**right, name: value})
                except RecollectError:
                    pass
                except Exception as error:
                    raw.append(f"{verb}({name}={value!r:.40}): {error!r:.90}")
    assert raw == []


def test_a_wrong_wait_closes_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        for value in ("5", math.nan, math.inf, 10**400, -1):
            with pytest.raises(RecollectError, match=r"wait is .*; it must be a number from 0 to "):
                memory.close(wait=wrong(value))
        memory.session("trip", user="ada").add("user", "Still open.", at=datetime(2024, 1, 1, tzinfo=UTC))


def test_ids_to_forget_may_come_one_by_one(chat: Session) -> None:
    gone = chat.memory.session("gone", user="eve")
    gone.add("user", "Forget this.", id="a")
    assert gone.forget(wrong(iter(["a"]))).messages == 1
