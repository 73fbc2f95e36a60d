"""Exports of other services become conversations with stable ids and their own times."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Opaque
from recollect.imports import FORMATS, Imported, Skipped, detect, read
from recollect.imports.values import id_of, moment
from recollect.types import Message
from tests.imports.exports import JSON, T0, all_of, chatgpt, claude, is_valid, lines, mem0, one_of, said, words, written

# ChatGPT


def test_chatgpt_gives_the_branch_that_was_shown_last(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [chatgpt()])
    assert detect(path) == "chatgpt"
    found = one_of(path)
    assert (found.session, found.title) == ("conv-1", "Numbers")
    assert words(found) == [
        ("user", "What is one?"),
        ("assistant", ""),
        ("tool", "1\n"),
        ("assistant", "One is 1."),
        ("user", "What is this?"),
        ("assistant", ""),
        ("tool", "Oslo has fjords"),
        ("assistant", "A cat by a fjord."),
    ]
    assert [m.id for m in found.messages if m.id in ("q1", "call", "out", "a1", "q2", "web", "a2")] == [
        "q1", "call", "out", "a1", "q2", "web", "a2",
    ]  # fmt: skip
    assert is_valid(found.messages)


def test_chatgpt_keeps_times_models_calls_and_pictures(tmp_path: Path) -> None:
    found = one_of(written(tmp_path / "conversations.json", [chatgpt()]))
    by_id = {message.id: message for message in found.messages}
    assert by_id["q1"].at == datetime.fromtimestamp(T0 + 1, UTC)
    assert by_id["web"].at == by_id["q2"].at
    assert by_id["a1"].metadata == {"model": "gpt-4o"}
    (call,) = by_id["call"].tool_calls
    assert (call.name, call.input) == ("python", {"input": "print(1)"})
    assert by_id["out"].tool_results[0].call_id == call.id
    assert by_id["q2"].metadata == {"files": ["cat.png"]}
    assert isinstance(by_id["q2"].parts[0], Opaque)
    implied = [message for message in found.messages if message.metadata.get("implied")]
    assert [m.tool_calls[0].name for m in implied] == ["web.search"]


def test_chatgpt_without_a_current_node_goes_down_the_last_children(tmp_path: Path) -> None:
    data = chatgpt()
    data["current_node"] = None
    assert words(one_of(written(tmp_path / "conversations.json", [data])))[-1] == ("assistant", "A cat by a fjord.")


def test_a_circle_in_the_tree_ends(tmp_path: Path) -> None:
    data = chatgpt()
    data["mapping"]["root"]["parent"] = "a2"
    assert len(one_of(written(tmp_path / "conversations.json", [data])).messages) == 8
    data["current_node"] = "gone"
    assert all_of(written(tmp_path / "conversations.json", [data]))[0] == []


def test_a_call_that_was_never_answered_gets_an_empty_answer(tmp_path: Path) -> None:
    data = chatgpt()
    data["current_node"] = "call"
    found = one_of(written(tmp_path / "conversations.json", [data]))
    assert [m.role for m in found.messages] == ["user", "assistant", "tool"]
    assert found.messages[-1].metadata == {"implied": True}
    assert is_valid(found.messages)


# Claude


def test_claude_gives_words_tools_and_attachments(tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", [claude()])
    assert detect(path) == "claude"
    found = one_of(path)
    assert (found.session, found.title) == ("c-1", "Reading")
    assert words(found) == [
        ("user", "What does the file say?"),
        ("assistant", ""),
        ("tool", "I am the Queen of Denmark."),
        ("assistant", "Let me see."),
        ("tool", "Margrethe"),
        ("assistant", "It says a title."),
        ("tool", ""),
        ("user", "Thanks"),
    ]
    assert {m.at for m in found.messages} == {datetime(2025, 1, 2, 3, 4, 5, 678901, UTC)}
    assert found.messages[0].metadata == {"files": ["notes.txt", "notes.txt", "photo.jpg"]}
    assert found.messages[3].tool_calls[0].input == {"query": "queen"}
    assert found.messages[5].tool_calls[0].input == {"command": "create", "content": "# Note"}
    assert len({m.id for m in found.messages}) == len(found.messages)
    assert is_valid(found.messages)


def test_an_older_claude_export_has_text_alone(tmp_path: Path) -> None:
    data = claude()
    for message in data["chat_messages"]:
        del message["content"]
    assert words(one_of(written(tmp_path / "conversations.json", [data])))[-2:] == [
        ("assistant", "Let me see.\n\nIt says a title."),
        ("user", "Thanks"),
    ]


def test_claude_gives_the_words_of_what_a_search_found(tmp_path: Path) -> None:
    found = [
        {"type": "knowledge", "title": "Oslo", "url": "https://a.example", "text": "Oslo has fjords", "metadata": {}}
    ]
    blocks = [
        {"type": "tool_use", "id": "t", "name": "web_search", "input": {"query": "Oslo"}},
        {
            "type": "tool_result",
            "tool_use_id": "t",
            "name": "web_search",
            "content": [*found, {"type": "image", "x": 1}],
        },
    ]
    data = {"uuid": "c", "chat_messages": [{"uuid": "a", "text": "", "sender": "assistant", "content": blocks}]}
    messages = one_of(written(tmp_path / "conversations.json", [data])).messages
    assert messages[1].text == "Oslo has fjords"
    assert is_valid((Message("user", "Where?"), *messages))


ROOT = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("tree", "leaf", "shown"),
    [
        ("a> b>a c>b d>c", None, "abcd"),
        ("a> b>a c>a d>c", None, "acd"),  # asked again
        ("a> b>a c> d>c", None, "cd"),  # the first message edited
        ("a> b>a c>b d>a e>d f>c", None, "abcf"),  # gone back to the first answer
        ("a> b>a c>b d>a e>d f>c", "e", "ade"),
        ("a> b>a c>gone d>c", None, "abcd"),  # a parent that the export lacks loses nothing
        ("a> b>a c>gone d>gone", None, "abd"),
        ("b>a a> c>b", "nowhere", "abc"),
        ("a>b b>a", None, "ab"),
    ],
)
def test_claude_gives_the_branch_of_the_last_message(tmp_path: Path, tree: str, leaf: str | None, shown: str) -> None:
    messages = [
        {"uuid": name, "text": name, "sender": "human", "parent_message_uuid": parent or ROOT}
        for name, _, parent in (one.partition(">") for one in tree.split())
    ]
    data = {"uuid": "c-2", "chat_messages": messages, "current_leaf_message_uuid": leaf}
    found = one_of(written(tmp_path / "conversations.json", [data]))
    assert "".join(message.text for message in found.messages) == shown


# OpenAI chat

TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def test_openai_a_conversation_a_line(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "chats.jsonl",
        {"messages": TALK, "session_id": "s1", "created_at": "2024-01-02T03:04:05Z", "user_id": "ada"},
        {"messages": [{"role": "user", "content": "x"}]},
        TALK,
    )
    assert detect(path) == "openai"
    (first, second, third), _ = all_of(path)
    assert (first.session, first.user) == ("s1", "ada")
    assert words(first) == [("user", "hi"), ("assistant", "hello")]
    assert {m.at for m in first.messages} == {datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)}
    assert second.session != third.session
    assert second.messages[0].at is None


def test_openai_tools_scores_and_metadata_stay(tmp_path: Path) -> None:
    function = {"name": "f", "arguments": "{}"}
    talk = [
        {"role": "user", "content": "hi", "id": "u1", "timestamp": 1_700_000_000},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "assistant", "content": "done", "metadata": {"important": True}, "score": 8},
    ]
    found = one_of(lines(tmp_path / "chats.jsonl", {"messages": talk}))
    assert found.messages[0].id == "u1"
    assert found.messages[0].at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert found.messages[1].tool_calls[0].id == found.messages[2].tool_results[0].call_id == "c"
    assert found.messages[3].metadata == {"important": True, "score": 8}


def test_openai_texts_as_the_responses_api_calls_them(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "hello", "annotations": []}], "id": "m2"},
    ]
    found = one_of(lines(tmp_path / "chats.jsonl", {"messages": talk}))
    assert words(found) == [("user", "hi"), ("assistant", "hello")]


def test_openai_a_message_a_line(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        {"role": "user", "content": "one", "session_id": "a", "timestamp": "2024-01-01T00:00:00"},
        {"role": "assistant", "content": "two", "session_id": "a"},
        {"role": "user", "content": "three", "session_id": "b"},
        {"role": "user", "content": "four", "session_id": "a"},
    )
    found, _ = all_of(path)
    assert [(f.session, [m.text for m in f.messages]) for f in found] == [
        ("a", ["one", "two"]),
        ("b", ["three"]),
        ("a", ["four"]),
    ]
    assert len({m.id for f in found for m in f.messages}) == 4


def test_openai_one_conversation_in_a_list(tmp_path: Path) -> None:
    found = one_of(written(tmp_path / "monday.json", TALK))
    assert (found.session, len(found.messages)) == ("monday", 2)


def test_a_broken_line_is_skipped_and_the_next_read(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    good = json.dumps({"messages": TALK}).encode()
    path.write_bytes(
        b"\xef\xbb\xbf" + good + b"\n{oops\n\xff\n\n" + b'{"messages": [{"role": "wizard"}]}\n' + good + b"\n"
    )
    found, skipped = all_of(path)
    assert len(found) == 2
    assert found[0] == found[1]
    assert [s.where for s in skipped] == ["chats.jsonl line 2", "chats.jsonl line 3", "chats.jsonl line 5"]
    assert "not JSON" in skipped[0].why
    assert "not UTF-8" in skipped[1].why
    assert "wizard" in skipped[2].why


# LangChain


@pytest.fixture
def langchain() -> list[Any]:
    messages = pytest.importorskip("langchain_core.messages")
    return [
        messages.SystemMessage("be brief"),
        messages.HumanMessage("hi", id="h1", name="ada"),
        messages.HumanMessage(
            [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://x/y"}}]
        ),
        messages.AIMessage("", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "c1"}]),
        messages.ToolMessage("res", tool_call_id="c1", name="f"),
        messages.AIMessageChunk("done"),
        messages.ChatMessage(role="user", content="thanks"),
    ]


WORDS = [
    ("system", "be brief"),
    ("user", "hi"),
    ("user", "look"),
    ("assistant", ""),
    ("tool", "res"),
    ("assistant", "done"),
    ("user", "thanks"),
]


def history(messages: list[Any]) -> dict[str, Any]:
    from langchain_core.chat_history import InMemoryChatMessageHistory

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dumped: dict[str, Any] = InMemoryChatMessageHistory(messages=messages).model_dump(mode="json")
    return dumped


def test_langchain_messages_to_dict(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.messages import messages_to_dict

    path = written(tmp_path / "ada.json", messages_to_dict(langchain))
    assert detect(path) == "langchain"
    found = one_of(path)
    assert (found.session, words(found)) == ("ada", WORDS)
    assert found.messages[1].id == "h1"
    assert found.messages[1].name == "ada"
    assert found.messages[3].tool_calls[0].input == {"a": 1}
    assert found.messages[4].tool_results[0].call_id == "c1"


def test_langchain_dumpd(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.load import dumpd

    kept = langchain[:5]
    path = lines(tmp_path / "ada.jsonl", [dumpd(message) for message in kept])
    assert detect(path) == "langchain"
    assert words(one_of(path)) == WORDS[:5]


def test_langchain_histories_by_session(tmp_path: Path, langchain: list[Any]) -> None:
    path = written(tmp_path / "all.json", {"trip": history(langchain[:2]), "work": history(langchain[2:3])})
    assert detect(path) == "langchain"
    found, _ = all_of(path)
    assert [(f.session, len(f.messages)) for f in found] == [("trip", 2), ("work", 1)]
    alone = one_of(written(tmp_path / "one.json", history(langchain[:2])))
    assert words(alone) == WORDS[:2]


def test_langchain_rows_of_a_message_table(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.messages import message_to_dict

    rows = [{"id": n, "session_id": "s", "message": json.dumps(message_to_dict(m))} for n, m in enumerate(langchain)]
    found = one_of(lines(tmp_path / "rows.jsonl", *rows))
    assert (found.session, words(found)) == ("s", WORDS)


def test_langchain_rows_have_the_times_of_their_table(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.messages import message_to_dict

    row = {"session_id": "s", "message": message_to_dict(langchain[0]), "created_at": "2024-01-02 03:04:05+00:00"}
    assert one_of(lines(tmp_path / "rows.jsonl", row)).messages[0].at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_langchain_documents_of_mongodb_and_dynamodb(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.messages import message_to_dict

    said = [message_to_dict(message) for message in langchain]
    each = [{"_id": {"$oid": str(n)}, "SessionId": "s", "History": json.dumps(one)} for n, one in enumerate(said)]
    found = one_of(lines(tmp_path / "mongo.jsonl", *each))
    assert (found.session, words(found)) == ("s", WORDS)
    whole = [{"SessionId": session, "History": said} for session in ("s", "t")]
    (one, other), _ = all_of(lines(tmp_path / "dynamo.jsonl", *whole))
    assert (one.session, words(one), other.session, words(other)) == ("s", WORDS, "t", WORDS)


def test_langchain_sessions_may_be_called_as_the_fields_of_a_row(tmp_path: Path, langchain: list[Any]) -> None:
    from langchain_core.messages import messages_to_dict

    said = messages_to_dict(langchain)
    found, _ = all_of(written(tmp_path / "school.json", {"History": said, "message": said, "Math": said}))
    assert [(one.session, words(one)) for one in found] == [(name, WORDS) for name in ("History", "message", "Math")]


@pytest.mark.parametrize("empty", ["", None, {}])
def test_langchain_a_row_without_a_message_is_told(tmp_path: Path, langchain: list[Any], empty: JSON) -> None:
    from langchain_core.messages import message_to_dict

    rows = [{"session_id": "s", "message": one} for one in (message_to_dict(langchain[0]), empty)]
    (found,), skipped = all_of(lines(tmp_path / "rows.jsonl", *rows))
    assert (len(found.messages), len(skipped)) == (1, 1)


# mem0


def test_mem0_memories_are_notes_about_their_user(tmp_path: Path) -> None:
    path = written(tmp_path / "memories.json", mem0())
    assert detect(path) == "mem0"
    (first, second), _ = all_of(path)
    assert (first.user, second.user) == ("ada", "ada")
    assert (first.session, second.session) == ("mem0", "run-7")
    (note,) = first.notes
    assert (note.text, note.metadata) == ("Likes to sail in Norway", {"mem0": {"category": "hobby"}})
    assert note.at == datetime(2025, 3, 4, 13, 6, 7, tzinfo=UTC)
    assert second.notes[0].at == datetime(2025, 4, 5, 5, 6, 7, tzinfo=UTC)
    assert (note.until, second.notes[0].until) == (None, datetime(2025, 7, 1, tzinfo=UTC))


# Small things


@pytest.mark.parametrize(("given", "owner"), [(7, "7"), (0, "0"), (1.5, "1.5"), ("bo", "bo"), (True, None), ({}, None)])
@pytest.mark.parametrize("said", [{"messages": TALK}, {**TALK[0], "session_id": "s"}, {"memory": "Likes to sail"}])
def test_a_user_who_is_named_by_a_number_is_nobody_else(
    tmp_path: Path, said: JSON, given: JSON, owner: str | None
) -> None:
    (found,), _ = all_of(lines(tmp_path / "chats.jsonl", {**said, "user_id": given}))
    assert found.user == owner


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_700_000_000.5, datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)),
        (1_700_000_000_500, datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)),
        ("2024-01-02T03:04:05Z", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2024-01-02", datetime(2024, 1, 2, tzinfo=UTC)),
        ("20240102", datetime(2024, 1, 2, tzinfo=UTC)),
        ("2024-01-02 03:04:05.5 UTC", datetime(2024, 1, 2, 3, 4, 5, 500_000, UTC)),
        ("1700000000", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("1700000000.500000", datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)),
        ("1612041410123", datetime(2021, 1, 30, 21, 16, 50, 123_000, UTC)),
        (1_700_000_000_500_000, datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)),
        (1_700_000_000_500_000_000, datetime(2023, 11, 14, 22, 13, 20, 500_000, UTC)),
        ("20240102030405", None),
        ("202401020304", None),
        ("soon", None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**30, None),
        (None, None),
        ([], None),
    ],
)
def test_times(value: JSON, expected: datetime | None) -> None:
    assert moment(value) == expected


@given(st.none() | st.text(max_size=5) | st.integers() | st.sampled_from(["x" * 2_000, "a\x00b", "\ud800"]))
def test_every_id_can_be_kept_and_is_stable(given_id: JSON) -> None:
    found = id_of(given_id, "session", 1)
    assert found == id_of(given_id, "session", 1)
    assert Message("user", "x", id=found).id
    assert 0 < len(found) <= 1_000
    assert "\x00" not in found


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "mapping",
                        "chat_messages",
                        "messages",
                        "role",
                        "content",
                        "type",
                        "data",
                        "memory",
                        "message",
                        "parent",
                        "children",
                        "parts",
                        "author",
                        "sender",
                        "id",
                        "uuid",
                        "tool_calls",
                        "kwargs",
                        "lc",
                        "current_node",
                        "attachments",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(sorted(FORMATS)),
)
def test_nothing_that_is_json_breaks_a_reader(
    tmp_path_factory: pytest.TempPathFactory, data: JSON, format: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk.jsonl"
    lines(path, data, said("m", "user", "hi"))
    for found in read(path, format):
        assert isinstance(found, (Imported, Skipped))
