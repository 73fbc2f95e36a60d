"""A local server that behaves like OpenAI, Anthropic or Ollama, errors and all; for tests of what talks to a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, Self

from recollect.embed.hashing import HashingEmbedder
from recollect.errors import ConfigError
from recollect.llm.model import Finish, Usage
from recollect.testing.provider.anthropic import Anthropic
from recollect.testing.provider.cache import PromptCache
from recollect.testing.provider.faults import FAULTS, Fault
from recollect.testing.provider.ollama import Ollama
from recollect.testing.provider.openai import OpenAI
from recollect.testing.provider.server import Server
from recollect.testing.provider.style import Style
from recollect.testing.provider.values import Answer, Asked, Refused, Replies, Said, Sending, whole
from recollect.tokens import TokenCounter, estimate
from recollect.types import Message, ToolCall

STYLES: Final[Mapping[str, Callable[[], Style]]] = {"openai": OpenAI, "anthropic": Anthropic, "ollama": Ollama}
DEFAULT_REPLY: Final = "Understood."
MODEL: Final = {"id": "test-model", "object": "model"}
DIMENSION: Final = 64
EMBEDDING_LIMIT: Final = 8_192


class Provider:
    """A model's provider on a free port: `with Provider("openai", ["Hello!"], limit=8_000) as provider: provider.url`.

    `replies` are given in turn, the last one over and over; or they are a function of the request. `limit` is the
    context's size in tokens as `counter` counts; beyond it the provider's own error is sent, or `overflow` with
    {tokens}, {limit} and {reply} filled in. Each of `faults`, by its name in FAULTS, spoils one request.
    """

    def __init__(
        self,
        style: Literal["openai", "anthropic", "ollama"] = "openai",
        replies: Sequence[Said] | Replies = (),
        *,
        limit: int | None = None,
        faults: Iterable[str] = (),
        counter: TokenCounter = estimate,
        overflow: str | None = None,
        cache_from: int = 1_024,
    ) -> None:
        if style not in STYLES:
            raise ConfigError(f"style {style!r} is not one of {', '.join(STYLES)}")
        self.style = STYLES[style]()
        self.limit, self.counter, self.overflow = limit, counter, overflow
        self._replies, self._said = replies, 0
        self._faults, self._requests = list[str](), list[Asked]()
        self._cache, self._lock = PromptCache(cache_from), threading.RLock()
        self._server: Server | None = None
        for fault in faults:
            self.fail(fault)

    def __enter__(self) -> Self:
        self._server = Server(self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._server:
            self._server.close()

    @property
    def url(self) -> str:
        """What belongs into OPENAI_BASE_URL, ANTHROPIC_BASE_URL or OLLAMA_HOST."""
        if self._server is None:
            raise ConfigError("the provider is not running: use it as `with Provider(…) as provider:`")
        return f"http://127.0.0.1:{self._server.server_port}{self.style.base}"

    @property
    def requests(self) -> tuple[Asked, ...]:
        """Every request so far, and how it went."""
        with self._lock:
            return tuple(self._requests)

    def fail(self, fault: str, times: int = 1) -> None:
        """Spoil the next requests by a fault of FAULTS, after those that are planned already."""
        if fault not in FAULTS:
            raise ConfigError(f"no fault {fault!r}; there are {', '.join(FAULTS)}")
        with self._lock:
            self._faults += [fault] * times

    def _handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Sending:
        with self._lock:
            name = self._faults.pop(0) if self._faults else ""
            fault = FAULTS[name] if name else Fault("")
            asked = Asked(path, headers, {}, fault=name)
            try:
                if fault.refused:
                    asked = replace(asked, body=_json(raw, lenient=True))
                    raise fault.refused
                asked, sending = self._answered(method, replace(asked, body=_json(raw)), fault)
            except Refused as refused:
                error = self.style.error(refused.status, refused.problem, refused.code)
                sending = whole(error, refused.status, **fault.headers)
                asked = replace(refused.asked or asked, problem=refused.problem)
            if fault.sending:
                sending = fault.sending(sending, self.style)
            self._requests.append(replace(asked, status=sending.status if sending.begins else 0))
            return sending

    def _answered(self, method: str, asked: Asked, fault: Fault) -> tuple[Asked, Sending]:
        path = asked.path.partition("?")[0]
        if method == "POST" and path == self.style.chat:
            return self._chat(asked, fault)
        if method == "POST" and path == "/v1/embeddings":
            return asked, self._embeddings(asked.body, fault)
        if method == "GET" and path == "/v1/models":
            return asked, whole({"object": "list", "data": [MODEL]})
        if method == "GET" and path == f"/v1/models/{MODEL['id']}":
            return asked, whole(MODEL)
        raise Refused(404, f"Invalid URL ({method} {path})")

    def _chat(self, asked: Asked, fault: Fault) -> tuple[Asked, Sending]:
        style, body = self.style, asked.body
        try:
            messages, room = style.read(body), style.room(body)
            blocks = style.blocks(style.shown(messages, body, self.counter), body, self.counter)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise Refused(400, f"Invalid request: {type(error).__name__}: {error}") from error
        tokens = sum(block.tokens for block in blocks)
        asked = replace(asked, messages=messages, tokens=tokens)
        if self.limit is not None and (problem := style.overflow(tokens, self.limit, room)):
            says = self.overflow and self.overflow.format(tokens=tokens, limit=self.limit, reply=room or 0)
            code = "context_length_exceeded" if isinstance(style, OpenAI) else None
            raise Refused(400, says or problem, code, asked)
        read, written = style.look_up(self._cache, blocks)
        asked = replace(asked, cached=read, written=written)
        answer = self._answer(asked, room)
        answer = fault.answer(answer) if fault.answer else answer
        if style.streams(body) and not fault.at_once:
            return asked, Sending(200, tuple(style.events(answer, body)), {"content-type": style.stream_type})
        return asked, whole(style.body(answer))

    def _answer(self, asked: Asked, room: int | None) -> Answer:
        message, finish = self._cut(_message(self._next(asked), asked.body), room)
        said = [message.text, *(call.arguments for call in message.tool_calls)]
        usage = Usage(asked.tokens, sum(map(self.counter, said)), asked.cached, asked.written)
        return Answer(message, finish, usage, model=asked.body["model"], id=str(len(self._requests)))

    def _next(self, asked: Asked) -> Said:
        if callable(self._replies):
            return self._replies(asked)
        self._said += 1
        return self._replies[min(self._said, len(self._replies)) - 1] if self._replies else DEFAULT_REPLY

    def _cut(self, message: Message, room: int | None) -> tuple[Message, Finish]:
        if message.tool_calls:
            return message, "tool_calls"
        text = message.text
        if room is None or self.counter(text) <= room:
            return message, "stop"
        while text and self.counter(text) > room:
            text = text[: len(text) * room // self.counter(text)]
        return Message("assistant", text), "length"

    def _embeddings(self, body: Mapping[str, Any], fault: Fault) -> Sending:
        texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
        if not texts or not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            raise Refused(400, "'$.input' is invalid. Please check the API reference.")
        tokens = [self.counter(text) for text in texts]
        if max(tokens) > EMBEDDING_LIMIT:
            problem = f"This model's maximum context length is {EMBEDDING_LIMIT} tokens, however you requested "
            raise Refused(400, f"{problem}{max(tokens)} tokens. Please reduce your prompt; or completion length.")
        vectors = HashingEmbedder(DIMENSION).embed(texts)
        data = [{"object": "embedding", "index": i, "embedding": v.tolist()} for i, v in enumerate(vectors)]
        answer = Answer(Message("assistant"), usage=Usage(sum(tokens)))
        answer = fault.answer(answer) if fault.answer else answer
        usage = answer.reported({"prompt_tokens": answer.usage.prompt, "total_tokens": answer.usage.prompt})
        return whole({"object": "list", "data": data if answer.message else [], "usage": usage})


def _json(raw: bytes, lenient: bool = False) -> Mapping[str, Any]:
    try:
        body = json.loads(raw or b"{}")
    except ValueError:
        body = None
    if isinstance(body, dict):
        return body
    if lenient:
        return {}
    raise Refused(400, "We could not parse the JSON body of your request.")


def _message(said: Said, body: Mapping[str, Any]) -> Message:
    if isinstance(said, Message):
        return said
    if isinstance(said, str):
        return Message("assistant", said)
    forced = body.get("tool_choice")
    if isinstance(forced, dict) and forced.get("type") == "tool":
        return Message("assistant", (ToolCall("toolu_1", forced["name"], json.dumps(said)),))
    return Message("assistant", json.dumps(said, ensure_ascii=False))
