"""A streaming chat: `POST /chat`. The message is kept before the model is asked; of the answer, all that came.

Events are `token` ({"text"}), `thinking`, `done` ({"message", "usage", "tokens", "finish"}) and `error` (a problem).
With `debug`, comment lines in front of them say what memory, documents and searches brought into the prompt; with
`context`, a first event `context` holds the prompt as it is sent, with its receipt.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from anyio import CancelScope
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from recollect.errors import RecollectError
from recollect.flow.context import Context
from recollect.flow.receipt import CONVERSATION
from recollect.layers.answer import stream_fitting
from recollect.llm.model import PARTIAL, Delta, Reply
from recollect.server import given, shown
from recollect.server.keeping import answer_id, keep, keep_answer
from recollect.server.logs import log
from recollect.server.problems import told
from recollect.server.replies import to_json
from recollect.server.rest import IdempotencyKey, derived_id, sent_under
from recollect.server.service import Service, TalkedSession, context_for, served
from recollect.server.streams import Stream
from recollect.server.upstream import from_thread
from recollect.session import Session
from recollect.types import Message

DEBUG: Final = {"RAG_DEBUG": ("documents",), "SEARCH_DEBUG": ("tools",)}
"""Which sections a comment is about; MEMORY_DEBUG is about all others that memory fills."""
TEXT: Final = {"type": "string"}
NAMES: Final = {"type": "string", "enum": ["context", "token", "thinking", "done", "error"]}
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "object", "properties": {"event": NAMES, "data": TEXT}}}}
    },
}

routes = APIRouter(responses=shown.ERRORS)


@routes.post("/chat", operation_id="chat", response_class=StreamingResponse, responses=EVENTS)
async def chat(
    request: Request, chat: TalkedSession, said: given.Said, idempotency_key: IdempotencyKey = None
) -> Response:
    """An answer as it is made, to a message that is kept before the model is asked."""
    service = served(request)
    with service.streams.place():
        message = Message("user", said.message, id=derived_id(idempotency_key, 0))
        if idempotency_key and (answer := await service.run(_answered, chat, message)):
            return Stream(_again(answer), service.streams)
        with sent_under(idempotency_key, [message.id]):
            kept = await service.run(_kept, chat, message)
        context = await service.run(context_for, kept, chat, said.budget, system=said.system)
        return Stream(Answer(request.state.request_id, service, chat, kept, context, said).events(), service.streams)


def _kept(chat: Session, message: Message) -> Message:
    """Keep a message and return it as kept; without an id it may be a kept one that waits for its answer."""
    return chat.add(message) if message.id else keep(chat, [message]).last or message


def _answered(chat: Session, message: Message) -> Message | None:
    """The answer to a message, where both are kept already."""
    found = chat.memory.store.log.get(chat.scope, [message.id, answer_id(message)])
    known = {entry.message.id: entry.message for entry in found}
    asked = known.get(message.id)
    return known.get(answer_id(message)) if asked and asked.text == message.text else None


async def _again(answer: Message) -> AsyncGenerator[bytes]:
    yield event("token", {"text": answer.text})
    yield event("done", {"message": answer.to_dict(), "usage": None, "tokens": None, "finish": None})


def event(name: str, data: Any) -> bytes:
    """One event of the stream."""
    return format_sse_event(event=name, data_str=to_json(data).decode())


def comments(context: Context) -> Iterator[bytes]:
    """What went into a prompt, as comment lines."""
    receipt = context.receipt
    lines = [line for line in receipt.lines if line.section not in CONVERSATION]
    apart = {section for sections in DEBUG.values() for section in sections}
    whole = {"tokens": receipt.tokens, "budget": receipt.budget, "sections": receipt.sections}
    memory = {**whole, "lines": [line.to_dict() for line in lines if line.section not in apart]}
    yield _comment("MEMORY_DEBUG", memory)
    for name, sections in DEBUG.items():
        yield _comment(name, {"lines": [line.to_dict() for line in lines if line.section in sections]})


def _comment(name: str, data: Any) -> bytes:
    return f": {name} {to_json(data).decode()}\n\n".encode()


@dataclass(slots=True, eq=False)
class Answer:
    """An answer on its way: what has come of it, whether it is whole, and its last event once it is kept."""

    request_id: str
    service: Service
    chat: Session
    question: Message
    context: Context
    said: given.Said
    words: list[str] = field(default_factory=list)
    reply: Reply | None = None
    done: bytes = b""

    async def events(self) -> AsyncGenerator[bytes]:
        """The stream; however it ends, what came is kept."""
        try:
            if self.said.context:
                yield event("context", self.context)
            if self.said.debug:
                for comment in comments(self.context):
                    yield comment
            async for piece in self._pieces():
                yield piece
            await self._keep()
            yield self.done
        except RecollectError as error:
            yield event("error", told(error))
        except Exception as error:  # the headers were sent already: the stream itself has to say it
            log.error("unforeseen", exc_info=error, extra={"request": self.request_id})
            yield event("error", told(error))
        finally:
            await self._keep()

    async def _pieces(self) -> AsyncGenerator[bytes]:
        ask = partial(stream_fitting, self.service.model, self.context.prompt, counter=self.chat.memory.counter)
        deltas = from_thread(ask, self.service.streams.threads)
        async with aclosing(deltas):
            async for together in deltas:
                yield b"".join(map(self._took, together))

    def _took(self, delta: Delta) -> bytes:
        self.words.append(delta.text)
        self.reply = delta.reply or self.reply
        named = {"thinking": delta.thinking, "token": delta.text}
        return b"".join(event(name, {"text": text}) for name, text in named.items() if text)

    async def _keep(self) -> None:
        """Keep the answer once, even if the caller goes away: whole, or the words that came, marked as partial."""
        reply, words = self.reply, "".join(self.words)
        self.reply, self.words = None, []
        message = reply.message if reply else Message("assistant", words, metadata=PARTIAL)
        if not message.parts:
            self.done = self.done or self._done(None, reply)
            return
        with CancelScope(shield=True):
            self.done = await self.service.end(
                lambda: self._done(keep_answer(self.chat, self.question, message), reply)
            )

    def _done(self, kept: Message | None, reply: Reply | None) -> bytes:
        usage, finish = (reply.usage, reply.finish) if reply else (None, None)
        return event("done", {"message": kept, "usage": usage, "tokens": self.context.tokens, "finish": finish})
