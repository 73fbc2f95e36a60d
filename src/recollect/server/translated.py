"""Any model of ours behind OpenAI's wire format, for models whose own servers do not speak it."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from anyio import CapacityLimiter, to_thread

from recollect.errors import ConfigError
from recollect.flow.render import parse, render
from recollect.llm.dialect import part
from recollect.llm.model import ChatModel, Delta, Usage
from recollect.llm.model import Reply as Said
from recollect.server.replies import to_json
from recollect.server.upstream import Reply, from_thread

EMPTY_ANSWER: Final = {"role": "assistant", "content": None}
"""What a model says that refuses to answer, and does not say so."""
UNGRANTED: Final[dict[str, tuple[Any, ...]]] = {
    "n": (None, 1),
    "logprobs": (None, False),
    "modalities": (None, [], ["text"]),
    "functions": (None, []),
}
"""Fields that can't be granted here, each with the values that ask for nothing; other values are refused."""


@dataclass(frozen=True, slots=True, eq=False)
class Translated:
    """A model that is asked, and answers, as OpenAI's servers are asked and answer."""

    model: ChatModel
    threads: CapacityLimiter

    def named(self, model: str) -> str:
        """The one model there is."""
        return self.model.name

    async def models(self) -> Reply:
        """The one model there is."""
        return _reply({"object": "list", "data": [self._one]})

    async def retrieve(self, model: str) -> Reply:
        """The one model there is."""
        return _reply(self._one)

    @property
    def _one(self) -> dict[str, Any]:
        return {"id": self.model.name, "object": "model", "created": 0, "owned_by": "recollect"}

    def check(self, body: Mapping[str, Any]) -> None:
        """Refuse a request for what the model can't answer with."""
        if missed := [name for name, taken in UNGRANTED.items() if body.get(name) not in taken]:
            raise ConfigError(
                f"{body['model']} can't do {' and '.join(missed)} here: leave that out, or serve an openai: model"
            )

    def prepared(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The request as it is."""
        return body

    async def complete(self, request: Mapping[str, Any]) -> Reply:
        """The whole answer."""
        said = await to_thread.run_sync(lambda: self.model.complete(**_asked(request)), limiter=self.threads)
        choice = {"index": 0, "message": _wire(said), "finish_reason": said.finish, "logprobs": None}
        return _reply({**_head(request, "chat.completion"), "choices": [choice], "usage": _usage(said.usage)})

    @asynccontextmanager
    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Reply | AsyncIterator[bytes]]:
        """The answer chunk by chunk."""
        deltas = from_thread(lambda: self.model.stream(**_asked(request)), self.threads)
        async with aclosing(deltas):
            # what goes wrong before the first word is a refusal, not a broken stream
            first: list[Delta] = await anext(deltas, [])
            yield _chunks(first, deltas, request)

    async def close(self) -> None:
        """Do nothing: no connection is held."""


def _asked(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "messages": parse(body["messages"], "openai"),
        "tools": body.get("tools") or (),
        "schema": None if body.get("tools") else _schema(part(body, "response_format")),
        "max_tokens": body.get("max_completion_tokens") or body.get("max_tokens"),
    }


def _schema(wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema that the answer is to fit, any object where only JSON is asked for."""
    if wanted.get("type") == "json_object":
        return {"type": "object"}
    return part(part(wanted, "json_schema"), "schema") or None


def _wire(said: Said) -> dict[str, Any]:
    return {"refusal": None, **EMPTY_ANSWER, **dict(*render([said.message], "openai")[-1:])}


def _head(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    made = {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time())}
    return {**made, "model": body["model"]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _reply(data: Mapping[str, Any]) -> Reply:
    return Reply(200, to_json(data))


async def _chunks(
    deltas: list[Delta], rest: AsyncIterator[list[Delta]], body: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    said: Said | None = None
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + to_json({**head, "choices": [choice]}) + b"\n\n"

    yield chunk({"role": "assistant", "content": ""})
    while deltas:
        if words := [chunk({"content": delta.text}) for delta in deltas if delta.text]:
            yield b"".join(words)
        said = deltas[-1].reply or said
        deltas = await anext(rest, [])
    if said:
        if calls := _wire(said).get("tool_calls"):
            yield chunk({"tool_calls": [{"index": index, **call} for index, call in enumerate(calls)]})
        yield chunk({}, said.finish)
        if part(body, "stream_options").get("include_usage"):
            yield b"data: " + to_json({**head, "choices": [], "usage": _usage(said.usage)}) + b"\n\n"
    yield b"data: [DONE]\n\n"
