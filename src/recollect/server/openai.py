"""An OpenAI-compatible proxy with memory: `POST /v1/chat/completions`, `GET /v1/models`, `GET /v1/models/{model}`.

A client names the user by `X-Recollect-User` or the standard `user` field, and the session by `X-Recollect-Session`.
It may send its whole history each time, or only what is new: each message is kept once. The model gets the
conversation fitted into the budget, with what memory recalls; the caller's system messages go in front as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import quote, unquote

from anyio import CancelScope, move_on_after
from fastapi import APIRouter, Header, Request, Response
from pydantic.json_schema import SkipJsonSchema
from starlette.requests import ClientDisconnect

from recollect.errors import BudgetTooSmall, ContextOverflow, ModelError, ModelUnavailable, RecollectError
from recollect.flow.align import fingerprint
from recollect.flow.render import MOST_MARKS, keep_marks, parse, render
from recollect.flow.room import beside
from recollect.flow.shorten import acceptable
from recollect.history import History
from recollect.layers.answer import Attempts, less
from recollect.server import given, shown
from recollect.server.heard import Heard, answer_of
from recollect.server.keeping import Kept, keep, keep_answer
from recollect.server.problems import Refused, openais, told
from recollect.server.replies import to_json
from recollect.server.service import Reads, Service, Talks, context_for, served
from recollect.server.streams import Stream, while_there
from recollect.server.upstream import Declined, Reply
from recollect.session import Session
from recollect.tokens import count_message
from recollect.types import MAX_ID, Message

T = TypeVar("T")
SHAPE: Final = "openai"
LARGE: Final = 2**16
"""A request of more bytes is parsed on a thread: on the event loop, all other requests would wait for it."""
REST_SECONDS: Final = 1.0
"""How long a connection to the model may take to end after its last event."""

ERRORS: Final[dict[int | str, dict[str, Any]]] = {status: {"model": shown.OpenAIError} for status in ("4XX", "5XX")}

STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "object", "properties": {"data": {"type": "string"}}}}}},
}

routes = APIRouter(prefix="/v1", responses=ERRORS)
NAMES: Final = ("X-Recollect-User", "X-Recollect-Session")
Named = Annotated[str | SkipJsonSchema[None], Header()]


@routes.get("/models", operation_id="listModels", response_model=shown.Models)
async def list_models(request: Request, _: Reads) -> Response:
    """The models that can be asked for."""
    return _passed(await served(request).upstream.models())


@routes.get("/models/{model:path}", operation_id="retrieveModel", response_model=shown.Model)
async def retrieve_model(request: Request, _: Reads, model: str) -> Response:
    """The model that a name stands for."""
    if model in ("", ".", ".."):
        raise Refused(404, "no model is named", "name one that GET /v1/models lists")
    return _passed(await served(request).upstream.retrieve(model))


@routes.post(
    "/chat/completions", operation_id="createChatCompletion", response_model=shown.Completion, responses=STREAMED
)
async def create(
    request: Request,
    key: Talks,
    asked: given.CompletionRequest,
    x_recollect_user: Named = None,
    x_recollect_session: Named = None,
) -> Response:
    """An answer of the model, streamed or whole, to a conversation that is remembered and fitted."""
    service = served(request)
    if twice := [name for name in NAMES if len(request.headers.getlist(name)) > 1]:
        raise Refused(400, f"there is more than one {twice[0]}", "send one, and have a proxy replace a caller's own")
    body = {name: value for name, value in asked if name in asked.model_fields_set}
    large = len(await request.body()) > LARGE
    sent = await service.run(parse, asked.messages, SHAPE) if large else parse(asked.messages, SHAPE)
    user = _name(x_recollect_user) if x_recollect_user else asked.user
    if not user:
        raise Refused(400, "no user is named", "name one with the header X-Recollect-User or the field `user`")
    session = _name(x_recollect_session) if x_recollect_session else _session_of(sent)
    chat = service.memory.session(session, user=user, tenant=key.tenant)
    turn = Turn(service, chat, {**body, "model": service.upstream.named(asked.model)}, sent)
    with service.streams.place() if asked.stream else nullcontext():
        with while_there(request.receive):
            return await (turn.streamed() if asked.stream else turn.whole())
        raise ClientDisconnect


def _name(header: str) -> str:
    """The name that a header gives: percent-encoded, or as UTF-8."""
    try:
        return unquote(header.encode("latin-1").decode(), errors="strict")
    except UnicodeDecodeError:
        raise Refused(
            400, f"the name {header!r} is not UTF-8", "percent-encode its characters that are not ASCII"
        ) from None


def _session_of(sent: Sequence[Message]) -> str:
    """The session of a caller that names none: the one that began with the same words, or the same picture or sound."""
    first = next((fingerprint(message) for message in sent if message.role != "system"), "")
    return "chat-" + hashlib.sha256(repr(first).encode("utf-8", "replace")).hexdigest()[:24]


def _passed(reply: Reply, headers: Mapping[str, str] | None = None) -> Response:
    return Response(reply.body, reply.status, {**reply.headers, **(headers or {})}, "application/json")


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One request of a caller: kept, fitted, answered, and the answer kept."""

    service: Service
    chat: Session
    body: dict[str, Any]
    sent: Sequence[Message]

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer: the session that the conversation is kept in."""
        return {"X-Recollect-Session": quote(self.chat.scope.session or "", safe="")}

    @property
    def _asked_of(self) -> tuple[str, str]:
        """Whose question it is, and for which model."""
        return self.chat.scope.tenant, self.body["model"][:MAX_ID]

    async def whole(self) -> Response:
        """The answer in one piece."""
        return await self._answered(*await self._asked(self.service.upstream.complete))

    async def streamed(self) -> Response:
        """The answer as it is made."""
        reply, kept = await self._asked(self._opened)
        if isinstance(reply, Reply):
            answered = await self._answered(reply, kept)
            self.service.streams.leave()
            return answered
        return Stream(self._pieces(reply, kept), self.service.streams, self.headers, reply.until)

    async def _answered(self, reply: Reply, kept: Kept) -> Response:
        """Keep an answer that came in one piece, and return it."""
        if reply.status == 200 and not kept.again and (message := answer_of(reply.data)):
            await self.service.end(keep_answer, self.chat, kept.follows, message)
        return _passed(reply, self.headers)

    async def _asked(self, ask: Callable[[Any], Awaitable[T]]) -> tuple[T | Reply, Kept]:
        """Keep what was sent, then ask the model; returns its reply and what became of what was sent.

        Where the model finds the prompt too long or its server refuses it, it is asked again as `Attempts` says. A
        limit that the model names holds from then on; what it is not sent stays in the log.
        """
        request, attempts, kept = await self.service.run(self._kept)
        try:
            while True:
                try:
                    return await ask(request), kept
                except (Declined, ModelError) as error:
                    request = await self.service.run(self._after, attempts, error)
        except Declined as error:
            return error.reply, kept

    def _after(self, attempts: Attempts[Message], error: Declined | ModelError) -> Any:
        """The request to make after this error; raises the error if nothing else can be tried."""
        if isinstance(error, Declined):
            return self._prepared(attempts.after(error, error.reply.status, error.overflow))
        return self._prepared(attempts.after(error))

    @property
    def _for_reply(self) -> int:
        """How many tokens the caller wants to leave free for the answer."""
        asked = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        return asked if isinstance(asked, int) else 0

    def _kept(self) -> tuple[Any, Attempts[Message], Kept]:
        """Keep what was sent; returns the first request, what to send after an error, and what became of it."""
        self.service.upstream.check(self.body)
        kept = keep(self.chat, self.sent)
        messages, tokens = self._first(kept)

        def smaller(overflow: ContextOverflow, attempt: int) -> list[Message]:
            if overflow.limit:
                self.service.takes[self._asked_of] = overflow.limit
            return self._fitted(less(overflow, tokens, attempt), kept)[0]

        return self._prepared(messages), Attempts(messages, smaller, acceptable), kept

    def _first(self, kept: Kept) -> tuple[list[Message], int]:
        """What to send within the budget, or within what the model takes where that is less."""
        budget = self.chat.memory.settings.budget
        takes = self.service.takes.get(self._asked_of, budget + self._for_reply) - self._for_reply
        if takes < budget:
            with suppress(BudgetTooSmall):
                return self._fitted(takes, kept)
        return self._fitted(budget, kept)

    def _fitted(self, budget: int, kept: Kept) -> tuple[list[Message], int]:
        """The conversation fitted into a budget, and how many tokens it has.

        A question that was asked before, or after which others have spoken, gets the conversation as it was when the
        question came; a conversation that was edited is fitted as it was sent.
        """
        chat = self.chat
        system = [message for message in self.sent if message.role == "system"]
        tools = self.body.get("tools") or ()
        if kept.changed:
            shown = [line.message for line in History(chat, budget).prompt(self.sent, tools, keep=False)]
            return shown, sum(count_message(m, chat.memory.counter) for m in shown)
        with beside(system, partial(count_message, count=chat.memory.counter), budget) as left:
            if kept.last and kept.last.role == "user":
                context = context_for(kept.last, chat, left, tools=tools)
            else:
                context = chat.context(None, left, tools=tools)
        return [*system, *context.prompt], context.tokens + budget - left

    def _prepared(self, messages: Sequence[Message]) -> Any:
        """The request with these messages, and no more of their cache marks than a request may have."""
        wire, tools = render(messages, SHAPE), self.body.get("tools") or ()
        keep_marks(wire, MOST_MARKS - sum("cache_control" in tool for tool in tools))
        return self.service.upstream.prepared({**self.body, "messages": list(wire)})

    async def _opened(self, request: Any) -> Reply | Opened:
        async with AsyncExitStack() as stack:
            reply = await stack.enter_async_context(self.service.upstream.stream(request))
            return reply if isinstance(reply, Reply) else Opened(reply, stack.pop_all())

    async def _pieces(self, opened: Opened, asked: Kept) -> AsyncGenerator[bytes]:
        """The stream as it comes. The answer is kept before its end is sent: the caller may go on at once."""
        heard, kept, sent = Heard(), asked.again, b""

        async def keep_once() -> None:
            nonlocal kept
            if not kept:
                kept = True
                with CancelScope(shield=True):
                    await self.service.end(self._add, heard, asked)

        try:
            async for piece in opened.pieces:
                heard.feed(piece)
                if not heard.ended:
                    sent = piece
                    yield piece
                    continue
                opened.until.push_async_callback(_rest, opened.pieces)
                await keep_once()
                yield piece.rstrip() + b"\n\n"
                return
            if heard.broke_off():
                raise ModelUnavailable("the model's server ended the stream before the answer did")
        except RecollectError as error:
            if sent and not sent.endswith(b"\n"):
                raise  # in the middle of an event: no other can follow it
            await keep_once()
            yield b"\ndata: " + to_json(openais(told(error))) + b"\n\n"
        finally:
            await keep_once()

    def _add(self, heard: Heard, asked: Kept) -> None:
        if message := heard.message():
            keep_answer(self.chat, asked.follows, message)


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A stream that has begun; closing `until` ends it."""

    pieces: AsyncIterator[bytes]
    until: AsyncExitStack


async def _rest(pieces: AsyncIterator[bytes]) -> None:
    """Read on after the last event, though nothing comes: only a connection read to its end can be used again."""
    with suppress(Exception), move_on_after(REST_SECONDS):
        async for _ in pieces:
            pass
