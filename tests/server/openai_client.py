"""An OpenAI client of the proxy: what it asks, and what of that was kept."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

import openai

from recollect.types import Message, ToolCall
from tests.server.running import Running

TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
]
CALL = Message("assistant", (ToolCall("call_1", "weather", '{"city": "Oslo"}'),))
HELLO: Any = {"role": "user", "content": "My sister Nadia moved to Oslo in May."}


def client(proxy: Running, session: str | None = "trip", user: str | None = "ada") -> openai.OpenAI:
    named = {"X-Recollect-User": user, "X-Recollect-Session": session}
    headers = {name: value for name, value in named.items() if value}
    return openai.OpenAI(
        base_url=f"{proxy.url}/v1", api_key="unused", default_headers=headers, max_retries=0, http_client=proxy.http
    )


def ask(client: openai.OpenAI, *messages: Any, **more: Any) -> Any:
    return client.chat.completions.create(model="recollect", messages=list(messages), **more)


def leave(proxy: Running, asked: Callable[[], object], *messages: Any, **more: Any) -> None:
    """Ask, and go away once the model was asked; returns when the proxy has noticed."""
    body = json.dumps({"model": "recollect", "messages": messages, **more})
    lines = ["POST /v1/chat/completions HTTP/1.1", "Host: localhost", "X-Recollect-User: ada"]
    lines += ["X-Recollect-Session: trip", "Content-Type: application/json", f"Content-Length: {len(body)}", "", body]
    with socket.create_connection((proxy.http.base_url.host, proxy.http.base_url.port or 80)) as caller:
        caller.sendall("\r\n".join(lines).encode())
        while not asked():
            time.sleep(0.01)
    while 'status="499"} 1' not in proxy.http.get("/metrics").text:
        time.sleep(0.01)


def words(answer: Any, stream: bool) -> str:
    if not stream:
        return str(answer.choices[0].message.content)
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


def said(proxy: Running, session: str = "trip", user: str = "ada") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in proxy.memory.session(session, user=user).history()]
