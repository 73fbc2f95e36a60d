"""Exports as the services write them, in small, and what they become; every name and word in them is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recollect import validate
from recollect.imports import Imported, Skipped, read
from recollect.types import Message

JSON = Any
T0 = 1_700_000_000.0


def node(id: str, parent: str | None, children: list[str], message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": id, "parent": parent, "children": children, "message": message}


def said(
    id: str,
    role: str,
    content: dict[str, Any] | str,
    at: float | None = T0,
    recipient: str = "all",
    name: str | None = None,
    **metadata: Any,
) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {
        "id": id,
        "author": {"role": role, "name": name, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": metadata,
        "recipient": recipient,
    }


def chatgpt(id: str = "conv-1") -> dict[str, Any]:
    """A conversation with a hidden start, an edited question, a tool, reasoning, a picture and a page."""
    hidden: dict[str, Any] = {"is_visually_hidden_from_conversation": True}
    image = {
        "content_type": "image_asset_pointer",
        "asset_pointer": "sediment://file_1",
        "size_bytes": 48,
        "width": 10,
        "height": 20,
    }
    code = {"content_type": "code", "language": "unknown", "text": "print(1)"}
    result = {"content_type": "execution_output", "text": "1\n"}
    page = {"content_type": "tether_quote", "url": "https://example.org", "text": "Oslo has fjords", "title": "Oslo"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}
    picture = {"content_type": "multimodal_text", "parts": [image, "What is this?"]}
    chain: list[dict[str, Any] | None] = [
        None,
        said("sys", "system", "", None, **hidden),
        said("ctx", "user", {"content_type": "user_editable_context", "user_profile": "secret"}, **hidden),
        said("q1", "user", "What is one?", T0 + 1),
        said("th", "assistant", thoughts, T0 + 2),
        said("call", "assistant", code, T0 + 3, recipient="python", model_slug="gpt-4o"),
        said("out", "tool", result, T0 + 4, name="python"),
        said("a1", "assistant", "One is 1.", T0 + 5, model_slug="gpt-4o"),
        said("q2", "user", picture, T0 + 6, attachments=[{"id": "file_1", "name": "cat.png"}]),
        said("web", "tool", page, None, name="web.search"),
        said("a2", "assistant", "A cat by a fjord.", T0 + 8, model_slug="gpt-4o"),
    ]
    ids = ["root", *(m["id"] for m in chain[1:] if m)]
    mapping = {
        name: node(name, ids[n - 1] if n else None, [ids[n + 1]] if n + 1 < len(ids) else [], chain[n])
        for n, name in enumerate(ids)
    }
    mapping["ctx"]["children"] = ["old", "q1"]
    mapping["old"] = node("old", "ctx", [], said("old", "user", "What is won?"))
    return {
        "title": "Numbers",
        "create_time": T0,
        "update_time": T0 + 8,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": "a2",
        "conversation_id": id,
        "id": id,
        "is_archived": False,
    }


def claude(uuid: str = "c-1") -> dict[str, Any]:
    """A conversation with an attachment, a tool used inside an answer, reasoning, and an artifact without a result."""
    times = {"created_at": "2025-01-02T03:04:05.678901Z", "updated_at": "2025-01-02T03:04:05.678901Z"}
    text = {"start_timestamp": times["created_at"], "stop_timestamp": times["created_at"], "citations": []}
    return {
        "uuid": uuid,
        "name": "Reading",
        "summary": "",
        **times,
        "account": {"uuid": "acc"},
        "chat_messages": [
            {
                "uuid": "m1",
                "text": "What does the file say?",
                "content": [{"type": "text", "text": "What does the file say?", **text}],
                "sender": "human",
                **times,
                "attachments": [
                    {
                        "file_name": "notes.txt",
                        "file_size": 12,
                        "file_type": "txt",
                        "extracted_content": "I am the Queen of Denmark.",
                    }
                ],
                "files": [{"file_name": "notes.txt"}, {"file_name": "photo.jpg"}],
            },
            {
                "uuid": "m2",
                "text": "Let me see.\n\nIt says a title.",
                "content": [
                    {"type": "thinking", "thinking": "hm", "summaries": []},
                    {"type": "text", "text": "Let me see.", **text},
                    {"type": "tool_use", "id": "toolu_1", "name": "web_search", "input": {"query": "queen"}},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "name": "web_search",
                        "content": [{"type": "text", "text": "Margrethe"}],
                        "is_error": False,
                    },
                    {"type": "text", "text": "It says a title.", **text},
                    {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "content": "# Note"}},
                ],
                "sender": "assistant",
                **times,
                "attachments": [],
                "files": [],
            },
            {"uuid": "m3", "text": "Thanks", "content": [], "sender": "human", **times, "attachments": [], "files": []},
        ],
    }


def mem0() -> dict[str, Any]:
    """What `Memory.get_all(filters={"user_id": …})` of mem0 2.2 returns."""
    return {
        "results": [
            {
                "id": "0a14d8f0-e364-4f5c-b305-10da1f0d0878",
                "memory": "Likes to sail in Norway",
                "hash": "1a271c007316c94377175ee80e746a19",
                "metadata": {"category": "hobby"},
                "created_at": "2025-03-04T05:06:07.000000-08:00",
                "updated_at": None,
                "user_id": "ada",
            },
            {
                "id": "second",
                "memory": "Name is Ada",
                "hash": "x",
                "metadata": None,
                "created_at": "2025-03-05T05:06:07+00:00",
                "updated_at": "2025-04-05T05:06:07+00:00",
                "user_id": "ada",
                "run_id": "run-7",
                "attributed_to": "user",
                "expiration_date": "2025-06-30",
            },
        ]
    }


def written(path: Path, data: JSON) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path


def lines(path: Path, *values: JSON) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def all_of(path: Path) -> tuple[list[Imported], list[Skipped]]:
    found = list(read(path))
    assert found == list(read(path))
    return [f for f in found if isinstance(f, Imported)], [f for f in found if isinstance(f, Skipped)]


def one_of(path: Path) -> Imported:
    (found,), skipped = all_of(path)
    assert skipped == []
    return found


def words(imported: Imported) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in imported.messages]


def is_valid(messages: tuple[Message, ...]) -> bool:
    asked = (*messages, Message("user", "go on"))
    return not any(validate(asked, shape) for shape in ("openai", "anthropic", "gemini"))
