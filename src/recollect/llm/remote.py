"""A model behind HTTP: one shell for every wire format, with retries before the first word and none after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from recollect.arguments import check_whole, messages_only
from recollect.errors import BadReply, Interrupted, ModelError, ModelUnavailable
from recollect.http import MOST_BYTES, Endpoint
from recollect.llm.dialect import Ask, Dialect, failure
from recollect.llm.model import TIMEOUT, Delta, Options, Reply
from recollect.llm.openai import OpenAI
from recollect.llm.salvage import salvage
from recollect.llm.schema import check_schema
from recollect.traces import Note, span
from recollect.types import Message

if TYPE_CHECKING:
    from httpx2 import Response

T = TypeVar("T")


class RemoteModel:
    """A `ChatModel` behind HTTP."""

    def __init__(self, model: str, endpoint: Endpoint, dialect: Dialect) -> None:
        self.name, self._model = endpoint.name, model
        self._endpoint, self._dialect = endpoint, dialect

    def check(self) -> None:
        """Raise ModelUnavailable if the server needs a key and there is none."""
        self._endpoint.key()

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The whole answer."""
        ask, timeout = self._ask(messages, stream=False, **options)

        def once() -> tuple[Reply, int]:
            body = self._dialect.body(ask)
            return self._endpoint.post(self._dialect.path, body, timeout, lambda data: self._read(data, ask))

        with span("chat", model=self.name) as note:
            reply, tries = self._with_or_without_schemas(once, ask)
            _told(note, reply)
            return self._valued(replace(reply, tries=tries), ask)

    def stream(self, messages: Sequence[Message], **options: Unpack[Options]) -> Iterator[Delta]:
        """The answer, piece by piece; the last piece has the whole reply.

        If the answer breaks off, raises Interrupted with what came so far. Closing the iterator ends the request.
        """
        ask, timeout = self._ask(messages, stream=True, **options)

        def once() -> tuple[Generator[Delta], int]:
            body = self._dialect.body(ask)
            return self._endpoint.stream(self._dialect.path, body, timeout, lambda reply: self._deltas(reply, ask))

        with span("chat", model=self.name, current=False) as note:
            for delta in self._watched(*self._with_or_without_schemas(once, ask), ask):
                if delta.reply:
                    _told(note, delta.reply)
                yield delta

    def _ask(
        self,
        messages: Sequence[Message],
        stream: bool,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float = TIMEOUT,
    ) -> tuple[Ask, float]:
        """The request, and the seconds it may take."""
        if schema is not None:
            check_schema(schema)
        if max_tokens is not None:
            check_whole("max_tokens", max_tokens, 1)
        return Ask(self._model, messages_only(messages), tools, schema, max_tokens, stream), timeout

    def _with_or_without_schemas(self, once: Callable[[], tuple[T, int]], ask: Ask) -> tuple[T, int]:
        """The result and the number of tries. A server that refuses schemas gets them in the prompt from now on."""
        try:
            return once()
        except ModelUnavailable as error:
            refused = ask.schema is not None and not error.passing and "response_format" in str(error)
            if not refused or not isinstance(self._dialect, OpenAI) or not self._dialect.schemas:
                raise
            self._dialect = replace(self._dialect, schemas=False)
        try:
            found, tries = once()
        except ModelError as error:
            error.tries += 1
            raise
        return found, tries + 1

    def _read(self, data: Any, ask: Ask) -> Reply:
        with self._reading():
            if error := failure(data):
                raise error
            if not isinstance(data, Mapping):
                raise BadReply(f"the reply is a {type(data).__name__}, not an object")
            reply = self._dialect.read(data, ask)
        return replace(reply, model=reply.model or self._model)

    def _valued(self, reply: Reply, ask: Ask) -> Reply:
        if ask.schema is None or reply.message.tool_calls:
            return reply
        try:
            with self._reading():
                return replace(reply, value=salvage(reply.text, ask.schema))
        except ModelError as error:
            error.tries = reply.tries
            raise

    def _deltas(self, response: Response, ask: Ask) -> Iterator[Delta]:
        if self._dialect.lines == "events" and "json" in response.headers.get("content-type", ""):
            yield from self._at_once(response, ask)
            return
        pieces, left = self._dialect.pieces(ask), MOST_BYTES
        for payload in self._payloads(response):
            left -= len(payload)
            if left < 0:
                raise BadReply(f"the answer has over {MOST_BYTES:,} bytes").named(self.name)
            if payload == "[DONE]":
                pieces.done()
                continue
            with self._reading():
                piece = json.loads(payload)
                if error := failure(piece):
                    raise error
                delta = pieces.add(piece)
            if delta:
                yield delta
        with self._reading():
            whole = pieces.whole()
        if whole is None:
            raise ModelUnavailable(f"{self.name}: the stream ended before the answer did")
        yield Delta(reply=self._read(whole, ask))

    def _at_once(self, response: Response, ask: Ask) -> Iterator[Delta]:
        """The reply of a server that does not stream."""
        with self._reading():
            data = json.loads(response.read())
        reply = self._read(data, ask)
        if reply.text:
            yield Delta(reply.text)
        yield Delta(reply=reply)

    def _payloads(self, response: Response) -> Iterator[str]:
        import httpx2

        if self._dialect.lines == "events":
            yield from (event.data for event in httpx2.EventSource(response))
        else:
            yield from _lines(response)

    def _watched(self, deltas: Generator[Delta], tries: int, ask: Ask) -> Iterator[Delta]:
        said: list[str] = []
        reply = None
        try:
            with closing(deltas):
                for delta in deltas:
                    if delta.reply is None:
                        said.append(delta.text)
                        yield delta
                    else:
                        reply = delta.reply
        except ModelError as error:
            if not said:
                raise
            broken = Interrupted(f"{self.name}: the answer broke off: {error}", "".join(said))
            broken.tries = tries
            raise broken from error
        if reply is not None:
            yield Delta(reply=self._valued(replace(reply, tries=tries), ask))

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn any error that a malformed reply causes into BadReply, and name the model in every ModelError."""
        try:
            yield
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            problem = f"the reply can't be understood: {type(error).__name__}: {error}"
            raise BadReply(problem).named(self.name) from error
        except ModelError as error:
            error.named(self.name)
            raise


def _told(note: Note, reply: Reply) -> None:
    used = reply.usage
    note(answered_by=reply.model, prompt=used.prompt, completion=used.completion, cached=used.cached)


def _lines(response: Response) -> Iterator[str]:
    """Lines separated by line feeds only; the last one may lack it."""
    rest = b""
    for data in response.iter_bytes():
        *whole, rest = (rest + data).split(b"\n")
        if len(rest) > MOST_BYTES:
            raise BadReply(f"the reply of {response.url.host} has a line of over {MOST_BYTES} bytes")
        yield from (line.decode("utf-8", "replace") for line in whole if line.strip())
    if rest.strip():
        yield rest.decode("utf-8", "replace")
