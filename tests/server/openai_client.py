"""An OpenAI client of the proxy: what it asks, and what of that was kept."""

from __future__ import annotations

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


def words(answer: Any, stream: bool) -> str:
    if not stream:
        return str(answer.choices[0].message.content)
    return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)


def said(proxy: Running, session: str = "trip", user: str = "ada") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in proxy.memory.session(session, user=user).history()]
