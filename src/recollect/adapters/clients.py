"""Memory for an OpenAI or Anthropic client, in one line: `client = remember(client, memory, user=…, session=…)`.

Every way to ask goes through the client's `post`: create, stream, parse, and the raw forms of each.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar
from weakref import WeakSet

from recollect.adapters.answers import ANSWERS, Answer
from recollect.aio import done
from recollect.errors import ConfigError, InvalidTranscript
from recollect.flow.render import MOST_MARKS, parse, render, sendable
from recollect.flow.shapes import shape_of
from recollect.history import Asking, Histories, History, Sent
from recollect.memory import Memory
from recollect.types import Message

log = logging.getLogger("recollect")
C = TypeVar("C")
_STREAMS: Final = threading.Lock()
"""Held while the streams of a client are added to, or looked through: many threads may ask by one."""

SHAPES: Final = {"/chat/completions": "openai", "/responses": "openai-responses", "/v1/messages": "anthropic"}
"""The shape of what is posted, by the address it is posted to."""
ELSEWHERE: Final = ("previous_response_id", "conversation", "thread")
"""Fields of a request that say that the provider itself keeps the conversation."""

BYTES: Final = ("APIResponse", "AsyncAPIResponse", "Response")
"""The types of answers whose bytes the caller reads."""
PLAIN: Final = "_without_memory"
"""The attribute of a client with a memory that makes a copy of it without one."""
NOT_GIVEN: Final = ("NotGiven", "Omit")
"""The types that stand in a request for what the caller left out."""


def remember(
    client: C, memory: Memory, *, user: str, session: str, tenant: str = "default", budget: int | None = None
) -> C:
    """The client with a memory; the one that was given stays as it is, and both share their connections.

    Of one that has a memory already, the new one has this memory instead.
    What the caller sends is kept once, however often it is sent, and the answer when it is complete, streamed or not.
    Each request has at most `budget` tokens: the newest turns, whole, with what memory knows about the question in
    front of it. Send the whole history each time, or only what is new: the session has the past.
    """
    if not (hasattr(client, "copy") and hasattr(client, "post")):
        kinds = "OpenAI(), AsyncOpenAI(), Anthropic() or AsyncAnthropic()"
        raise ConfigError(f"{type(client).__name__} is not a client of openai or anthropic; pass {kinds}")
    plain = vars(client).get(PLAIN, client.copy)()
    kept: C = _remembering(plain, Histories(memory, user, tenant, budget).of(session), WeakSet())
    return kept


def _remembering(client: Any, history: History, streams: WeakSet[Hearing]) -> Any:
    """The client, now with a memory, as are those that are made from it.

    Anthropic's would otherwise leave the conversation of a tool runner to the provider.
    """
    post, copy = client.post, client.copy

    def copied(*arguments: Any, **options: Any) -> Any:
        return _remembering(copy(*arguments, **options), history, streams)

    kept = (_awaited if inspect.iscoroutinefunction(post) else _plain)(post, history, streams)
    own = {"post": kept, "copy": copied, "with_options": copied, "_supports_message_threads": False, PLAIN: copy}
    vars(client).update(own)
    return client


def _plain(post: Callable[..., Any], history: History, streams: WeakSet[Hearing]) -> Callable[..., Any]:
    @wraps(post)
    def posted(path: str, **request: Any) -> Any:
        shape = _shape(path, request)
        if shape is None:
            return post(path, **request)
        for left in _left(streams):
            left.keep()
        asking = _asking(history, request["body"], shape)
        response = asking.ask(lambda body: post(path, **{**request, "body": body}))
        answer, result = ANSWERS[shape](), _read(response)
        if hasattr(result, "_iterator"):
            _watch(result, _heard(streams, answer, asking))
        elif result is not None:
            asking.keep(*_readable(lambda: answer.whole(result)))
        return response

    return posted


def _awaited(post: Callable[..., Any], history: History, streams: WeakSet[Hearing]) -> Callable[..., Any]:
    @wraps(post)
    async def posted(path: str, **request: Any) -> Any:
        shape = _shape(path, request)
        if shape is None:
            return await post(path, **request)
        for left in _left(streams):
            await left.keep_async()
        asking = _asking(history, request["body"], shape)
        response = await asking.ask_async(lambda body: post(path, **{**request, "body": body}))
        answer, result = ANSWERS[shape](), _read(response)
        if hasattr(result, "_iterator"):
            _watch_async(result, _heard(streams, answer, asking))
        elif result is not None:
            await done(asking.keep, *_readable(lambda: answer.whole(result)))
        return response

    return posted


def _shape(path: str, request: Mapping[str, Any]) -> str | None:
    """The shape of a request that is a conversation of ours to fit."""
    body, shape = request.get("body"), SHAPES.get(path.partition("?")[0])
    if shape is None or not isinstance(body, Mapping) or any(body.get(name) for name in ELSEWHERE):
        return None
    given = body.get(shape_of(shape).messages)
    return None if given is None or type(given).__name__ in NOT_GIVEN else shape


def _asking(history: History, body: Mapping[str, Any], shape: str) -> Asking[dict[str, Any]]:
    """What a request asks, with what fits and with memory."""

    def made(sent: Sequence[Sent]) -> dict[str, Any]:
        return {**body, **sendable(render([line.message for line in sent], shape), marks).request()}

    plain = _plain_json(body)
    tools = plain.get("tools") or ()
    marks = MOST_MARKS - sum("cache_control" in given for given in (plain, *tools))
    return Asking(history, parse(plain, shape), tools, made)


def _plain_json(value: Any) -> Any:
    """The value with the SDK's own objects, which callers hand back as they got them, as the JSON they stand for."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(value, Mapping):
        given = {name: inner for name, inner in value.items() if type(inner).__name__ not in NOT_GIVEN}
        return {name: _plain_json(inner) for name, inner in given.items()}
    return [_plain_json(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _read(response: Any) -> Any:
    """The answer in a response; None where the caller reads the bytes, and hands the answer back with what follows."""
    kind = type(response).__name__
    if kind == "LegacyAPIResponse":
        return response.parse()
    if hasattr(response, "model_dump") or hasattr(response, "_iterator"):
        return response
    if kind not in BYTES:
        log.warning("an answer was not kept: a %s can't be read here", kind)
    return None


def _readable(said: Callable[[], list[Message]]) -> list[Message]:
    """What was said; nothing where it can't be kept, for the caller is to have the answer all the same."""
    try:
        return said()
    except InvalidTranscript as error:
        log.warning("an answer was not kept: %s", error)
        return []


@dataclass(slots=True, eq=False, weakref_slot=True)
class Hearing:
    """An answer that comes in a stream; kept once, at its end or when the caller leaves."""

    answer: Answer
    asking: Asking[Any]
    kept: bool = False
    reader: object = None
    """The task or thread that reads the events."""

    def keep(self) -> None:
        """Keep what was said, whole or as far as it came."""
        if not self.kept:
            self.kept = True
            self.asking.keep(*_readable(self.answer.said))

    async def keep_async(self) -> None:
        """The same, awaited; at once where it is kept, for a generator that is thrown away can't be waited in."""
        if not self.kept:
            await done(self.keep)


def _heard(streams: WeakSet[Hearing], answer: Answer, asking: Asking[Any]) -> Hearing:
    with _STREAMS:
        streams.add(heard := Hearing(answer, asking))
    return heard


def _left(streams: WeakSet[Hearing]) -> list[Hearing]:
    """The streams that were left without closing them: their reader asks something else now, or has ended."""
    now = _reader()
    with _STREAMS:
        known = list(streams)
    return [one for one in known if one.reader is now or (isinstance(one.reader, asyncio.Task) and one.reader.done())]


def _reader() -> object:
    try:
        return asyncio.current_task() or threading.current_thread()
    except RuntimeError:
        return threading.current_thread()


def _watch(stream: Any, heard: Hearing) -> None:
    """Hear what the stream says until it ends, or its response is closed, as all ways to leave it do."""
    response, close, events = stream.response, stream.response.close, stream._iterator

    def closed() -> None:
        try:
            close()
        finally:
            if not getattr(events, "gi_running", False):  # else they close it themselves, at their end
                heard.keep()

    stream._iterator, response.close = _watched(events, heard), closed


def _watch_async(stream: Any, heard: Hearing) -> None:
    response, close, events = stream.response, stream.response.aclose, stream._iterator

    async def closed() -> None:
        try:
            await close()
        finally:
            if not getattr(events, "ag_running", False):
                await heard.keep_async()

    stream._iterator, response.aclose = _watched_async(events, heard), closed


def _watched(events: Iterator[Any], heard: Hearing) -> Generator[Any, None, None]:
    """The events as they come; what they say is kept at their end, or as far as they came."""
    heard.reader = _reader()
    try:
        for event in events:
            heard.answer.add(event)
            yield event
    finally:
        heard.keep()


async def _watched_async(events: AsyncIterator[Any], heard: Hearing) -> AsyncGenerator[Any, None]:
    heard.reader = _reader()
    try:
        async for event in events:
            heard.answer.add(event)
            yield event
    finally:
        await heard.keep_async()
