"""Calls of the REST service that most tests of it make."""

from __future__ import annotations

from typing import Any

from tests.server.running import Running

ADA = {"user": "ada", "session": "trip"}
HELLO = {"role": "user", "content": "My sister Nadia moved to Oslo in May."}
NOTED = {"role": "assistant", "content": "Noted!"}


def add(service: Running, *messages: dict[str, Any], where: Any = ADA, **headers: str) -> Any:
    return service.http.post("/messages", params=where, json={"messages": list(messages)}, headers=headers)


def listed(service: Running, **more: Any) -> Any:
    return service.http.get("/messages", params={**ADA, **more}).json()


def texts(page: Any) -> list[str]:
    return [item["message"]["content"] for item in page["items"]]
